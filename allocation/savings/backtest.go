package savings

import (
	"math"

	"github.com/promcost/promcost/allocation"
)

// Point is how a preset would have done on the days of a window: a request a day from the seven days before. Means are over containers; NaN is unknown.
type Point struct {
	Preset     string
	Slack      float64 // of CPU: the part of what is requested that is not used
	Exceedance float64 // of CPU: the part of the running time in which usage is above the request
	RAMSlack   float64 // of memory: the part of what is requested that is not used at the day's highest usage
	RAMDays    float64 // part of the days on which the highest usage of memory is above the request
	Containers int     // that the point rests on
	Days       int     // of all of them
}

// TrainingDays are the days before a day that a request for it is made from.
const TrainingDays = 7

// Backtest applies presets to the days of a usage that was collected for all of them (Options.For). Floors and rounding are left out, so that formulas are compared:
// of small containers floors decide all. A window of less than eight days has no day to test on.
func Backtest(u *Usage, presets []Preset) []Point {
	points := make([]Point, len(presets))
	for i, p := range presets {
		points[i] = newTester(u, p).point(u)
	}
	return points
}

// tester tests a preset.
type tester struct {
	*estimator
	oldest int // the age of the oldest day that has seven days before it
}

func newTester(u *Usage, p Preset) *tester {
	return &tester{newEstimator(p, u.options), int(u.options.Window.Duration()/day) - TrainingDays - 1}
}

// tested are sums over the tested days of a container.
type tested struct {
	requested, used, above, seconds float64
	ram, ramUsed                    float64
	ramDays, days, cpuDays          int
}

func (t *tester) point(u *Usage) Point {
	p := Point{Preset: t.preset.Name}
	cpus, rams := 0, 0
	for _, x := range u.Containers {
		sums := t.container(x)
		if sums.requested > 0 {
			p.Slack, p.Exceedance = p.Slack+1-sums.used/sums.requested, p.Exceedance+sums.above/sums.seconds
			p.Days, cpus = p.Days+sums.cpuDays, cpus+1
		}
		if sums.ram > 0 {
			p.RAMSlack, p.RAMDays = p.RAMSlack+1-sums.ramUsed/sums.ram, p.RAMDays+float64(sums.ramDays)/float64(sums.days)
			rams++
		}
	}
	p.Containers = cpus
	p.Slack, p.Exceedance = mean(p.Slack, cpus), mean(p.Exceedance, cpus)
	p.RAMSlack, p.RAMDays = mean(p.RAMSlack, rams), mean(p.RAMDays, rams)
	return p
}

// mean is a mean, NaN of nothing.
func mean(sum float64, n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// container tests the preset on each day of a container.
func (t *tester) container(x *Container) (sums tested) {
	for i := range x.days {
		d := &x.days[i]
		if d.age > t.oldest {
			continue
		}
		var training []trainedDay
		for k := i + 1; k < len(x.days) && x.days[k].age <= d.age+TrainingDays; k++ {
			training = append(training, trainedDay{&x.days[k], x.days[k].age - d.age - 1})
		}
		if usage, _, ok := t.usage(training, allocation.CPU); ok {
			sums.addCPU(d, t.preset.Rules[allocation.CPU].Factor*usage)
		}
		if usage, _, ok := t.usage(training, allocation.RAM); ok && usage > 0 && d.most[allocation.RAM] > 0 {
			request := t.preset.Rules[allocation.RAM].Factor * usage
			sums.ram, sums.ramUsed, sums.days = sums.ram+request, sums.ramUsed+min(request, d.most[allocation.RAM]), sums.days+1
			if d.most[allocation.RAM] > request {
				sums.ramDays++
			}
		}
	}
	return sums
}

// addCPU adds a day's usage of CPU against a request.
func (s *tested) addCPU(d *dayUse, request float64) {
	for i := range d.cpu {
		usage := d.cpu[i].usage
		seconds := usage.seconds()
		above, between := usage.above(request, d.cpu[i].most)
		s.requested, s.used = s.requested+request*seconds, s.used+between
		s.above, s.seconds = s.above+above, s.seconds+seconds
	}
	s.cpuDays++
}
