package encode

import (
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

// summaryFields are the numbers of a summary, in the order they are sent, and the adjustments that they contain.
var summaryFields = []struct{ name, adjustment string }{
	{name: "cpuCoreRequestAverage"},
	{name: "cpuCoreUsageAverage"},
	{name: "cpuCoreLimitAverage"},
	{"cpuCost", "cpuCostAdjustment"},
	{name: "cpuCostIdle"},
	{name: "gpuRequestAverage"},
	{name: "gpuUsageAverage"},
	{"gpuCost", "gpuCostAdjustment"},
	{name: "gpuCostIdle"},
	{"networkCost", "networkCostAdjustment"},
	{"loadBalancerCost", "loadBalancerCostAdjustment"},
	{"pvCost", "pvCostAdjustment"},
	{name: "ramByteRequestAverage"},
	{name: "ramByteUsageAverage"},
	{name: "ramByteLimitAverage"},
	{"ramCost", "ramCostAdjustment"},
	{name: "ramCostIdle"},
	{name: "sharedCost"},
	{name: "externalCost"},
	{name: "totalEfficiency"},
	{name: "totalCost"},
}

// summaryNumbers are summaryFields, ready to be written.
func summaryNumbers(o *Options) []numeric {
	known := map[string]fields.Field{}
	for _, f := range fields.All() {
		known[f.Name] = f
	}
	numbers := make([]numeric, len(summaryFields))
	for i, f := range summaryFields {
		parts := []fields.Field{known[f.name]}
		if f.adjustment != "" {
			parts = append(parts, known[f.adjustment])
		}
		numbers[i] = newNumeric(o, parts...)
	}
	return numbers
}

// summarizer appends summaries of rows of one set.
type summarizer struct {
	options *Options
	rate    float64 // what costs are multiplied by
	numbers []numeric
	rest    string
	blocks  *sync.Pool // of *block
	set     *allocation.Set
	rows    []namedRow
}

func newSummarizer(o *Options, rate float64, all []numeric, blocks *sync.Pool, set *allocation.Set, rows []namedRow) *summarizer {
	numbers, rest := nonZero(all, set)
	return &summarizer{o, rate, numbers, rest, blocks, set, rows}
}

// append appends the rows from one to before another, with their names.
func (s *summarizer) append(b []byte, from, to int) []byte {
	k := s.blocks.Get().(*block) //nolint:forcetypeassert // of newBlocks
	defer s.blocks.Put(k)
	for at := from; at < to; at += blockRows {
		rows := s.rows[at:min(at+blockRows, to)]
		k.load(s.numbers, s.rest, s.set, rows, s.rate)
		for i, r := range rows {
			if at+i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, r.name), ':')
			from := len(b)
			b = appendString(append(b, `{"name":`...), r.name)
			b = k.start.append(append(b, `,"start":`...), s.set.Start(r.row))
			b = k.end.append(append(b, `,"end":`...), s.set.End(r.row))
			b = s.options.keep(append(k.append(b, i), '}'), from)
		}
	}
	return b
}

// Summary writes the costs of sets as Kubecost and OpenCost sum them up: an object with the step between the sets in
// nanoseconds, the window of all of them, and the sets. Costs contain their adjustments.
func Summary(w io.Writer, sets []*allocation.Set, step time.Duration, o Options) error {
	if err := o.require(SummaryFormat, sets...); err != nil {
		return err
	}
	s := newStream(w)
	s.b = strconv.AppendInt(append(s.b, `{"code":200,"status":"success","data":{"step":`...), step.Nanoseconds(), 10)
	s.b = appendWindow(append(s.b, `,"window":`...), span(sets), o.location())
	s.b = append(s.b, `,"sets":[`...)
	numbers, blocks, covered := summaryNumbers(&o), newBlocks(), joined(stretches(sets))
	for i, set := range sets {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = appendWindow(append(s.b, `{"window":`...), set.Window, o.location())
		s.b = append(s.b, `,"allocations":{`...)
		rows := o.rows(set)
		s.each(len(rows), newSummarizer(&o, o.rate(set.Window, covered), numbers, blocks, set, rows).append)
		s.b = append(s.b, "}}"...)
	}
	s.b = o.end(append(s.b, "]}"...), sets)
	return s.close()
}

// span is the window from the first set's start to the last one's end.
func span(sets []*allocation.Set) allocation.Window {
	if len(sets) == 0 {
		return allocation.Window{}
	}
	return allocation.Window{Start: sets[0].Window.Start, End: sets[len(sets)-1].Window.End}
}

// Topline writes the total of a set as Kubecost sends it, and the number of rows in it.
func Topline(w io.Writer, set *allocation.Set, o Options) error {
	if err := o.require(SummaryFormat, set); err != nil {
		return err
	}
	s := newStream(w)
	s.b = strconv.AppendInt(append(s.b, `{"code":200,"status":"success","data":{"numResults":`...), int64(set.Len()), 10)
	s.b = append(s.b, `,"combined":{"allocations":{`...)
	if total := passes.Total(set); total.Len() > 0 {
		rows := newSummarizer(&o, o.rate(set.Window, set.Covered), summaryNumbers(&o), newBlocks(), total, []namedRow{{name: "total"}})
		s.b = rows.append(s.b, 0, 1)
	}
	s.b = appendWindow(append(s.b, `},"window":`...), set.Window, o.location())
	s.b = o.end(append(s.b, "}}"...), []*allocation.Set{set})
	return s.close()
}

// AssetTopline writes the total of sets of assets as Kubecost sends it.
func AssetTopline(w io.Writer, set *assets.Set, o Options) error {
	s := newStream(w)
	cost, adjustment := set.TotalCost()
	s.b = appendNumber(append(s.b, `{"code":200,"status":"success","data":{"totalCost":`...), cost)
	s.b = appendNumber(append(s.b, `,"adjustment":`...), adjustment)
	s.b = strconv.AppendInt(append(s.b, `,"numResults":`...), int64(len(set.Assets)), 10)
	s.b = o.endAssets(append(s.b, '}'), []*assets.Set{set})
	return s.close()
}

// Trend is what a row cost in a window and in the one before.
type Trend struct {
	Name              string
	Current, Previous float64 // total costs of an hour that has data; both 0 if that cannot be compared
}

// Trends writes how costs changed as Kubecost sends it: current/previous − 1, no number where there was no cost before. The trends
// are of the window; the sets only give their warnings.
func Trends(w io.Writer, window allocation.Window, trends []Trend, sets []*allocation.Set, o Options) error {
	s := newStream(w)
	s.b = strconv.AppendInt(append(s.b, `{"code":200,"status":"success","data":{"step":`...), window.Duration().Nanoseconds(), 10)
	s.b = append(s.b, `,"sets":[{"allocationTrends":`...)
	for i, t := range trends {
		s.b = appendString(append(s.b, opening(i)), t.Name)
		change := t.Current/t.Previous - 1
		infinite, none := math.IsInf(change, 0), math.IsNaN(change)
		if infinite || none {
			change = 0
		}
		s.b = strconv.AppendBool(append(s.b, `:{"trends":{"costs":{"totalCost":{"relativeChange":{"isInfinite":`...), infinite)
		s.b = strconv.AppendBool(append(s.b, `,"isNaN":`...), none)
		s.b = append(appendNumber(append(s.b, `,"value":`...), change), "}}}}}"...)
	}
	if len(trends) == 0 {
		s.b = append(s.b, '{')
	}
	s.b = appendWindow(append(s.b, `},"window":`...), window, o.location())
	s.b = o.finish(append(s.b, "}]}"...), o.sorted(o.setWarnings(sets)), stretches(sets[max(0, len(sets)-1):]))
	return s.close()
}

// Values writes a list of texts as OpenCost answers a search for values.
func Values(w io.Writer, values []string, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":{"data":[`...)
	for i, v := range values {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = appendString(s.b, v)
	}
	s.b = appendWarnings(append(s.b, "]}"...), o.Warnings)
	return s.close()
}
