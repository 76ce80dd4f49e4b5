// Package elsewhere knows the pods whose rows other shards have, and when their containers were seen. A large cluster has many of them,
// and a shard needs little more of them than to recognize them: so it keeps hashes of their names.
package elsewhere

import (
	"hash/maphash"
	"strings"
	"sync"
)

// Pod names a pod. UID is "" where it is not known.
type Pod struct{ Cluster, Namespace, Name, UID string }

// Node names a node.
type Node struct{ Cluster, Name string }

// Pods are pods of other shards, by hashes of their texts. They are safe for concurrent use.
type Pods struct {
	mu         sync.Mutex
	seed       maphash.Seed
	pods       map[uint64]bool
	uids       map[uint64]int         // how many pods have a UID: several clusters may have the same
	names      map[uint64]int         // how many pods have a name
	containers map[uint64]containerOf // those that were asked for
	seen       map[uint64]bool        // by container without the UID: whether samples were seen
	nameless   map[uint64]bool        // the same of samples that did not tell the UID
	clusters   map[string]bool
	nodes      map[Node]bool
	needed     map[Pod]bool
	wanted     map[Pod]bool
}

// containerOf is a container of a pod.
type containerOf struct {
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
	t.pods, t.uids, t.names = map[uint64]bool{}, map[uint64]int{}, map[uint64]int{}
	t.containers, t.seen, t.nameless = map[uint64]containerOf{}, map[uint64]bool{}, map[uint64]bool{}
	t.clusters, t.nodes, t.needed, t.wanted = map[string]bool{}, nil, nil, nil
}

// hash is a hash of texts, never 0.
func (t *Pods) hash(texts ...string) uint64 {
	h := uint64(len(texts))
	for _, text := range texts {
		h = (h ^ maphash.String(t.seed, text)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return max(1, h)
}

func (t *Pods) pod(p Pod) uint64  { return t.hash(p.Cluster, p.Namespace, p.Name, p.UID) }
func (t *Pods) name(p Pod) uint64 { return t.hash(p.Cluster, p.Namespace, p.Name) }

// Place begins to place pods: those on nodes are added, except those that are needed. A needed one without a name means all of a
// namespace, and a name may be an address, too.
func (t *Pods) Place(nodes map[Node]bool, needed map[Pod]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes, t.needed = nodes, needed
}

// Again begins to place those pods again that have names that are wanted after all: they are removed.
func (t *Pods) Again(wanted map[Pod]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes, t.wanted = nil, wanted
}

// Placed ends Place and Again.
func (t *Pods) Placed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes, t.needed, t.wanted = nil, nil, nil
}

// At says how much is wanted of a pod that is said to be on a node: all of it; only when it was seen, if the hash is not 0; or none.
func (t *Pods) At(p Pod, node, address string) (hash uint64, none bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := Pod{p.Cluster, p.Namespace, p.Name, ""}
	switch {
	case p.UID == "":
		return 0, false
	case t.wanted != nil:
		if t.wanted[name] {
			t.remove(p)
		}
		return 0, !t.wanted[name]
	case t.nodes == nil:
		if h := t.pod(p); t.pods[h] {
			return h, false
		}
		return 0, false
	case !t.nodes[Node{p.Cluster, node}], t.needed[name], t.needed[Pod{p.Cluster, p.Namespace, "", ""}], address != "" && t.needed[Pod{p.Cluster, p.Namespace, address, ""}]:
		return 0, false
	}
	return t.add(p), false
}

// Add adds a pod, which must have a UID.
func (t *Pods) Add(p Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(p)
}

func (t *Pods) add(p Pod) uint64 {
	h := t.pod(p)
	if !t.clusters[p.Cluster] {
		t.clusters[strings.Clone(p.Cluster)] = true
	}
	if !t.pods[h] {
		t.pods[h] = true
		t.uids[t.hash(p.UID)]++
		t.names[t.name(p)]++
	}
	return h
}

func (t *Pods) remove(p Pod) {
	if h := t.pod(p); t.pods[h] {
		delete(t.pods, h)
		t.uids[t.hash(p.UID)]--
		t.names[t.name(p)]--
	}
}

// Len is the number of pods.
func (t *Pods) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pods)
}

// Has reports whether a pod is there. A pod without a UID is there if one of its name is.
func (t *Pods) Has(p Pod) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.UID == "" {
		return t.names[t.name(p)] > 0
	}
	return t.pods[t.pod(p)]
}

// HasUID reports whether a pod has a UID.
func (t *Pods) HasUID(uid string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.uids[t.hash(uid)] > 0
}

// KeepUID makes HasUID report that no pod has a UID.
func (t *Pods) KeepUID(uid string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.uids, t.hash(uid))
}

// InCluster reports whether there may be pods of a cluster.
func (t *Pods) InCluster(cluster string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clusters[cluster]
}

// Container is the hash of a container, 0 if its pod is not there or its UID is not known.
func (t *Pods) Container(p Pod, container string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.UID == "" || !t.pods[t.pod(p)] {
		return 0
	}
	h := t.container(p, container)
	if _, known := t.containers[h]; !known {
		t.containers[h] = containerOf{nameless: t.container(Pod{p.Cluster, p.Namespace, p.Name, ""}, container)}
	}
	return h
}

func (t *Pods) container(p Pod, container string) uint64 {
	return t.hash(p.Cluster, p.Namespace, p.Name, p.UID, container)
}

// See records that a sample of a container was seen.
func (t *Pods) See(container uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.containers[container]
	c.seen = true
	t.containers[container], t.seen[c.nameless] = c, true
}

// SeeNameless records that a sample of a container was seen that did not tell the UID of its pod.
func (t *Pods) SeeNameless(p Pod, container string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.container(p, container)
	t.seen[h], t.nameless[h] = true, true
}

// Saw reports whether a sample of a container was seen.
func (t *Pods) Saw(container uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.containers[container]
	return c.seen || t.nameless[c.nameless]
}

// SawNamed reports whether a sample of a container was seen of any pod with that name.
func (t *Pods) SawNamed(p Pod, container string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen[t.container(Pod{p.Cluster, p.Namespace, p.Name, ""}, container)]
}
