package build

import "github.com/promcost/promcost/allocation/signals"

// ahead reads memory shortly before it is needed, of many objects at once: so the processor waits for all of it at the same time.
type ahead struct {
	pods       []*pod
	containers []*container
	sum        int // of what was read; nobody needs it, but without it nothing would be read
}

// Soon is told the UIDs of the pods whose series are added next, some dozens at once. Nothing that is computed depends on it. Other workers
// may be used meanwhile, so it reads nothing that any of them changes.
func (l *Worker) Soon(signal signals.Signal, uids []signals.Symbol) {
	x := &l.ahead
	x.pods, x.containers = x.pods[:0], x.containers[:0]
	for _, uid := range uids {
		if p := l.b.pods.ofUID(uid); p != nil {
			x.pods = append(x.pods, p)
		}
	}
	look(x, x.pods, func(p *pod) int { return len(p.containers) + int(p.started.At) + len(p.behind) + int(p.usageFrom) })
	for _, p := range x.pods {
		x.containers = append(x.containers, p.containers...)
	}
	look(x, x.containers, func(c *container) int { return len(c.segments) + len(c.runs) })
	if !signal.FollowsResolve() {
		look(x, x.pods, func(p *pod) int { return len(p.seen) + len(p.completed) })
		look(x, x.containers, func(c *container) int { return len(c.running) + len(c.request[0]) + len(c.limit[0]) })
		return
	}
	look(x, x.containers, func(c *container) int { return int(firstOf(c.segments).from) })
	look(x, x.containers, func(c *container) int { return int(firstOf(c.started).From) })
	look(x, x.containers, func(c *container) int { return int(firstOf(c.runs).From) })
}

// resolve is for containers that are resolved next.
func (x *ahead) resolve(next []*container) {
	look(x, next, func(c *container) int { return len(c.segments) + len(c.runs) })
	look(x, next, func(c *container) int { return len(c.running) + len(c.limit[0]) + len(c.pod.containers) })
	look(x, next, func(c *container) int {
		return len(c.pod.labels) + len(c.pod.behind) + len(c.pod.seen) + len(c.pod.deleted)
	})
	look(x, next, func(c *container) int { return len(firstOf(c.running)) + int(firstOf(c.started).From) })
	look(x, next, func(c *container) int { return int(firstOf(c.pod.labels).From) + int(firstOf(c.pod.born).From) })
}

// look reads a part of each object. Calls of of must not depend on each other.
func look[T any](x *ahead, list []T, of func(T) int) {
	for _, object := range list {
		x.sum += of(object)
	}
}

// firstOf is the first element of a list, the zero T of none.
func firstOf[T any](list []T) (first T) {
	if len(list) > 0 {
		first = list[0]
	}
	return first
}
