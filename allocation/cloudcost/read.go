package cloudcost

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/reconcile"
)

// Source has the lines of bills; billing.Book is one.
type Source interface {
	// Read calls f for each line within w, as billing.Book.Read does.
	Read(ctx context.Context, w allocation.Window, f func(*billing.Line) error) error
}

// Query says what to read. Windows are required.
type Query struct {
	Windows []allocation.Window // of the sets
	Keys    []Key               // nil keeps a row for each thing that is charged
	Filter  func(*Row) bool     // nil keeps all lines
	Custom  bool                // only lines of vendors of SaaS
	// Parts returns what a line charges, with the parts of its cost. nil knows of no clusters.
	Parts func(*billing.Line) ([]reconcile.Part, error)
	// Grow is called before each row is kept. If it returns an error, Read stops with it.
	Grow func() error
}

// Row is a sum of lines. Texts in which they differ are empty.
type Row struct {
	Name  string // of the keys, "" without
	Texts [NumFields]string
	Tags  billing.Tags // that all of its lines have
	Costs billing.Costs
	// Kubernetes are the parts of Weights that assets of clusters explain. Weights are sums of amounts without their signs.
	Kubernetes, Weights billing.Costs
	// Quantity is in the field UsageUnit; NaN if it is unknown, or if units differ.
	Quantity float64
}

// KubernetesShare returns which part of a cost clusters explain, from 0 to 1.
func (r *Row) KubernetesShare(c billing.Cost) float64 {
	if r.Weights[c] == 0 {
		return 0
	}
	return min(r.Kubernetes[c]/r.Weights[c], 1)
}

// Labels are the tags as a map.
func (r *Row) Labels() map[string]string {
	if len(r.Tags) == 0 {
		return nil
	}
	labels := make(map[string]string, len(r.Tags))
	for _, t := range r.Tags {
		labels[t.Name] = allocation.TenantName(t.Value)
	}
	return labels
}

// Text is the text of the n-th of Names.
func (r *Row) Text(custom bool, n int) string { return r.Texts[fieldAt(custom, n)] }

// Set is the rows of a window, sorted by name.
type Set struct {
	Window allocation.Window
	Rows   []Row
	// Unknown are how many lines do not tell each cost, and are 0 in its sums.
	Unknown [billing.NumCosts]int
}

// Read sums lines to a set for each window.
func Read(ctx context.Context, src Source, q Query) ([]Set, error) {
	sets := make([]Set, len(q.Windows))
	for i, w := range q.Windows {
		r := reader{query: &q, set: Set{Window: w}, rows: map[rowKey]*Row{}, known: map[described]*Row{}}
		if err := src.Read(ctx, w, r.add); err != nil {
			return nil, err
		}
		sets[i] = r.finish()
	}
	return sets, nil
}

// described is all that texts and the filter depend on.
type described struct {
	item *billing.Item
	of   reconcile.Asset
}

// rowKey tells rows apart: by the name of their keys, or without keys by all texts.
type rowKey struct {
	name  string
	texts [NumFields]string
}

// reader sums the lines of a window.
type reader struct {
	query *Query
	set   Set
	rows  map[rowKey]*Row
	known map[described]*Row // the row of lines that are described so; nil for none
}

// mostKnown bounds how many items are remembered: lines of one are close together.
const mostKnown = 4096

// noCluster is what lines are of where no cluster is known.
var noCluster = []reconcile.Part{{Asset: reconcile.Asset{Kind: reconcile.Cloud}, Share: 1}}

func (r *reader) add(l *billing.Line) error {
	parts := noCluster
	if r.query.Parts != nil {
		var err error
		if parts, err = r.query.Parts(l); err != nil {
			return err
		}
	}
	selected := false
	for i := range parts {
		row, err := r.find(l, described{l.Item, parts[i].Asset})
		if err != nil {
			return err
		}
		if row != nil {
			row.add(l, &parts[i])
			selected = true
		}
	}
	for c := range l.Costs {
		if selected && !l.Known[c] {
			r.set.Unknown[c]++
		}
	}
	return nil
}

// find returns the row of a part of a line, nil if the part is not selected.
func (r *reader) find(l *billing.Line, of described) (*Row, error) {
	row, ok := r.known[of]
	if ok {
		return row, nil
	}
	row, err := r.rowOf(l, of)
	if err != nil {
		return nil, err
	}
	if len(r.known) >= mostKnown {
		clear(r.known)
	}
	r.known[of] = row
	return row, nil
}

// add adds a part of a line.
func (r *Row) add(l *billing.Line, part *reconcile.Part) {
	for c, cost := range l.Costs {
		cost *= part.Share
		r.Costs[c] += cost
		r.Weights[c] += math.Abs(cost)
		if part.Kind < reconcile.External {
			r.Kubernetes[c] += math.Abs(cost)
		}
	}
	if r.Quantity += l.Quantity * part.Share; r.Texts[UsageUnit] == "" {
		r.Quantity = math.NaN()
	}
}

// rowOf finds or makes the row of a line, nil if the line is not selected.
func (r *reader) rowOf(l *billing.Line, of described) (*Row, error) {
	if r.query.Custom && !isVendor(l.Account.Provider) {
		return nil, nil
	}
	fresh := Row{Tags: l.Tags}
	for f := range fields {
		if value := fields[f].value; value != nil {
			fresh.Texts[f] = allocation.TenantName(value(l))
		}
	}
	fresh.Texts[Category] = category(l, of.of.Kind)
	if r.query.Parts != nil {
		fresh.Texts[Kind], fresh.Texts[Cluster], fresh.Texts[Asset] = of.of.Kind.String(), of.of.Cluster, of.of.Name
	}
	if r.query.Filter != nil && !r.query.Filter(&fresh) {
		return nil, nil
	}
	key := rowKey{texts: fresh.Texts}
	if len(r.query.Keys) > 0 {
		fresh.Name = nameOf(&fresh.Texts, fresh.Tags, r.query.Keys)
		key = rowKey{name: fresh.Name}
	}
	if have := r.rows[key]; have != nil {
		have.describe(&fresh)
		return have, nil
	}
	if r.query.Grow != nil {
		if err := r.query.Grow(); err != nil {
			return nil, err
		}
	}
	r.rows[key] = &fresh
	return &fresh, nil
}

// describe keeps what both rows have in common.
func (r *Row) describe(other *Row) {
	for f, text := range other.Texts {
		if r.Texts[f] != text {
			r.Texts[f] = ""
		}
	}
	r.Tags = common(r.Tags, other.Tags)
}

// common are the tags that both have.
func common(a, b billing.Tags) billing.Tags {
	if slices.Equal(a, b) {
		return a
	}
	var out billing.Tags
	for _, t := range a {
		if i, ok := slices.BinarySearchFunc(b, t, func(x, y billing.Tag) int { return strings.Compare(x.Name, y.Name) }); ok && b[i].Value == t.Value {
			out = append(out, t)
		}
	}
	return out
}

func (r *reader) finish() Set {
	for _, row := range r.rows {
		r.set.Rows = append(r.set.Rows, *row)
	}
	r.set.sort()
	return r.set
}

func (s *Set) sort() {
	slices.SortFunc(s.Rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.Texts[:], b.Texts[:]))
	})
}

// merge adds the sums of another row.
func (r *Row) merge(other *Row) {
	if r.Texts[UsageUnit] != other.Texts[UsageUnit] {
		r.Quantity = math.NaN()
	}
	r.describe(other)
	r.Quantity += other.Quantity
	for c := range r.Costs {
		r.Costs[c] += other.Costs[c]
		r.Weights[c] += other.Weights[c]
		r.Kubernetes[c] += other.Kubernetes[c]
	}
}

// Total is the sum of all rows of a set, ok is false if there is none.
func (s *Set) Total() (sum Row, ok bool) {
	for i := range s.Rows {
		if i == 0 {
			sum = s.Rows[0]
			continue
		}
		sum.merge(&s.Rows[i])
	}
	return sum, len(s.Rows) > 0
}

// isVendor reports whether a provider sells software rather than machines.
func isVendor(provider string) bool {
	name := strings.ToLower(provider)
	return name != "" && !slices.ContainsFunc([]string{
		"aws", "amazon", "azure", "microsoft", "gcp", "google", "oracle", "alibaba", "tencent", "huawei", "ibm", "digitalocean", "hetzner", "ovh", "scaleway", "linode", "akamai",
	}, func(cloud string) bool { return strings.Contains(name, cloud) })
}
