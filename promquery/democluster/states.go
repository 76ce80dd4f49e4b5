package democluster

// terminatedFor is how long after a container has failed kubelets say that it waits for its restart: it is terminated until then.
const terminatedFor = 12 * secondMillis

// states are what kube-state-metrics tells of the runs of a container.
type states struct {
	running, restarts []step
	// started is the start of a container that runs or is terminated; one that waits has none.
	started []step
	// completed is the end of a container that is terminated, terminated the last end of one that has been restarted or waits for it.
	completed, terminated []step
}

// main says whether a container is none that runs before or beside others.
func (ct *container) main() bool { return !ct.spec.init && !ct.spec.sidecar }

// following is when the next run begins, or when the pod is listed no more.
func (ct *container) following(run int, p *pod) int64 {
	if run+1 < len(ct.runs) {
		return ct.runs[run+1].from
	}
	return p.listed
}

func (ct *container) states(p *pod) states {
	s := states{running: []step{{at: p.started}}, restarts: []step{{at: p.started}}}
	for i, r := range ct.runs {
		s.running = append(s.running, step{at: r.from, value: 1}, step{at: r.to})
		s.started = append(s.started, step{at: r.from, value: seconds(r.from)})
		s.completed = append(s.completed, step{at: r.to, value: seconds(r.to)})
		if i > 0 {
			s.restarts = append(s.restarts, step{at: r.from, value: float64(i)})
		}
		if r.to < p.end { // it failed
			waits := min(r.to+terminatedFor, ct.following(i, p))
			s.started = append(s.started, step{at: waits, absent: true})
			s.completed = append(s.completed, step{at: waits, absent: true})
			s.terminated = append(s.terminated, step{at: waits, value: seconds(r.to)})
		}
	}
	gone := step{at: p.listed, absent: true}
	for _, list := range []*[]step{&s.running, &s.restarts, &s.started, &s.completed, &s.terminated} {
		*list = append(*list, gone)
	}
	return s
}
