package promquery

import (
	"context"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// bounded is a source that knows the range of its samples: Unix milliseconds, half-open.
type bounded interface {
	Bounds() (oldest, newest int64, err error)
}

// Diagnose says which data the source has of each input in w, for each cluster. It looks at all alternatives, also at those that a
// computation asks for only if others are missing. It fails as Compute does, but for a source that has no input at all: then it says what
// that source scrapes.
func (e *Engine) Diagnose(ctx context.Context, w allocation.Window) (*diagnosis.Diagnosis, error) {
	d, err := e.diagnose(ctx, w)
	return d, blame(ctx, err)
}

func (e *Engine) diagnose(ctx context.Context, w allocation.Window) (*diagnosis.Diagnosis, error) {
	var d *diagnosis.Diagnosis
	_, err := e.run(ctx, func(c *computation) (err error) {
		d, err = c.diagnose(ctx, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	src := e.src
	if j, ok := src.(*join); ok {
		src = j.old
	}
	if b, ok := src.(bounded); ok {
		if oldest, _, err := b.Bounds(); err == nil && oldest > 0 {
			d.Oldest = time.UnixMilli(oldest).UTC()
		}
	}
	return d, nil
}

// diagnose looks at all alternatives of all inputs.
func (c *computation) diagnose(ctx context.Context, w allocation.Window) (*diagnosis.Diagnosis, error) {
	own, err := c.ownTargets(ctx, w)
	if err != nil {
		return nil, err
	}
	c.found.frame = newFrame(w, 0, 0)
	if c.found.otel, err = c.lookForOTel(ctx, w); err != nil {
		return nil, err
	}
	// Raw samples show how far apart they are and how old the last one is; samples on a grid do not.
	p := c.cfg.newPlan(c.symbols, c.found, question{otel: c.found.otel}, build.Ask{Signals: allSignals(), Spans: []build.Span{{Start: w.Start.UnixMilli(), End: w.End.UnixMilli()}}})
	p.own = own
	look := func(s Series) error {
		series, key, err := p.readPoints(s.Request, s.Key, s.Points)
		if err != nil || series.Signal == signals.Nothing || p.readers[s.Request].bare(key) {
			return err // promcost's own series, or an empty one
		}
		p.readers[s.Request].found.look(key, s.Points, c.found.frame)
		return nil
	}
	got, err := c.ask(ctx, "all inputs", p.rs, func(s Series) error { return p.translate(s, look) })
	if err != nil {
		return nil, err
	}
	problems, err := c.findProblems(ctx, w)
	if err != nil {
		return nil, err
	}
	d := &diagnosis.Diagnosis{Window: w, Sources: c.sources(), Clusters: c.found.diagnose(c.cfg.Sheet), Warnings: got.Missing()}
	if len(d.Clusters) == 0 {
		return c.diagnoseNothing(ctx, d)
	}
	for i := range d.Clusters {
		d.Clusters[i].Problems = problems[d.Clusters[i].Cluster]
		if oldest := d.Clusters[i].Oldest; d.Oldest.IsZero() || oldest.Before(d.Oldest) {
			d.Oldest = oldest
		}
		if text := c.unlabeled(&d.Clusters[i], w.End); text != "" {
			d.Warnings = append(d.Warnings, text)
		}
	}
	return d, nil
}

// unlabeled is a warning about rules of the price sheet that cannot match because nothing exports labels of nodes; "" if metrics
// price the nodes.
func (c *computation) unlabeled(d *diagnosis.Cluster, at time.Time) string {
	has := func(input string) bool {
		return slices.ContainsFunc(d.Inputs, func(in diagnosis.Input) bool { return in.Name == input && len(in.Alternatives) > 0 })
	}
	if has("node labels") || has("node cpu price") && has("node memory price") {
		return ""
	}
	return prices.UnlabeledWarning(c.cfg.Rates, rates.NodeAttributes{Cluster: d.Cluster, Spot: has("node spot")}, at)
}

// diagnose is what was found of each input, by cluster; sheet names the price sheet, if any. A cluster that is only known by its
// usage counts too.
func (f *findings) diagnose(sheet string) []diagnosis.Cluster {
	var out []diagnosis.Cluster
	for _, name := range f.clusters() {
		d := diagnosis.Cluster{Cluster: name.Value()}
		var intervals []int64
		for i := range f.inputs {
			in, of := f.diagnoseInput(i, name)
			f.explain(&in, i, name, sheet)
			d.Inputs = append(d.Inputs, in)
			intervals = append(intervals, of...)
			if in.Newest.After(d.Newest) {
				d.Newest = in.Newest
			}
			if !in.Oldest.IsZero() && (d.Oldest.IsZero() || in.Oldest.Before(d.Oldest)) {
				d.Oldest = in.Oldest
			}
		}
		d.ScrapeInterval = median(intervals)
		d.Uncovered = f.uncovered(name, d.ScrapeInterval)
		out = append(out, d)
	}
	return out
}

// uncovered are the parts of the window without a sample of an input that is required and that the cluster has. At the end of the
// window, samples are missing as soon as neither a lookback nor a late scrape explains it, because no later sample says what ran.
func (f *findings) uncovered(cluster Symbol, scrape time.Duration) []allocation.Window {
	whole := timeline.Intervals{{From: f.frame.start, To: f.frame.end}}
	late := min(steadyHole, timeline.Lookback+2*scrape.Milliseconds())
	short := func(x timeline.Interval) bool {
		return x.To-x.From < steadyHole && (x.To < f.frame.end || x.To-x.From <= late)
	}
	var lacking timeline.Intervals
	for i := range Inputs {
		if in := &Inputs[i]; in.Need == Required {
			if sampled, _ := f.samplesOfInput(in, cluster); sampled != nil {
				lacking = append(lacking, slices.DeleteFunc(f.frame.without(whole, sampled), short)...)
			}
		}
	}
	var out []allocation.Window
	for _, x := range timeline.Union(lacking) {
		out = append(out, allocation.Window{Start: time.UnixMilli(x.From).UTC(), End: time.UnixMilli(x.To).UTC()})
	}
	return out
}

// diagnoseInput is what was found of an input in a cluster, and the scrape intervals of its series.
func (f *findings) diagnoseInput(i int, cluster Symbol) (diagnosis.Input, []int64) {
	in := &Inputs[i]
	d := diagnosis.Input{Name: in.Name, Required: in.Need == Required, State: diagnosis.Missing}
	var intervals []int64
	for rank := range f.inputs[i] {
		k := slices.IndexFunc(f.inputs[i][rank].clusters, func(c clusterTally) bool { return c.cluster == cluster })
		if k < 0 {
			continue
		}
		c := &f.inputs[i][rank].clusters[k]
		d.Alternatives = append(d.Alternatives, diagnosis.Metric{Metric: f.metric(i, rank), Series: c.series})
		intervals = append(intervals, c.intervals...)
		if at := time.UnixMilli(c.newest).UTC(); at.After(d.Newest) {
			d.Newest = at
		}
		if at := time.UnixMilli(c.oldest).UTC(); d.Oldest.IsZero() || at.Before(d.Oldest) {
			d.Oldest = at
		}
		switch {
		case in.isBest(rank):
			d.State = diagnosis.Found
		case d.State == diagnosis.Missing:
			d.State = diagnosis.Fallback
		}
	}
	d.ScrapeInterval = median(intervals)
	return d, intervals
}
