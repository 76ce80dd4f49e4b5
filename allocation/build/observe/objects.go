package observe

import (
	"iter"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Owner is a kind, in lower case, and a name. The zero value is no owner.
type Owner struct{ Kind, Name signals.Symbol }

// Pod is one pod by UID.
type Pod struct {
	PodKey
	Containers []*Container
	*PodSignals
	Node          timeline.Latest[signals.Symbol]
	Address       timeline.Latest[signals.Symbol]
	CreatedBy     timeline.Latest[Owner]
	Owner         timeline.Latest[Owner]
	Started       timeline.Latest[float64] // Unix seconds
	Labels        timeline.Dated[allocation.ID]
	Annotations   timeline.Dated[allocation.ID]
	WithoutSignal []*Container                      // containers without a running signal
	Mounts        []signals.Symbol                  // claims of its namespace
	Behind        []services.Membership             // nil until it is resolved
	controlled    bool                              // owner is the managing controller
	Restarted     bool                              // one of its containers ran before its first known start
	Replaced      bool                              // by others of its name: it counts no more
	Reserve       *[allocation.NumResources]Reserve // nil if nothing but the requests of its containers is known; set once resolved
	After, Next   int64                             // when the pod of its name before it ended, and when the next one started, 0 for none; set once resolved

	Index int // among all pods
}

// PodSignals has the signals of when and where a pod ran. They are dropped once the pod is resolved.
type PodSignals struct {
	Hint       signals.Symbol // the node, by the address of the kubelet that saw it; None if that is not known
	Placements []Placement    // of a pod without a UID
	Seen       timeline.Steps
	Active     timeline.Steps // not 0 while the pod's phase is Running
	Scheduled  timeline.Latest[float64]
	Pending    timeline.Steps // not 0 while the pod's phase is Pending
	Born       timeline.Steps // when it started, as reported at each time, in Unix seconds
	Completed  timeline.Steps // the last end of the containers that were terminated at each time
	Deleted    timeline.Steps // when its grace period ends
	final      timeline.Steps // not 0 while the pod's phase is Succeeded or Failed
	Overhead   [allocation.NumResources]timeline.Steps
	Claims     []DeviceClaim
	// Provisioned is what its provider made for it alone.
	Provisioned [allocation.NumResources]timeline.Steps
}

func newPod(key PodKey) *Pod { return &Pod{PodKey: key, PodSignals: &PodSignals{Hint: None}} }

// Container is one container of one pod, restarts in place included.
type Container struct {
	// What most series need comes first, so that it is in one cache line.
	Name signals.Symbol // its name
	Pod  *Pod
	*ContainerSignals
	Node  *Node // nil if it is not known; set once resolved
	Init  bool
	Alone bool // only its usage is known
	// Restarted says that it started more than once within the window; set once resolved.
	Restarted bool
	GPU       allocation.ID // GPUDevices of its rows, once resolved
	Sections  []Section

	Runs    timeline.Intervals
	Started timeline.Steps
	Devices *Devices // nil without
	Rows    []RowRef // of the sets it runs in
	Index   int      // among the containers in the order of rows
}

// ContainerSignals has the signals of a container. They are dropped once its sections are made.
type ContainerSignals struct {
	Running timeline.Ranked
	Created timeline.Steps // by cAdvisor: replaces Started if that is not known of the container and its pod
	Ended   timeline.Steps // when it last ended, as reported at each time, in Unix seconds
	// Restarts is how often it was restarted, as reported at each time.
	Restarts timeline.Steps
	Request  [allocation.NumResources]timeline.Ranked
	Limit    [allocation.NumResources]timeline.Ranked
}

// NewContainer adds a container to a pod.
func (p *Pod) NewContainer(name signals.Symbol) *Container {
	c := &Container{Name: name, Pod: p, ContainerSignals: &ContainerSignals{}}
	p.Containers = append(p.Containers, c)
	return c
}

// namespace holds maps of the Dict.
type namespace struct{ labels, annotations timeline.Dated[allocation.ID] }

// Metadata returns a namespace's labels and annotations at t. A nil namespace has none.
func (n *namespace) Metadata(t int64) (labels, annotations allocation.ID) {
	if n == nil {
		return 0, 0
	}
	return n.labels.At(t), n.annotations.At(t)
}

// RankOfInfo is the rank of the running signal that is kube_pod_container_info: it counts while the pod's phase is
// Running.
const RankOfInfo = 2

// container returns the container that s is about. It makes the container and its pod if they are new.
func (ob *Observer) container(s *Incoming) *Container {
	p := ob.PodOf(s.Pod())
	c := p.Container(s.Key[4])
	if c == nil {
		c = p.NewContainer(s.Key[4])
	}
	c.Init = c.Init || s.Init
	return c
}

// Container returns the container of a name, nil if there is none. A nil pod has none.
func (p *Pod) Container(name signals.Symbol) *Container {
	if p == nil {
		return nil
	}
	for _, c := range p.Containers {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// RowIn returns the row of the container in a set. Its Row is NoRow where there is none.
func (c *Container) RowIn(set int32) RowRef {
	for _, ref := range c.Rows {
		if ref.Set == set {
			return ref
		}
	}
	return RowRef{set, NoRow}
}

// EveryPod yields all pods, in no particular order.
func (ob *Observer) EveryPod() iter.Seq[*Pod] {
	return func(yield func(*Pod) bool) {
		for _, p := range Each(&ob.Limits, slices.All(ob.Pods.All)) {
			if !p.Replaced && !yield(p) {
				return
			}
		}
	}
}

// Every yields all containers, in no particular order.
func (ob *Observer) Every() iter.Seq[*Container] {
	return func(yield func(*Container) bool) {
		for p := range ob.EveryPod() {
			for _, c := range p.Containers {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Named yields the containers of a name in the pods of a name.
func (ob *Observer) Named(pods ObjectKey, name signals.Symbol) iter.Seq[*Container] {
	return func(yield func(*Container) bool) {
		for _, p := range ob.Pods.ByName[pods] {
			if c := p.Container(name); c != nil && !yield(c) {
				return
			}
		}
	}
}

// PodOf is the pod of a key. It makes the pod if that is new.
func (ob *Observer) PodOf(key PodKey) *Pod {
	p := ob.Pods.Find(&key)
	if p == nil {
		p = newPod(key)
		ob.AddNew(p)
		ob.Pods.ByName[key.ObjectKey] = append(ob.Pods.ByName[key.ObjectKey], p)
	}
	return p
}

// ofUID returns the first pod that had a UID, nil if there is none.
func (t *podTable) ofUID(uid signals.Symbol) *Pod {
	if n := uid.Number(); n < len(t.byUID) {
		return t.byUID[n]
	}
	return nil
}

// Find returns the pod of a key, nil if there is none.
func (t *podTable) Find(key *PodKey) *Pod {
	// Comparing the fields takes less time than comparing the structs, and each series looks for its pod here.
	if p := t.ofUID(key.UID); p != nil && p.UID == key.UID && p.Name == key.Name && p.Namespace == key.Namespace && p.Cluster == key.Cluster && p.Nth == key.Nth {
		return p
	} else if p == nil && key.UID != None {
		return nil
	}
	return t.ByKey[*key]
}

// PodByUID returns the pod of a series by the UID in its key, whatever the series calls it: a cAdvisor that runs as a DaemonSet may give series the
// names of its own pod. It returns nil if that pod is not known.
func (ob *Observer) PodByUID(s *Incoming) *Pod {
	of := s.Pod()
	if p := ob.Pods.Find(&of); p != nil {
		return p // mostly
	}
	if p := ob.Pods.ofUID(of.UID); p != nil && p.UID == of.UID && p.Cluster == of.Cluster {
		return p
	}
	return nil
}

// AddNew adds a pod with a key of its own.
func (ob *Observer) AddNew(p *Pod) {
	t, n := &ob.Pods, p.UID.Number()
	t.byUID = append(t.byUID, make([]*Pod, max(0, n+1-len(t.byUID)))...)
	if n != 0 && t.byUID[n] == nil {
		t.byUID[n] = p
	} else {
		t.ByKey[p.PodKey] = p
	}
	p.Index = len(t.All)
	t.All = append(t.All, p)
}

// Replace takes out a pod that others of its name replace.
func (ob *Observer) Replace(p *Pod) {
	t := &ob.Pods
	if n := p.UID.Number(); n < len(t.byUID) && t.byUID[n] == p {
		t.byUID[n] = newPod(PodKey{}) // other pods with the UID are in ByKey
	}
	delete(t.ByKey, p.PodKey)
	p.Replaced = true
}

func (ob *Observer) addPod(s *Incoming) error {
	seen := ob.shared.Holding(ob.Sampling, ob.shared.Sights(ob.Sampling, s.Points))
	p, at := ob.PodOf(s.Pod()), s.Points.Last()
	p.Seen = ob.shared.Max(p.Seen, seen)
	p.addPlacement(s.Key[4], s.Key[5], seen)
	if s.Key[4] != None {
		p.Node.Set(s.Key[4], at)
	}
	if s.Key[5] != None {
		p.Address.Set(s.Key[5], at)
	}
	p.CreatedBy.Set(ob.ownerOf(s.Key[6], s.Key[7]), at)
	return nil
}

// ownerOf returns the owner of that kind and name, the zero owner if there is none or either is not known.
func (ob *Observer) ownerOf(kind, name signals.Symbol) Owner {
	k := strings.ToLower(kind.Value())
	if k == "" || k == "<none>" || name == None {
		return Owner{}
	}
	return Owner{ob.Symbols.Of(k), name}
}

func (ob *Observer) addPodPhase(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.Active = ob.shared.Max(p.Active, ob.shared.Sights(ob.Sampling, s.Points))
	return nil
}

func (ob *Observer) addPodStarted(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	if v, ok := s.Points.LastUsable(); ok {
		p.Started.Set(v, s.Points.Last())
	}
	p.Born = timeline.Max(p.Born, ob.Sampling.Reports(s.Points))
	return nil
}

func (ob *Observer) addPodCompleted(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.Completed = timeline.Max(p.Completed, ob.Sampling.Reports(s.Points))
	return nil
}

func (ob *Observer) addPodDeleted(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.Deleted = timeline.Max(p.Deleted, ob.Sampling.Reports(s.Points))
	return nil
}

func (ob *Observer) addPodOwner(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	controls := s.Key[6].Value() == "true"
	if p.controlled && !controls {
		return nil
	}
	p.controlled = p.controlled || controls
	p.Owner.Set(ob.ownerOf(s.Key[4], s.Key[5]), s.Points.Last())
	return nil
}

func (ob *Observer) namespaceOf(s *Incoming) *namespace {
	key := ObjectKey{s.Key[0], s.Key[1], None}
	n, ok := ob.Pods.Namespaces[key]
	if !ok {
		n = &namespace{}
		ob.Pods.Namespaces[key] = n
	}
	return n
}

func (ob *Observer) addNamespaceLabels(s *Incoming) error {
	ob.namespaceOf(s).labels.Add(ob.addTail(s.tail), ob.shared.Steps(ob.Sampling, s.Points))
	return nil
}

func (ob *Observer) addNamespaceAnnotations(s *Incoming) error {
	ob.namespaceOf(s).annotations.Add(ob.addTail(s.tail), ob.shared.Steps(ob.Sampling, s.Points))
	return nil
}

func (ob *Observer) addReplicaSetOwner(s *Incoming) error { return ob.addOwner("replicaset", s) }

func (ob *Observer) addJobOwner(s *Incoming) error { return ob.addOwner("job", s) }

func (ob *Observer) addOwner(kind string, s *Incoming) error {
	if o := ob.ownerOf(s.Key[3], s.Key[4]); o != (Owner{}) {
		ob.Pods.Owners[OwnerKey{ob.Symbols.Of(kind), s.Object()}] = o
	}
	return nil
}

// CanUse reports whether the container's node has enough CPU for this usage in (from, to].
func (c *Container) CanUse(coreSeconds float64, from, to int64) bool {
	return c.Node != nil && (c.Node.ByPods || coreSeconds <= c.Node.Amount[allocation.CPU].Value(to)*float64(to-from)/1000)
}

// FillFrom takes over what is not known of p.
func (p *Pod) FillFrom(from *Pod) {
	if !p.Owner.Known() {
		p.Owner = from.Owner
	}
	if !p.Scheduled.Known() {
		p.Scheduled = from.Scheduled
	}
	if len(p.Pending) == 0 {
		p.Pending = from.Pending
	}
	if len(p.Mounts) == 0 {
		p.Mounts = from.Mounts
	}
	if len(p.Labels) == 0 {
		p.Labels = from.Labels
	}
	if len(p.Annotations) == 0 {
		p.Annotations = from.Annotations
	}
	if !p.Node.Known() {
		p.Node = from.Node
	}
}

// AddSignals adds from's signals. If clip is set, it adds only those of the time that seen covers.
func (c *Container) AddSignals(from *Container, seen timeline.Steps, clip bool) {
	take := func(s timeline.Steps) timeline.Steps {
		if clip {
			return timeline.Within(s, seen)
		}
		return s
	}
	c.Init = c.Init || from.Init
	for rank, s := range from.Running {
		c.Running.Add(rank, take(s))
	}
	for r := range allocation.NumResources {
		for rank, s := range from.Request[r] {
			c.Request[r].Add(rank, take(s))
		}
		for rank, s := range from.Limit[r] {
			c.Limit[r].Add(rank, take(s))
		}
	}
	c.AddDevices(from.Devices, take)
	c.Started = timeline.Max(c.Started, take(from.Started))
	c.Created = timeline.Max(c.Created, take(from.Created))
	c.Ended = timeline.Max(c.Ended, take(from.Ended))
	c.Restarts = timeline.Max(c.Restarts, take(from.Restarts))
}

// Together reports whether the pod has another container, no init container, that was last seen together with c. If c was never seen,
// any other one counts.
func (c *Container) Together(mine timeline.Steps) bool {
	last, lasts, seen := timeline.LastSight(mine)
	return slices.ContainsFunc(c.Pod.Containers, func(x *Container) bool {
		if x == c || x.Init {
			return false
		}
		other, _, _ := timeline.LastSight(x.Running.Best())
		return !seen || last-other < lasts && other-last < lasts
	})
}

// RanOnce reports whether a container of a pod that is over was never restarted.
func (c *Container) RanOnce() bool {
	over := slices.ContainsFunc(c.Pod.final, func(x timeline.Step) bool { return x.V != 0 })
	return over && len(c.Restarts) > 0 && !slices.ContainsFunc(c.Restarts, func(x timeline.Step) bool { return x.V != 0 })
}

// Placement is a node that a pod without a UID was on, the pod's address there, and when it was seen.
type Placement struct {
	Node, Address signals.Symbol
	Seen          timeline.Steps
}

// addPlacement records where a pod without a UID was seen. All pods of one name are one pod until containers are resolved, which splits it by node: a pod
// that is created again on another node is another pod.
func (p *Pod) addPlacement(node, address signals.Symbol, seen timeline.Steps) {
	if p.UID != None || node == None {
		return
	}
	for i := range p.Placements {
		if x := &p.Placements[i]; x.Node == node {
			x.Seen = timeline.Max(x.Seen, seen)
			x.Address = address
			return
		}
	}
	p.Placements = append(p.Placements, Placement{node, address, slices.Clone(seen)})
}

func (ob *Observer) addPodScheduled(s *Incoming) error {
	if v, ok := s.Points.LastUsable(); ok {
		ob.PodOf(s.Pod()).Scheduled.Set(v, s.Points.Last())
	}
	return nil
}

func (ob *Observer) addPodPending(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.Pending = timeline.Max(p.Pending, ob.Sampling.Steps(s.Points))
	return nil
}
