package promquery

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// buildInfo is a metric that only a promcost exposes.
const buildInfo = "promcost_build_info"

// target is the target from which a series was scraped.
type target struct{ job, instance Symbol }

// targetLabels name the target of a series. If a Prometheus federates without honor_labels, the labels of the original targets
// have the prefix exported_.
var targetLabels = [...]string{"job", "instance", "exported_job", "exported_instance"}

// targetOf is the target with these values of targetLabels. If only exported_instance is set, it is a label of the series, not a
// target.
func targetOf(values [len(targetLabels)]Symbol) target {
	if values[2] != none {
		return target{values[2], values[3]}
	}
	return target{values[0], values[1]}
}

// origin is where a series comes from.
type origin uint8

const (
	fromOthers origin = iota // as far as is known
	fromPromcost
	fromEither // a price that may come from a promcost or from others
)

// ownTargets are the promcosts whose series the source has. What they expose is derived from prices, so it is never an input.
type ownTargets struct {
	clusters map[target][]Symbol // the clusters that the series of a target name, if they name any
	jobs     map[Symbol]bool     // jobs all of whose targets are promcosts
	shared   map[Symbol]bool     // jobs with a promcost among their targets
	doubt    bool                // only a known target distinguishes a promcost's prices from others
	exposed  func() (exposedPrices, error)
	judged   map[string]verdict // verdicts on doubtful series of prices, by exposedKey of all their labels
}

// origin says where a series comes from. If clusters are named, they must be equal. With honor_labels the label instance may name
// a node instead of the target. Then the job decides, if all its targets are promcosts.
func (o *ownTargets) origin(cluster Symbol, at target, price bool) origin {
	unknown := fromOthers
	if price && o.doubt {
		unknown = fromEither
	}
	clusters, known := o.clusters[at]
	switch {
	case known && (cluster == none || slices.Contains(clusters, none) || slices.Contains(clusters, cluster)):
		return fromPromcost
	case known:
		return fromOthers
	case o.jobs[at.job]:
		return fromPromcost
	case len(o.clusters) == 0 || at.job == none || o.shared[at.job]:
		return unknown
	}
	return fromOthers
}

// findOwn finds the promcosts in a window and the hour before it.
func (c *computation) findOwn(ctx context.Context, w allocation.Window) error {
	c.own = ownTargets{clusters: map[target][]Symbol{}, jobs: map[Symbol]bool{}, shared: map[Symbol]bool{}, exposed: c.cfg.exposed(ctx, w), judged: map[string]verdict{}}
	lost := false
	sel := Selector{
		Metric: buildInfo, Keep: slices.Concat(targetLabels[:], c.cfg.Clusters.Labels),
		Start: w.Start.Add(-time.Hour).UnixMilli(), End: w.End.UnixMilli(), Step: timeline.Lookback, Input: inputOwn,
	}
	_, err := c.ask(ctx, inputOwn, []Selector{sel}, OneWorker(func(_ int, key []Symbol, _ *timeline.Points) error {
		at, cluster := targetOf([len(targetLabels)]Symbol(key)), none
		if i := slices.IndexFunc(key[len(targetLabels):], func(s Symbol) bool { return s != none }); i >= 0 {
			cluster = key[len(targetLabels)+i]
		}
		if at == (target{none, none}) {
			lost = true
		} else {
			c.own.clusters[at] = append(c.own.clusters[at], cluster)
		}
		return nil
	}))
	c.own.doubt = len(c.cfg.Exclude) == 0 && (c.cfg.Priced || lost)
	if err == nil {
		err = c.findOwnJobs(ctx, sel)
	}
	if err == nil && c.own.doubt && c.cfg.Exposed != nil {
		err = c.judge(ctx, w)
	}
	if err != nil {
		return fmt.Errorf("find series of promcost: %w", err)
	}
	return nil
}

// judge decides who exposed the doubtful prices, in a window and an hour on either side, for prices are held that long. Later
// reads bring stretches of a series, and a stretch may mislead: a price of others may equal what promcost exposed then, or what
// promcost exposed may be unknown.
func (c *computation) judge(ctx context.Context, w allocation.Window) error {
	sel := Selector{Start: w.Start.Add(-time.Hour).UnixMilli(), End: w.End.Add(time.Hour).UnixMilli(), Step: timeline.Lookback}
	p := c.cfg.newPlan(c.symbols, newFindings(nil), []Selector{sel}, priced)
	p.own = &c.own
	_, err := c.ask(ctx, askDoubted, p.sels, OneWorker(func(i int, labels []Symbol, points *timeline.Points) error {
		_, key := p.read(i, labels)
		if !p.unsure {
			return nil
		}
		exposed, err := c.own.exposed()
		if err != nil {
			return err
		}
		name, v := exposedKey(p.sels[i].Metric, labels), exposed.verdict(p.sels[i].Metric, key, points)
		if other, ok := c.own.judged[name]; ok && other != v {
			v = perStretch // labels that are not read distinguish the series
		}
		c.own.judged[name] = v
		return nil
	}))
	return err
}

// findOwnJobs finds the jobs all of whose targets are promcosts.
func (c *computation) findOwnJobs(ctx context.Context, sel Selector) error {
	var jobs []string
	for at := range c.own.clusters {
		if at.job != none {
			jobs = append(jobs, regexp.QuoteMeta(at.job.Value()))
			c.own.shared[at.job] = true
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	slices.Sort(jobs)
	shared := map[Symbol]bool{}
	sel.Metric, sel.Keep = "up", targetLabels[:]
	sel.Matchers = []Matcher{matching("job", strings.Join(slices.Compact(jobs), "|"))}
	_, err := c.ask(ctx, askJobs, []Selector{sel}, OneWorker(func(_ int, key []Symbol, _ *timeline.Points) error {
		at := targetOf([len(targetLabels)]Symbol(key))
		if _, ok := c.own.clusters[at]; ok {
			c.own.jobs[at.job] = true
		} else {
			shared[at.job] = true
		}
		return nil
	}))
	for job := range shared {
		delete(c.own.jobs, job)
	}
	return err
}

// warnOwn warns about series that were left out, and about prices that may come from this promcost.
func (c *computation) warnOwn(b *build.Builder) {
	if c.dropped > 0 {
		b.Warn(notices.OwnPrices.Text(int(c.dropped), nil))
	}
	if !c.doubted {
		return
	}
	used := "series that repeat what it exposed were left out, or used only where nothing else tells the price, and the others were used"
	if exposed, err := c.own.exposed(); err == nil && len(exposed) == 0 {
		used = "what it exposed is not known here, so all were used, and its own may be among them"
	}
	b.Warn("nothing says which prices this promcost exposed itself (--collector.opencost): " + used + ". Let Prometheus scrape promcost_build_info and keep job and instance of it and of the prices, or say with --prometheus.exclude which series are promcost's")
}
