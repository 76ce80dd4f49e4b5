package allocation

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/promcost/promcost/allocation/grouping"
)

// Derivation computes a property from others, which are given as in the API's JSON; missing ones are left out. A derivation
// without a value returns "" or an error that says why: a *MissingError where nothing is wrong, a *ClashError beside the
// value that was derived without the clashing label. It must be deterministic.
type Derivation func(properties map[string]any) (string, error)

// MissingError says that there is nothing to derive a property from, for example because a workload has no label.
type MissingError struct{ Cause error }

// Error returns the text of the cause.
func (e *MissingError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Cause }

// ClashError says that a label was treated as missing because its name collides with others.
type ClashError struct {
	Name string
	Keys []string // the other labels, whose values differ
}

// Error names the label and the labels that it collides with.
func (e *ClashError) Error() string {
	return fmt.Sprintf("label %s: its name collides with others, which are exported as %s, and their values differ", e.Name, strings.Join(e.Keys, " and "))
}

// Derived is a property that is computed from others. Rows can be aggregated by it as by an alias. It is computed once for
// each combination of inputs and then cached. It is safe for concurrent use.
type Derived struct {
	name    string
	needs   []Property
	compute Derivation

	mu    sync.Mutex
	known map[string]derivation // by inputs
	bytes int                   // of known
}

// derivation is the result of a Derivation.
type derivation struct {
	text, problem string
	wrong         bool   // problem is an error, not just a missing input
	clash         string // says which label was treated as missing
}

// NewDerived returns a property with that name: letters, digits, dots, dashes and underscores after a letter. Upper and lower
// case are the same name. The name of an alias replaces the alias. It is an error if the name is that of another field,
// differs from an alias only in case, or reads as a path or a label. needs are all properties that the derivation reads.
func NewDerived(name string, needs []Property, compute Derivation) (*Derived, error) {
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	wrong := func(c rune) bool {
		return c > 'z' || !letter(byte(c)) && !strings.ContainsRune("0123456789.-_", c)
	}
	if name == "" || !letter(name[0]) || strings.IndexFunc(name, wrong) >= 0 {
		return nil, fmt.Errorf("name %q of a property: use letters, digits, dots, dashes and underscores after a letter", name)
	}
	taken := []string{"label", "annotation", "controllerName"} // controllerName is what filters call the controller
	for _, f := range keyFields {
		if f.kind != keyAlias {
			taken = append(taken, f.name)
		}
	}
	if slices.ContainsFunc(slices.Concat(taken, properties[:]), func(t string) bool { return strings.EqualFold(t, name) }) {
		return nil, fmt.Errorf("name %q of a property is taken: choose another", name)
	}
	if err := checkDerivedName(name); err != nil {
		return nil, err
	}
	return &Derived{name: name, needs: slices.Clone(needs), compute: compute, known: map[string]derivation{}}, nil
}

// checkDerivedName refuses names that mean something else in one of the query languages: aggregations ignore case, filters do
// not, and field selectors use paths.
func checkDerivedName(name string) error {
	for _, f := range keyFields {
		if f.kind == keyAlias && f.name != name && strings.EqualFold(f.name, name) {
			return fmt.Errorf("name %q of a property differs from the alias %s in case only: write %s to take its place, or choose another", name, f.name, f.name)
		}
	}
	head, _, dotted := strings.Cut(strings.ToLower(name), ".")
	if dotted && slices.Contains([]string{"metadata", "spec", "status", "label", "labels", "annotation", "annotations"}, head) {
		return fmt.Errorf("name %q of a property reads as what field selectors or labels are written with: choose one that does not begin with %q", name, head+".")
	}
	return nil
}

// Name returns the property's name.
func (d *Derived) Name() string { return d.name }

// Needs returns the properties that it is computed from.
func (d *Derived) Needs() *Projection { return OfRows(slices.Clone(d.needs)) }

// Compute computes the property from other properties, as Derivation describes them.
func (d *Derived) Compute(properties map[string]any) string { return d.derive(properties).text }

// derive computes the property.
func (d *Derived) derive(properties map[string]any) derivation {
	text, err := d.compute(properties)
	text = derivedName(text, properties)
	if err == nil {
		return derivation{text: text}
	}
	if clash, ok := errors.AsType[*ClashError](err); ok {
		return derivation{text: text, clash: clash.Error()}
	}
	const most = 200 // bytes of an error text
	problem := err.Error()
	if len(problem) > most {
		problem = strings.ToValidUTF8(problem[:most], "") + "…"
	}
	_, missing := errors.AsType[*MissingError](err)
	return derivation{problem: problem, wrong: !missing}
}

// Text returns the property of a row, "" if it has none.
func (d *Derived) Text(s *Set, row int) string { return d.rowDerivation(s, row).text }

// rowDerivation returns the property of a row.
func (d *Derived) rowDerivation(s *Set, row int) derivation {
	const (
		most      = 1 << 14  // cached combinations
		mostBytes = 16 << 20 // of cached combinations
	)
	var key []byte
	for _, p := range d.needs {
		key = s.appendContent(key, p, s.table.IDs[p][row])
	}
	d.mu.Lock()
	got, ok := d.known[string(key)]
	d.mu.Unlock()
	if ok {
		return got
	}
	got = d.derive(s.describe(d.needs, row))
	size := len(key) + len(got.text) + len(got.problem) + len(got.clash)
	if size > mostBytes {
		return got
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= most || d.bytes+size > mostBytes {
		clear(d.known)
		d.bytes = 0
	}
	d.known[string(key)] = got
	d.bytes += size
	return got
}

// Problem says how many workloads of the sets lack the property because of an error, and quotes the first error; "" if there
// is none. Missing inputs are only reported if no workload has the property.
func (d *Derived) Problem(sets []*Set) string {
	p := d.Problems()
	for _, s := range sets {
		p.Add(s)
	}
	return p.String()
}

// DerivedProblems collects what Derived.Problem reports, set by set.
type DerivedProblems struct {
	of                    *Derived
	wrong, missing, clash string
	rows, failed, clashes int
	has                   bool
}

// Problems returns an empty DerivedProblems.
func (d *Derived) Problems() *DerivedProblems { return &DerivedProblems{of: d} }

// Add looks at the workloads of a set.
func (p *DerivedProblems) Add(s *Set) {
	group, first := grouping.Rows(s.workloads(), s.Len(), p.of.columns(s))
	size := make([]int, len(first)+1) // the last element counts rows that are not workloads
	for _, g := range group {
		size[g]++
	}
	for g, row := range first {
		got := p.of.rowDerivation(s, int(row))
		p.rows, p.has = p.rows+size[g], p.has || got.text != ""
		if got.wrong {
			p.failed += size[g]
			p.wrong = cmp.Or(p.wrong, got.problem)
		}
		if got.clash != "" {
			p.clashes += size[g]
			p.clash = cmp.Or(p.clash, got.clash)
		}
		p.missing = cmp.Or(p.missing, got.problem)
	}
}

// String returns the report, as Problem does.
func (p *DerivedProblems) String() string {
	switch {
	case p.failed > 0 && p.has:
		return fmt.Sprintf("property %s is missing for %d of %d allocations: %s", p.of.name, p.failed, p.rows, p.wrong)
	case p.clashes > 0:
		are := "allocations are"
		if p.rows == 1 {
			are = "allocation is"
		}
		return fmt.Sprintf("property %s: %s; %d of %d %s taken to have none: let the expression name all labels that collide, as they are in Kubernetes, or one of the exported ones",
			p.of.name, p.clash, p.clashes, p.rows, are)
	case p.missing != "" && !p.has:
		return fmt.Sprintf("property %s is missing everywhere: %s", p.of.name, cmp.Or(p.wrong, p.missing))
	}
	return ""
}

// workloads reports of each row whether it is a workload.
func (s *Set) workloads() []bool {
	is := make([]bool, s.Len())
	for row, kind := range s.table.Special {
		is[row] = kind == Workload
	}
	return is
}

// columns returns the ids of the inputs.
func (d *Derived) columns(s *Set) [][]ID {
	cols := make([][]ID, len(d.needs))
	for i, p := range d.needs {
		cols[i] = s.table.IDs[p]
	}
	return cols
}

// Bind computes the property of all rows, once for each combination of inputs, and returns a function that returns the
// property of a row. It fails with ErrUnread if an input was not read.
func (d *Derived) Bind(s *Set) (func(row int) string, error) {
	if err := s.Require(d.Needs()); err != nil {
		return nil, err
	}
	ids, texts := d.column(s)
	return func(row int) string { return texts[ids[row]] }, nil
}

// column returns the property of all rows as indexes of texts; 0 is none.
func (d *Derived) column(s *Set) (ids []ID, texts []string) {
	group, first := grouping.Rows(nil, s.Len(), d.columns(s))
	texts = []string{""}
	known := map[string]ID{"": 0}
	ofGroup := make([]ID, len(first))
	for g, row := range first {
		text := d.Text(s, int(row))
		id, ok := known[text]
		if !ok {
			id = ID(len(texts))
			texts, known[text] = append(texts, text), id
		}
		ofGroup[g] = id
	}
	ids = make([]ID, len(group))
	for row, g := range group {
		ids[row] = ofGroup[g]
	}
	return ids, texts
}

// appendContent appends the content behind id. Different contents give different bytes.
func (s *Set) appendContent(b []byte, p Property, id ID) []byte {
	text := func(id ID) {
		t := s.table.Dict.Text(id)
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	switch {
	case p.IsMap():
		pairs := s.table.Dict.Map(id)
		b = binary.AppendUvarint(b, uint64(len(pairs)))
		for _, pair := range pairs {
			text(pair.Key)
			text(pair.Value)
		}
	case p.IsList():
		list := s.table.Dict.List(id)
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, id := range list {
			text(id)
		}
	default:
		text(id)
	}
	return b
}

// describe returns the properties of a row as the API's JSON has them.
func (s *Set) describe(of []Property, row int) map[string]any {
	object := make(map[string]any, len(of))
	for _, p := range of {
		id := s.table.IDs[p][row]
		if id == 0 || p == PodUID { // the API does not serve it
			continue
		}
		switch {
		case p.IsMap():
			labels := make(map[string]any, len(s.table.Dict.Map(id)))
			for _, pair := range s.table.Dict.Map(id) {
				labels[s.table.Dict.Text(pair.Key)] = s.table.Dict.Text(pair.Value)
			}
			object[p.String()] = labels
		case p.IsList():
			list := make([]any, 0, len(s.table.Dict.List(id)))
			for _, id := range s.table.Dict.List(id) {
				list = append(list, s.table.Dict.Text(id))
			}
			object[p.String()] = list
		case p == ProviderID:
			_, object[p.String()] = ParseProviderID(s.table.Dict.Text(id))
		default:
			object[p.String()] = s.table.Dict.Text(id)
		}
	}
	return object
}
