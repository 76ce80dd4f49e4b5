package pricing

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/rates"
)

// rule is an entry of one of the sheet's lists.
type rule struct {
	line       int
	texts      [numAttributes]string // what must match, "" for anything
	labels     []label               // by key
	spot       *bool                 // nil matches both
	byPods     bool                  // nodes that match are billed by their pods
	gpuExtra   bool                  // its price of GPUs comes on top of that of the whole node
	from, to   int64                 // when it holds: Unix milliseconds, half-open
	dated      bool                  // from or to is given
	discount   *float64              // nil is the sheet's
	multiplier *float64              // nil is the sheet's
	named      priceSet
	price      [numPrices]float64
}

// label is a label that a rule asks for.
type label struct {
	name  labelnames.Name
	value string
}

// nameLabels tells the labels of rules which label names all rules together use.
func nameLabels(sections []section) {
	var labels []*label
	var texts []string
	for i := range sections {
		for _, r := range sections[i].rules {
			for k := range r.labels {
				labels, texts = append(labels, &r.labels[k]), append(texts, r.labels[k].name.String())
			}
		}
	}
	known := labelnames.NewNames(texts...)
	for _, l := range labels {
		l.name = known.Name(l.name.String())
	}
}

// newRule is a rule that always holds and asks for nothing.
func newRule(line int) rule { return rule{line: line, from: math.MinInt64, to: math.MaxInt64} }

// subject is the object to be priced.
type subject struct {
	texts  [numAttributes]string
	labels map[string]string
	spot   bool
}

func nodeSubject(n *rates.NodeAttributes) subject {
	return subject{
		texts: [numAttributes]string{
			provider: n.Provider, region: n.Region, zone: n.Zone, instanceType: n.InstanceType, gpuModel: n.GPUModel, cluster: n.Cluster, name: n.Name,
			providerID: rates.MachinePath(n.ProviderID),
		},
		labels: n.Labels, spot: n.Spot,
	}
}

func itemSubject(i *rates.Item) subject {
	return subject{
		texts: [numAttributes]string{
			provider: i.Provider, region: i.Region, zone: i.Zone, storageClass: i.StorageClass, cluster: i.Cluster, namespace: i.Namespace, name: i.Name,
		},
		labels: i.Labels,
	}
}

// section is one of the sheet's lists of rules. Price lists have thousands of machines, and of instance types, so rules are indexed.
type section struct {
	rules   []rule
	exact   [len(indexed)]map[string][]int // rules that ask for exactly one text of an attribute, in their order
	general []int                          // the other rules
}

// indexed are the attributes by which rules are found. A rule that asks for several is found by the first.
var indexed = [...]attribute{providerID, name, instanceType}

// indexKey is what a text of an attribute is found by.
func indexKey(a attribute, text string) string {
	if a == providerID {
		return text[strings.LastIndexByte(text, '/')+1:]
	}
	return text
}

// add appends a rule.
func (s *section) add(r *rule) {
	i := len(s.rules)
	s.rules = append(s.rules, *r)
	for k, a := range indexed {
		text := r.texts[a]
		if text == "" || strings.HasSuffix(text, "*") {
			continue
		}
		if s.exact[k] == nil {
			s.exact[k] = map[string][]int{}
		}
		key := indexKey(a, text)
		s.exact[k][key] = append(s.exact[k][key], i)
		return
	}
	s.general = append(s.general, i)
}

// candidates are the rules that may match texts, in their order.
func (s *section) candidates(texts *[numAttributes]string) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		var lists [len(indexed) + 1][]int // the first n have rules
		n := 0
		for k, a := range indexed {
			if texts[a] == "" {
				continue
			}
			if lists[n] = s.exact[k][indexKey(a, texts[a])]; len(lists[n]) > 0 {
				n++
			}
		}
		if len(s.general) > 0 {
			lists[n] = s.general
			n++
		}
		for n > 0 {
			next := 0
			for k := 1; k < n; k++ {
				if lists[k][0] < lists[next][0] {
					next = k
				}
			}
			if !yield(&s.rules[lists[next][0]]) {
				return
			}
			if lists[next] = lists[next][1:]; len(lists[next]) == 0 {
				n--
				lists[next] = lists[n]
			}
		}
	}
}

// matching are the rules that match a subject at an instant, in their order.
func (s *section) matching(x *subject, at int64) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		for r := range s.candidates(&x.texts) {
			if r.from <= at && at < r.to && r.matches(x) && !yield(r) {
				return
			}
		}
	}
}

// covering is an earlier rule that leaves r nothing, nil where there is none.
func (s *section) covering(r *rule) *rule {
	for earlier := range s.candidates(&r.texts) {
		if earlier.named&r.named == r.named && earlier.from <= r.from && r.to <= earlier.to && earlier.covers(r) {
			return earlier
		}
	}
	return nil
}

func (r *rule) matches(x *subject) bool {
	if r.spot != nil && *r.spot != x.spot {
		return false
	}
	for a := range attributes {
		if !r.matchesText(attribute(a), x.texts[a]) {
			return false
		}
	}
	for _, l := range r.labels {
		if v, ok := labelnames.Find(&l.name, x.labels); !ok || v != l.value {
			return false
		}
	}
	return true
}

// mayMatch reports whether the rule matches as to an attribute, or that is not known of x.
func (r *rule) mayMatch(a attribute, x *subject) bool {
	return x.texts[a] == "" || r.matchesText(a, x.texts[a])
}

// matchesText reports whether the rule matches a text of an attribute.
func (r *rule) matchesText(a attribute, text string) bool {
	switch {
	case r.texts[a] == "":
		return true
	case a == providerID:
		return rates.SameMachine(r.texts[a], text)
	}
	return matchText(r.texts[a], text, attributes[a].anyCase)
}

// covers reports whether r matches whatever o matches, as far as their attributes say.
func (r *rule) covers(o *rule) bool {
	if r.spot != nil && (o.spot == nil || *r.spot != *o.spot) {
		return false
	}
	for a := range r.texts {
		if !r.matchesText(attribute(a), o.texts[a]) {
			return false
		}
	}
	for _, l := range r.labels {
		if !slices.Contains(o.labels, l) {
			return false
		}
	}
	return true
}

// matchText reports whether text is what pattern says: a prefix if it ends in *.
func matchText(pattern, text string, anyCase bool) bool {
	if anyCase {
		pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == text
}
