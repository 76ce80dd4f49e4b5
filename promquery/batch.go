package promquery

import (
	"context"
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// asker is a window with its requests, and what it does with the series.
type asker struct {
	window   *window
	requests []Request
	use      func(s Series) error
	plan     *plan // of the window's step; nil for other requests
	shared   *plan // the same plan, which records what is read for all windows; nil if there is one window
}

// fetch asks the source for what windows request, and gives each the series that it requested. What several of them request alike is
// asked for once.
func (c *computation) fetch(ctx context.Context, name string, asking []*asker) (Stats, error) {
	if len(asking) == 1 {
		return c.ask(ctx, name, asking[0].requests, func(s Series) error {
			if err := asking[0].count(s); err != nil {
				return err
			}
			return asking[0].use(s)
		})
	}
	m := merge(asking)
	return c.ask(ctx, name, m.requests, m.use)
}

// count records a series for all windows.
func (a *asker) count(s Series) error {
	if a.shared == nil {
		return nil
	}
	return a.shared.count(s, a.window.Skips)
}

// want is a request of an asker.
type want struct {
	*asker
	i int // the request's index
}

// merged is the requests of several askers as one list.
type merged struct {
	requests []Request
	wants    [][]want        // of each request
	points   timeline.Points // scratch space
}

// merge makes one list of the requests of several askers. Requests that differ only in their times become one where the times overlap
// or follow each other.
func merge(asking []*asker) *merged {
	m, most := &merged{}, 0
	for _, a := range asking {
		most = max(most, len(a.requests))
	}
	for i := range most {
		for _, a := range asking {
			if i < len(a.requests) {
				m.add(want{a, i})
			}
		}
	}
	return m
}

func (m *merged) add(w want) {
	r := &w.requests[w.i]
	for k := range slices.Backward(m.requests) {
		if s := &m.requests[k]; s.joins(r) {
			s.Start, s.End = min(s.Start, r.Start), max(s.End, r.End)
			m.wants[k] = append(m.wants[k], w)
			return
		}
	}
	m.requests, m.wants = append(m.requests, *r), append(m.wants, []want{w})
}

// joins reports whether o asks for samples of the same series on the same grid as r, at times that overlap with those of r or touch
// them.
func (r *Request) joins(o *Request) bool {
	switch {
	case r.Metric != o.Metric, r.Grid != o.Grid, r.Input != o.Input, r.AtOnce != o.AtOnce:
		return false
	case r.Grid.Last && (r.Start != o.Start || r.End != o.End), r.Grid.Step > 0 && (r.End-o.End)%r.Grid.Step != 0:
		return false
	case o.Start > r.End+1 || o.End < r.Start-1:
		return false
	}
	return slices.Equal(r.Keep, o.Keep) && (r.Keep == nil) == (o.Keep == nil) && slices.Equal(r.Matchers, o.Matchers)
}

// use gives a series to all who requested it, each with the samples of the times that it requested. The series is recorded once.
func (m *merged) use(s Series) error {
	wants := m.wants[s.Request]
	if err := wants[0].count(Series{wants[0].i, s.Key, s.Points}); err != nil {
		return err
	}
	for _, w := range wants {
		r := &w.requests[w.i]
		s.Points.Between(&m.points, r.Start, r.End)
		if m.points.Len() == 0 {
			continue
		}
		if err := w.use(Series{w.i, s.Key, &m.points}); err != nil {
			return err
		}
	}
	return nil
}
