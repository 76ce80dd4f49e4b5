package metering

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// labelName is a label of the subject label, and the keys that yield its values.
type labelName struct {
	name string
	keys []allocation.Key
}

// poolName is the name of the pool of nodes, which is no label of workloads.
const poolName = "nodePool"

// parseLabelNames reads the names of labels. A name is a derived property, nodePool or an alias, in upper or lower case, else a label. If
// one name spells the alias exactly, another spelling is a label.
func parseLabelNames(o *Options) ([]labelName, error) {
	var out []labelName
	var names []string
	for _, name := range o.LabelNames {
		names = append(names, strings.TrimSpace(name))
	}
	aliases := slices.Collect(maps.Keys(allocation.DefaultLabelMapping()))
	aliases = append(aliases, poolName)
	for _, d := range o.Derived {
		aliases = append(aliases, d.Name())
	}
	known := o.Known
	for _, name := range names {
		if slices.ContainsFunc(out, func(o labelName) bool { return o.name == name }) {
			return nil, fmt.Errorf("label %q is there twice: name it once", name)
		}
		field := "label:" + name
		if slices.ContainsFunc(aliases, func(alias string) bool {
			return name == alias || strings.EqualFold(name, alias) && !slices.Contains(names, alias)
		}) {
			field = name
		}
		if name == "" || strings.Contains(name, ",") {
			return nil, fmt.Errorf("label %q: give the name of one label, such as team", name)
		}
		keys, err := allocation.ParseKeys(field, o.Mapping, o.Derived...)
		if err != nil {
			return nil, fmt.Errorf("label %q: %w", name, err)
		}
		out, known = append(out, labelName{name, keys}), known.And(textsOf(keys)...)
	}
	for i := range out {
		out[i].keys = allocation.KeysAmong(out[i].keys, known)
	}
	return out, nil
}

// textsOf returns the names of labels and annotations that keys look for.
func textsOf(keys []allocation.Key) []string {
	var texts []string
	for _, use := range allocation.LabelUses(keys) {
		texts = append(texts, use.Text)
	}
	return texts
}

// LabelNames returns the names of the subject label's labels, none if it is switched off.
func (m *Metering) LabelNames() []string {
	var names []string
	if i := m.index("label"); i >= 0 {
		for _, name := range m.subjects[i].names {
			names = append(names, name.name)
		}
	}
	return names
}

// LabelTexts returns the names of labels and annotations that the subject label looks for.
func (m *Metering) LabelTexts() []string {
	var texts []string
	for _, name := range m.names {
		texts = append(texts, textsOf(name.keys)...)
	}
	return texts
}

// LabelProblems says why workloads of a set lack labels of the subject label: the expression of a derived property fails, no workload
// has a label of that name, or the name collides with others. The order is that of LabelNames. There are no problems if the subject
// is switched off or the set has no workloads.
func (m *Metering) LabelProblems(s *allocation.Set) []string {
	i := m.index("label")
	if i < 0 || !hasWorkloads(s) {
		return nil
	}
	var problems []string
	for _, name := range m.subjects[i].names {
		if d := name.keys[0].Derived(); d != nil {
			if text := d.Problem([]*allocation.Set{s}); text != "" {
				problems = append(problems, text)
			}
			continue
		}
		if name.keys[0].OfNodePools() {
			if !slices.ContainsFunc(s.Nodes, func(n allocation.Node) bool { return n.Pool != "" }) {
				problems = append(problems, fmt.Sprintf("label %s: no node has a label that names its pool, or kube-state-metrics does not export it (see its --metric-labels-allowlist=nodes=[*])", name.name))
			}
			continue
		}
		missing := true
		for _, k := range name.keys {
			search := k.Search()
			search.Add(s)
			missing = missing && search.Missing()
			if text := search.Clash(); text != "" {
				problems = append(problems, text)
			}
		}
		if missing {
			problems = append(problems, fmt.Sprintf("label %s: no workload has a label of that name, and it is no property of the configuration", name.name))
		}
	}
	return problems
}

// hasWorkloads reports whether a row of the set is a workload.
func hasWorkloads(s *allocation.Set) bool {
	for row := range s.Len() {
		if s.Special(row) == allocation.Workload {
			return true
		}
	}
	return false
}
