package resolve

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
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
func (rs *Resolver) warnInStep() {
	if rs.Sampling.Exact() {
		return
	}
	cell := rs.Sampling.Step
	if cell%cronMinute == 0 {
		cell = cronMinute
	}
	starts := map[string][]int64{} // by CronJob: time from each start to the next point of the grid, or to the next full minute
	for p := range rs.EveryPod() {
		controller := rs.controller(p)
		at := p.FirstStart(func(*observe.Container) bool { return true })
		if at == 0 && p.Started.Known() {
			at = int64(p.Started.Value * 1000)
		}
		if controller.Kind.Value() != "cronjob" || at <= rs.Sampling.Start || at > rs.Sampling.End {
			continue
		}
		name := rs.Placed(p.Cluster, p.Namespace.Value()+"/"+controller.Name.Value())
		starts[name] = append(starts[name], (rs.Sampling.End-at)%cell)
	}
	var names []string
	for name, phases := range starts {
		if len(phases) >= leastStarts && timeline.Arc(phases, cell) <= cell/stepSpread {
			names = append(names, name)
		}
	}
	rs.Count(notices.InStepCronJobs, names, allocation.ResolutionText(rs.Sets[0].Resolution))
}
