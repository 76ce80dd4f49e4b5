package build

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

const (
	// leastStarts is how many pods of a CronJob are needed to say that it is in step with the grid.
	leastStarts = 3
	// stepSpread says within which part of a cell their starts must then lie: a tenth.
	stepSpread = 10
	// cronMinute is the resolution of cron schedules, in milliseconds.
	cronMinute = 60_000
)

// warnInStep warns about CronJobs whose pods all start at the same offset within cells of the grid. They are not sampled at random:
// the error of one pod is the error of all. Cells of whole minutes are in step with every schedule.
func (b *Builder) warnInStep() {
	if b.sampling.Exact() {
		return
	}
	cell := b.sampling.Step
	if cell%cronMinute == 0 {
		cell = cronMinute
	}
	starts := map[string][]int64{} // by CronJob: time from each start to the next point of the grid, or to the next full minute
	for p := range b.everyPod() {
		controller := b.controller(p)
		at := p.firstStart(func(*container) bool { return true })
		if at == 0 && p.started.Known() {
			at = int64(p.started.Value * 1000)
		}
		if controller.kind.Value() != "cronjob" || at <= b.sampling.Start || at > b.sampling.End {
			continue
		}
		name := b.placed(p.cluster, p.namespace.Value()+"/"+controller.name.Value())
		starts[name] = append(starts[name], (b.sampling.End-at)%cell)
	}
	var names []string
	for name, phases := range starts {
		if len(phases) >= leastStarts && timeline.Arc(phases, cell) <= cell/stepSpread {
			names = append(names, name)
		}
	}
	b.count(notices.InStepCronJobs, names, allocation.ResolutionText(b.sets[0].Resolution))
}

// firstStart is the first reported start of some of a pod's containers, in Unix milliseconds, 0 if there is none.
func (p *pod) firstStart(of func(*container) bool) int64 {
	first := 0.0
	for _, c := range p.containers {
		for _, x := range c.started {
			if of(c) && x.V > 0 && (first == 0 || x.V < first) {
				first = x.V
			}
		}
	}
	return int64(first * 1000)
}
