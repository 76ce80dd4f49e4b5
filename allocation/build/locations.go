package build

import (
	"cmp"
	"strings"

	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
)

// location is where something is, as price sheets name it. What is empty is not known.
type location struct{ provider, region, zone string }

// findLocations finds where each cluster is: with the provider and in the region that most of its nodes are, the first by name
// of several, and in a zone only where all of them are in it.
func (b *Builder) findLocations() {
	type votes struct{ provider, region, zone map[string]int }
	of := map[signals.Symbol]*votes{}
	for n := range b.everyNode() {
		if len(n.life) == 0 {
			continue
		}
		v := of[n.cluster]
		if v == nil {
			v = &votes{map[string]int{}, map[string]int{}, map[string]int{}}
			of[n.cluster] = v
		}
		a := n.asset(b.sampling.End)
		v.provider[provider(a.ProviderID)]++
		v.region[a.Region]++
		v.zone[a.Zone]++
	}
	b.prices.locations = make(map[signals.Symbol]location, len(of))
	for cluster, v := range of {
		p := location{provider: mostNamed(v.provider), region: mostNamed(v.region)}
		if len(v.zone) == 1 {
			p.zone = mostNamed(v.zone)
		}
		b.prices.locations[cluster] = p
	}
}

// mostNamed is the name with the most votes, the first of several; "" only where there is no other.
func mostNamed(votes map[string]int) (most string) {
	for name, n := range votes {
		if name != "" && (most == "" || cmp.Or(cmp.Compare(votes[most], n), strings.Compare(name, most)) < 0) {
			most = name
		}
	}
	return most
}

// item is an item of a cluster, priced by where the cluster is.
func (b *Builder) item(kind rates.ItemKind, cluster signals.Symbol) rates.Item {
	p := b.prices.locations[cluster]
	return rates.Item{Kind: kind, Cluster: cluster.Value(), Provider: p.provider, Region: p.region, Zone: p.zone}
}

// driverProviders are the providers of CSI drivers, and of the plugins before them.
var driverProviders = map[string]string{
	"ebs.csi.aws.com": "aws", "efs.csi.aws.com": "aws", "fsx.csi.aws.com": "aws",
	"pd.csi.storage.gke.io": "gcp", "filestore.csi.storage.gke.io": "gcp",
	"disk.csi.azure.com": "azure", "file.csi.azure.com": "azure", "blob.csi.azure.com": "azure",
	"kubernetes.io/aws-ebs": "aws", "kubernetes.io/gce-pd": "gcp", "kubernetes.io/azure-disk": "azure",
}

// volumeItem is the volume as price sheets see it: where its driver, what its provider calls it and its labels say, else where its
// cluster is, and in the namespace of the claim that it was bound to last.
func (b *Builder) volumeItem(v *volume, owners []ownership) rates.Item {
	i := b.item(rates.ItemStorage, v.cluster)
	if p := driverProviders[symText(v.driver)]; p != "" && p != i.Provider {
		i.Provider, i.Region, i.Zone = p, "", "" // the cluster's are another provider's
	}
	region, zone := placeOfHandle(symText(v.handle))
	labels := v.labels.Value
	region = cmp.Or(labelnames.Region(labels), region)
	zone = cmp.Or(labelnames.First(labels, zoneLabels), zone)
	if region != "" && region != i.Region {
		i.Region, i.Zone = region, ""
	}
	i.Zone = cmp.Or(zone, i.Zone)
	i.StorageClass, i.Name, i.Labels = symText(v.class), v.name.Value(), labels
	last := int64(0)
	for _, o := range owners {
		if n := len(o.when); n > 0 && (i.Namespace == "" || o.when[n-1].To > last) {
			i.Namespace, last = o.claim.namespace.Value(), o.when[n-1].To
		}
	}
	return i
}

// placeOfHandle reads where a volume is from what Google calls it, projects/p/zones/europe-west1-b/disks/d, or Kubernetes one of
// Amazon without CSI, aws://eu-central-1a/vol-1.
func placeOfHandle(handle string) (region, zone string) {
	if rest, ok := strings.CutPrefix(handle, "aws://"); ok {
		if zone, _, ok = strings.Cut(rest, "/"); ok {
			return strings.TrimRight(zone, "abcdefghijklmnopqrstuvwxyz"), zone
		}
		return "", ""
	}
	parts := strings.Split(handle, "/")
	if len(parts) != 6 || parts[0] != "projects" {
		return "", ""
	}
	switch parts[2] {
	case "regions":
		return parts[3], ""
	case "zones":
		if i := strings.LastIndexByte(parts[3], '-'); i > 0 {
			return parts[3][:i], parts[3]
		}
	}
	return "", ""
}
