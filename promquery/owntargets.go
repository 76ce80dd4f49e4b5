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
	window   allocation.Window
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

// findOwn finds the promcosts in each window and the hour before it.
func (c *computation) findOwn(ctx context.Context) error {
	var all []*ownTargets
	for _, w := range c.windows {
		w.own = newOwnTargets(ctx, c.cfg, w.query.Window)
		all = append(all, &w.own)
	}
	return c.fillOwn(ctx, all)
}

// ownTargets finds the promcosts in a window and the hour before it.
func (c *computation) ownTargets(ctx context.Context, w allocation.Window) (*ownTargets, error) {
	own := newOwnTargets(ctx, c.cfg, w)
	return &own, c.fillOwn(ctx, []*ownTargets{&own})
}

func newOwnTargets(ctx context.Context, cfg *Config, w allocation.Window) ownTargets {
	return ownTargets{window: w, clusters: map[target][]Symbol{}, jobs: map[Symbol]bool{}, shared: map[Symbol]bool{}, exposed: cfg.exposed(ctx, w), judged: map[string]verdict{}}
}

// fillOwn finds the promcosts, the jobs that have no other targets, and who exposed doubtful prices.
func (c *computation) fillOwn(ctx context.Context, all []*ownTargets) error {
	for _, step := range []struct {
		name string
		find func(*ownTargets) *asker
	}{
		{inputOwn, c.askTargets},
		{"targets of promcost's jobs", c.askJobs},
		{"prices that may be promcost's", c.askDoubted},
	} {
		var asking []*asker
		for _, own := range all {
			if a := step.find(own); a != nil {
				asking = append(asking, a)
			}
		}
		if len(asking) == 0 {
			continue
		}
		if _, err := c.fetch(ctx, step.name, asking); err != nil {
			return fmt.Errorf("find series of promcost: %w", err)
		}
	}
	return nil
}

// request asks for series about targets, in the window and the hour before it.
func (o *ownTargets) request(metric string, keep []Label, matchers ...Matcher) Request {
	return Request{
		Metric: metric, Keep: keep, Matchers: matchers, Input: inputOwn, Grid: Grid{Step: timeline.Lookback},
		Start: o.window.Start.Add(-time.Hour).UnixMilli(), End: o.window.End.UnixMilli(),
	}
}

// askTargets asks for the targets that are promcosts, and the clusters that their series name.
func (c *computation) askTargets(o *ownTargets) *asker {
	o.doubt = len(c.cfg.Exclude) == 0 && c.cfg.Priced
	keep := Labels(slices.Concat(targetLabels[:], c.cfg.Clusters.Labels)...)
	return &asker{requests: []Request{o.request(buildInfo, keep)}, use: func(s Series) error {
		at, cluster := targetOf([len(targetLabels)]Symbol(s.Key)), none
		if i := slices.IndexFunc(s.Key[len(targetLabels):], func(s Symbol) bool { return s != none }); i >= 0 {
			cluster = s.Key[len(targetLabels)+i]
		}
		if at == (target{none, none}) {
			o.doubt = len(c.cfg.Exclude) == 0
		} else {
			o.clusters[at] = append(o.clusters[at], cluster)
		}
		return nil
	}}
}

// askJobs asks for all targets of the promcosts' jobs, to find the jobs all of whose targets are promcosts. It is nil if there are no
// such jobs.
func (c *computation) askJobs(o *ownTargets) *asker {
	var names []string
	for at := range o.clusters {
		if at.job != none {
			names = append(names, regexp.QuoteMeta(at.job.Value()))
			o.shared[at.job] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	jobs, others := matching("job", strings.Join(slices.Compact(names), "|")), map[Symbol]bool{}
	return &asker{requests: []Request{o.request("up", Labels(targetLabels[:]...), jobs)}, use: func(s Series) error {
		at := targetOf([len(targetLabels)]Symbol(s.Key))
		if _, ok := o.clusters[at]; !ok {
			others[at.job] = true
			delete(o.jobs, at.job)
		} else if !others[at.job] {
			o.jobs[at.job] = true
		}
		return nil
	}}
}

// askDoubted asks for prices, to decide which of the doubtful ones promcost exposed. It asks for the window and an hour on either side,
// because prices are held that long. Whole series are needed: in a stretch of one, a price of another exporter may equal what promcost
// exposed, or what promcost exposed may be unknown. It returns nil if no price is doubtful, or if it is not known what promcost exposed.
func (c *computation) askDoubted(o *ownTargets) *asker {
	if !o.doubt || c.cfg.Exposed == nil {
		return nil
	}
	span := build.Span{Start: o.window.Start.Add(-time.Hour).UnixMilli(), End: o.window.End.Add(time.Hour).UnixMilli()}
	p := c.cfg.newPlan(c.symbols, newFindings(nil), question{grid: Grid{Step: timeline.Lookback}}, build.Ask{Signals: build.PriceSignals(), Spans: []build.Span{span}})
	p.own = o
	return &asker{requests: p.rs, use: func(s Series) error {
		_, key := p.read(s.Request, s.Key)
		if !p.unsure {
			return nil
		}
		exposed, err := o.exposed()
		if err != nil {
			return err
		}
		name, v := exposedKey(p.rs[s.Request].Metric, s.Key), exposed.verdict(p.rs[s.Request].Metric, key, s.Points)
		if other, ok := o.judged[name]; ok && other != v {
			v = perStretch // labels that are not read distinguish the series
		}
		o.judged[name] = v
		return nil
	}}
}

// warnOwn warns about series that were left out, and about prices that may come from this promcost.
func (w *window) warnOwn() {
	if w.dropped > 0 {
		w.Warn(notices.OwnPrices.Text(int(w.dropped), nil))
	}
	if !w.doubted {
		return
	}
	used := "series that repeat what it exposed were left out, or used only where nothing else tells the price, and the others were used"
	if exposed, err := w.own.exposed(); err == nil && len(exposed) == 0 {
		used = "what it exposed is not known here, so all were used, and its own may be among them"
	}
	w.Warn("nothing says which prices this promcost exposed itself (--collector.opencost): " + used + ". Let Prometheus scrape promcost_build_info and keep job and instance of it and of the prices, or say with --prometheus.exclude which series are promcost's")
}
