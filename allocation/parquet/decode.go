package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
)

// Decoded has the decoded columns of a file, to be added to a set. Files can be decoded in parallel. Adding them to a set interns
// their strings, so that must be done one after another.
type Decoded struct {
	rows    int
	frame   allocation.Frame
	texts   [allocation.Services]*leaf
	list    *listLeaf
	maps    [allocation.NumProperties]*mapLeaf
	volumes *structLeaf
	lbs     *structLeaf
	assets  *allocation.Set // has only assets; nil for a file of rows
}

// listLeaf and mapLeaf have lists and maps of strings; ends says where the elements of each row end.
type listLeaf struct {
	*leaf
	ends []int32
}

type mapLeaf struct {
	keys, values *leaf
	ends         []int32
}

// structLeaf has lists of structs: their strings, amounts and booleans, in the order in which they were asked for.
type structLeaf struct {
	ends    []int32
	texts   []*leaf
	numbers []*leaf
	bools   []*leaf
}

// Decode reads the columns of a file that p names. Damaged data is an error that names the column.
func (f *File) Decode(p *allocation.Projection) (d *Decoded, err error) {
	err = f.readers.with(f.owner, func(r *reader) error {
		f.reader = r
		d, err = f.decode(p)
		f.reader = nil
		return err
	})
	return d, err
}

func (f *File) decode(p *allocation.Projection) (*Decoded, error) {
	d := &Decoded{rows: f.Rows}
	d.frame.Read = p
	if f.Footer.Kind == Assets {
		return d, d.readAssets(f, p)
	}
	for _, read := range [...]func(*File, *allocation.Projection) error{d.readKinds, d.readProperties, d.readValues, d.readShares} {
		if err := read(f, p); err != nil {
			return nil, fmt.Errorf("read Parquet file: %w", err)
		}
	}
	return d, nil
}

// text reads a column of strings. It returns nil if the file does not have it, or if all strings are known to be empty.
func (f *File) text(name string) (*leaf, error) {
	c, ok, err := f.column(parquet.ByteArray, name)
	if err != nil || !ok {
		return nil, err
	}
	if u, same := c.uniform(); same && len(u.value) == 0 {
		return nil, nil
	}
	l, err := c.whole(f)
	if err != nil {
		return nil, err
	}
	return l, c.expect(len(l.idx))
}

// numbers reads a column of amounts. It returns nil if the file does not have it, or if all are 0.
func (f *File) numbers(name string, maybe bool) ([]float64, error) {
	column, ok, err := f.column(parquet.Double, name)
	if err != nil || !ok || f.isZero(&column) {
		return nil, err
	}
	l := &leaf{}
	if err := column.read(f.reader, &f.budget, l, everyRow); err != nil {
		return nil, err
	}
	values := l.numbers
	if maybe {
		if values, err = l.optionals(); err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return values, column.expect(len(values))
}

// times reads a column of instants, which every file has.
func (f *File) times(name string) ([]int64, error) {
	c, ok, err := f.column(parquet.Int64, name)
	if err != nil {
		return nil, err
	}
	if u, same := c.uniform(); ok && same && !u.none {
		return slices.Repeat([]int64{int64(u.bits())}, f.Rows), nil
	}
	l := f.reader.leaves[0].reset()
	l.ints = nil // the result keeps its ints; only the levels are scratch
	if ok {
		err = c.read(f.reader, &f.budget, l, everyRow)
	}
	times := l.ints
	l.ints = nil
	if err != nil {
		return nil, err
	}
	if !ok || len(times) != f.Rows {
		return nil, fmt.Errorf("column %s: it has not as many values as there are rows", name)
	}
	return times, nil
}

// readKinds reads the columns that every file of rows has: kinds and times.
func (d *Decoded) readKinds(f *File, _ *allocation.Projection) (err error) {
	if _, aggregated := f.layout.byPath[nameField]; aggregated {
		return errors.New("its rows were aggregated: they cannot be read back")
	}
	if d.frame.Start, err = f.times(startField); err != nil {
		return err
	}
	if d.frame.End, err = f.times(endField); err != nil {
		return err
	}
	column, ok, err := f.column(parquet.ByteArray, kindField)
	if err == nil && !ok {
		err = fmt.Errorf("column %s: there is none", kindField)
	}
	if err != nil {
		return err
	}
	if u, same := column.uniform(); same && !u.none {
		kind, err := kindOf(u.value)
		d.frame.Special = slices.Repeat([]allocation.Special{kind}, f.Rows)
		return err
	}
	l, err := column.readDeferred(f.reader, &f.reader.leaves[0])
	if err == nil {
		err = column.expect(len(l.idx))
	}
	if err != nil {
		return err
	}
	special := make([]allocation.Special, len(l.table.ends))
	for i := range special {
		if special[i], err = kindOf(l.table.text(int32(i))); err != nil {
			return err
		}
	}
	d.frame.Special = make([]allocation.Special, f.Rows)
	for row, i := range l.idx {
		d.frame.Special[row] = special[i]
	}
	return nil
}

// kindOf returns the kind of row with a name.
func kindOf(name []byte) (allocation.Special, error) {
	for kind := range allocation.NumSpecials {
		if kind.Field() == string(name) {
			return kind, nil
		}
	}
	return 0, fmt.Errorf("column %s: %q is not known", kindField, name)
}

func (d *Decoded) readProperties(f *File, p *allocation.Projection) (err error) {
	for x := range allocation.NumProperties {
		want := wantsProperty(p, x)
		switch {
		case want == unwanted:
		case want == wantedDeferred:
			d.frame.Deferred[x], err = f.deferred(x)
		case x.IsMap():
			d.maps[x], err = f.mapOf(x.Field())
		case x.IsList():
			d.list, err = f.listOf(x.Field())
		case x == allocation.PodUID:
			d.texts[x], err = f.uids()
		default:
			d.texts[x], err = f.text(x.Field())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *File) listOf(name string) (*listLeaf, error) {
	if none, err := f.isEmpty(name, "list", "element"); err != nil || none {
		return nil, err
	}
	l, ok, err := f.leaf(parquet.ByteArray, name, "list", "element")
	if err != nil || !ok {
		return nil, err
	}
	ends, err := l.ends(nil, f.Rows, len(l.idx))
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	return &listLeaf{l, ends}, nil
}

func (f *File) mapOf(name string) (*mapLeaf, error) {
	if none, err := f.isEmpty(name, "key_value", "key"); err != nil || none {
		return nil, err
	}
	keys, ok, err := f.leaf(parquet.ByteArray, name, "key_value", "key")
	if err != nil || !ok {
		return nil, err
	}
	values, ok, err := f.leaf(parquet.ByteArray, name, "key_value", "value")
	if err != nil {
		return nil, err
	}
	ends, err := keys.ends(nil, f.Rows, len(keys.idx))
	if err == nil && (!ok || len(values.idx) != len(keys.idx)) {
		err = errors.New("its keys and values do not match")
	}
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	return &mapLeaf{keys, values, ends}, nil
}

func (d *Decoded) readValues(f *File, p *allocation.Projection) error {
	for c := range allocation.NumColumns {
		if p != nil && !slices.Contains(p.Columns, c) {
			continue
		}
		var err error
		if d.frame.Values[c], err = f.values(c); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoded) readShares(f *File, p *allocation.Projection) (err error) {
	if p == nil || p.Volumes {
		if d.volumes, err = f.structs(volumesField, []string{"key", "provider_id"}, []string{"byte_hours", "cost", "cost_adjustment"}, nil); err != nil {
			return err
		}
	}
	if p == nil || p.Balancers {
		if d.lbs, err = f.structs(balancersField, []string{"key", "service", "ip"}, []string{"hours", "cost", "cost_adjustment"}, []string{"private"}); err != nil {
			return err
		}
	}
	if p == nil || p.Levels {
		return d.readLevels(f)
	}
	return nil
}

// readLevels reads how long usage was how high. Files of older versions do not have it.
func (d *Decoded) readLevels(f *File) error {
	for _, r := range allocation.LevelResources {
		name := r.String() + usageLevels
		of, err := f.structs(name, nil, []string{levelField, timeField}, nil)
		if err != nil {
			return err
		}
		if of == nil {
			continue
		}
		levels := make([]allocation.Level, len(of.numbers[0].numbers))
		for i, upper := range of.numbers[0].numbers {
			millis := math.Round(of.numbers[1].numbers[i] * 1000)
			if !(millis > 0 && millis < math.MaxInt64 && upper >= 0 && upper <= math.MaxFloat64) {
				return fmt.Errorf("column %s: usage of %v for %v s is none", name, upper, of.numbers[1].numbers[i])
			}
			levels[i] = allocation.Level{Bucket: allocation.BucketOf(upper), Millis: int64(millis)}
		}
		d.frame.Levels[r], d.frame.LevelEnds[r] = levels, of.ends
	}
	return nil
}

// structs reads a list of structs. It returns nil if the file does not have it, or if no row has any.
func (f *File) structs(name string, texts, numbers, bools []string) (*structLeaf, error) {
	if len(texts) > 0 {
		if none, err := f.isEmpty(name, "list", "element", texts[0]); err != nil || none {
			return nil, err
		}
	}
	out := &structLeaf{}
	var first *leaf
	for _, of := range [...]struct {
		kind  parquet.Kind
		names []string
		to    *[]*leaf
		n     func(*leaf) int
	}{
		{parquet.ByteArray, texts, &out.texts, func(l *leaf) int { return len(l.idx) }},
		{parquet.Double, numbers, &out.numbers, func(l *leaf) int { return len(l.numbers) }},
		{parquet.Boolean, bools, &out.bools, func(l *leaf) int { return len(l.bools) }},
	} {
		for _, member := range of.names {
			l, ok, err := f.leaf(of.kind, name, "list", "element", member)
			if err != nil || !ok {
				return nil, err
			}
			if n := of.n(l); first == nil {
				out.ends, err = l.ends(nil, f.Rows, n)
				if first = l; n == 0 && err == nil {
					return nil, nil
				}
			} else if n != int(out.ends[len(out.ends)-1]) || !bytes.Equal(l.repetition, first.repetition) || !bytes.Equal(l.definition, first.definition) {
				err = errors.New("its lists are of other lengths than those of the members before")
			}
			if err != nil {
				return nil, fmt.Errorf("column %s.%s: %w", name, member, err)
			}
			*of.to = append(*of.to, l)
		}
	}
	return out, nil
}

// AppendTo adds the decoded rows or assets to a set that no pass has changed.
func (d *Decoded) AppendTo(s *allocation.Set) error {
	if a := d.assets; a != nil {
		s.Nodes, s.Disks, s.Balancers = joined(s.Nodes, a.Nodes), joined(s.Disks, a.Disks), joined(s.Balancers, a.Balancers)
		s.Networks, s.Management, s.Residuals = joined(s.Networks, a.Networks), joined(s.Management, a.Management), joined(s.Residuals, a.Residuals)
		return nil
	}
	if d.frame.Special == nil { // no rows were read
		return nil
	}
	f, dict := d.frame, s.Dict()
	for p, l := range d.texts {
		if l != nil {
			f.IDs[p] = l.intern(dict)
		}
	}
	if d.list != nil {
		f.IDs[allocation.Services] = d.list.internLists(dict)
	}
	for p, m := range d.maps {
		if m != nil {
			f.IDs[p] = m.intern(dict)
		}
	}
	d.volumesOf(&f, dict)
	d.balancersOf(&f, dict)
	return s.AppendFrame(&f)
}

// joined appends b to a. If a is empty it returns b itself.
func joined[T any](a, b []T) []T {
	if len(a) == 0 {
		return slices.Clip(b)
	}
	return append(a, b...)
}

// intern returns the ids of the values of a leaf.
func (l *leaf) intern(dict *allocation.Dict) []allocation.ID {
	table := make([]allocation.ID, len(l.table.ends))
	for i := range table {
		table[i] = dict.AddBytes(l.table.text(int32(i)))
	}
	if len(table) == 1 {
		return slices.Repeat(table, len(l.idx))
	}
	ids := make([]allocation.ID, len(l.idx))
	for i, at := range l.idx {
		ids[i] = table[at]
	}
	return ids
}

// internLists returns the ids of the rows' lists. It looks up equal lists once.
func (l *listLeaf) internLists(dict *allocation.Dict) []allocation.ID {
	return internRows(l.ends, []*leaf{l.leaf}, func(from, to int32) allocation.ID { return l.add(dict, from, to) })
}

// add returns the id of the list of elements [from, to).
func (l *leaf) add(dict *allocation.Dict, from, to int32) allocation.ID {
	list := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, string(l.text(int(i))))
	}
	return dict.AddList(list)
}

// add returns the id of the map of elements [from, to).
func (m *mapLeaf) add(dict *allocation.Dict, from, to int32) allocation.ID {
	pairs := make(map[string]string, to-from)
	for i := from; i < to; i++ {
		pairs[string(m.keys.text(int(i)))] = string(m.values.text(int(i)))
	}
	return dict.AddMap(pairs)
}

// internRows returns an id for each row. Rows have the same id if their elements are the same in all leaves. add makes the id of elements
// [from, to).
func internRows(ends []int32, leaves []*leaf, add func(from, to int32) allocation.ID) []allocation.ID {
	ids, known := make([]allocation.ID, len(ends)), map[string]allocation.ID{}
	var key []byte
	last, from := int32(0), int32(0)
	for row, end := range ends {
		if row > 0 && sameElements(leaves, last, from, end) { // replicas lie side by side
			ids[row], last, from = ids[row-1], from, end
			continue
		}
		key = key[:0]
		for i := from; i < end; i++ {
			for _, l := range leaves {
				key = binary.LittleEndian.AppendUint32(key, uint32(l.idx[i]))
			}
		}
		id, ok := known[string(key)]
		if !ok {
			id = add(from, end)
			known[string(key)] = id
		}
		ids[row], last, from = id, from, end
	}
	return ids
}

// sameElements reports whether the elements [from, next) are stored like the elements [next, end).
func sameElements(leaves []*leaf, from, next, end int32) bool {
	for _, l := range leaves {
		if !slices.Equal(l.idx[from:next], l.idx[next:end]) {
			return false
		}
	}
	return true
}

func (d *Decoded) volumesOf(f *allocation.Frame, dict *allocation.Dict) {
	if d.volumes == nil {
		return
	}
	keys, providers, n := d.volumes.texts[0].intern(dict), d.volumes.texts[1].intern(dict), d.volumes.numbers
	f.VolumeEnds = d.volumes.ends
	for i := range keys {
		f.Volumes = append(f.Volumes, allocation.VolumeShare{
			Key: keys[i], ProviderID: providers[i], ByteHours: n[0].numbers[i], Cost: n[1].numbers[i], Adjustment: n[2].numbers[i],
		})
	}
}

func (d *Decoded) balancersOf(f *allocation.Frame, dict *allocation.Dict) {
	if d.lbs == nil {
		return
	}
	keys, services, ips, n := d.lbs.texts[0].intern(dict), d.lbs.texts[1].intern(dict), d.lbs.texts[2].intern(dict), d.lbs.numbers
	f.BalancerEnds = d.lbs.ends
	for i := range keys {
		f.Balancers = append(f.Balancers, allocation.LoadBalancerShare{
			Key: keys[i], Service: services[i], IP: ips[i], Private: d.lbs.bools[0].bools[i],
			Hours: n[0].numbers[i], Cost: n[1].numbers[i], Adjustment: n[2].numbers[i],
		})
	}
}
