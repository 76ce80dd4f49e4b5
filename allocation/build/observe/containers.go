package observe

import (
	"github.com/promcost/promcost/allocation/timeline"
)

func (ob *Observer) addRunning(s *Incoming) error {
	if ob.skipsAlternative(s) {
		return nil
	}
	c, steps := ob.container(s), ob.shared.Sights(ob.SamplingOf(s), s.Points)
	if s.Key[5] != None {
		c.Pod.Hint = s.Key[5]
	}
	ob.shared.Add(&c.Running, s.Rank, steps)
	return nil
}

func (ob *Observer) addStarted(s *Incoming) error {
	if ob.skipsAlternative(s) {
		return nil
	}
	c, steps := ob.container(s), ob.SamplingOf(s).Reports(s.Points)
	if s.Rank == 0 {
		c.Started = timeline.Max(c.Started, steps)
	} else {
		c.Created = timeline.Max(c.Created, steps)
	}
	return nil
}

func (ob *Observer) addTerminated(s *Incoming) error {
	c := ob.container(s)
	c.Ended = timeline.Max(c.Ended, ob.Sampling.Reports(s.Points))
	return nil
}

func (ob *Observer) addRequest(s *Incoming) error {
	ob.shared.Add(&ob.container(s).Request[s.Resource], s.Rank, ob.requestsOf(s))
	return nil
}

func (ob *Observer) addLimit(s *Incoming) error {
	ob.shared.Add(&ob.container(s).Limit[s.Resource], s.Rank, ob.shared.Steps(ob.Sampling, s.Points))
	return nil
}

// requestsOf returns the usable requests in s. It notes the container if some are left out, for a warning.
func (ob *Observer) requestsOf(s *Incoming) timeline.Steps {
	steps := ob.shared.Steps(ob.Sampling, s.Points)
	kept := steps.NotNegative()
	if len(kept) < len(steps) || s.Points.AnyNotFinite() {
		ob.Report.BadRequests = append(ob.Report.BadRequests, s.Key[1].Value()+"/"+s.Key[2].Value()+"/"+s.Key[4].Value())
	}
	return ob.shared.Of(kept)
}
