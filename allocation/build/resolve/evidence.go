package resolve

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Beyond returns what else must be read of everything but usage. If nothing of a cluster is seen at the beginning of what was read, or
// between the end of the window and the end of what was read, the margin there grows to its longest. Call it once, after everything
// but usage was added.
func (rs *Resolver) Beyond() []observe.Span {
	rs.findAbsence()
	var out []observe.Span
	if rs.unseenBefore() {
		if loaded := rs.LoadedFrom; rs.Start()-rs.Evidence.Most < rs.Sampling.Start {
			rs.Sampling.Start, rs.Sampling.Margin = rs.Start()-rs.Evidence.Most, 0
			rs.Borders[0] = rs.Sampling.Start
			rs.LoadedFrom = rs.Sampling.LoadStart()
			out = append(out, observe.Span{Start: rs.LoadedFrom, End: rs.Sampling.Align(loaded - 1)})
		}
	}
	if rs.unseenAfter() {
		most := min(rs.Evidence.Most, rs.Evidence.After/max(rs.Sampling.Step, 1)*max(rs.Sampling.Step, 1))
		rs.Evidence.Incomplete = rs.Evidence.Incomplete || rs.Evidence.Closed && most < rs.Evidence.Most
		if loaded := rs.Sampling.End; rs.Last < len(rs.Windows) && rs.End()+most > loaded {
			rs.Sampling.End = rs.End() + most
			rs.Borders[len(rs.Borders)-1] = rs.Sampling.End
			out = append(out, observe.Span{Start: loaded + 1, End: rs.Sampling.End})
		}
	}
	return out
}

// unseenBefore reports whether the margin before the window has to grow.
func (rs *Resolver) unseenBefore() bool {
	at := rs.Sampling.Start + 1 // an outage that ends in the margin may have been a long one
	if rs.Sampling.Exact() {
		at += rs.Sampling.Interval // there may be no sample before that
	}
	return rs.silentAt(at, func(gap timeline.Interval) bool { return gap.From <= rs.LoadedFrom }) || rs.DevicesUnseen(rs.Sampling.Start, rs.Start()) || rs.nodeAway(rs.Start()+1)
}

// unseenAfter reports whether the margin after the window has to grow. A node that the next scrape no longer shows may have ended within the window.
func (rs *Resolver) unseenAfter() bool {
	return rs.silentAt(rs.End()+1, func(gap timeline.Interval) bool { return gap.To >= rs.Sampling.End }) || rs.DevicesUnseen(rs.End(), rs.Sampling.End) || rs.nodeAway(rs.End()+1) || rs.nodeAway(rs.End()+1+rs.Sampling.Cell())
}

// Unpriced returns what else must be read of prices, after the spans of Beyond were added. If no metric prices the nodes of a cluster at
// one end of the window, prices are read as far beyond it as they are held.
func (rs *Resolver) Unpriced() []observe.Span {
	priced, some := map[signals.Symbol]prices.ByMetric{}, false
	for n := range rs.EveryNode() {
		of := priced[n.Cluster]
		for r := range allocation.NumResources {
			of.Original = timeline.Max(of.Original, timeline.Ones(n.Reported.Priced[r].Original))
			of.Repeated = timeline.Max(of.Repeated, timeline.Ones(n.Reported.Priced[r].Repeated))
		}
		priced[n.Cluster] = of
		some = some || len(of.Best()) > 0
	}
	unpriced := func(t int64) bool {
		for _, of := range priced {
			if _, known := of.Best().At(t); !known {
				return true
			}
		}
		return len(priced) == 0
	}
	var out []observe.Span
	if from := rs.Start() - rs.Evidence.Most - (rs.Sampling.Start + rs.Sampling.Margin - rs.LoadedFrom); unpriced(rs.Start()) && from < rs.LoadedFrom {
		out = append(out, observe.Span{Start: from, End: rs.Sampling.Align(rs.LoadedFrom - 1)})
	}
	if unpriced(rs.End() + 1) {
		step := max(rs.Sampling.Step, 1)
		rs.Evidence.Incomplete = rs.Evidence.Incomplete || some && rs.Evidence.Closed && rs.Evidence.After < rs.Evidence.Most
		if to := rs.End() + min(rs.Evidence.Most, rs.Evidence.After/step*step); to > rs.Sampling.End {
			out = append(out, observe.Span{Start: rs.Sampling.End + 1, End: to})
			rs.Evidence.PricesUntil = to
		}
	}
	return out
}

// silentAt reports whether some cluster, or any at all, was not seen at t, in an absence that is open: it may go on beyond what was read.
// If a cluster's containers are never seen, only its nodes count, and the other way round: the metric may not exist.
func (rs *Resolver) silentAt(t int64, open func(timeline.Interval) bool) bool {
	never := func(gaps timeline.Intervals) bool {
		return gaps.Length() >= rs.Sampling.End-rs.LoadedFrom
	}
	for _, a := range rs.Outages.Absent {
		if never(a.Containers.Absent) && never(a.Nodes.Absent) {
			return true
		}
		for _, gaps := range [...]timeline.Intervals{a.Containers.Absent, a.Nodes.Absent} {
			if gap, ok := gaps.Find(t); ok && open(gap) && !never(gaps) {
				return true
			}
		}
	}
	return len(rs.Outages.Absent) == 0
}
