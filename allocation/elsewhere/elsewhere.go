// Package elsewhere knows the pods whose rows other shards have, and when their containers were seen. A large cluster has many of them,
// and a shard needs little more of them than to recognize them: so it keeps hashes of their names.
package elsewhere

import (
	"hash/maphash"
	"maps"
	"strings"
	"sync"
)

// Pod names a pod. UID is "" where it is not known.
type Pod struct{ Cluster, Namespace, Name, UID string }

// Node names a node.
type Node struct{ Cluster, Name string }

// Pods are pods of other shards, by hashes of their texts. They are safe for concurrent use.
type Pods struct {
	seed maphash.Seed

	mu         sync.Mutex // not held while texts are hashed
	uids       map[uint64]owners
	twins      map[uint64]bool   // pods that have the UID of another one
	names      map[uint64]int    // how many pods have a name
	own        map[uint64]bool   // names and UIDs of pods that are not here, but for those that only share costs
	sharing    map[uint64]uint64 // names of these, by UID and by name
	count      int
	containers map[uint64]int32 // those that were asked for: where they are in list, from 1
	list       []container
	nameless   map[uint64]bool // those of which samples were seen that did not tell the UID, without the UID
	seen       map[uint64]bool // those of which samples were seen, without the UID; nil if it has to be made
	clusters   map[string]bool
	placing    bool // nodes and needed count
	nodes      map[uint64]bool
	needed     map[uint64]bool // by name
	wanted     map[uint64]bool // by name; nil unless some are placed again
}

// owners are the pods that have a UID: several clusters may have the same.
type owners struct {
	first uint64 // the others are twins
	n     int32
	kept  bool // Keep said so
}

// container is a container of a pod.
type container struct {
	nameless uint64 // its hash without the UID of the pod
	seen     bool
}

// NewPods returns no pods.
func NewPods() *Pods {
	p := &Pods{seed: maphash.MakeSeed()}
	p.Clear()
	return p
}

// Clear forgets all pods and their containers.
func (t *Pods) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uids, t.twins, t.names, t.count = map[uint64]owners{}, map[uint64]bool{}, map[uint64]int{}, 0
	t.own, t.sharing = map[uint64]bool{}, map[uint64]uint64{}
	t.containers, t.list, t.nameless, t.seen = map[uint64]int32{}, nil, map[uint64]bool{}, nil
	t.clusters, t.placing, t.wanted = map[string]bool{}, false, nil
}

// hash is a hash of a text that follows what h is a hash of.
func (t *Pods) hash(h uint64, text string) uint64 { return mix(h, maphash.String(t.seed, text)) }

// mix joins two hashes.
func mix(h, next uint64) uint64 {
	h = (h ^ next) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// texts are hashes of the texts of a pod.
type texts struct{ namespace, name, uid uint64 }

func (t *Pods) texts(p *Pod) texts {
	of := texts{namespace: t.hash(t.hash(1, p.Cluster), p.Namespace), uid: t.hash(0, p.UID)}
	of.name = t.hash(of.namespace, p.Name)
	return of
}

func (x *texts) pod() uint64 { return mix(x.name, x.uid) }

func (t *Pods) node(n Node) uint64 { return t.hash(t.hash(1, n.Cluster), n.Name) }

// namesOf are hashes of the names of pods.
func (t *Pods) namesOf(pods map[Pod]bool) map[uint64]bool {
	of := make(map[uint64]bool, len(pods))
	for p := range pods {
		x := t.texts(&p)
		of[x.name] = true
	}
	return of
}

// Place begins to place pods: those on nodes are added, except those that are needed. A needed one without a name means all of a
// namespace, and a name may be an address, too.
func (t *Pods) Place(nodes map[Node]bool, needed map[Pod]bool) {
	on := make(map[uint64]bool, len(nodes))
	for n := range nodes {
		on[t.node(n)] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placing, t.nodes, t.needed = true, on, t.namesOf(needed)
}

// Again begins to place those pods again that have names that are wanted after all: they are removed.
func (t *Pods) Again(wanted map[Pod]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placing, t.wanted = false, t.namesOf(wanted)
}

// Placed ends Place and Again.
func (t *Pods) Placed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placing, t.nodes, t.needed, t.wanted = false, nil, nil, nil
}

// At says how much is wanted of a pod that is said to be on a node: all of it; only when it was seen, if the hash is not 0; or none.
func (t *Pods) At(p Pod, node, address string) (hash uint64, none bool) {
	if p.UID == "" {
		return 0, false
	}
	x := t.texts(&p)
	on, everyone, at := t.node(Node{p.Cluster, node}), t.hash(x.namespace, ""), t.hash(x.namespace, address)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.wanted != nil:
		if t.wanted[x.name] {
			t.remove(&x)
		}
		return 0, !t.wanted[x.name]
	case !t.placing:
		if t.has(&x) {
			return max(1, x.pod()), false
		}
		return 0, false
	case !t.nodes[on], t.needed[x.name], t.needed[everyone], address != "" && t.needed[at]:
		return 0, false
	}
	t.add(p.Cluster, &x)
	return max(1, x.pod()), false
}

// Add adds a pod, which must have a UID.
func (t *Pods) Add(p Pod) {
	x := t.texts(&p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(p.Cluster, &x)
}

func (t *Pods) add(cluster string, x *texts) {
	if !t.clusters[cluster] {
		t.clusters[strings.Clone(cluster)] = true
	}
	of, pod := t.uids[x.uid], x.pod()
	switch {
	case of.first == pod || t.twins[pod]:
		return
	case of.first == 0:
		of.first = pod
	default:
		t.twins[pod] = true
	}
	of.n++
	t.uids[x.uid] = of
	t.names[x.name]++
	t.count++
}

func (t *Pods) remove(x *texts) {
	if !t.has(x) {
		return
	}
	of, pod := t.uids[x.uid], x.pod()
	if of.first == pod {
		of.first = 0
	} else {
		delete(t.twins, pod)
	}
	of.n--
	t.uids[x.uid] = of
	t.names[x.name]--
	t.count--
}

func (t *Pods) has(x *texts) bool { return t.uids[x.uid].first == x.pod() || t.twins[x.pod()] }

// Len is the number of pods.
func (t *Pods) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// Has reports whether a pod is there. A pod without a UID is there if one of its name is.
func (t *Pods) Has(p Pod) bool {
	x := t.texts(&p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.UID == "" {
		return t.names[x.name] > 0
	}
	return t.has(&x)
}

// Left says what is left out of the pods with a UID: all, if there are some and Keep has not been told of any since; or all but when they ran, if
// Keep knows some, and all that it knows with that UID or the name of one only share costs.
func (t *Pods) Left(uid string) (all, butRuns bool) {
	h := t.hash(0, uid)
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.uids[h]; of.n > 0 && !of.kept {
		return true, false
	}
	name, shares := t.sharing[h]
	return false, shares && !t.own[h] && !t.own[name]
}

// Keep makes Left report that the pods with the UID of p are not left out, and HasAll that not all pods of its name are there, unless
// p only shares costs.
func (t *Pods) Keep(p Pod, shares bool) {
	x := t.texts(&p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if shares {
		t.sharing[x.uid], t.sharing[x.name] = x.name, x.name
	} else {
		t.own[x.uid], t.own[x.name] = true, true
	}
	if of := t.uids[x.uid]; of.n > 0 {
		of.kept = true
		t.uids[x.uid] = of
	}
}

// HasAll reports whether pods of a name are there, or only share costs, and Keep knows no others of them.
func (t *Pods) HasAll(p Pod) bool {
	x := t.texts(&p)
	t.mu.Lock()
	defer t.mu.Unlock()
	_, shares := t.sharing[x.name]
	return (t.names[x.name] > 0 || shares) && !t.own[x.name]
}

// InCluster reports whether there may be pods of a cluster.
func (t *Pods) InCluster(cluster string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clusters[cluster]
}

// Container is the number of a container, 0 if its pod is not there or its UID is not known.
func (t *Pods) Container(p Pod, name string) uint64 {
	if p.UID == "" {
		return 0
	}
	x := t.texts(&p)
	h := maphash.String(t.seed, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(&x) {
		return 0
	}
	n := t.containers[mix(x.pod(), h)]
	if n == 0 {
		if len(t.list) == 0 {
			room := t.count + t.count/2 // a pod has one container mostly, or two
			t.containers, t.list = make(map[uint64]int32, room), make([]container, 0, room)
		}
		t.list = append(t.list, container{nameless: mix(x.name, h)})
		n = int32(len(t.list))
		t.containers[mix(x.pod(), h)] = n
	}
	return uint64(n)
}

// See records that a sample of a container was seen.
func (t *Pods) See(number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list[number-1].seen, t.seen = true, nil
}

// SeeNameless records that a sample of a container was seen that did not tell the UID of its pod.
func (t *Pods) SeeNameless(p Pod, name string) {
	h := t.without(&p, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nameless[h], t.seen = true, nil
}

// without is the hash of a container without the UID of the pod.
func (t *Pods) without(p *Pod, name string) uint64 {
	x := t.texts(p)
	return t.hash(x.name, name)
}

// Saw reports whether a sample of a container was seen.
func (t *Pods) Saw(number uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number == 0 {
		return false
	}
	c := &t.list[number-1]
	return c.seen || t.nameless[c.nameless]
}

// SawNamed reports whether a sample of a container was seen of any pod with that name.
func (t *Pods) SawNamed(p Pod, name string) bool {
	h := t.without(&p, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = maps.Clone(t.nameless)
		for i := range t.list {
			if t.list[i].seen {
				t.seen[t.list[i].nameless] = true
			}
		}
	}
	return t.seen[h]
}
