//go:build e2e

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
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
		Containers, InitContainers []struct {
			Name      string
			Resources struct{ Requests, Limits map[string]string }
		}
		Volumes []struct {
			PersistentVolumeClaim struct{ ClaimName string }
		}
		// Of a claim, a volume, a service and a node.
		VolumeName string
		Capacity   map[string]string
		Type       string
		Selector   map[string]string
		ProviderID string
	}
	Status struct{ Capacity map[string]string }

	gone time.Time // when the watch said that it was deleted
}

// watchedKind are the objects of a kind, by uid, those that are gone among them.
type watchedKind struct {
	mu      sync.Mutex
	objects map[string]*apiObject
	failed  error
}

// watchAll records the objects below a path until the test ends.
func watchAll(t *testing.T, k *promtest.Kubernetes, path string) *watchedKind {
	w := &watchedKind{objects: map[string]*apiObject{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := k.Watch(ctx, path+"?watch=1&timeoutSeconds=7200", w.note); err != nil && ctx.Err() == nil {
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if event.Type == "DELETED" {
		event.Object.gone = time.Now()
	}
	w.objects[event.Object.Metadata.UID] = &event.Object
	return nil
}

// all are the objects, in the order in which they were made.
func (w *watchedKind) all() []*apiObject {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Values(w.objects), func(a, b *apiObject) int {
		return cmp.Or(a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp), strings.Compare(a.Metadata.UID, b.Metadata.UID))
	})
}

// of is the object with a uid.
func (w *watchedKind) of(uid string) *apiObject {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objects[uid]
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

// within is how many seconds of a window there was the object.
func (o *apiObject) within(start, end time.Time) float64 {
	return overlap(o.Metadata.CreationTimestamp, o.gone, start, end)
}

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
	k                                      *promtest.Kubernetes
	observer                               *promtest.Observer
	pods, nodes, claims, volumes, services *watchedKind
}

// watchTruth begins to watch.
func watchTruth(t *testing.T, k *promtest.Kubernetes) *truth {
	return &truth{
		T: t, k: k, observer: promtest.Observe(t, k), pods: watchAll(t, k, "/api/v1/pods"), nodes: watchAll(t, k, "/api/v1/nodes"),
		claims: watchAll(t, k, "/api/v1/persistentvolumeclaims"), volumes: watchAll(t, k, "/api/v1/persistentvolumes"), services: watchAll(t, k, "/api/v1/services"),
	}
}

// check fails the test if a watch broke off, or if a pod is gone whose end nothing told.
func (tr *truth) check() {
	for _, w := range []*watchedKind{tr.pods, tr.nodes, tr.claims, tr.volumes, tr.services} {
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

// amounts are cores, bytes of memory and GPUs.
type amounts struct{ cpu, ram, gpu float64 }

// usage is what each container of a pod uses while it runs.
func (tr *truth) usage(uid string) amounts {
	var notes map[string]string
	if pod := tr.pods.of(uid); pod != nil {
		notes = pod.Metadata.Annotations
	}
	return amounts{
		cpu: tr.quantity(cmp.Or(notes["kwok.x-k8s.io/usage-cpu"], "1m")),
		ram: tr.quantity(cmp.Or(notes["kwok.x-k8s.io/usage-memory"], "1Mi")),
	}
}

// requests are what a container requests.
func (tr *truth) requests(pod *apiObject, container string) amounts {
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if c.Name == container {
			of := c.Resources
			return amounts{tr.quantity(of.Requests["cpu"]), tr.quantity(of.Requests["memory"]), tr.quantity(cmp.Or(of.Requests["nvidia.com/gpu"], of.Limits["nvidia.com/gpu"]))}
		}
	}
	tr.Fatalf("%s has no container %s", pod.Metadata.Name, container)
	return amounts{}
}

// quantity reads a number as Kubernetes writes it, "" as 0.
func (tr *truth) quantity(text string) float64 {
	scale := 1.0
	for suffix, of := range map[string]float64{"m": 1e-3, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, scale = number, of
		}
	}
	n, err := strconv.ParseFloat(cmp.Or(text, "0"), 64)
	if err != nil {
		tr.Fatal(err)
	}
	return n * scale
}

// clusterPrices is the price sheet that promcost is given. The constants and prices say the same.
const clusterPrices = `
defaults: {cpuPerCoreHour: 0.03, ramPerGiBHour: 0.004, gpuPerDeviceHour: 0.9, storagePerGiBHour: 0.0002, loadBalancerPerHour: 0.025}
nodes:
- {provider: gcp, cpuPerCoreHour: 0.02, ramPerGiBHour: 0.003}
`

const (
	gib           = 1 << 30
	storagePrice  = 0.0002
	balancerPrice = 0.025
)

// prices are those of a node.
func (o *apiObject) prices() amounts {
	if strings.HasPrefix(o.Spec.ProviderID, "gce://") {
		return amounts{0.02, 0.003, 0.9}
	}
	return amounts{0.03, 0.004, 0.9}
}

// trueCost is what the API says of a container, or of an asset, in a window.
type trueCost struct {
	seconds float64            // it ran
	costs   map[string]float64 // by the names of promcost's API
	slack   map[string]float64 // how much they may be off, whatever the bounds
	runs    []promtest.Run
}

// add adds a cost of so much an hour, for so many seconds, which may be off by some.
func (x *trueCost) add(cost string, hourly, seconds, off float64) {
	for _, name := range []string{cost, "totalCost"} {
		x.costs[name] += seconds / 3600 * hourly
		x.slack[name] += off / 3600 * hourly
	}
}

// clusterScrape is how often everything is scraped.
const clusterScrape = 5 * time.Second

// costs are those of containers in a window, by the names of promcost's rows without the cluster. The API's times are whole seconds, cut, so
// that each run may be off by one. Usage above requests is told with an error of up to late seconds at each run.
func (tr *truth) costs(start, end time.Time, late float64) map[string]*trueCost {
	all := map[string]*trueCost{}
	for _, r := range tr.observer.Runs(tr) {
		seconds := overlap(r.Start, r.End, start, end)
		if seconds == 0 {
			continue
		}
		name := strings.Join([]string{r.Node, r.Namespace, r.Pod, r.Container}, "/")
		x := all[name]
		if x == nil {
			x = &trueCost{costs: map[string]float64{}, slack: map[string]float64{}}
			all[name] = x
		}
		off := 1.0
		if n := len(x.runs); n > 0 && r.Init && x.runs[n-1].UID == r.UID {
			off += r.Start.Sub(x.runs[n-1].End).Seconds() // nothing tells when a native sidecar ended before it was started again
		}
		pod, node := tr.pods.of(r.UID), tr.nodes.named("", r.Node, r.Start.Add(time.Second))
		request, use, price := tr.requests(pod, r.Container), tr.usage(r.UID), node.prices()
		x.seconds, x.runs = x.seconds+seconds, append(x.runs, r)
		x.add("cpuCost", price.cpu*max(request.cpu, use.cpu), seconds, off)
		x.add("ramCost", price.ram*max(request.ram, use.ram)/gib, seconds, off)
		x.add("gpuCost", price.gpu*request.gpu, seconds, off)
		x.add("cpuCost", price.cpu*max(0, use.cpu-request.cpu), 0, late)
		x.add("ramCost", price.ram*max(0, use.ram-request.ram)/gib, 0, late)
	}
	tr.addVolumes(all, start, end)
	tr.addBalancers(all, start, end)
	return all
}

// addVolumes charges containers for the volumes of their pods, each of which one pod mounts at a time.
func (tr *truth) addVolumes(all map[string]*trueCost, start, end time.Time) {
	for _, x := range all {
		for _, r := range x.runs {
			pod := tr.pods.of(r.UID)
			for _, v := range pod.Spec.Volumes {
				if v.PersistentVolumeClaim.ClaimName == "" {
					continue
				}
				claim := tr.claims.named(r.Namespace, v.PersistentVolumeClaim.ClaimName, r.Start)
				volume := tr.volumes.named("", claim.Spec.VolumeName, r.Start)
				hourly := tr.quantity(volume.Spec.Capacity["storage"]) / gib * storagePrice / float64(len(pod.Spec.Containers))
				x.add("pvCost", hourly, overlap(r.Start, r.End, start, end), 1)
			}
		}
	}
}

// addBalancers charges containers for the load balancers of services whose selectors match their pods, by the seconds of the pods while
// there are the services. Error bounds are about the pod itself, but its part depends on the others', too.
func (tr *truth) addBalancers(all map[string]*trueCost, start, end time.Time) {
	for _, service := range tr.services.all() {
		if service.Spec.Type != "LoadBalancer" {
			continue
		}
		from, to := later(start, service.Metadata.CreationTimestamp), end
		if gone := service.gone; !gone.IsZero() && gone.Before(end) {
			to = gone
		}
		podSeconds, sum, off := map[string]float64{}, 0.0, 2*clusterScrape.Seconds()
		for _, r := range tr.observer.Runs(tr) {
			pod := tr.pods.of(r.UID)
			seconds := overlap(r.Start, r.End, from, to)
			if seconds == 0 || r.Container != pod.Spec.Containers[0].Name || r.Namespace != service.Metadata.Namespace || !matches(service.Spec.Selector, pod.Metadata.Labels) {
				continue
			}
			podSeconds[r.UID], sum = podSeconds[r.UID]+seconds, sum+seconds
			off += clusterScrape.Seconds() // its start and its end are told by scrapes, and others have more or less for it
		}
		for _, x := range all {
			charged := map[string]bool{}
			for _, r := range x.runs {
				if seconds := podSeconds[r.UID]; seconds > 0 && !r.Init && !charged[r.UID] {
					charged[r.UID] = true
					hourly := balancerPrice / float64(len(tr.pods.of(r.UID).Spec.Containers))
					x.add("loadBalancerCost", hourly, seconds/sum*to.Sub(from).Seconds(), off*max(1, to.Sub(from).Seconds()/sum))
				}
			}
		}
	}
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// matches reports whether labels are as a selector wants them.
func matches(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// assets are the costs of nodes, load balancers and volumes in a window, by kind and name, and of nodes by provider. What comes or goes
// may be off by two scrapes at each end.
func (tr *truth) assets(start, end time.Time) map[string]*trueCost {
	all := map[string]*trueCost{}
	add := func(name string, o *apiObject, hourly float64) {
		seconds, off := o.within(start, end), 0.0
		for _, edge := range []time.Time{o.Metadata.CreationTimestamp, o.gone} {
			if edge.After(start) && edge.Before(end) {
				off += 2 * clusterScrape.Seconds()
			}
		}
		if seconds > 0 {
			all[name] = &trueCost{costs: map[string]float64{}, slack: map[string]float64{}}
			all[name].add("seconds", 3600, seconds, off)
			all[name].add("cost", hourly, seconds, off)
		}
	}
	for _, o := range tr.nodes.all() {
		provider, price, has := "AWS", o.prices(), o.Status.Capacity
		if strings.HasPrefix(o.Spec.ProviderID, "gce://") {
			provider = "GCP"
		}
		add("Node/"+o.Metadata.Name+"/"+provider, o,
			tr.quantity(has["cpu"])*price.cpu+tr.quantity(has["memory"])/gib*price.ram+tr.quantity(has["nvidia.com/gpu"])*price.gpu)
	}
	for _, o := range tr.volumes.all() {
		add("Disk/"+o.Metadata.Name, o, tr.quantity(o.Spec.Capacity["storage"])/gib*storagePrice)
	}
	for _, o := range tr.services.all() {
		if o.Spec.Type == "LoadBalancer" {
			add("LoadBalancer/"+o.Metadata.Namespace+"/"+o.Metadata.Name, o, balancerPrice)
		}
	}
	return all
}
