package savings

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// trainedDay is a day that a request is made from, and how many days before the newest of them it counts as.
type trainedDay struct {
	*dayUse
	age int
}

// trained are days, the newest first, as they were.
func trained(days []dayUse) []trainedDay {
	list := make([]trainedDay, len(days))
	for i := range days {
		list[i] = trainedDay{&days[i], days[i].age}
	}
	return list
}

// estimator makes requests of usage by a preset. It has scratch memory and is for one goroutine.
type estimator struct {
	preset    Preset
	blend     *blend
	halfLives []time.Duration // as usage was collected
	covered   float64         // hours that have data
}

func newEstimator(p Preset, o Options) *estimator {
	return &estimator{preset: p, blend: newBlend(), halfLives: o.HalfLives}
}

// usage is the usage that the rule for a resource makes a request of, and what decided it. ok is false without any usage.
func (e *estimator) usage(days []trainedDay, r allocation.Resource) (usage float64, why Why, ok bool) {
	rule := &e.preset.Rules[r]
	switch {
	case rule.Of == Maximum:
		for _, d := range days {
			usage = max(usage, d.most[r])
		}
		return usage, ByMaximum, len(days) > 0
	case rule.Of == Peaks:
		usage, ok = peak(days, r, rule)
		return usage, ByPeaks, ok
	case r != allocation.CPU:
		return 0, NoUsage, false // only of the whole window is there a distribution
	case rule.ByPod:
		usage, ok = e.largestPod(days, rule)
		return usage, ByQuantile, ok
	}
	usage, ok = e.quantile(days, rule)
	if !rule.Weekday {
		return usage, ByQuantile, ok
	}
	for _, d := range days {
		if d.age != weekdayAge {
			continue
		}
		for i := range d.cpu {
			e.blend.add(d.cpu[i].usage, evenly, 1, d.cpu[i].most)
		}
		if then, known := e.blend.take(rule.Quantile); known && then > usage {
			return then, ByWeekday, ok
		}
	}
	return usage, ByQuantile, ok
}

// weekdayAge is the age of the day that has the weekday of the day that follows the newest, which has the age 0.
const weekdayAge = 6

// quantile is a quantile of the usage of all pods.
func (e *estimator) quantile(days []trainedDay, rule *Rule) (usage float64, ok bool) {
	for _, d := range days {
		halfLife, factor := e.weight(rule, d.age)
		for i := range d.cpu {
			e.blend.add(d.cpu[i].usage, halfLife, factor, d.cpu[i].most)
		}
	}
	return e.blend.take(rule.Quantile)
}

// largestPod is the largest of the quantiles of pods.
func (e *estimator) largestPod(days []trainedDay, rule *Rule) (usage float64, ok bool) {
	type podDay struct {
		*podUse
		age int
	}
	var list []podDay
	for _, d := range days {
		for i := range d.cpu {
			list = append(list, podDay{&d.cpu[i], d.age})
		}
	}
	slices.SortStableFunc(list, func(a, b podDay) int { return cmp.Compare(a.pod, b.pod) })
	for i, d := range list {
		halfLife, factor := e.weight(rule, d.age)
		e.blend.add(d.usage, halfLife, factor, d.most)
		if i+1 < len(list) && list[i+1].pod == d.pod {
			continue
		}
		if of, known := e.blend.take(rule.Quantile); known {
			usage, ok = max(usage, of), true
		}
	}
	return usage, ok
}

// weight is how the usage of a day is weighted: by a half-life within it, and by a factor.
func (e *estimator) weight(rule *Rule, age int) (halfLife int, factor float64) {
	if rule.HalfLife == 0 {
		return evenly, 1
	}
	halfLife = slices.Index(e.halfLives, rule.HalfLife)
	if halfLife < 0 {
		panic("BUG: usage was collected without the half-life of preset " + e.preset.Name)
	}
	return halfLife, decay(age, rule.HalfLife)
}

// decay is the weight of a day of an age.
func decay(age int, halfLife time.Duration) float64 {
	return math.Exp2(-float64(age) * day.Hours() / halfLife.Hours())
}

// peak is a quantile of the highest usage of each day.
func peak(days []trainedDay, r allocation.Resource, rule *Rule) (usage float64, ok bool) {
	list, total := slices.Clone(days), 0.0
	weight := func(d *trainedDay) float64 {
		if rule.HalfLife == 0 {
			return 1
		}
		return decay(d.age, rule.HalfLife)
	}
	slices.SortFunc(list, func(a, b trainedDay) int { return cmp.Compare(a.most[r], b.most[r]) })
	for i := range list {
		total += weight(&list[i])
	}
	sum := 0.0
	for i := range list {
		usage, ok = list[i].most[r], true
		if sum += weight(&list[i]); sum >= rule.Quantile*total {
			break
		}
	}
	return usage, ok
}

// Bounds come from so many draws of whole days, which are the same for each container and in each answer.
const (
	bootstraps    = 200
	bootstrapSeed = 20
)

// bounds are the 10th and 90th percentile of the CPU request that other days would have led to, NaN of fewer than two days.
func (e *estimator) bounds(x *Container) (low, high float64) {
	if len(x.days) < leastSureDays {
		return math.NaN(), math.NaN()
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, bootstrapSeed))
	days := trained(x.days)
	list := make([]float64, bootstraps)
	for i := range list {
		for k := range days {
			days[k].dayUse = &x.days[random.IntN(len(x.days))]
		}
		usage, why, _ := e.usage(days, allocation.CPU)
		list[i], _ = e.preset.Rules[allocation.CPU].request(usage, why, allocation.CPU, x)
	}
	slices.Sort(list)
	return list[bootstraps/10-1], list[bootstraps*9/10-1]
}
