package encode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/notices"
)

// Allocations writes the sets as Kubecost and OpenCost send them: an envelope whose data are the sets in order, each a map from
// name to allocation. If there are no sets, it writes one empty set, because clients read the first without checking.
func Allocations(w io.Writer, sets []*allocation.Set, o Options) error {
	if err := o.require(AllocationsFormat, sets...); err != nil {
		return err
	}
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":[`...)
	if len(sets) == 0 {
		s.b = append(s.b, "{}"...)
	}
	e := newEncoder(&o)
	e.covered = joined(stretches(sets))
	for i, set := range sets {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		if err := e.encode(s, set); err != nil {
			return err
		}
	}
	s.b = o.end(append(s.b, ']'), sets)
	return s.close()
}

// Data writes data in an envelope, beside the warnings of sets and the hours that they cover.
func Data(w io.Writer, data any, sets []*allocation.Set, o Options) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	s := newStream(w)
	s.b = append(append(s.b, `{"code":200,"status":"success","data":`...), body...)
	s.b = o.finish(s.b, o.AllWarnings(sets), whole(stretches(sets)))
	return s.close()
}

// Error writes the envelope of an error. code is the HTTP status that goes with it, message says what is wrong, where,
// and what would be right. The envelope is a Status of Kubernetes, too: kubectl get --raw, by the API's proxy, shows its message.
func Error(w io.Writer, code int, message string) error {
	s := newStream(w)
	s.b = appendNumber(append(s.b, `{"code":`...), float64(code))
	s.b = appendString(append(s.b, `,"data":null,"message":`...), allocation.Brief(message))
	s.b = append(s.b, `,"kind":"Status","apiVersion":"v1","status":"Failure"}`+"\n"...)
	return s.close()
}

// end ends the envelope of an answer made from sets.
func (o *Options) end(b []byte, sets []*allocation.Set) []byte {
	return o.finish(b, o.AllWarnings(sets), stretches(sets))
}

// finish ends the envelope of an answer that has warnings.
func (o *Options) finish(b []byte, warnings []string, of []stretch) []byte {
	b = o.appendCovered(b, of)
	if o.Resolution != "" {
		b = appendString(append(b, `,"resolution":`...), o.Resolution)
	}
	if !o.BilledUntil.IsZero() {
		b = appendString(append(b, `,"billedUntil":`...), o.BilledUntil.In(o.location()).Format(time.RFC3339))
	}
	if !o.EstimatedFrom.IsZero() {
		b = appendString(append(b, `,"estimatedFrom":`...), o.EstimatedFrom.In(o.location()).Format(time.RFC3339))
		b = appendNumber(append(b, `,"estimatedShare":`...), o.EstimatedShare)
	}
	if o.Explain != nil {
		b = append(append(b, `,"explain":`...), o.explain()...)
	}
	return appendWarnings(b, warnings)
}

// appendWarnings ends an envelope, with its warnings and what each is about if there are any. It leaves out the field warning that Kubecost and OpenCost
// have beside data: no public client of theirs reads it.
func appendWarnings(b []byte, warnings []string) []byte {
	if len(warnings) == 0 {
		return append(b, "}\n"...)
	}
	b = append(b, `,"warnings":[`...)
	for i, text := range warnings {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, text)
	}
	b = append(b, `],"warningKinds":[`...)
	for i, text := range warnings {
		if i > 0 {
			b = append(b, ',')
		}
		kind := notices.KindOf(text)
		b = appendString(append(b, `{"kind":`...), kind.Name)
		b = append(appendString(append(b, `,"level":`...), kind.Level.String()), '}')
	}
	return append(b, "]}\n"...)
}

// property is a member of an allocation's properties.
type property struct {
	property allocation.Property
	key      string // with quotes and colon
}

// encoder appends allocations. It holds what all sets share.
type encoder struct {
	options    *Options
	location   *time.Location
	covered    []allocation.Covered // of all sets
	numbers    []numeric
	properties []property
	order      []namedRow // of the set before
	blocks     *sync.Pool // of *block
	writes     struct{ pvs, lbs, gpu, maxima, bounds bool }
	// gpuRequest and gpuUsage are fields that gpuAllocation repeats.
	gpuRequest, gpuUsage func(*allocation.Set, int) float64
}

func newEncoder(o *Options) *encoder {
	e := &encoder{options: o, location: o.location(), blocks: newBlocks()}
	e.writes.pvs, e.writes.lbs, e.writes.gpu = o.writes("pvs"), o.writes("lbAllocations"), o.writes("gpuAllocation")
	e.writes.maxima, e.writes.bounds = o.writes("rawAllocationOnly"), o.writes("errorBounds")
	for _, f := range fields.All() {
		if o.writes(f.Name) {
			e.numbers = append(e.numbers, newNumeric(o, f))
		}
		switch f.Name {
		case "gpuRequestAverage":
			e.gpuRequest = f.Value
		case "gpuUsageAverage":
			e.gpuUsage = f.Value
		}
	}
	for _, f := range fields.OnDemand() {
		if slices.Contains(o.Fields, f.Name) {
			number := newNumeric(o, f)
			number.written = nil // of no client that does not accept null
			e.numbers = append(e.numbers, number)
		}
	}
	for p := range allocation.NumProperties {
		if !isServed(p) || !o.writes("properties") {
			continue
		}
		name := p.String()
		switch p {
		case allocation.Services, allocation.Labels, allocation.Annotations:
			if o.SingularProperties {
				name = strings.TrimSuffix(name, "s")
			}
		default:
		}
		e.properties = append(e.properties, property{p, `"` + name + `":`})
	}
	slices.SortFunc(e.properties, func(a, b property) int { return cmp.Compare(a.key, b.key) })
	return e
}

// setEncoder appends allocations of one set.
type setEncoder struct {
	*encoder
	set     *allocation.Set
	rows    []namedRow
	numbers []numeric // that are not 0
	rest    string
	ids     [][]allocation.ID // of the encoder's properties
	window  []byte
	rate    float64 // what costs are multiplied by
}

// encode appends the map of a set's allocations, by name.
func (e *encoder) encode(s *stream, set *allocation.Set) error {
	e.order = byNameLike(e.order, set)
	of := &setEncoder{
		encoder: e, set: set, rows: e.options.paged(e.order, set),
		window: appendWindow(nil, set.Window, e.location), rate: e.options.rate(set.Window, e.covered),
	}
	of.numbers, of.rest = nonZero(e.numbers, set)
	for _, p := range e.properties {
		ids, err := set.IDs(p.property)
		if err != nil {
			return err
		}
		of.ids = append(of.ids, ids)
	}
	s.b = append(s.b, '{')
	s.each(len(of.rows), of.append)
	s.b = append(s.b, '}')
	return nil
}

// append appends rows[from:to] with their names.
func (e *setEncoder) append(b []byte, from, to int) []byte {
	k := e.blocks.Get().(*block) //nolint:forcetypeassert // of newBlocks
	defer e.blocks.Put(k)
	for at := from; at < to; at += blockRows {
		rows := e.rows[at:min(at+blockRows, to)]
		k.load(e.numbers, e.rest, e.set, rows, e.rate)
		for i, r := range rows {
			if at+i > 0 {
				b = append(b, ',')
			}
			from := len(b)
			b = appendString(b, r.name)
			name := len(b) - from
			b = append(append(b, `:{"name":`...), b[from:]...)
			b = e.options.keep(e.allocation(b, r.row, k, i), from+name+1)
		}
	}
	return b
}

// namedRow is a row of a set and its name.
type namedRow struct {
	name string
	row  int
}

// byName are the rows of a set in the order of their names.
func byName(set *allocation.Set) []namedRow { return sortNames(namedRows(set)) }

// byNameLike is byName, but faster if order has the same number of rows and the set's names sort nearly as it does.
func byNameLike(order []namedRow, set *allocation.Set) []namedRow {
	if len(order) != set.Len() {
		return byName(set)
	}
	rows := make([]namedRow, len(order))
	for i, r := range order {
		rows[i] = namedRow{set.Name(r.row), r.row}
	}
	return sortNames(rows)
}

// sortNames sorts rows by name.
func sortNames(rows []namedRow) []namedRow {
	slices.SortFunc(rows, func(a, b namedRow) int {
		if order := strings.Compare(a.name, b.name); order != 0 {
			return order
		}
		return cmp.Compare(a.row, b.row)
	})
	return rows
}

// namedRows are the rows of a set in its order.
func namedRows(set *allocation.Set) []namedRow {
	rows := make([]namedRow, set.Len())
	for i := range rows {
		rows[i] = namedRow{set.Name(i), i}
	}
	return rows
}

// appendWindow appends a window in the time zone of the answer.
func appendWindow(b []byte, w allocation.Window, in *time.Location) []byte {
	b = appendTime(append(b, `{"start":`...), w.Start.In(in))
	b = appendTime(append(b, `,"end":`...), w.End.In(in))
	return append(b, '}')
}

// allocation appends the members of a row that follow its name. The row is the i-th of block k.
func (e *setEncoder) allocation(b []byte, row int, k *block, i int) []byte {
	set := e.set
	b = e.appendProperties(append(b, `,"properties":{`...), k, row)
	b = append(append(b, `},"window":`...), e.window...)
	b = k.start.append(append(b, `,"start":`...), set.Start(row))
	b = k.end.append(append(b, `,"end":`...), set.End(row))
	b = k.append(b, i)
	if e.writes.pvs {
		b = e.appendVolumes(append(b, `,"pvs":`...), set, row)
	}
	if e.writes.lbs {
		b = e.appendBalancers(append(b, `,"lbAllocations":`...), set, row)
	}
	if e.writes.gpu {
		b = e.appendGPU(append(b, `,"gpuAllocation":`...), set, row)
	}
	b = appendProportions(e.appendShared(b, set, row), set, row)
	if e.writes.maxima {
		b = e.options.appendMaxima(append(b, `,"rawAllocationOnly":`...), set, row)
	}
	if e.writes.bounds {
		b = k.appendBounds(append(b, `,"errorBounds":`...), set, row)
	}
	return append(b, '}')
}

// appendMaxima appends the largest usages of a container. Of several containers a maximum would mean nothing: null.
func (o *Options) appendMaxima(b []byte, set *allocation.Set, row int) []byte {
	if set.Several(row) || set.Special(row) != allocation.Workload {
		return append(b, "null"...)
	}
	most := func(r allocation.Resource) float64 {
		if !fields.UsageKnown(set, r, row) {
			return o.written(math.NaN())
		}
		return set.Value(allocation.UsageMax.Of(r), row)
	}
	b = appendNumber(append(b, `{"cpuCoreUsageMax":`...), most(allocation.CPU))
	b = appendNumber(append(b, `,"ramByteUsageMax":`...), most(allocation.RAM))
	b = appendNumber(append(b, `,"gpuUsageMax":`...), most(allocation.GPU))
	return append(b, '}')
}

// appendBounds appends the error bounds of a row, null where nothing was counted.
func (k *block) appendBounds(b []byte, set *allocation.Set, row int) []byte {
	lower, upper, ok := fields.ErrorBounds(set, row)
	if !ok {
		return append(b, "null"...)
	}
	b = k.lower.append(append(b, `{"lower":`...), lower)
	b = append(b, `,"upper":`...)
	if math.IsNaN(upper) {
		b = append(b, "null"...)
	} else {
		b = k.upper.append(b, upper)
	}
	return append(b, '}')
}

// appendProperties appends the members of a row's properties that are not empty.
func (e *setEncoder) appendProperties(b []byte, k *block, row int) []byte {
	for len(k.phrases) < len(e.properties) {
		k.phrases = append(k.phrases, phrase{})
	}
	from, dict := len(b), e.set.Dict()
	for i := range e.properties {
		p := &e.properties[i]
		id := e.ids[i][row]
		if id == 0 {
			continue
		}
		if len(b) > from {
			b = append(b, ',')
		}
		m := &k.phrases[i]
		if m.id != id || m.dict != dict {
			m.id, m.dict, m.text = id, dict, p.append(m.text[:0], dict, id)
		}
		b = append(b, m.text...)
	}
	return b
}

// append appends the member of a property.
func (p *property) append(b []byte, dict *allocation.Dict, id allocation.ID) []byte {
	b = append(b, p.key...)
	switch {
	case p.property.IsMap():
		return appendMap(b, dict, id)
	case p.property.IsList():
		return appendList(b, dict, id)
	case p.property == allocation.ProviderID:
		_, text := allocation.ParseProviderID(dict.Text(id))
		return appendString(b, text)
	}
	return appendString(b, dict.Text(id))
}

func appendMap(b []byte, dict *allocation.Dict, id allocation.ID) []byte {
	b = append(b, '{')
	for i, p := range dict.Map(id) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, dict.Text(p.Key)), ':')
		b = appendString(b, dict.Text(p.Value))
	}
	return append(b, '}')
}

func appendList(b []byte, dict *allocation.Dict, id allocation.ID) []byte {
	b = append(b, '[')
	for i, text := range dict.List(id) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, dict.Text(text))
	}
	return append(b, ']')
}
