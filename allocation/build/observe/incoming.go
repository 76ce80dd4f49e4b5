package observe

import (
	"fmt"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

type phase uint8

// The phases of a computation, by what may be added.
const (
	Gathering  phase = iota // everything but usage
	Measuring               // usage
	Correcting              // usage again, of overcommitted time
	Finalized
)

// Incoming is a series at hand.
type Incoming struct {
	signals.Series
	Key    []signals.Symbol
	tail   []signals.Symbol // names and values after the signal's own key elements
	Points *timeline.Points
	// ID is a timeline.SeriesID that distinguishes series of one key. It stands for the last element of keys where that is
	// a long text, such as a cgroup path; else it is 0.
	ID uint64
}

// Object is the namespaced object that the series is about.
func (s *Incoming) Object() ObjectKey { return ObjectKey{s.Key[0], s.Key[1], s.Key[2]} }

// Pod is the pod that the series is about.
func (s *Incoming) Pod() PodKey { return PodKey{s.Object(), s.Key[3], 0} }

// Look checks a series before it is added.
func (ob *Observer) Look(series signals.Series, key []signals.Symbol, p *timeline.Points) (Incoming, error) {
	n := len(series.Signal.Key())
	if len(key) < n {
		return Incoming{}, fmt.Errorf("add %s: key of %d elements, want %d", series.Signal, len(key), n)
	}
	if !ob.takes(series.Signal) {
		return Incoming{}, fmt.Errorf("add %s: out of order", series.Signal)
	}
	out := Incoming{Series: series, Key: key[:n], tail: key[n:], Points: p}
	if series.Signal.HasSeriesKey() {
		if out.ID = p.Series(); out.ID == 0 {
			out.ID = timeline.SeriesID(key[n-1].Value())
		}
	}
	return out, nil
}

// takes reports whether series of a signal may be added in this phase.
func (ob *Observer) takes(s signals.Signal) bool {
	switch ob.Phase {
	case Gathering:
		return !s.IsIntegrated()
	case Measuring:
		return s.IsIntegrated()
	case Correcting:
		return s.IsUsage()
	default:
		return s.IsMetadata() && len(ob.Pods.Metadata.By) > 0
	}
}

// SamplingOf returns how to sample the points of a series.
func (ob *Observer) SamplingOf(s *Incoming) timeline.Sampling {
	sampling := ob.Sampling
	sampling.End = max(sampling.End, ob.Evidence.UsageUntil)
	if s.Unmarked {
		return sampling.Unmarked()
	}
	return sampling
}

// tailMap returns the tail of the key as a map.
func (s *Incoming) tailMap() map[string]string {
	m := make(map[string]string, len(s.tail)/2)
	for i := 0; i+1 < len(s.tail); i += 2 {
		m[s.tail[i].Name()] = s.tail[i+1].Name()
	}
	return m
}
