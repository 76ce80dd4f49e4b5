package democluster

import (
	"slices"
	"time"
)

// due returns when a Job is started next, not before at.
func (t *template) due(at int64) int64 {
	if period := t.hours * hourMillis; period > 0 && at%period >= hourMillis {
		return (at/period + 1) * period
	}
	return at
}

// scheduleNamespace plans that a workload's namespace is deleted with its pods, and that one which is made later gets its own.
func (c *Cluster) scheduleNamespace(w *workload) {
	if made := w.life.from; made > c.start {
		c.schedule(made, func() error {
			c.newReplicaSet(w, made)
			return c.placeReplicas(w, func() int64 { return made + secondMillis })
		})
	}
	if w.life.to == never {
		return
	}
	deleted := w.life.to - 10*secondMillis
	c.schedule(deleted, func() error {
		for i, p := range w.live {
			if p.end == never {
				c.stop(p, deleted+int64(i)*secondMillis)
			}
		}
		return nil
	})
}

// crashLoop lets the container of the first replica fail again and again, each time soon after the kubelet has restarted it, which
// waits for longer and longer. Two hours later a new ReplicaSet replaces the pod.
func (c *Cluster) crashLoop(w *workload, at int64) {
	p := w.live[0]
	ct := &p.containers[len(p.containers)-1]
	if p.end != never || at <= ct.runs[0].from {
		return
	}
	mended := at + min(2*time.Hour, c.cfg.Duration/20).Milliseconds()/secondMillis*secondMillis
	r := rng(keyOf(ct.key, "crashes"))
	const longest = 5 * minuteMillis
	for wait := 10 * secondMillis; at < mended; wait = min(2*wait, longest) {
		ct.runs[len(ct.runs)-1].to = at
		again := at + wait + r.between(1, 3)*secondMillis
		if again >= mended {
			break
		}
		ct.runs = append(ct.runs, span{again, never})
		at = again + r.between(15, 40)*secondMillis
	}
	c.schedule(mended, func() error { return c.rollOut(w, mended) })
}

// OutageTruth is a time, within the window, in which a target was not scraped although it was there.
type OutageTruth struct {
	// Job and Instance are the target's. They are empty if Prometheus itself did not run: then nothing was scraped.
	Job      string    `json:"job,omitempty"`
	Instance string    `json:"instance,omitempty"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
}

func (c *Cluster) outageTruth(within span) []OutageTruth {
	var out []OutageTruth
	add := func(job, instance string, s span) {
		if part := s.clip(within); part.from < part.to {
			out = append(out, OutageTruth{job, instance, instant(part.from), instant(part.to)})
		}
	}
	add("", "", c.stopped)
	for _, g := range c.targets() {
		for _, d := range g.down {
			add(g.job, g.instance, d)
		}
	}
	slices.SortStableFunc(out, func(a, b OutageTruth) int { return a.Start.Compare(b.Start) })
	return out
}
