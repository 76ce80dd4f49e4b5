package reconcile

import (
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// Match says what an item is about.
type Match struct {
	Kind Kind
	// Cluster is that of the assets, or one that a tag names; empty if none is known. Name is that of an asset of the cluster
	// that was not there on the day, for which the cost is a Cloud cost.
	Cluster, Name string
	// Several are clusters that fit equally well, so that none was hit.
	Several []string
	// Text and Labels are the properties of an External cost.
	Text   [allocation.Services]string
	Labels map[string]string

	assets []int32
}

// Match returns what an item is about. It depends on the item and on the assets of the day alone.
func (x *Index) Match(item *billing.Item) Match {
	if item.Charge.Category != billing.Usage || item.Unused() {
		return Match{Kind: Cloud}
	}
	s := newSubject(item)
	var several []string
	for _, rule := range rules {
		at := rule.find(x, s)
		if len(at) == 0 {
			continue
		}
		if at, several = x.inOneCluster(at, s); len(several) > 0 {
			break
		}
		if first := x.assets[at[0]]; !x.there[at[0]] {
			return Match{Kind: Cloud, Cluster: first.Cluster, Name: first.Name}
		}
		return Match{Kind: rule.kind, Cluster: x.assets[at[0]].Cluster, assets: at}
	}
	m := x.outside(item)
	m.Several = several
	return m
}

// inOneCluster returns the assets of one cluster. If they are of several, the item's account decides, where settings tell the
// accounts of the clusters; else it returns the clusters.
func (x *Index) inOneCluster(at []int32, s *subject) (one []int32, several []string) {
	byCluster := map[string][]int32{}
	for _, i := range at {
		cluster := x.assets[i].Cluster
		byCluster[cluster] = append(byCluster[cluster], i)
	}
	if len(byCluster) == 1 {
		return at, nil
	}
	clusters := slices.Sorted(maps.Keys(byCluster))
	accounts := []string{s.account(), accountOf(s.id)}
	var fit []string
	for _, cluster := range clusters {
		if of := accountOf(x.bills[s.Bill].clusters[cluster]); of != "" && slices.Contains(accounts, of) {
			fit = append(fit, cluster)
		}
	}
	if len(fit) == 1 {
		return byCluster[fit[0]], nil
	}
	return nil, clusters
}

// Labels of Kubernetes in tags begin with this.
const labelPrefix = "kubernetes_label_"

// outside describes an item that no asset explains, by its tags.
func (x *Index) outside(item *billing.Item) Match {
	rules := x.bills[item.Bill]
	m := Match{Kind: Cloud}
	for _, tag := range item.Tags {
		if p, ok := rules.tags[tag.Name]; ok && tag.Value != "" {
			m.Kind, m.Text[p] = External, allocation.TenantName(tag.Value)
			continue
		}
		name, isLabel := strings.CutPrefix(tag.Name, labelPrefix)
		if isLabel || rules.labels[name] {
			m.Kind = External
		}
		if m.Labels == nil {
			m.Labels = make(map[string]string, len(item.Tags))
		}
		m.Labels[name] = allocation.TenantName(tag.Value)
	}
	m.Cluster = m.Text[allocation.Cluster]
	return m
}

// Part is what a line charges, with its part of the cost, from 0 to 1.
type Part struct {
	Asset
	Share float64
}

// Parts returns the assets that a match is about, with their parts of the cost; for an External or Cloud cost one of that kind, with
// the cluster and the name that are known.
func (x *Index) Parts(m *Match) []Part {
	if m.Kind >= External {
		return []Part{{Asset{m.Kind, allocation.AssetKey{Cluster: m.Cluster, Name: m.Name}}, 1}}
	}
	parts := make([]Part, 0, len(m.assets))
	x.divide(m, func(at int32, share float64) { parts = append(parts, Part{x.assets[at], share}) })
	return parts
}

// divide divides a match among its assets in proportion to their list cost of the day; if all are free, by how much there was
// of them, else equally.
func (x *Index) divide(m *Match, f func(at int32, share float64)) {
	if len(m.assets) == 1 {
		f(m.assets[0], 1)
		return
	}
	for _, weight := range [...]func(*quantity) float64{
		func(p *quantity) float64 { return p.list },
		func(p *quantity) float64 { return p.amounts[0] },
		func(*quantity) float64 { return 1 },
	} {
		sum := 0.0
		for _, at := range m.assets {
			sum += weight(&x.has[at])
		}
		if sum == 0 {
			continue
		}
		for _, at := range m.assets {
			f(at, weight(&x.has[at])/sum)
		}
		return
	}
}
