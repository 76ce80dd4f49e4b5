package costapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/allocation/windows"
)

// sizing is what a request for recommended requests asks for.
type sizing struct {
	preset    savings.Preset
	order     sizeOrder
	ascending bool
	paged     bool // a part of the list is asked for
	// distribution asks for how usage was distributed, beside the numbers.
	distribution bool
}

// sizeOrder is the number that recommendations are ordered by.
type sizeOrder func(r *savings.Recommendation) float64

// sizeOrders are Kubecost's names of orders, the default first.
func sizeOrders() []struct {
	name string
	of   sizeOrder
} {
	return []struct {
		name string
		of   sizeOrder
	}{
		{"totalSavings", func(r *savings.Recommendation) float64 { return sizedSaving(&r.CPU) + sizedSaving(&r.RAM) }},
		{"currentEfficiency", func(r *savings.Recommendation) float64 { _, total := r.Efficiency(); return total }},
		{"cpuRecommended", func(r *savings.Recommendation) float64 { return r.CPU.Request }},
		{"cpuLatest", func(r *savings.Recommendation) float64 { return r.Request[allocation.CPU] }},
		{"memoryRecommended", func(r *savings.Recommendation) float64 { return r.RAM.Request }},
		{"memoryLatest", func(r *savings.Recommendation) float64 { return r.Request[allocation.RAM] }},
	}
}

// sizedSaving is what a recommendation saves a month, below 0 what it costs more, 0 without one.
func sizedSaving(s *savings.Sized) float64 {
	if !s.Known() {
		return 0
	}
	return s.Saving
}

// sizingParams are the parameters of endpoints about requests. The preset comes first: the others change it.
func sizingParams() []param {
	const both = kubecostSizes | requestSizes
	const preset = "What recommends: tight, balanced or safe, promcost's own; krr, vpa or kubecost, the formulas of Robusta KRR, the VerticalPodAutoscaler and Kubecost. The other parameters change it."
	presets := strings.Join(savings.PresetNames(), "|")
	statistics := "max|quantile|quantileOfAverages|quantileOfMaxes"
	const statistic = "What of the %s usage a request is made from: max, the highest; quantile or quantileOfAverages, what q%s of the time does not exceed; quantileOfMaxes, that quantile of the days' highest."
	rule := func(r allocation.Resource, parse func(*savings.Rule, string) error) func(*request, string) error {
		return func(q *request, value string) error { return parse(&q.sizing.preset.Rules[r], value) }
	}
	cpu := func(parse func(*savings.Rule, string) error) func(*request, string) error {
		return rule(allocation.CPU, parse)
	}
	ram := func(parse func(*savings.Rule, string) error) func(*request, string) error {
		return rule(allocation.RAM, parse)
	}
	list := []param{
		{"window", nil, "window", all("14d"), both, "What time to look at, in the forms of the other paths.", setText(func(q *request) *string { return &q.timing.window })},
		{"window", nil, "window", all("28d"), backtests, "What time to look at, in the forms of the other paths: days with seven days before them are tested.", setText(func(q *request) *string { return &q.timing.window })},
		{"profile", []string{"algorithm"}, presets, all(savings.KubecostPreset), kubecostSizes, preset, parsePreset},
		{"profile", []string{"algorithm"}, presets, all(savings.DefaultPreset), requestSizes, preset, parsePreset},
		{"algorithmCPU", nil, statistics, defaults{}, both, fmt.Sprintf(statistic, "CPU", "CPU"), cpu(parseStatistic)},
		{"algorithmRAM", nil, statistics, defaults{}, both, fmt.Sprintf(statistic, "memory", "RAM"), ram(parseStatistic)},
		{"qCPU", nil, "number", defaults{}, both, "The quantile of CPU usage, above 0, at most 1.", cpu(parseFraction(func(r *savings.Rule) *float64 { return &r.Quantile }))},
		{"qRAM", nil, "number", defaults{}, both, "The quantile of memory usage, above 0, at most 1.", ram(parseFraction(func(r *savings.Rule) *float64 { return &r.Quantile }))},
		{"targetCPUUtilization", nil, "number", defaults{}, both, "What part of the CPU request should be used: usage is divided by it. Kubecost's is 0.7.", cpu(parseTarget)},
		{"targetRAMUtilization", nil, "number", defaults{}, both, "What part of the memory request should be used: usage is divided by it. Kubecost's is 0.7.", ram(parseTarget)},
		{"minRecCPUMillicores", nil, "number", defaults{}, both, "The smallest CPU request that is recommended, in thousandths of a core.", cpu(parseLeast(0.001))},
		{"minRecRAMBytes", nil, "number", defaults{}, both, "The smallest memory request that is recommended, in bytes.", ram(parseLeast(1))},
		{"halfLife", nil, "duration", defaults{}, requestSizes, "How old CPU usage is when it weighs half.", cpu(parseHalfLife)},
		{"margin", nil, "number", defaults{}, requestSizes, "What CPU usage is multiplied by, such as 1.05.", cpu(parseMargin(0))},
		{"memoryMargin", nil, "number", defaults{}, requestSizes, "What is added to memory usage, as a part of it, such as 0.15.", ram(parseMargin(1))},
		{"sortBy", nil, "totalSavings|currentEfficiency|cpuRecommended|cpuLatest|memoryRecommended|memoryLatest", all("totalSavings"), both, "What recommendations are ordered by.", parseSizeOrder},
		{"sortByOrder", nil, "descending|ascending", all("descending"), both, "In which order.", func(q *request, value string) error {
			q.sizing.ascending = value == "ascending"
			return oneOf(value, "descending", "ascending")
		}},
		{"offset", nil, "number", all("0"), both, "Recommendations left out. Kubecost's path answers with Recommendations, Count and TotalMonthlySavings where offset or limit is given, else with the list alone.", parseCount(func(q *request) *int { return &q.output.page.Offset })},
		{"limit", nil, "number", all("0"), both, "Most recommendations; 0 for all. Totals are of all.", parseCount(func(q *request) *int { return &q.output.page.Limit })},
		{"distribution", nil, "boolean", all("false"), requestSizes, "Add to each resource of a container, as distribution, for which parts of the time usage was how high: at most 24 bars, ends of which are levels in cores or bytes.", setBool(func(q *request) *bool { return &q.sizing.distribution })},
		{"format", nil, "kubecost|json", all("kubecost"), kubecostSizes, "kubecost is the answer alone, as Kubecost sends it; json has it as data beside warnings and hours, as jmespath does.", setWord(func(q *request) *string { return &q.output.format }, "kubecost", "json")},
		{"only", nil, "all|smaller", all("all"), requestSizes, "smaller leaves out what would raise a request, whose why is then grows, and containers for which nothing is left. Totals are of the rest.", func(q *request, value string) error {
			q.sizing.preset.Smaller = value == "smaller"
			return oneOf(value, "all", "smaller")
		}},
		{"format", nil, "json", all("json"), requestSizes | backtests, "Format of the answer.", setWord(func(q *request) *string { return &q.output.format }, "json")},
	}
	return append(list, param{name: "includeLabelsAndAnnotations", on: kubecostSizes, help: "Accepted and ignored."})
}

func parsePreset(q *request, value string) (err error) {
	q.sizing.preset, err = savings.PresetNamed(value)
	return err
}

// defaultQuantile is the quantile where one is asked for and none is given.
const defaultQuantile = 0.95

func parseStatistic(r *savings.Rule, value string) error {
	switch value {
	case "max":
		r.Of = savings.Maximum
		return nil
	case "quantile", "quantileOfAverages":
		r.Of = savings.Quantile
	case "quantileOfMaxes":
		r.Of = savings.Peaks
	default:
		return oneOf(value, "max", "quantile", "quantileOfAverages", "quantileOfMaxes")
	}
	if r.Quantile == 0 {
		r.Quantile = defaultQuantile
	}
	return nil
}

// fraction reads a number above 0, at most 1.
func fraction(value string) (float64, error) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v > 0 && v <= 1) {
		return 0, errors.New("must be a number above 0, at most 1: give one such as 0.95")
	}
	return v, nil
}

// parseFraction sets a field to a fraction.
func parseFraction(field func(*savings.Rule) *float64) func(*savings.Rule, string) error {
	return func(r *savings.Rule, value string) (err error) {
		*field(r), err = fraction(value)
		return err
	}
}

func parseTarget(r *savings.Rule, value string) error {
	v, err := fraction(value)
	r.Factor = 1 / v
	return err
}

// parseLeast sets the smallest request, given in a unit.
func parseLeast(unit float64) func(*savings.Rule, string) error {
	const most = 1e15
	return func(r *savings.Rule, value string) error {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v <= most) {
			return errors.New("must be a number from 0 to 1e15: give one such as 10 for thousandths of a core, or 20971520 for bytes")
		}
		r.Least = v * unit
		return nil
	}
}

// parseMargin sets the factor to a number, to which base is added.
func parseMargin(base float64) func(*savings.Rule, string) error {
	const most = 10
	return func(r *savings.Rule, value string) error {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v <= most && v+base > 0) {
			return fmt.Errorf("must be a number from 0 to %d: give one such as %.3g", most, 1.05-base+base/10)
		}
		r.Factor = base + v
		return nil
	}
}

func parseHalfLife(r *savings.Rule, value string) error {
	d, err := windows.ParseDuration(value)
	if err != nil {
		return err
	}
	if d < time.Hour || d > 366*24*time.Hour {
		return errors.New("must be from 1h to 366d: give one such as 24h")
	}
	r.HalfLife = d
	return nil
}

func parseSizeOrder(q *request, value string) error {
	var names []string
	for _, o := range sizeOrders() {
		if names = append(names, o.name); o.name == value {
			q.sizing.order = o.of
		}
	}
	return oneOf(value, names...)
}

// finishSizing notes whether a part of the list is asked for, and warns of parameters that the rules do not use.
func (q *request) finishSizing(given func(name string) bool) {
	if q.route.endpoint&(kubecostSizes|requestSizes) == 0 {
		return
	}
	q.sizing.paged = given("offset") || given("limit")
	for r, names := range [...][2]string{allocation.CPU: {"qCPU", "algorithmCPU"}, allocation.RAM: {"qRAM", "algorithmRAM"}} {
		if given(names[0]) && q.sizing.preset.Rules[r].Of == savings.Maximum {
			q.warn("parameter %s has no effect on the maximum: give %s=quantile", names[0], names[1])
		}
	}
	if given("halfLife") && q.sizing.preset.Rules[allocation.CPU].Of == savings.Maximum {
		q.warn("parameter halfLife has no effect on the maximum: give algorithmCPU=quantile")
	}
}

// sizingOptions is what is collected for the request, without where it is drawn from.
func (q *request) sizingOptions() savings.Options {
	o := savings.Options{Filter: q.options.Filter}
	if q.route.endpoint == backtests {
		return o.For(savings.Presets()...)
	}
	if q.route.endpoint == requestSizes {
		o.Owners = q.aliasKeys("team,owner")
	}
	return o.For(q.sizing.preset)
}

// aliasKeys are the keys of aliases, about which there are no warnings, for nobody asked for them.
func (q *request) aliasKeys(names string) []allocation.Key {
	keys, err := allocation.ParseKeys(names, q.api.cfg.Labels)
	if err != nil {
		panic("BUG: aliases: " + err.Error())
	}
	return allocation.KeysAmong(keys, q.selection.labelNames)
}

// sizingNeeds is what is read of hours, for checks all of rows.
func (q *request) sizingNeeds() *allocation.Projection {
	needs := savings.Needs(q.sizingOptions())
	if q.api.cfg.Check {
		all := allocation.Everything()
		all.WithoutAssets = false
		return needs.Union(all)
	}
	return allocation.Union(append(q.searchNeeds(), needs)...)
}

// collect reads the hours of the request.
func (a *api) collect(q *request) (*savings.Usage, []*allocation.Set, error) {
	q.timing.query.Stream = q.timing.query.Stored
	o := q.sizingOptions()
	o.Window, o.Memory = whole(q.timing.windows), q.memory
	if o.Window.End.After(q.now) {
		o.Window.End = q.now
	}
	matches, said := q.newMatches(), &headers{}
	usage, err := savings.Collect(said.of(a.stream(q, matches)), o)
	if err != nil {
		return nil, nil, err
	}
	q.warnUnmatched(matches)
	const warning notices.Notice = "how high usage of {n} {container|containers} ({names}) was for how long is not known: {it|they} {has|have} no recommendation. Hours that are stored with --history.distributions have it"
	if n, names := unknownUsage(usage); n > 0 {
		q.warn("%s", warning.Text(n, names))
	}
	return usage, said.sets, nil
}

// unknownUsage counts the containers whose usage is not known at all, and names some.
func unknownUsage(u *savings.Usage) (n int, names []string) {
	const named = 3
	for _, x := range u.Containers {
		if x.KnownHours[allocation.CPU] > 0 || x.KnownHours[allocation.RAM] > 0 {
			continue
		}
		if n++; n <= named {
			names = append(names, x.Namespace+"/"+x.Controller+"/"+x.Name)
		}
	}
	return n, names
}

// recommend are the recommendations that the request asks for, in its order.
func (a *api) recommend(q *request) ([]savings.Recommendation, []*allocation.Set, error) {
	usage, sets, err := a.collect(q)
	if err != nil {
		return nil, nil, err
	}
	each := int64(recommendationBytes)
	if q.sizing.distribution {
		each += distributionBytes
	}
	if err := q.memory.Draw(int64(len(usage.Containers)) * each); err != nil {
		return nil, nil, err
	}
	c := coverage.Measure(whole(q.timing.windows), usage.Covered, q.now)
	list := savings.Recommend(usage, q.sizing.preset, c.Hours)
	slices.SortStableFunc(list, func(x, y savings.Recommendation) int {
		a, b := q.sizing.order(&x), q.sizing.order(&y)
		switch {
		case a == b || math.IsNaN(a) && math.IsNaN(b):
			return 0
		case math.IsNaN(b), a > b == !q.sizing.ascending && !math.IsNaN(a):
			return -1
		}
		return 1
	})
	return list, sets, nil
}

// What a recommendation, and the distributions of its usage take, with their text in the answer, about.
const (
	recommendationBytes = 2048
	distributionBytes   = 2048
)

// page is the part of a list that the request asks for.
func page[T any](q *request, list []T) []T {
	p := q.output.page
	list = list[min(p.Offset, len(list)):]
	if p.Limit > 0 {
		list = list[:min(p.Limit, len(list))]
	}
	return list
}

// serveBacktest answers with how presets would have done.
func (a *api) serveBacktest(w http.ResponseWriter, q *request) error {
	usage, sets, err := a.collect(q)
	if err != nil {
		return err
	}
	points := savings.Backtest(usage, savings.Presets())
	if hours := whole(q.timing.windows).Duration().Hours(); hours < (savings.TrainingDays+1)*dayHours {
		q.warn("the window has no day with %d days before it: nothing is tested; give one of at least %d days", savings.TrainingDays, savings.TrainingDays+1)
	}
	out := backtest{TrainingDays: savings.TrainingDays, Points: make([]backtestPoint, len(points))}
	for i, p := range points {
		out.Points[i] = backtestPoint{p.Preset, known(p.Slack), known(p.Exceedance), known(p.RAMSlack), known(p.RAMDays), p.Containers, p.Days}
	}
	return q.writeAnswer(w, out, sets)
}

// backtest is the answer of a back-test.
type backtest struct {
	TrainingDays int             `json:"trainingDays"` // before each day that is tested
	Points       []backtestPoint `json:"points"`
}

// backtestPoint is how a preset would have done; null is unknown.
type backtestPoint struct {
	Profile            string   `json:"profile"`
	Slack              *float64 `json:"slack"`
	Exceedance         *float64 `json:"exceedance"`
	MemorySlack        *float64 `json:"memorySlack"`
	MemoryDaysExceeded *float64 `json:"memoryDaysExceeded"`
	Containers         int      `json:"containers"`
	Days               int      `json:"days"`
}
