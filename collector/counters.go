package collector

import (
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log/level"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/promcost/promcost/allocation"
)

// membership is which subjects have counters of their own in a month that has more than may be exported. Nobody joins or
// leaves within the month: so what the others add up to never falls.
type membership struct {
	month time.Time
	in    map[string]bool // by labels
}

// key is the labels of a subject as one.
func key(totals *allocation.Totals, i int) string { return strings.Join(totals.Labels(i), "\xff") }

// counters adds the counters of a subject and returns how many series are left for its gauges: half, where there are more
// than may be exported.
func (c *Collector) counters(b *builder, s *subject, now *allocation.Totals, accrued *allocation.Accrued) (left int) {
	totals := accrued.Totals(&s.Subject)
	_, gauges := countSeries(s.families, now)
	_, counters := countSeries(s.counters, totals)
	most := c.max - gauges
	members := c.members[s.Name]
	if members != nil && !members.month.Equal(accrued.Window.Start) {
		members = nil
		delete(c.members, s.Name)
	}
	if members == nil && counters > most {
		most = max(most, c.max/2)
		folded, dropped := limit(s.counters, totals, most)
		members = &membership{month: accrued.Window.Start, in: map[string]bool{}}
		for i := range folded.Len() {
			if !slices.Contains(folded.Labels(i), allocation.OtherName) {
				members.in[key(folded, i)] = true
			}
		}
		c.members[s.Name] = members
		level.Warn(c.logger).Log("msg", "collector has more counters than --collector.max-series allows, the smallest of the month are summed into "+allocation.OtherName,
			"collector", s.Name, "max_series", c.max, "dropped", dropped)
	}
	if members != nil {
		totals = totals.Fold(func(i int) bool { return members.in[key(totals, i)] }, 1)
	}
	first := len(b.metrics)
	c.total[s.Name] += b.add(s.counters, totals)
	created := timestamppb.New(accrued.Window.Start)
	for i := range b.metrics[first:] {
		b.metrics[first+i].counter.CreatedTimestamp = created
	}
	return c.max - (len(b.metrics) - first)
}
