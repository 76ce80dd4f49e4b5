package parquet

import (
	"fmt"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// passedAssets are the columns of assets that passes and bills need (Projection.FewOfAssets), besides their times. They include those
// that identify an asset.
var passedAssets = [...]string{
	"type", "cluster", "namespace", "name", "provider_id", "ip", "local", "storage_class", "cost", "cost_adjustment", "cpu_cost", "cpu_cost_idle", "cpu_cost_adjustment",
	"ram_cost", "ram_cost_idle", "ram_cost_adjustment", "gpu_cost", "gpu_cost_idle", "gpu_cost_adjustment", "created_seconds", "instance_type", "pool", "spot",
	"cross_zone_cost", "cross_region_cost", "internet_cost", "running_seconds", "byte_hours", "load_balancer_hours",
}

// assetReader reads assets. It reads one column after another, and then makes an asset of each row.
type assetReader struct {
	file    *File
	few     bool
	all     assetRow                   // the values that all rows share
	rows    map[string]int             // number of rows by type
	columns []func(r *assetRow, i int) // each sets a row's value of one column
}

// readAssets reads the columns of assets that p names.
func (d *Decoded) readAssets(f *File, p *allocation.Projection) error {
	a := &assetReader{file: f, few: p != nil && p.FewOfAssets, rows: map[string]int{}}
	d.assets = allocation.NewSet(f.Footer.Window, nil)
	for _, read := range [...]func() error{a.texts, a.bools, a.numbers, a.times, a.labels, func() error { return a.addTo(d.assets) }} {
		if err := read(); err != nil {
			return fmt.Errorf("read Parquet file: %w", err)
		}
	}
	return nil
}

func (a *assetReader) wants(name string) bool {
	return !a.few || slices.Contains(passedAssets[:], name)
}

// add adds a column; of says where it is in a row. A value that all rows share is set once, unless it is zero: 0 and -0 are equal.
func add[T comparable](a *assetReader, values []T, get func(*assetRow) *T) {
	var zero T
	switch {
	case len(values) == 0:
		return
	case values[0] != zero && !slices.ContainsFunc(values, func(v T) bool { return v != values[0] }):
		*get(&a.all) = values[0]
		return
	}
	a.columns = append(a.columns, func(r *assetRow, i int) { *get(r) = values[i] })
}

func (a *assetReader) texts() error {
	for _, c := range assetTexts() {
		if !a.wants(c.name) {
			continue
		}
		l, err := a.file.text(c.name)
		if err != nil {
			return err
		}
		if l == nil || len(l.table.data) == 0 {
			continue
		}
		table, values := l.table.strings(), make([]string, len(l.idx))
		for i, k := range l.idx {
			values[i] = table[k]
			if c.name == "type" {
				a.rows[table[k]]++
			}
		}
		add(a, values, c.get)
	}
	return nil
}

func (a *assetReader) bools() error {
	for _, c := range assetBools() {
		if !a.wants(c.name) {
			continue
		}
		l, ok, err := a.file.leaf(parquet.Boolean, c.name)
		if err == nil && ok && len(l.bools) != a.file.Rows {
			err = fmt.Errorf("column %s: it has %d values of %d rows", c.name, len(l.bools), a.file.Rows)
		}
		if err != nil {
			return err
		}
		if ok {
			add(a, l.bools, c.get)
		}
	}
	return nil
}

func (a *assetReader) numbers() error {
	for _, of := range [...]struct {
		fields []field[float64]
		maybe  bool
	}{{assetNumbers(), false}, {assetOptionals(), true}} {
		for _, c := range of.fields {
			if !a.wants(c.name) {
				continue
			}
			values, err := a.file.numbers(c.name, of.maybe)
			if err != nil {
				return err
			}
			add(a, values, c.get)
		}
	}
	return nil
}

func (a *assetReader) times() error {
	for _, c := range [...]field[time.Time]{
		{startField, func(r *assetRow) *time.Time { return &r.start }},
		{endField, func(r *assetRow) *time.Time { return &r.end }},
	} {
		ms, err := a.file.times(c.name)
		if err != nil {
			return err
		}
		times := make([]time.Time, len(ms))
		for i, t := range ms {
			times[i] = time.UnixMilli(t).UTC()
		}
		add(a, times, c.get)
	}
	return nil
}

func (a *assetReader) labels() error {
	if a.few {
		return nil
	}
	labels, err := a.file.mapOf("labels")
	if err != nil || labels == nil {
		return err
	}
	keys, values := labels.keys.table.strings(), labels.values.table.strings()
	a.columns = append(a.columns, func(r *assetRow, i int) {
		from, to := within(labels.ends, i)
		if r.labels = nil; from == to {
			return
		}
		r.labels = make(map[string]string, to-from)
		for k := from; k < to; k++ {
			r.labels[keys[labels.keys.idx[k]]] = values[labels.values.idx[k]]
		}
	})
	return nil
}

// addTo adds the assets to a set.
func (a *assetReader) addTo(s *allocation.Set) error {
	s.Nodes, s.Disks = make([]allocation.Node, 0, a.rows[nodeType]), make([]allocation.Disk, 0, a.rows[diskType])
	r := a.all // each row then sets its own columns
	for i := range a.file.Rows {
		for _, set := range a.columns {
			set(&r, i)
		}
		if err := r.addTo(s); err != nil {
			return err
		}
	}
	return nil
}
