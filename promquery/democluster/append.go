package democluster

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// Append appends the samples in [from, to), the same that WriteBlock would write, in the order of labels, then time. The
// caller commits or rolls back.
func (c *Cluster) Append(ctx context.Context, app storage.Appender, from, to time.Time) error {
	w := span{from.UnixMilli(), to.UnixMilli()}
	c.extend(w.to + minuteMillis)
	c.mu.RLock()
	list := c.collect(w)
	c.mu.RUnlock()
	for i := range list {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := list[i].emit(&appendSink{app: app, labels: list[i].labels}); err != nil {
			return fmt.Errorf("append demo sample of %s: %w", list[i].labels, err)
		}
	}
	return nil
}

// appendSink is a sink into the head of a TSDB.
type appendSink struct {
	app    storage.Appender
	ref    storage.SeriesRef
	labels labels.Labels
}

func (s *appendSink) add(t int64, v float64) (err error) {
	s.ref, err = s.app.Append(s.ref, s.labels, t, v)
	return err
}

func (s *appendSink) same(g *target, from, to int64, v float64) error {
	for k := from; k < to; k++ {
		if err := s.add(g.scrapeTime(k), v); err != nil {
			return err
		}
	}
	return nil
}
