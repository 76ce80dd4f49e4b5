//go:build e2e

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// apiObject is what is needed of the API's objects of all kinds.
type apiObject struct {
	Metadata struct {
		Namespace, Name, UID string
		Labels, Annotations  map[string]string
		CreationTimestamp    time.Time
	}
	Spec struct {
		// Of a pod.
		NodeName                   string
		Containers, InitContainers []sized
		Resources                  resources
		Overhead                   map[string]string
		ResourceClaims             []claimRef
		Volumes                    []struct {
			PersistentVolumeClaim struct{ ClaimName string }
		}
		// Of a claim, a volume, a service, a node and a resource slice.
		VolumeName string
		Capacity   map[string]string
		Type       string
		Selector   map[string]string
		ProviderID string
		Devices    json.RawMessage // a list in slices
	}
	Status struct {
		// Of a pod.
		ContainerStatuses     []sized
		ResourceClaimStatuses []claimRef
		// Of a node, and of a resource claim.
		Capacity   map[string]string
		Allocation struct {
			Devices struct{ Results []struct{ Device string } }
		}
	}

	since time.Time // when the watch said that it was so; the first one was so before
	gone  time.Time // when the watch said that it was deleted
}

// resources are those of a container, or of a pod as a whole.
type resources struct{ Requests, Limits map[string]string }

// claimRef is what a pod says of a resource claim.
type claimRef struct{ Name, ResourceClaimName, ResourceClaimTemplateName string }

// sized is a container with its resources: those that it asks for, or by the status of its pod those that it has.
type sized struct {
	Name      string
	Resources resources
}

// watchedKind are the objects of a kind, by uid, those that are gone among them: all that each of them was, the latest last.
type watchedKind struct {
	mu      sync.Mutex
	objects map[string][]*apiObject
	failed  error
}

// watchAll records the objects below a path until the test ends.
func watchAll(t *testing.T, k *promtest.Kubernetes, path string) *watchedKind {
	w := &watchedKind{objects: map[string][]*apiObject{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := k.Watch(ctx, path+"?watch=1", w.note); err != nil {
			w.mu.Lock()
			w.failed = err
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// note records the object of an event.
func (w *watchedKind) note(line []byte) error {
	var event struct {
		Type   string
		Object apiObject
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return err
	}
	event.Object.since = time.Now()
	if event.Type == "DELETED" {
		event.Object.gone = event.Object.since
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := event.Object.Metadata.UID
	w.objects[uid] = append(w.objects[uid], &event.Object)
	return nil
}

// all are the objects, in the order in which they were made.
func (w *watchedKind) all() []*apiObject {
	w.mu.Lock()
	defer w.mu.Unlock()
	latest := make([]*apiObject, 0, len(w.objects))
	for _, versions := range w.objects {
		latest = append(latest, versions[len(versions)-1])
	}
	slices.SortFunc(latest, func(a, b *apiObject) int {
		return cmp.Or(a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp), strings.Compare(a.Metadata.UID, b.Metadata.UID))
	})
	return latest
}

// of is the object with a uid, as it was last.
func (w *watchedKind) of(uid string) *apiObject {
	w.mu.Lock()
	defer w.mu.Unlock()
	if versions := w.objects[uid]; len(versions) > 0 {
		return versions[len(versions)-1]
	}
	return nil
}

// phase is a time in which an object was as it is here.
type phase struct {
	from, to time.Time
	*apiObject
}

// phases are what the object with a uid was from one time to another.
func (w *watchedKind) phases(uid string, from, to time.Time) (all []phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	versions := w.objects[uid]
	for i, o := range versions {
		x := phase{later(from, o.Metadata.CreationTimestamp), to, o}
		if i > 0 {
			x.from = later(x.from, o.since)
		}
		if i+1 < len(versions) && versions[i+1].since.Before(to) {
			x.to = versions[i+1].since
		}
		if o.gone.IsZero() && x.from.Before(x.to) {
			all = append(all, x)
		}
	}
	return all
}

// named is the one of a name which there was at a time, nil for none.
func (w *watchedKind) named(namespace, name string, at time.Time) (found *apiObject) {
	for _, o := range w.all() {
		if o.Metadata.Namespace == namespace && o.Metadata.Name == name && !o.Metadata.CreationTimestamp.After(at) {
			found = o
		}
	}
	return found
}

// life is when there was the object.
func (o *apiObject) life() span { return span{o.Metadata.CreationTimestamp, o.gone} }

// overlap is how many seconds of a window something was there, whose end may be unknown.
func overlap(from, to, start, end time.Time) float64 {
	from = later(from, start)
	if to.IsZero() || to.After(end) {
		to = end
	}
	return max(0, to.Sub(from).Seconds())
}

// truth is the cluster as its API tells of it. It shares no code with promcost.
type truth struct {
	*testing.T
	k                                                  *promtest.Kubernetes
	observer                                           *promtest.Observer
	pods, nodes, namespaces, claims, volumes, services *watchedKind
	devices, slices                                    *watchedKind // claims of devices, and who has them
}

// watchTruth begins to watch.
func watchTruth(t *testing.T, k *promtest.Kubernetes) *truth {
	return &truth{
		T: t, k: k, observer: promtest.Observe(t, k), pods: watchAll(t, k, "/api/v1/pods"), nodes: watchAll(t, k, "/api/v1/nodes"), namespaces: watchAll(t, k, "/api/v1/namespaces"),
		claims: watchAll(t, k, "/api/v1/persistentvolumeclaims"), volumes: watchAll(t, k, "/api/v1/persistentvolumes"), services: watchAll(t, k, "/api/v1/services"),
		devices: watchAll(t, k, "/apis/resource.k8s.io/v1/resourceclaims"), slices: watchAll(t, k, "/apis/resource.k8s.io/v1/resourceslices"),
	}
}

// check fails the test if a watch broke off, or if a pod is gone whose end nothing told.
func (tr *truth) check() {
	for _, w := range []*watchedKind{tr.pods, tr.nodes, tr.namespaces, tr.claims, tr.volumes, tr.services, tr.devices, tr.slices} {
		if w.failed != nil {
			tr.Fatalf("watch: %v", w.failed)
		}
	}
	for _, r := range tr.observer.Runs(tr) {
		if p := tr.pods.of(r.UID); r.End.IsZero() && !p.gone.IsZero() {
			tr.Errorf("%s/%s/%s is gone, and its status did not say when it ended", r.Namespace, r.Pod, r.Container)
		}
	}
}

// running are the containers that run on a node.
func (tr *truth) running(node string, now time.Time) (running []promtest.Run) {
	for _, r := range tr.observer.Runs(tr) {
		if r.Node == node && r.End.IsZero() && !r.Start.After(now) {
			running = append(running, r)
		}
	}
	return running
}
