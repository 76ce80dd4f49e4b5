package democluster

import (
	"container/heap"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// event is something that happens at a time; equal times in the order of seq.
type event struct {
	at   int64
	seq  int
	play func() error
}

type eventQueue struct {
	list []event
	seq  int
}

func (q *eventQueue) Len() int { return len(q.list) }
func (q *eventQueue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (q *eventQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *eventQueue) Push(x any)    { q.list = append(q.list, x.(event)) }
func (q *eventQueue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

func (c *Cluster) schedule(at int64, play func() error) {
	c.events.seq++
	heap.Push(&c.events, event{at, c.events.seq, play})
}

// play plays all events before to.
func (c *Cluster) play(to int64) error {
	for c.events.Len() > 0 && c.events.list[0].at < to {
		e := heap.Pop(&c.events).(event)
		if err := e.play(); err != nil {
			return err
		}
	}
	c.planned = max(c.planned, to)
	return nil
}

// placeInitial places all daemons, replicas and volumes that exist when the history starts, created up to 40h before.
func (c *Cluster) placeInitial() error {
	for _, n := range c.nodes {
		if n.life.from < c.start {
			if err := c.startDaemons(n, c.start-41*hourMillis); err != nil {
				return err
			}
		}
	}
	for _, w := range c.workloads {
		if w.kind != deployment && w.kind != statefulSet || w.life.from > c.start {
			continue
		}
		r := rng(keyOf(w.key, "initial"))
		since := c.start - r.between(3600, 40*3600)*secondMillis
		if w.kind == deployment {
			c.newReplicaSet(w, since)
		}
		if err := c.placeReplicas(w, func() int64 { return since + r.between(0, 60)*secondMillis }); err != nil {
			return err
		}
	}
	return nil
}

// placeReplicas creates all pods of a workload.
func (c *Cluster) placeReplicas(w *workload, instant func() int64) error {
	w.live = make([]*pod, w.replicas)
	for i := range w.live {
		if err := c.replace(w, i, instant(), nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) newReplicaSet(w *workload, at int64) {
	w.set = w.name + "-" + suffix(keyOf(w.key, "set", strconv.FormatInt(at, 10)), 10)
	c.replicaSets = append(c.replicaSets, replicaSet{w.namespace, w.set, w.name, span{at, w.life.to}})
}

func (c *Cluster) startDaemons(n *node, at int64) error {
	for _, w := range c.workloads {
		if w.kind != daemonSet {
			continue
		}
		p := c.newPod(w, at)
		p.owner.kind, p.owner.name = daemonSet, w.name
		p.name = w.daemonName(p.key)
		if !reserved(w).fits(n.free) {
			return fmt.Errorf("place pod %s/%s: node %s is full", w.namespace, p.name, n.name)
		}
		if n.life.to != never {
			p.end, p.listed = n.life.to-5000, n.life.to-3000
		}
		c.bind(p, n)
	}
	return nil
}

// daemonName is a name for another pod of a DaemonSet.
func (w *workload) daemonName(key uint64) string {
	if w.names == nil {
		w.names = map[string]bool{}
	}
	name := w.name + "-" + suffix(key, 5)
	for w.names[name] {
		key = mix(key)
		name = w.name + "-" + suffix(key, 5)
	}
	w.names[name] = true
	return name
}

// replace creates the pod of a replica, anywhere but on a node, and makes it the live one.
func (c *Cluster) replace(w *workload, replica int, at int64, not *node) error {
	p := c.newPod(w, at)
	p.ordinal = replica
	switch w.kind {
	case deployment:
		p.owner.kind, p.owner.name = "ReplicaSet", w.set
		p.name = w.set + "-" + suffix(p.key, 5)
	case statefulSet:
		p.owner.kind, p.owner.name = statefulSet, w.name
		p.name = fmt.Sprintf("%s-%d", w.name, replica)
		p.volumes = append(p.volumes, w.volumes[replica])
	}
	n := c.choose(w, not)
	if n == nil {
		return fmt.Errorf("place pod %s/%s: no node has room for it", w.namespace, p.name)
	}
	c.bind(p, n)
	w.live[replica] = p
	return nil
}

// newPod creates a pod of a workload without a name, an owner or a node, that runs forever.
func (c *Cluster) newPod(w *workload, at int64) *pod {
	number, network := &c.created, "10.1"
	if w.separate {
		number, network = &c.separate, "10.3"
	}
	*number++
	key := keyOf(w.key, "pod", strconv.FormatUint(*number, 10))
	r := rng(key)
	p := &pod{
		key: key, uid: uuid(keyOf(key, "uid")), of: w, ip: address(network, int(*number%50_000)),
		created: at, started: at + secondMillis, end: never, listed: never, volumes: slices.Clone(w.shared),
	}
	t := p.started + r.between(2, 6)*secondMillis
	if w.pulls > 0 {
		t += w.pulls.Milliseconds() * r.between(50, 150) / 100 / secondMillis * secondMillis
	}
	if w.starts > 0 { // it has one container
		t = at - secondMillis + w.starts.Milliseconds()
	}
	for i := range w.containers {
		spec := &w.containers[i]
		run := span{t, never}
		switch {
		case spec.init:
			run.to = t + r.between(12, 40)*secondMillis
			t = run.to + r.between(1, 2)*secondMillis
		case spec.sidecar: // before the main ones, and it takes a moment to be ready
			p.ready = max(p.ready, t+r.between(0, 1)*secondMillis)
		default:
			if w.starts == 0 {
				run.from += r.between(0, 1) * secondMillis
			}
			p.ready = max(p.ready, run.from)
		}
		p.containers = append(p.containers, container{spec: spec, request: spec.request, limit: spec.limit, key: keyOf(key, spec.name), runs: []span{run}})
	}
	return p
}

// reserved is what a new pod of a workload takes from its node: the sum of its containers' peaks.
func reserved(w *workload) (sum resources) {
	for i := range w.containers {
		sum = sum.plus(w.containers[i].peak())
	}
	return sum
}

// reserved is what the pod takes from its node. Its workload may have other containers by now.
func (p *pod) reserved() (sum resources) {
	for i := range p.containers {
		sum = sum.plus(p.containers[i].spec.peak())
	}
	return sum
}

// choose returns the node with the largest free fraction of its scarcer resource, nil if a new pod of the workload fits nowhere.
func (c *Cluster) choose(w *workload, not *node) *node {
	need := reserved(w)
	needsGPU := need.gpu != gpus{}
	isJob := w.kind == job || w.kind == cronJob
	var best *node
	var most float64
	for _, n := range c.nodes {
		if n == not || n.cordoned || isJob && n.noJobs || w.onSpot && !n.spot || needsGPU != (n.dcgm != nil) {
			continue
		}
		// Every pod looks at every node here: whole resources are not copied around.
		cpu, mem := n.free.cpu-need.cpu, n.free.mem-need.mem
		if cpu < 0 || mem < 0 || needsGPU && !need.gpu.fits(n.free.gpu) {
			continue
		}
		free := min(float64(cpu)/float64(n.kind.capacity.cpu), float64(mem)/float64(n.kind.capacity.mem))
		if best == nil || free > most {
			best, most = n, free
		}
	}
	return best
}

// bind puts a pod on a node for good, and gives the room back when the pod ends.
func (c *Cluster) bind(p *pod, n *node) {
	c.overrideRequests(p)
	p.node = n
	p.gpu = n.assign(p)
	n.free = n.free.minus(p.reserved())
	n.pods = append(n.pods, p)
	c.pods = append(c.pods, p)
	for _, v := range p.volumes {
		v.pods = append(v.pods, p)
	}
	for _, s := range p.of.services {
		s.pods = append(s.pods, p)
	}
	c.clipRuns(p)
	if p.end != never {
		c.schedule(p.end, func() error { n.free = n.free.plus(p.reserved()); return nil })
	}
}

// stop ends a running pod at a time; the API forgets it a second later.
func (c *Cluster) stop(p *pod, at int64) {
	p.end, p.listed = at, at+secondMillis
	c.clipRuns(p)
	c.schedule(at, func() error { p.node.free = p.node.free.plus(p.reserved()); return nil })
}

func (*Cluster) clipRuns(p *pod) {
	for i := range p.containers {
		runs := p.containers[i].runs
		runs[len(runs)-1].to = min(runs[len(runs)-1].to, p.end)
	}
}

// scheduleEvents puts everything on the calendar that happens to the placed workloads.
func (c *Cluster) scheduleEvents() {
	joining, leaving := c.nodes[c.cfg.Nodes], c.nodes[c.cfg.Nodes-1]
	c.schedule(joining.life.from+20*secondMillis, func() error { return c.startDaemons(joining, joining.life.from+20*secondMillis) })
	c.schedule(c.timeAt(atNodeLeaves), func() error { return c.drain(leaving, c.timeAt(atNodeLeaves)) })
	for _, w := range c.workloads {
		switch w.name {
		case "checkout-api":
			c.schedule(c.timeAt(atFirstRollout), func() error { return c.rollOut(w, c.timeAt(atFirstRollout)) })
		case "web-frontend":
			c.schedule(c.timeAt(atSecondRollout), func() error { return c.rollOut(w, c.timeAt(atSecondRollout)) })
		case "indexer":
			if w.namespace == "search" { // others stay where they are: the new spot node has room for one
				c.schedule(c.timeAt(atMoveToSpot), func() error { joining.cordoned = false; return c.moveToSpot(w, c.timeAt(atMoveToSpot)) })
			}
		case "query-frontend":
			c.schedule(c.timeAt(atFirstRestart), func() error { c.restart(w, c.timeAt(atFirstRestart)); return nil })
		case "ledger-writer":
			c.schedule(c.timeAt(atSecondRestart), func() error { c.restart(w, c.timeAt(atSecondRestart)); return nil })
			if w.namespace == "payments" {
				c.schedule(c.timeAt(atBiggerRequest), func() error { return c.requestMore(w, c.timeAt(atBiggerRequest)) })
			}
		case "webhook":
			c.schedule(c.timeAt(atCrashLoop), func() error { c.crashLoop(w, c.timeAt(atCrashLoop)); return nil })
		case "elasticsearch":
			c.schedule(c.timeAt(atRecreation), func() error { return c.recreate(w, 0, c.timeAt(atRecreation)) })
		}
		c.scheduleNamespace(w)
		if w.every > 0 {
			first := c.start - 2*hourMillis
			if w.kind == cronJob { // on the clock, as a crontab is
				every := w.every.Milliseconds()
				first = first / every * every
			} else {
				r := rng(keyOf(w.key, "first"))
				first += r.between(0, 600) * secondMillis
			}
			first = w.due(first / secondMillis * secondMillis)
			c.schedule(first, func() error { c.fire(w, first); return nil })
		}
	}
}

// fire starts one Job and schedules the next. If no node has room it is left out, as a quota would.
func (c *Cluster) fire(w *workload, at int64) {
	next := at + w.every.Milliseconds()
	if w.kind == job {
		r := rng(keyOf(w.key, "gap", strconv.Itoa(w.fired)))
		next += r.between(-180, 180) * secondMillis
	}
	next = w.due(next)
	c.schedule(next, func() error { c.fire(w, next); return nil })
	number := w.fired
	w.fired++
	n := c.choose(w, nil)
	if n == nil {
		return
	}
	p := c.newPod(w, at+secondMillis)
	r := rng(keyOf(p.key, "lasts"))
	lasts := w.lasts[number%len(w.lasts)]
	p.end = p.ready + lasts.Milliseconds()*r.between(900, 1100)/1000/secondMillis*secondMillis
	if w.starts > 0 {
		p.end = p.ready + lasts.Milliseconds()
	}
	p.listed = p.end + 10*minuteMillis
	p.completed = true
	p.owner.kind = job
	cron := ""
	if w.kind == cronJob {
		cron, p.owner.name = w.name, fmt.Sprintf("%s-%d", w.name, at/minuteMillis)
	} else {
		p.owner.name = fmt.Sprintf("%s-%s-%s", w.name, shortName(lasts), suffix(p.key, 6))
	}
	p.name = p.owner.name + "-" + suffix(keyOf(p.key, "name"), 5)
	c.jobs = append(c.jobs, jobRun{w.namespace, p.owner.name, cron, span{at, p.listed}})
	c.bind(p, n)
}

func shortName(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d >= time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	default:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
}

// rollOut replaces the pods of a Deployment by those of a new ReplicaSet, one every 20s.
func (c *Cluster) rollOut(w *workload, at int64) error {
	c.newReplicaSet(w, at)
	for i := range w.live {
		t := at + int64(i)*20*secondMillis
		c.schedule(t, func() error {
			old := w.live[i]
			if err := c.replace(w, i, t, nil); err != nil {
				return err
			}
			if old.end == never {
				c.stop(old, max(t, w.live[i].ready)+8*secondMillis)
			}
			return nil
		})
	}
	return nil
}

// drain moves all pods of a node elsewhere, then lets it go.
func (c *Cluster) drain(n *node, at int64) error {
	n.cordoned = true
	for i, p := range n.pods {
		if p.end != never || p.of.kind == daemonSet {
			continue
		}
		stopped := at + int64(5+i%25)*secondMillis
		c.stop(p, stopped)
		again := at + secondMillis
		if p.of.kind == statefulSet { // the name must be free first
			again = stopped + 3*secondMillis
		}
		c.schedule(again, func() error {
			if p.of.live[p.ordinal] != p { // a rollout was faster
				return nil
			}
			return c.replace(p.of, p.ordinal, again, n)
		})
	}
	return nil
}

// recreate replaces a StatefulSet's pod by one of the same name on another node.
func (c *Cluster) recreate(w *workload, replica int, at int64) error {
	old := w.live[replica]
	if old.end != never {
		return nil
	}
	c.stop(old, at)
	again := at + 4*secondMillis
	c.schedule(again, func() error { return c.replace(w, replica, again, old.node) })
	return nil
}

// restart kills the first replica's container; the kubelet starts it again in place after 70s of back-off.
func (*Cluster) restart(w *workload, at int64) {
	ct := &w.live[0].containers[len(w.live[0].containers)-1]
	last := &ct.runs[len(ct.runs)-1]
	if at <= last.from || last.to != never {
		return
	}
	ct.runs = append(ct.runs, span{at + 70*secondMillis, last.to})
	ct.runs[len(ct.runs)-2].to = at
}
