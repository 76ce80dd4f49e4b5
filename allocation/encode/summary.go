package encode

import (
	"io"
	"math"
	"strconv"
	"time"

	"github.com/promcost/promcost/allocation"
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

// summaryField is one of summaryFields, ready to be written.
type summaryField struct {
	key         string // with comma, quotes and colon
	value, more func(*allocation.Set, int) float64
	money       bool
}

// summarizer appends summaries; it holds what is the same for all.
type summarizer struct {
	options *Options
	fields  []summaryField
}

func newSummarizer(o *Options) *summarizer {
	known := map[string]allocation.Field{}
	for _, f := range allocation.Fields() {
		known[f.Name] = f
	}
	s := &summarizer{options: o}
	for _, f := range summaryFields {
		s.fields = append(s.fields, summaryField{
			key: `,"` + f.name + `":`, value: known[f.name].Value, more: known[f.adjustment].Value, money: known[f.name].Unit == "currency",
		})
	}
	return s
}

// append appends a row's summary.
func (s *summarizer) append(b []byte, set *allocation.Set, name string, row int, rate float64) []byte {
	b = appendString(append(b, `{"name":`...), name)
	b = appendTime(append(b, `,"start":`...), set.Start(row))
	b = appendTime(append(b, `,"end":`...), set.End(row))
	for i := range s.fields {
		f := &s.fields[i]
		v := f.value(set, row)
		if f.more != nil {
			v += f.more(set, row)
		}
		if f.money {
			v *= rate
		}
		b = appendNumber(append(b, f.key...), v)
	}
	return append(b, '}')
}

// Summary writes the costs of sets as Kubecost and OpenCost sum them up: an object with the step between the sets in
// nanoseconds, the window of all of them, and the sets. Costs contain their adjustments.
func Summary(w io.Writer, sets []*allocation.Set, step time.Duration, o Options) error {
	s := newStream(w)
	s.b = strconv.AppendInt(append(s.b, `{"code":200,"status":"success","data":{"step":`...), step.Nanoseconds(), 10)
	s.b = appendWindow(append(s.b, `,"window":`...), span(sets), o.location())
	s.b = append(s.b, `,"sets":[`...)
	rows := newSummarizer(&o)
	for i, set := range sets {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = appendWindow(append(s.b, `{"window":`...), set.Window, o.location())
		s.b = append(s.b, `,"allocations":{`...)
		rate := o.rate(set.Window)
		for j, r := range o.rows(set) {
			if j > 0 {
				s.b = append(s.b, ',')
			}
			s.b = append(appendString(s.b, r.name), ':')
			from := len(s.b)
			s.b = o.keep(rows.append(s.b, set, r.name, r.row, rate), from)
			s.checkpoint()
		}
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

// Topline writes the total of a set as Kubecost sends it, and of how many rows it is the total.
func Topline(w io.Writer, set *allocation.Set, o Options) error {
	s := newStream(w)
	s.b = strconv.AppendInt(append(s.b, `{"code":200,"status":"success","data":{"numResults":`...), int64(set.Len()), 10)
	s.b = append(s.b, `,"combined":{"allocations":{`...)
	if total := set.Total(); total.Len() > 0 {
		s.b = append(s.b, `"total":`...)
		from := len(s.b)
		s.b = o.keep(newSummarizer(&o).append(s.b, total, "total", 0, o.rate(set.Window)), from)
	}
	s.b = appendWindow(append(s.b, `},"window":`...), set.Window, o.location())
	s.b = o.end(append(s.b, "}}"...), []*allocation.Set{set})
	return s.close()
}

// AssetTopline writes the total of sets of assets as Kubecost sends it.
func AssetTopline(w io.Writer, set *allocation.AssetSet, o Options) error {
	s := newStream(w)
	cost, adjustment := set.TotalCost()
	s.b = appendNumber(append(s.b, `{"code":200,"status":"success","data":{"totalCost":`...), cost)
	s.b = appendNumber(append(s.b, `,"adjustment":`...), adjustment)
	s.b = strconv.AppendInt(append(s.b, `,"numResults":`...), int64(len(set.Assets)), 10)
	s.b = o.endAssets(append(s.b, '}'), []*allocation.AssetSet{set})
	return s.close()
}

// Trend is what a row cost in a window and in the one before.
type Trend struct {
	Name              string
	Current, Previous float64 // total costs
}

// Trends writes how costs changed as Kubecost sends it: current/previous − 1, with no number where there was no cost before.
// It is of the window w; sets are what warnings are taken of.
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
	s.b = o.end(append(s.b, "}]}"...), sets)
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
