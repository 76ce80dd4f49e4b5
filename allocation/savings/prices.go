package savings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/labelnames"
)

// ErrCluster is the error of a prediction for a cluster that is not there, or for none of several.
var ErrCluster = errors.New("unknown cluster")

// PriceNeeds returns what Predict looks at of the sets of prices: assets.
func PriceNeeds() *allocation.Projection { return &allocation.Projection{} }

// assetSums are what nodes and volumes of all clusters cost, over all sets.
type assetSums struct {
	covered []allocation.Covered
	nodes   map[allocation.AssetKey]*pricedNode
	volumes map[allocation.AssetKey]*pricedVolume
}

// pricedNode is a node over all sets.
type pricedNode struct {
	node  allocation.Node // as it was in the newest set
	hours float64
	units [allocation.NumResources]float64 // in hours
	cost  [allocation.NumResources]float64
}

// pricedVolume is a volume over all sets.
type pricedVolume struct {
	class           string
	claim           claimKey
	byteHours, cost float64
}

type claimKey struct{ namespace, name string }

func newAssetSums() *assetSums {
	return &assetSums{nodes: map[allocation.AssetKey]*pricedNode{}, volumes: map[allocation.AssetKey]*pricedVolume{}}
}

// add adds a set.
func (x *assetSums) add(s *allocation.Set) {
	x.covered = coverage.Join(x.covered, s.Covered)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		key := allocation.AssetKey{Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID}
		p := x.nodes[key]
		if p == nil {
			p = &pricedNode{}
			x.nodes[key] = p
		}
		p.node, p.hours = *n, p.hours+n.RunningSeconds/3600
		for r := range n.Cost {
			p.units[r] += n.Hours[r]
			p.cost[r] += n.Cost[r] + n.Adjustment[r]
		}
	}
	for i := range s.Disks {
		d := &s.Disks[i]
		if d.Local {
			continue
		}
		key := allocation.AssetKey{Cluster: d.Cluster, Name: d.Name, ProviderID: d.ProviderID}
		v := x.volumes[key]
		if v == nil {
			v = &pricedVolume{}
			x.volumes[key] = v
		}
		v.class, v.claim = d.StorageClass, claimKey{d.ClaimNamespace, d.ClaimName}
		v.byteHours, v.cost = v.byteHours+d.ByteHours, v.cost+d.Cost+d.Adjustment
	}
}

// sortedAssets are the keys of assets of a cluster, in order.
func sortedAssets[V any](assets map[allocation.AssetKey]V, cluster string) (keys []allocation.AssetKey) {
	for key := range assets {
		if key.Cluster == cluster {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b allocation.AssetKey) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ProviderID, b.ProviderID))
	})
	return keys
}

// market is what the nodes and volumes of a cluster cost.
type market struct {
	cluster string
	covered float64 // hours
	nodes   []*pricedNode
	classes map[string]*pricedVolume     // by storage class
	claims  map[claimKey][]*pricedVolume // by claim
	ordered map[claimKey][]*pricedVolume // of StatefulSets, by the names of claims without the number of the replica
	labels  map[string][]string          // of nodes, by name
	rates   map[string]nodeRates         // by selector
}

// newMarket chooses a cluster: the one that is named, or the only one there is.
func newMarket(x *assetSums, s *Setting) (*market, error) {
	m := &market{classes: map[string]*pricedVolume{}, claims: map[claimKey][]*pricedVolume{}, ordered: map[claimKey][]*pricedVolume{}, labels: map[string][]string{}, rates: map[string]nodeRates{}}
	c := coverage.Measure(s.Prices, x.covered, s.Now)
	if err := m.choose(&c, s); err != nil {
		return nil, err
	}
	for _, key := range sortedAssets(x.nodes, m.cluster) {
		m.nodes = append(m.nodes, x.nodes[key])
	}
	for _, key := range sortedAssets(x.volumes, m.cluster) {
		m.addVolume(x.volumes[key])
	}
	return m, nil
}

func (m *market) addVolume(v *pricedVolume) {
	class := m.classes[v.class]
	if class == nil {
		class = &pricedVolume{}
		m.classes[v.class] = class
	}
	class.byteHours, class.cost = class.byteHours+v.byteHours, class.cost+v.cost
	if v.claim.name == "" {
		return
	}
	m.claims[v.claim] = append(m.claims[v.claim], v)
	if i := strings.LastIndexByte(v.claim.name, '-'); i > 0 && strings.Trim(v.claim.name[i+1:], "0123456789") == "" {
		of := claimKey{v.claim.namespace, v.claim.name[:i]}
		m.ordered[of] = append(m.ordered[of], v)
	}
}

// choose finds the cluster.
func (m *market) choose(c *coverage.Coverage, s *Setting) error {
	names := make([]string, len(c.Clusters))
	for i, x := range c.Clusters {
		names[i] = x.Name
	}
	i := slices.Index(names, s.Cluster)
	switch {
	case len(names) == 0:
		m.cluster = s.Cluster
		return nil
	case i < 0 && len(names) == 1 && (s.Cluster == "" || s.Cluster == s.Own):
		i = 0
	case i < 0 && s.Cluster == "":
		return fmt.Errorf("%w: there are several: give one of %s", ErrCluster, someOf(names))
	case i < 0:
		return fmt.Errorf("%w %q: give one of %s", ErrCluster, s.Cluster, someOf(names))
	}
	m.cluster, m.covered = names[i], c.Clusters[i].Hours
	return nil
}

// someOf lists some names.
func someOf(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// nodeRates are the mean prices of nodes, and how many of them there are.
type nodeRates struct {
	price [allocation.NumResources]float64 // of an hour of a core, byte or device; NaN where no node has any
	nodes float64                          // mean number while the cluster has data
	notes []string                         // what the selector asks for and no node tells
	known bool                             // nodes tell all that the selector asks for
}

// ratesFor returns the mean prices of the nodes that a selector selects, and of those with GPUs alone if asked for. What no node tells of is
// left out of the selector, with a note.
func (m *market) ratesFor(selector map[string]string, gpus bool) nodeRates {
	parts := []string{strconv.FormatBool(gpus)}
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		parts = append(parts, key, selector[key])
	}
	text := strings.Join(parts, "\x00")
	if found, ok := m.rates[text]; ok {
		return found
	}
	out := nodeRates{known: len(m.nodes) > 0}
	fits := make([]bool, len(m.nodes))
	for i, n := range m.nodes {
		fits[i] = !gpus || n.units[allocation.GPU] > 0
	}
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		values := m.labelsOf(key)
		if !slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
			unknown = append(unknown, key)
			continue
		}
		for i, value := range values {
			fits[i] = fits[i] && value == selector[key]
		}
	}
	if len(unknown) > 0 {
		out.known = false
		out.notes = []string{"no node tells its labels " + someOf(unknown) + ": prices are those of all nodes that the rest of the nodeSelector selects"}
	}
	var units, cost [allocation.NumResources]float64
	for i, n := range m.nodes {
		if !fits[i] {
			continue
		}
		out.nodes += n.hours
		for r := range units {
			units[r], cost[r] = units[r]+n.units[r], cost[r]+n.cost[r]
		}
	}
	for r := range units {
		if out.price[r] = math.NaN(); units[r] > 0 {
			out.price[r] = cost[r] / units[r]
		}
	}
	if m.covered > 0 {
		out.nodes /= m.covered
	}
	m.rates[text] = out
	return out
}

// labelsOf returns the values of a label, one for each node; "" where it is not known.
func (m *market) labelsOf(key string) []string {
	values, ok := m.labels[key]
	if !ok {
		name := labelnames.NewName(key)
		for _, n := range m.nodes {
			value, told := labelnames.Find(&name, n.node.Labels)
			if !told {
				value = knownLabel(&n.node, key)
			}
			values = append(values, value)
		}
		m.labels[key] = values
	}
	return values
}

// knownLabel returns what is known of a node of a label that is not exported.
func knownLabel(n *allocation.Node, key string) string {
	switch key {
	case "kubernetes.io/hostname":
		return n.Name
	case "kubernetes.io/arch":
		return n.Arch
	case "kubernetes.io/os":
		return "linux" // which nearly all are
	case "node.kubernetes.io/instance-type":
		return n.InstanceType
	case "topology.kubernetes.io/region":
		return n.Region
	case "topology.kubernetes.io/zone":
		return n.Zone
	}
	return ""
}

// volumeRate returns the price of a byte for an hour, of a storage class. The class of a claim that names none is that of all volumes, if they
// have one. It is NaN where no volume of the class is there.
func (m *market) volumeRate(class string) float64 {
	if class == "" && len(m.classes) == 1 {
		for name := range m.classes {
			class = name
		}
	}
	if v := m.classes[class]; v != nil && v.byteHours > 0 {
		return v.cost / v.byteHours
	}
	return math.NaN()
}
