package reconcile

import (
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// subject is an item with its texts in lower case.
type subject struct {
	*billing.Item
	id, name string // of the resource
	last     string // element of the id
}

func newSubject(item *billing.Item) *subject {
	s := &subject{Item: item, id: strings.ToLower(item.Resource.ID), name: strings.ToLower(item.Resource.Name)}
	s.last = lastElement(s.id)
	return s
}

// rule finds the assets of one kind that an item is about.
type rule struct {
	kind Kind
	find func(x *Index, s *subject) []int32
}

// rules are tried in order; the first that finds something wins.
var rules = [...]rule{
	{Network, (*Index).traffic},
	{Node, (*Index).node},
	{Volume, (*Index).volume},
	{LocalDisk, (*Index).localDisk},
	{Balancer, (*Index).balancer},
	{Management, (*Index).controlPlane},
}

// traffic finds the networks of the clusters whose nodes or load balancers an item of data transfer names.
func (x *Index) traffic(s *subject) []int32 {
	if !isTraffic(s) {
		return nil
	}
	at := x.node(s)
	if len(at) == 0 {
		at = x.balancer(s)
	}
	var networks []int32
	for _, i := range at {
		if n := x.position[clusterAsset(Network, x.assets[i].Cluster)]; !slices.Contains(networks, n) {
			networks = append(networks, n)
		}
	}
	return networks
}

// isTraffic reports whether an item is counted in bytes and says that they were transferred.
func isTraffic(s *subject) bool {
	if !isBytes(s.Charge.ConsumedUnit) && !isBytes(s.Charge.PricingUnit) {
		return false
	}
	squeeze := strings.NewReplacer(" ", "", "-", "", "_", "")
	for _, text := range [...]string{s.Charge.Meter, s.Charge.Description} {
		text = squeeze.Replace(strings.ToLower(text))
		if strings.Contains(text, "datatransfer") || strings.Contains(text, "bandwidth") || strings.Contains(text, "egress") {
			return true
		}
	}
	return false
}

// isBytes reports whether a unit is bytes: B, GB, GiB, TB, Bytes, gibibyte. Bytes over time, such as GB-Hours, are not.
func isBytes(unit string) bool {
	u := strings.TrimSuffix(strings.ToLower(unit), "s")
	if u = strings.TrimSuffix(u, "byte"); u != strings.TrimSuffix(strings.ToLower(unit), "s") {
		return slices.Contains([]string{"", "kilo", "mega", "giga", "tera", "peta", "kibi", "mebi", "gibi", "tebi", "pebi"}, u)
	}
	return len(u) <= 3 && strings.HasSuffix(u, "b") && strings.Trim(u[:len(u)-1], "kmgtpi") == "" && u != "ib" || u == "by" || u == "giby"
}

// node finds the instance, or the members of a scale set.
func (x *Index) node(s *subject) []int32 {
	if at := x.ids[Node][s.id]; len(at) > 0 {
		return at
	}
	if strings.HasPrefix(s.id, "arn:") && strings.HasPrefix(s.last, "i-") {
		return x.ids[Node][s.last]
	}
	if project, zone, name, ok := s.google("instances"); ok {
		return x.ids[Node][googleID(project, zone, name)]
	}
	members := x.sets[s.id]
	if vm := strings.ToLower(s.Resource.VM); vm != "" && len(members) > 0 {
		one := slices.DeleteFunc(slices.Clone(members), func(i int32) bool {
			a := &x.assets[i]
			return billed(a.Name) != vm && s.last+"_"+lastElement(billed(a.ProviderID)) != vm
		})
		if len(one) > 0 {
			return one
		}
	}
	return members
}

// google returns where an item's resource of Google is. Its name is that of the resource, for ids end in numbers.
func (s *subject) google(kind string) (project, zone, name string, ok bool) {
	name = elementAfter(s.id, kind)
	if name == "" || s.Account.Provider != google && !strings.Contains(s.id, "googleapis.com/") && !strings.HasPrefix(s.id, "projects/") {
		return "", "", "", false
	}
	if project = elementAfter(s.id, "projects"); project == "" {
		project = strings.ToLower(s.Account.SubID)
	}
	if zone = elementAfter(s.id, "zones"); zone == "" {
		zone = elementAfter(s.id, "regions")
	}
	if zone == "" {
		zone = strings.ToLower(s.Resource.Zone)
	}
	if s.name != "" {
		name = lastElement(s.name)
	}
	return project, zone, name, true
}

// volume finds a persistent volume by its CSI handle or in-tree id.
func (x *Index) volume(s *subject) []int32 {
	if at := x.ids[Volume][s.id]; len(at) > 0 {
		return at
	}
	if strings.HasPrefix(s.last, "vol-") || strings.HasPrefix(s.last, "fs-") {
		return x.ids[Volume][s.last]
	}
	if project, zone, name, ok := s.google("disks"); ok {
		if at := x.ids[Volume][googleID(project, zone, name)]; len(at) > 0 {
			return at
		}
		return x.ids[Volume][name] // in-tree volumes have no place
	}
	return nil
}

// localDisk finds the disk of a node: by the node's name in that of the disk, or by a tag that names the instance.
func (x *Index) localDisk(s *subject) []int32 {
	if project, zone, name, ok := s.google("disks"); ok {
		return x.ids[LocalDisk][googleID(project, zone, name)]
	}
	if disk, _, ok := strings.Cut(s.last, "_osdisk_"); ok {
		for ; disk != ""; _, disk, _ = strings.Cut(disk, "_") { // a scale set's disk repeats the name of the set
			if at := x.ids[LocalDisk][disk]; len(at) > 0 {
				return at
			}
		}
	}
	if strings.HasPrefix(s.last, "vol-") {
		for _, tag := range s.Tags {
			if at := x.ids[LocalDisk][strings.ToLower(tag.Value)]; len(at) > 0 && strings.HasPrefix(tag.Value, "i-") {
				return at
			}
		}
	}
	return nil
}

// balancer finds a load balancer by its host name, its address, or the name in its ARN.
func (x *Index) balancer(s *subject) []int32 {
	for _, id := range [...]string{s.id, s.name, s.last} {
		if at := x.ids[Balancer][id]; len(at) > 0 {
			return at
		}
	}
	_, path, ok := strings.Cut(s.id, ":loadbalancer/")
	if !ok || !strings.HasPrefix(s.id, "arn:") {
		return nil
	}
	name, rest, typed := strings.Cut(path, "/")
	if typed { // net, app or gwy, the name and an id; classic ones have the name alone
		name, _, _ = strings.Cut(rest, "/")
	}
	return x.elbs[name]
}

// controlPlane finds the cluster that a charge for Kubernetes names.
func (x *Index) controlPlane(s *subject) []int32 {
	if at := x.configured(s); len(at) > 0 {
		return at
	}
	if !isKubernetes(s) {
		return nil
	}
	var found []int32
	for _, id := range [...]string{s.id, s.name, s.last, lastElement(s.name)} {
		for _, i := range x.ids[Management][id] {
			// A cluster whose id in bills is known has no other.
			if rules := x.bills[s.Bill]; rules.clusters[x.assets[i].Cluster] == "" && !slices.Contains(found, i) {
				found = append(found, i)
			}
		}
	}
	return found
}

// configured finds the clusters that the bill's settings name by the item's resource id, or by its account and name.
func (x *Index) configured(s *subject) (found []int32) {
	rules := x.bills[s.Bill]
	for _, cluster := range x.clusters {
		switch id := rules.clusters[cluster]; {
		case id == "":
		case id == s.id, isKubernetes(s) && slices.Contains([]string{s.account() + "/" + s.last, s.account() + "/" + s.name}, id):
			found = append(found, x.position[clusterAsset(Management, cluster)])
		}
	}
	return found
}

// account is the account of the item's resource.
func (s *subject) account() string {
	return strings.ToLower(lastElement(s.Account.SubID))
}

// isKubernetes reports whether an item is about a cluster of a Kubernetes service.
func isKubernetes(s *subject) bool {
	return strings.HasPrefix(s.id, "arn:") && strings.Contains(s.id, ":eks:") && strings.Contains(s.id, ":cluster/") ||
		strings.Contains(s.id, "/managedclusters/") || strings.Contains(s.id, "container.googleapis.com/") ||
		strings.Contains(strings.ToLower(s.Service.Name), "kubernetes")
}

// billRules are the settings of a bill that matter here.
type billRules struct {
	tags     map[string]allocation.Property
	labels   map[string]bool   // names of labels behind aliases
	clusters map[string]string // ids in bills, in lower case, by cluster
}

func newBillRules(bill *billing.Bill, aliases allocation.LabelMapping) *billRules {
	if aliases == nil {
		aliases = allocation.DefaultLabelMapping()
	}
	r := &billRules{tags: billing.DefaultTags(), labels: map[string]bool{}, clusters: map[string]string{}}
	maps.Copy(r.tags, bill.Tags)
	for _, names := range aliases {
		for _, name := range names {
			r.labels[name] = true
		}
	}
	for cluster, id := range bill.Clusters {
		r.clusters[cluster] = strings.ToLower(id)
	}
	return r
}
