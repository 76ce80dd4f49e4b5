package allocation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/labelnames"
)

// LabelUse is a name that a query asks for, as a label, an annotation or either.
type LabelUse struct {
	Text              string
	Label, Annotation bool
	Aggregated        bool   // allocations are aggregated by it, not selected
	Alias             string // that stands for it, if it is looked up for one
}

// what returns the kind of the name, for texts.
func (u *LabelUse) what() string {
	switch {
	case u.Label && u.Annotation:
		return "label or annotation"
	case u.Annotation:
		return "annotation"
	}
	return "label"
}

// Needs returns the properties in which the name is looked up.
func (u *LabelUse) Needs() *Projection {
	p := OfRows(nil)
	if u.Label {
		p.Properties = append(p.Properties, Labels)
	}
	if u.Annotation {
		p.Properties = append(p.Properties, Annotations)
	}
	return p
}

// LabelUses returns the labels and annotations that keys ask for.
func LabelUses(keys []Key) []LabelUse {
	var uses []LabelUse
	for i := range keys {
		if text := keys[i].label.String(); text != "" {
			use := LabelUse{Text: text, Label: keys[i].kind != keyAnnotation, Annotation: keys[i].kind != keyLabel, Aggregated: true}
			if keys[i].kind == keyAlias {
				use.Alias = keys[i].field
			}
			uses = append(uses, use)
		}
	}
	return uses
}

// LabelSearch looks for a label in one set after another, to say why workloads lack it.
type LabelSearch struct {
	use       LabelUse
	name      labelnames.Name
	workloads bool // a workload was seen
	found     bool
	clashes   int // workloads whose labels clash
	keys      []string
	alike     []string // other names that end in this one, such as example.com/owner
}

// NewLabelSearch returns a search for a label. known are the names of labels that are in use.
func NewLabelSearch(use LabelUse, known labelnames.Names) *LabelSearch {
	return &LabelSearch{use: use, name: known.Name(use.Text)}
}

// Search returns a search for the label or annotation of a key or an alias.
func (k Key) Search() *LabelSearch {
	return &LabelSearch{use: LabelUses([]Key{k})[0], name: k.label}
}

// Add looks at the workloads of a set. It panics if the use's Needs were not read.
func (l *LabelSearch) Add(s *Set) {
	if l.found && !s.table.Dict.collides {
		return
	}
	for _, of := range [...]struct {
		property Property
		asked    bool
	}{{Labels, l.use.Label}, {Annotations, l.use.Annotation}} {
		if of.asked {
			l.look(s, of.property)
		}
	}
}

// look looks at a property of the workloads of a set.
func (l *LabelSearch) look(s *Set, p Property) {
	ids, err := s.IDs(p)
	if err != nil {
		panic(err)
	}
	_, _, maps := s.table.Dict.Sizes()
	keys := s.labelKeys(p)
	finder, rows := keys.Finder(l.name), make([]int, maps)
	l.addAlike(s, keys)
	for row, id := range ids {
		if s.table.Special[row] == Workload {
			l.workloads = true
			rows[id]++
		}
	}
	if !finder.Anywhere() {
		return
	}
	for id, n := range rows {
		if n == 0 {
			continue
		}
		value, _, clash := finder.find(ID(id))
		l.found = l.found || value != 0 || clash
		if clash {
			l.clashes += n
			for _, key := range finder.here {
				if !slices.Contains(l.keys, key.Key) {
					l.keys = append(l.keys, key.Key)
				}
			}
		}
	}
}

// addAlike adds names that end in the one that is looked for, such as example.com/owner for owner, or example_com_owner as exporters write it.
func (l *LabelSearch) addAlike(s *Set, keys *LabelKeys) {
	ending := "_" + labelnames.Snake(l.use.Text)
	for snake, ids := range keys.bySnake {
		if !strings.HasSuffix(snake, ending) {
			continue
		}
		for _, id := range ids {
			if text := s.table.Dict.Text(id); !slices.Contains(l.alike, text) {
				l.alike = append(l.alike, text)
			}
		}
	}
}

// Missing reports whether no workload has the label although there are workloads.
func (l *LabelSearch) Missing() bool { return l.workloads && !l.found }

// Clash says which names of labels collide, "" if none do.
func (l *LabelSearch) Clash() string {
	if l.clashes == 0 {
		return ""
	}
	keys := slices.Sorted(slices.Values(l.keys))
	have, are := "allocations have", "are taken to have none"
	if l.use.Aggregated {
		are = "are " + UnallocatedName
	}
	if l.clashes == 1 {
		have, are = "allocation has", strings.Replace(are, "are", "is", 1)
	}
	return fmt.Sprintf("%s %s: its name collides with others, which are exported as %s; %d %s different values of these and %s: ask for all names that collide, as they are in Kubernetes, or for one of the exported ones",
		l.use.what(), l.use.Text, strings.Join(keys, " and "), l.clashes, have, are)
}

// String says what is wrong, "" if nothing is.
func (l *LabelSearch) String() string {
	if l.Missing() && len(l.alike) > 0 {
		names := slices.Sorted(slices.Values(l.alike))
		return fmt.Sprintf("%s %s: no allocation of the window has one of that name, but some have %s: %s", l.use.what(), l.use.Text, strings.Join(names[:min(len(names), mostAlike)], ", "), l.use.instead(names[0]))
	}
	if l.Missing() {
		return fmt.Sprintf("%s %s: no allocation of the window has one of that name: it is misspelled, or kube-state-metrics does not export it (see its %s)",
			l.use.what(), l.use.Text, l.use.allowlist())
	}
	return l.Clash()
}

// mostAlike is how many similar names a warning lists.
const mostAlike = 3

// instead says how to ask for another name.
func (u *LabelUse) instead(name string) string {
	switch {
	case u.Alias != "":
		return fmt.Sprintf("write labelMapping: {%s: %s} into the file of --config.file", u.Alias, name)
	case u.Annotation:
		return "ask for annotation:" + name
	}
	return "ask for label:" + name
}

// allowlist returns the flags with which kube-state-metrics exports the label or annotation.
func (u *LabelUse) allowlist() string {
	var flags []string
	if u.Label {
		flags = append(flags, "--metric-labels-allowlist=pods=["+u.Text+"]")
	}
	if u.Annotation {
		flags = append(flags, "--metric-annotations-allowlist=pods=["+u.Text+"]")
	}
	return strings.Join(flags, " or ")
}
