package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Observer has what series say of clusters: what there was, when, with which request, at which price. Only one goroutine at a time may use it.
type Observer struct {
	frame
	interned
	Limits
	Phase   phase
	Shard   allocation.Shard
	Symbols *signals.Symbols

	Pods     podTable
	Nodes    nodeTable
	Services serviceTable
	Storage  storage
	Prices   priceTable
	Outages  outages
	Report   report

	autoscalers autoscalers

	current Incoming        // the series at hand
	cells   []timeline.Cell // scratch of its integration
	shared  timeline.Shared // of signals of pods and containers that many have alike
	// TakesAlternative reports whether an alternative of the running signal, or of starts, counts. nil accepts all.
	TakesAlternative func(*Incoming) bool
}

// New returns an observer of the time of q. scrape is the scrape interval. The grid cannot be finer than that: a smaller resolution is raised
// to it, with a warning. In exact mode, a last sample lasts for one scrape interval. The keys of series are of symbols. The observer stops once
// ctx ends, or if budget has no memory for it; the nil Budget has no bound.
func New(ctx context.Context, q allocation.Query, scrape time.Duration, rates rates.Rates, symbols *signals.Symbols, budget Budget) (*Observer, error) {
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	limits := Limits{ctx: ctx, budget: budget}
	if limits.Hold(int64(len(windows)) * allocation.SetBytes); limits.Stopped != nil {
		return nil, limits.Stopped
	}
	if q.Window.Duration() <= 0 || scrape <= 0 || q.Resolution < 0 {
		return nil, fmt.Errorf("window %s, scrape interval %s, resolution %s: must all be positive", q.Window.Duration(), scrape, q.Resolution)
	}
	ob := newObserver(rates, symbols)
	ob.Windows, ob.Shard, ob.Pods.Metadata.By, ob.Limits = windows, q.Shard, q.MergedBy, limits
	if q.Resolution > 0 && q.Resolution < scrape {
		ob.Warnf("resolution %s is finer than the scrape interval: %s was used", allocation.ResolutionText(q.Resolution), allocation.ResolutionText(scrape))
		q.Resolution = scrape
	}
	ob.Sampling = timeline.Sampling{
		Start: q.Window.Start.UnixMilli(), End: q.Window.End.UnixMilli(), Step: q.Resolution.Milliseconds(),
		Lookback: timeline.Lookback, Interval: scrape.Milliseconds(),
	}
	ob.addMargins(&q)
	ob.LoadedFrom = ob.Sampling.LoadStart()
	ob.Borders = append(ob.Borders, ob.Sampling.Start)
	for _, w := range ob.Windows {
		ob.Borders = append(ob.Borders, w.End.UnixMilli())
	}
	return ob, nil
}

// Span is a stretch of time, Unix milliseconds.
type Span struct{ Start, End int64 }

// newObserver returns an observer that knows nothing yet.
func newObserver(rates rates.Rates, symbols *signals.Symbols) *Observer {
	dict := allocation.NewDict()
	return &Observer{
		interned: interned{Dict: dict}, Symbols: symbols, Storage: newStorage(), autoscalers: autoscalers{},
		Pods: podTable{
			ByKey: map[PodKey]*Pod{}, ByName: map[ObjectKey][]*Pod{},
			Reserved: map[ObjectKey][]Reserved{}, ClaimsByDevice: map[signals.Symbol]bool{}, Namespaces: map[ObjectKey]*namespace{}, Owners: map[OwnerKey]Owner{}, NoPodSignals: PodSignals{Hint: None},
			Metadata: lateMetadata{Nameless: map[ObjectKey]*Pod{}},
		},
		Nodes: nodeTable{
			ByName: map[NodeKey][]*Node{}, Machines: map[NodeKey]*Machine{}, Addresses: map[NodeKey]signals.Symbol{}, Devices: map[NodeKey]map[signals.Symbol]timeline.Steps{},
			Disks: map[NodeKey]timeline.RankedBy[signals.Symbol]{}, Ended: map[signals.Symbol]int64{},
		},
		Services: serviceTable{
			Behind: services.NewIndex(dict, symbols), Balancers: map[ObjectKey]*Balancer{}, Others: map[ObjectKey]timeline.Steps{}, Labels: map[ObjectKey]timeline.Latest[map[string]string]{},
		},
		Prices: priceTable{
			Rates: rates, Egress: map[signals.Symbol]*egressPrice{}, Management: map[signals.Symbol]*Management{},
			Exported: newExportedPrices(),
		},
		Outages: outages{Absent: map[signals.Symbol]*Absence{}, Silent: map[signals.Symbol]timeline.Intervals{}},
		Report:  report{Unrequested: map[signals.Symbol]unrequested{}},
	}
}

// Add takes the points of a series that is not integrated. Signal.Key describes the key. Add keeps neither key nor p. It refuses series of
// signals that are not added in this phase.
func (ob *Observer) Add(series signals.Series, key []signals.Symbol, p *timeline.Points) error {
	s, err := ob.Look(series, key, p)
	if err != nil {
		return err
	}
	ob.current = s
	if err := adders[series.Signal](ob, &ob.current); err != nil {
		return err
	}
	return ob.watch()
}
