package build

import (
	"iter"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// owner is a kind, in lower case, and a name. The zero value is no owner.
type owner struct{ kind, name signals.Symbol }

// pod is one pod by UID.
type pod struct {
	podKey
	containers []*container
	*podSignals
	node          timeline.Latest[signals.Symbol]
	address       timeline.Latest[signals.Symbol]
	createdBy     timeline.Latest[owner]
	owner         timeline.Latest[owner]
	started       timeline.Latest[float64] // Unix seconds
	labels        timeline.Dated[allocation.ID]
	annotations   timeline.Dated[allocation.ID]
	withoutSignal []*container          // containers without a running signal
	mounts        []signals.Symbol      // claims of its namespace
	behind        []services.Membership // nil until it is resolved
	controlled    bool                  // owner is the managing controller
	restarted     bool                  // one of its containers ran before its first known start
	replaced      bool                  // by others of its name: it counts no more

	on        *node // of its containers, nil if it is not known; set once resolved
	index     int   // among all pods
}

// joinedLabels are the labels of a pod, its namespace and its node that were joined last: the containers of a pod follow each other.
type joinedLabels struct {
	of  [3]allocation.ID // labels of the node, of the namespace, and its own
	all allocation.ID    // all three joined
}

// podSignals has the signals of when and where a pod ran. They are dropped once the pod is resolved.
type podSignals struct {
	hint       signals.Symbol // the node, by the address of the kubelet that saw it; none if that is not known
	placements []placement    // of a pod without a UID
	seen       timeline.Steps
	active     timeline.Steps // not 0 while the pod's phase is Running
	scheduled  timeline.Latest[float64]
	pending    timeline.Steps // not 0 while the pod's phase is Pending
	born       timeline.Steps // when it started, as reported at each time, in Unix seconds
	completed  timeline.Steps // the last end of the containers that were terminated at each time
	deleted    timeline.Steps // when its grace period ends
	final      timeline.Steps // not 0 while the pod's phase is Succeeded or Failed
}

func newPod(key podKey) *pod { return &pod{podKey: key, podSignals: &podSignals{hint: none}} }

// container is one container of one pod, restarts in place included.
type container struct {
	// What most series need comes first, so that it is in one cache line.
	container signals.Symbol // its name
	pod       *pod
	*containerSignals
	node  *node // nil if it is not known; set once resolved
	init  bool
	alone bool // only its usage is known
	// restarted says that it started more than once within the window; set once resolved.
	restarted bool
	gpu       allocation.ID // GPUDevices of its rows, once resolved
	segments  []segment

	runs    timeline.Intervals
	started timeline.Steps
	devices *devices // nil without
	rows    []rowRef // of the sets it runs in
	index   int      // among the containers in the order of rows
}

// containerSignals has the signals of a container. They are dropped once its segments are made.
type containerSignals struct {
	running timeline.Ranked
	created timeline.Steps // by cAdvisor: replaces started if that is not known of the container and its pod
	ended   timeline.Steps // when it last ended, as reported at each time, in Unix seconds
	// restarts is how often it was restarted, as reported at each time.
	restarts timeline.Steps
	request  [allocation.NumResources]timeline.Ranked
	limit    [allocation.NumResources]timeline.Ranked
}

// newContainer adds a container to a pod.
func (p *pod) newContainer(name signals.Symbol) *container {
	c := &container{container: name, pod: p, containerSignals: &containerSignals{}}
	p.containers = append(p.containers, c)
	return c
}

// rowRef is a row of a set. In the sets of the margins, which are dropped, and where another shard has it, row is noRow.
type rowRef struct{ set, row int32 }

const noRow = -1

// namespace holds maps of the builder's Dict.
type namespace struct{ labels, annotations timeline.Dated[allocation.ID] }

// at returns a namespace's labels and annotations at t. A nil namespace has none.
func (n *namespace) at(t int64) (labels, annotations allocation.ID) {
	if n == nil {
		return 0, 0
	}
	return n.labels.At(t), n.annotations.At(t)
}

// runningByInfo is the rank of the running signal that is kube_pod_container_info: it counts while the pod's phase is
// Running.
const runningByInfo = 2

// container returns the container that s is about. It makes the container and its pod if they are new.
func (b *Builder) container(s *incoming) *container {
	p := b.podOf(s.pod())
	c := p.container(s.key[4])
	if c == nil {
		c = p.newContainer(s.key[4])
	}
	c.init = c.init || s.Init
	return c
}

// container returns the container of a name, nil if there is none. A nil pod has none.
func (p *pod) container(name signals.Symbol) *container {
	if p == nil {
		return nil
	}
	for _, c := range p.containers {
		if c.container == name {
			return c
		}
	}
	return nil
}

// everyPod yields all pods, in no particular order.
func (b *Builder) everyPod() iter.Seq[*pod] {
	return func(yield func(*pod) bool) {
		for _, p := range each(&b.limits, slices.All(b.pods.all)) {
			if !p.replaced && !yield(p) {
				return
			}
		}
	}
}

// every yields all containers, in no particular order.
func (b *Builder) every() iter.Seq[*container] {
	return func(yield func(*container) bool) {
		for p := range b.everyPod() {
			for _, c := range p.containers {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// named yields the containers of a name in the pods of a name.
func (b *Builder) named(pods objectKey, name signals.Symbol) iter.Seq[*container] {
	return func(yield func(*container) bool) {
		for _, p := range b.pods.byName[pods] {
			if c := p.container(name); c != nil && !yield(c) {
				return
			}
		}
	}
}

func (b *Builder) podOf(key podKey) *pod {
	p := b.pods.find(&key)
	if p == nil {
		p = newPod(key)
		b.addNew(p)
		b.pods.byName[key.objectKey] = append(b.pods.byName[key.objectKey], p)
	}
	return p
}

// ofUID returns the first pod that had a UID, nil if there is none.
func (t *podTable) ofUID(uid signals.Symbol) *pod {
	if n := uid.Number(); n < len(t.byUID) {
		return t.byUID[n]
	}
	return nil
}

// find returns the pod of a key, nil if there is none.
func (t *podTable) find(key *podKey) *pod {
	// Comparing the fields takes less time than comparing the structs, and each series looks for its pod here.
	if p := t.ofUID(key.uid); p != nil && p.uid == key.uid && p.name == key.name && p.namespace == key.namespace && p.cluster == key.cluster && p.nth == key.nth {
		return p
	} else if p == nil && key.uid != none {
		return nil
	}
	return t.byKey[*key]
}

// addNew adds a pod with a key of its own.
func (b *Builder) addNew(p *pod) {
	t, n := &b.pods, p.uid.Number()
	t.byUID = append(t.byUID, make([]*pod, max(0, n+1-len(t.byUID)))...)
	if n != 0 && t.byUID[n] == nil {
		t.byUID[n] = p
	} else {
		t.byKey[p.podKey] = p
	}
	p.index = len(t.all)
	t.all = append(t.all, p)
}

// replace takes out a pod that others of its name replace.
func (b *Builder) replace(p *pod) {
	t := &b.pods
	if n := p.uid.Number(); n < len(t.byUID) && t.byUID[n] == p {
		t.byUID[n] = newPod(podKey{}) // other pods with the UID are in byKey
	}
	delete(t.byKey, p.podKey)
	p.replaced = true
}

func (b *Builder) addPod(s *incoming) error {
	seen := b.shared.Holding(b.sampling, b.shared.Sights(b.sampling, s.p))
	p, at := b.podOf(s.pod()), s.p.Last()
	p.seen = b.shared.Max(p.seen, seen)
	p.addPlacement(s.key[4], s.key[5], seen)
	if s.key[4] != none {
		p.node.Set(s.key[4], at)
	}
	if s.key[5] != none {
		p.address.Set(s.key[5], at)
	}
	p.createdBy.Set(b.ownerOf(s.key[6], s.key[7]), at)
	return nil
}

// ownerOf returns the owner of that kind and name, the zero owner if there is none or either is not known.
func (b *Builder) ownerOf(kind, name signals.Symbol) owner {
	k := strings.ToLower(kind.Value())
	if k == "" || k == "<none>" || name == none {
		return owner{}
	}
	return owner{b.symbols.Of(k), name}
}

func (b *Builder) addPodPhase(s *incoming) error {
	p := b.podOf(s.pod())
	p.active = b.shared.Max(p.active, b.shared.Sights(b.sampling, s.p))
	return nil
}

func (b *Builder) addPodStarted(s *incoming) error {
	p := b.podOf(s.pod())
	if v, ok := s.p.LastUsable(); ok {
		p.started.Set(v, s.p.Last())
	}
	p.born = timeline.Max(p.born, b.sampling.Reports(s.p))
	return nil
}

func (b *Builder) addPodCompleted(s *incoming) error {
	p := b.podOf(s.pod())
	p.completed = timeline.Max(p.completed, b.sampling.Reports(s.p))
	return nil
}

func (b *Builder) addPodDeleted(s *incoming) error {
	p := b.podOf(s.pod())
	p.deleted = timeline.Max(p.deleted, b.sampling.Reports(s.p))
	return nil
}

func (b *Builder) addPodOwner(s *incoming) error {
	p := b.podOf(s.pod())
	controls := s.key[6].Value() == "true"
	if p.controlled && !controls {
		return nil
	}
	p.controlled = p.controlled || controls
	p.owner.Set(b.ownerOf(s.key[4], s.key[5]), s.p.Last())
	return nil
}

// tailMap returns the tail of the key as a map.
func (s *incoming) tailMap() map[string]string {
	m := make(map[string]string, len(s.tail)/2)
	for i := 0; i+1 < len(s.tail); i += 2 {
		m[s.tail[i].Value()] = s.tail[i+1].Value()
	}
	return m
}

func (b *Builder) namespaceOf(s *incoming) *namespace {
	key := objectKey{s.key[0], s.key[1], none}
	n, ok := b.pods.namespaces[key]
	if !ok {
		n = &namespace{}
		b.pods.namespaces[key] = n
	}
	return n
}

func (b *Builder) addNamespaceLabels(s *incoming) error {
	b.namespaceOf(s).labels.Add(b.addTail(s.tail), b.shared.Steps(b.sampling, s.p))
	return nil
}

func (b *Builder) addNamespaceAnnotations(s *incoming) error {
	b.namespaceOf(s).annotations.Add(b.addTail(s.tail), b.shared.Steps(b.sampling, s.p))
	return nil
}

func (b *Builder) addReplicaSetOwner(s *incoming) error { return b.addOwner("replicaset", s) }
func (b *Builder) addJobOwner(s *incoming) error        { return b.addOwner("job", s) }

func (b *Builder) addOwner(kind string, s *incoming) error {
	if o := b.ownerOf(s.key[3], s.key[4]); o != (owner{}) {
		b.pods.owners[ownerKey{b.symbols.Of(kind), s.object()}] = o
	}
	return nil
}

// nodeKind is the kind of the owner of static pods. A node is no controller.
const nodeKind = "node"

// controller follows a pod's chain of owners: pod → replicaset → deployment or rollout, pod → job → cronjob.
func (b *Builder) controller(p *pod) owner {
	o := p.owner.Value
	if o == (owner{}) {
		o = p.createdBy.Value
	}
	if up, ok := b.pods.owners[ownerKey{o.kind, objectKey{p.cluster, p.namespace, o.name}}]; ok {
		o = up
	}
	if o.kind.Value() == nodeKind {
		return owner{}
	}
	return o
}
