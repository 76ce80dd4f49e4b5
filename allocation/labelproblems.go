package allocation

import (
	"fmt"
	"slices"
)

// LabelNames are the names that the subject label is about, none where it is switched off.
func (m *Metering) LabelNames() []string {
	var names []string
	if i := m.index("label"); i >= 0 {
		for _, name := range m.subjects[i].names {
			names = append(names, name.name)
		}
	}
	return names
}

// LabelProblems says of each label that the subject label is about why workloads of a set lack it: a derived property whose
// expression fails, as Derived.Problem has it, and a name that no workload has a label of. The order is that of LabelNames,
// and there are none where the subject is switched off or the set has no workloads.
func (m *Metering) LabelProblems(s *Set) []string {
	i := m.index("label")
	if i < 0 || !slices.Contains(s.special, Workload) {
		return nil
	}
	var problems []string
	for _, name := range m.subjects[i].names {
		switch d := name.keys[0].derived; {
		case d != nil:
			if text := d.Problem([]*Set{s}); text != "" {
				problems = append(problems, text)
			}
		case !slices.ContainsFunc(name.keys, func(k Key) bool { return k.isAnywhere(s) }):
			problems = append(problems, fmt.Sprintf("label %s: no workload has a label of that name, and it is no property of the configuration", name.name))
		}
	}
	return problems
}

// isAnywhere reports whether a workload of s has what k names.
func (k Key) isAnywhere(s *Set) bool {
	b := k.bind(s, true)
	for row, id := range b.cols[len(b.cols)-1] {
		if id != 0 && s.special[row] == Workload {
			return true
		}
	}
	return false
}
