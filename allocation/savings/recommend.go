package savings

import (
	"cmp"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
)

// Why is what decided a recommendation, in a word of the API.
type Why string

// What decides a recommendation. There is none for the first four.
const (
	Autoscaled Why = "hpa"       // a HorizontalPodAutoscaler follows the resource
	TooShort   Why = "short"     // it ran for less than an hour
	NoUsage    Why = "unknown"   // no usage is known
	Grows      Why = "grows"     // it would be above today's request, and only smaller ones are wanted
	ByQuantile Why = "quantile"  // of usage
	ByWeekday  Why = "weekday"   // the same quantile, of the same weekday a week before
	ByMaximum  Why = "maximum"   // of usage
	ByPeaks    Why = "peaks"     // a quantile of the highest usage of each day
	ByKill     Why = "oom"       // usage at which it was killed for lack of memory
	ByThrottle Why = "throttled" // it waits for CPU as it is: today's request
	ByFloor    Why = "floor"     // the smallest request that is recommended
)

// Sized is a recommended request. Amounts are in cores or bytes; NaN is unknown.
type Sized struct {
	Request    float64
	Why        Why
	Low, High  float64 // of CPU: the 10th and 90th percentile over bootstraps of whole days
	Exceedance float64 // part of the running time, 0 to 1, in which usage was above Request
	Today      float64 // the same of today's request
	Saving     float64 // in currency a month; below 0 it would cost more
}

// Known reports whether there is a recommendation.
func (s *Sized) Known() bool { return !math.IsNaN(s.Request) }

// Recommendation is what a container should request.
type Recommendation struct {
	*Container
	CPU, RAM      Sized
	MemoryLimit   float64 // bytes; NaN where no memory is recommended
	HighestDays   []float64
	LowConfidence bool // it rests on less than 24 h, or on fewer than two days
	Days          int  // on which usage is known
}

// Saving returns what following the recommendation saves a month, in currency, and what it costs more where a request is below what is needed.
// Resources without a recommendation count as neither.
func (r *Recommendation) Saving() (saving, risk float64) {
	for _, x := range [...]*Sized{&r.CPU, &r.RAM} {
		if x.Known() {
			saving, risk = saving+max(0, x.Saving), risk+max(0, -x.Saving)
		}
	}
	return saving, risk
}

// smaller leaves out of a list, in place, what would raise a request, and containers with nothing else.
func smaller(list []Recommendation) []Recommendation {
	for i := range list {
		r := &list[i]
		for resource, sized := range [...]*Sized{allocation.CPU: &r.CPU, allocation.RAM: &r.RAM} {
			if sized.Known() && sized.Request > r.Request[resource] {
				nan := math.NaN()
				*sized = Sized{Request: nan, Why: Grows, Low: nan, High: nan, Exceedance: nan, Today: sized.Today, Saving: nan}
			}
		}
		if !r.RAM.Known() {
			r.MemoryLimit = math.NaN()
		}
	}
	return slices.DeleteFunc(list, func(r Recommendation) bool { return !r.CPU.Known() && !r.RAM.Known() })
}

// What recommendations rest on at least.
const (
	leastHours    = 1
	leastSure     = 24 // hours
	leastSureDays = 2
	mostThrottled = 0.05
	mostWaiting   = 0.10
	shownDays     = 2
)

// Recommend returns what the containers of a usage should request by a preset, in their order. covered is for how many hours there are data, which rates a month are
// divided by.
func Recommend(u *Usage, p Preset, covered float64) []Recommendation {
	e := newEstimator(p, u.options)
	e.covered = covered
	out := make([]Recommendation, len(u.Containers))
	for i, x := range u.Containers {
		out[i] = e.recommend(x)
	}
	if p.Smaller {
		return smaller(out)
	}
	return out
}

func (e *estimator) recommend(x *Container) Recommendation {
	out := Recommendation{Container: x, Days: len(x.days), MemoryLimit: math.NaN()}
	out.LowConfidence = x.KnownHours[allocation.CPU] < leastSure || len(x.days) < leastSureDays
	out.CPU, out.RAM = e.size(x, allocation.CPU), e.size(x, allocation.RAM)
	if out.RAM.Known() {
		out.MemoryLimit = max(out.RAM.Request, x.Limit[allocation.RAM])
	}
	for i := range x.days {
		out.HighestDays = append(out.HighestDays, x.days[i].most[allocation.RAM])
	}
	slices.SortFunc(out.HighestDays, func(a, b float64) int { return cmp.Compare(b, a) })
	out.HighestDays = out.HighestDays[:min(shownDays, len(out.HighestDays))]
	return out
}

// size recommends a request for a resource.
func (e *estimator) size(x *Container, r allocation.Resource) Sized {
	nan := math.NaN()
	out := Sized{Request: nan, Low: nan, High: nan, Exceedance: nan, Today: nan, Saving: nan}
	seconds := x.whole[r].seconds()
	if seconds > 0 {
		above, _ := x.whole[r].above(x.Request[r], x.UsageMax[r])
		out.Today = above / seconds
	}
	switch {
	case e.preset.Ours && x.Signals.Scaled[r]:
		out.Why = Autoscaled
		return out
	case seconds == 0:
		out.Why = NoUsage
		return out
	case seconds < leastHours*3600:
		out.Why = TooShort
		return out
	}
	rule := &e.preset.Rules[r]
	usage, why, _ := e.usage(trained(x.days), r)
	if r == allocation.RAM && rule.Of == Quantile {
		e.blend.add(x.whole[r], evenly, 1, x.UsageMax[r])
		usage, _ = e.blend.take(rule.Quantile)
	}
	out.Request, out.Why = rule.request(usage, why, r, x)
	if r == allocation.CPU {
		if held := rounded(x.Request[r], r); e.preset.Ours && held > out.Request && (x.Signals.Throttled > mostThrottled || x.Signals.Waiting > mostWaiting) {
			out.Request, out.Why = held, ByThrottle
		}
		out.Low, out.High = e.bounds(x)
	}
	above, _ := x.whole[r].above(out.Request, x.UsageMax[r])
	out.Exceedance = above / seconds
	if e.covered > 0 {
		out.Saving = (x.cost[r] - x.whole[r].cost(out.Request)) / e.covered * coverage.MonthHours
	}
	return out
}

// request makes a request from a usage.
func (rule *Rule) request(usage float64, why Why, r allocation.Resource, x *Container) (float64, Why) {
	if killed := rule.Kill * x.Signals.OOMKilled; r == allocation.RAM && killed > usage {
		usage, why = killed, ByKill
	}
	request := rule.Factor * usage
	if request < rule.Least {
		return tidy(rule.Least), ByFloor
	}
	return rounded(request, r), why
}

// rounded rounds a request up to three digits, and to what Kubernetes can tell apart.
func rounded(request float64, r allocation.Resource) float64 {
	if !(request > 0) {
		return 0
	}
	least := [...]float64{allocation.CPU: 0.001, allocation.RAM: 1}
	unit := max(math.Pow(10, math.Floor(math.Log10(request))-2), least[r])
	const slip = 1e-6 // of computing, and of counters that are large: 0.123 stays 0.123
	return tidy(math.Ceil(request/unit-slip) * unit)
}
