//go:build e2e

package main

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// amounts are cores, bytes of memory and GPUs.
type amounts struct{ cpu, ram, gpu float64 }

// sight is what is seen of a cluster.
type sight struct {
	scrape time.Duration // how often everything is scraped
	cell   time.Duration // of the grid, 0 if every sample counts
	late   float64       // by how many seconds usage may begin or end late
	hidden float64       // for how many seconds nothing shows what runs
	usage  bool          // of containers
	more   bool          // what the scheduler reserves, what containers have while a resize waits, and which devices pods claim
}

// off is by how many seconds a change may be seen late.
func (s *sight) off() float64 { return (s.scrape + s.cell).Seconds() }

// resolution is what promcost is asked for.
func (s *sight) resolution() string {
	if s.cell == 0 {
		return "exact"
	}
	return s.cell.String()
}

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
func (tr *truth) requests(pod *apiObject, container string, sees *sight) amounts {
	of := tr.sizes(pod, sees)[container]
	return amounts{tr.quantity(of.Requests["cpu"]), tr.quantity(of.Requests["memory"]), tr.quantity(cmp.Or(of.Requests["nvidia.com/gpu"], of.Limits["nvidia.com/gpu"]))}
}

// sizes are the resources of a pod's containers by name: what they have, if that is seen, else what they ask for.
func (tr *truth) sizes(pod *apiObject, sees *sight) map[string]resources {
	all := map[string]resources{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		all[c.Name] = c.Resources
	}
	for _, c := range pod.Status.ContainerStatuses {
		if sees.more && c.Resources.Requests != nil {
			all[c.Name] = c.Resources
		}
	}
	return all
}

// asked is what the containers of a pod ask for.
func (tr *truth) asked(pod *apiObject) (sum amounts) {
	for _, c := range pod.Spec.Containers {
		sum.cpu += tr.quantity(c.Resources.Requests["cpu"])
		sum.ram += tr.quantity(c.Resources.Requests["memory"])
	}
	return sum
}

// beyond is what a pod reserves beyond what its containers have, for each of them.
func (tr *truth) beyond(pod *apiObject, sees *sight) amounts {
	of := func(resource string) float64 {
		sum := tr.quantity(pod.Spec.Overhead[resource])
		if whole := tr.quantity(pod.Spec.Resources.Requests[resource]); whole > 0 && sees.more {
			sum += whole
			sizes := tr.sizes(pod, sees)
			for _, c := range pod.Spec.Containers {
				sum -= tr.quantity(sizes[c.Name].Requests[resource])
			}
		}
		return sum / float64(len(pod.Spec.Containers))
	}
	return amounts{cpu: of("cpu"), ram: of("memory")}
}

// deviceCount is how many devices resource slices say that a node has.
func (tr *truth) deviceCount(node *apiObject) (n float64) {
	for _, o := range tr.slices.all() {
		var devices []json.RawMessage
		if o.Spec.NodeName != node.Metadata.Name {
			continue
		}
		if err := json.Unmarshal(o.Spec.Devices, &devices); err != nil {
			tr.Fatal(err)
		}
		n += float64(len(devices))
	}
	return n
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
	off     float64            // by how many seconds these may be off, whatever the bounds
	cores   float64            // that it requested, times seconds
	resized bool               // what it requests has changed
	costs   map[string]float64 // by the names of promcost's API
	slack   map[string]float64 // how much they may be off, whatever the bounds
	runs    []promtest.Run
}

// newTrueCost is one of nothing.
func newTrueCost() *trueCost {
	return &trueCost{costs: map[string]float64{}, slack: map[string]float64{}}
}

// add adds a cost of so much an hour, for so many seconds, which may be off by some.
func (x *trueCost) add(cost string, hourly, seconds, off float64) {
	for _, name := range []string{cost, "totalCost"} {
		x.costs[name] += seconds / 3600 * hourly
		x.slack[name] += off / 3600 * hourly
	}
}

// costs are those of containers in a window, by the names of promcost's rows without the cluster. The API's times are whole seconds, cut, so
// that each run may be off by one. Usage above requests is known with an error of up to late seconds at each run.
func (tr *truth) costs(start, end time.Time, sees *sight) map[string]*trueCost {
	all := map[string]*trueCost{}
	for _, r := range tr.observer.Runs(tr) {
		seconds := overlap(r.Start, r.End, start, end)
		if seconds == 0 {
			continue
		}
		name := strings.Join([]string{r.Node, r.Namespace, r.Pod, r.Container}, "/")
		x := all[name]
		if x == nil {
			x = newTrueCost()
			all[name] = x
		}
		off := max(1, r.Late.Seconds()) // what shows it knows no more than the API
		if tr.missable(&r, sees) {
			off += seconds
		}
		if n := len(x.runs); n > 0 && r.Init && x.runs[n-1].UID == r.UID {
			off += r.Start.Sub(x.runs[n-1].End).Seconds() // nothing tells when a native sidecar ended before it was started again
		}
		x.seconds, x.off, x.runs = x.seconds+seconds, x.off+off, append(x.runs, r)
		tr.addRun(x, &r, start, end, off, sees)
	}
	tr.addVolumes(all, start, end)
	tr.addBalancers(all, start, end, sees)
	if sees.more {
		tr.addDevices(all, start, end, sees)
	}
	return all
}

// missable reports whether no scrape may have seen a run, nor its pod since then.
func (tr *truth) missable(r *promtest.Run, sees *sight) bool {
	gone := tr.pods.of(r.UID).gone
	return !gone.IsZero() && gone.Sub(r.Start) <= max(sees.scrape, sees.cell)+time.Second
}

// addRun charges a container for a run, the ends of which may be off by some seconds. What it requests may change meanwhile.
func (tr *truth) addRun(x *trueCost, r *promtest.Run, start, end time.Time, off float64, sees *sight) {
	var use amounts
	if sees.usage {
		use = tr.usage(r.UID)
	}
	if r.End.IsZero() || r.End.After(end) {
		r.End = end
	}
	price, before, askedBefore := tr.nodes.named("", r.Node, r.Start.Add(time.Second)).prices(), map[string]float64{}, amounts{}
	for i, p := range tr.pods.phases(r.UID, later(r.Start, start), r.End) {
		request, beyond, asked, seconds := tr.requests(p.apiObject, r.Container, sees), amounts{}, tr.asked(p.apiObject), p.to.Sub(p.from).Seconds()
		if !r.Init {
			beyond = tr.beyond(p.apiObject, sees)
		}
		if i > 0 && sees.more { // until all is scraped, what the scheduler knows first, or last, is a reserve of all containers
			x.add("cpuCost", price.cpu*math.Abs(asked.cpu-askedBefore.cpu), 0, sees.off()+1)
			x.add("ramCost", price.ram*math.Abs(asked.ram-askedBefore.ram)/gib, 0, sees.off()+1)
		}
		askedBefore = asked
		x.cores += request.cpu * seconds
		hourly := map[string]float64{
			"cpuCost": price.cpu * (max(request.cpu, use.cpu) + beyond.cpu),
			"ramCost": price.ram * (max(request.ram, use.ram) + beyond.ram) / gib,
			"gpuCost": price.gpu * request.gpu,
		}
		for cost, now := range hourly {
			x.add(cost, now, seconds, 0)
			if i == 0 {
				x.add(cost, now, 0, off)
			} else if change := math.Abs(now - before[cost]); change > 0 {
				x.resized = true
				x.add(cost, change, 0, sees.off()+1)
			}
		}
		before = hourly
		if i == 0 {
			x.add("cpuCost", price.cpu*max(0, use.cpu-request.cpu), 0, sees.late+2*sees.cell.Seconds()) // on a grid, usage is held over its cells
			x.add("ramCost", price.ram*max(0, use.ram-request.ram)/gib, 0, sees.late+2*sees.cell.Seconds())
		}
	}
}

// addVolumes charges containers for the volumes of their pods, each of which one pod mounts at a time.
func (tr *truth) addVolumes(all map[string]*trueCost, start, end time.Time) {
	for _, x := range all {
		for i, r := range x.runs {
			pod := tr.pods.of(r.UID)
			if i+1 < len(x.runs) && x.runs[i+1].UID == r.UID {
				r.End = x.runs[i+1].Start // a pod keeps its volumes while its container starts again
			}
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

// addBalancers charges containers for the load balancers of services whose selectors match their pods, while their types say that they have
// one. At each moment the pods that run share the cost evenly. Error bounds are about the pod itself, but its part depends on the others', too.
func (tr *truth) addBalancers(all map[string]*trueCost, start, end time.Time, sees *sight) {
	for _, service := range tr.services.all() {
		for _, life := range tr.balanced(service, start, end) {
			tr.divide(all, "loadBalancerCost", balancerPrice, life, 1+life.edges(start, end)*sees.off(), sees, func(pod *apiObject) bool {
				return pod.Metadata.Namespace == service.Metadata.Namespace && matches(service.Spec.Selector, pod.Metadata.Labels)
			})
		}
	}
}

// balanced are the times at which a service has a load balancer.
func (tr *truth) balanced(service *apiObject, start, end time.Time) (lives []span) {
	for _, p := range tr.services.phases(service.Metadata.UID, start, end) {
		switch n := len(lives); {
		case p.Spec.Type != "LoadBalancer":
		case n > 0 && lives[n-1].to.Equal(p.from):
			lives[n-1].to = p.to
		default:
			lives = append(lives, span{p.from, p.to})
		}
	}
	return lives
}

// addDevices charges containers for the devices that claims of their pods hold. At each moment the pods that run share them evenly.
func (tr *truth) addDevices(all map[string]*trueCost, start, end time.Time, sees *sight) {
	for _, claim := range tr.devices.all() {
		held := 0 // they are given back once no pod needs them any more
		for _, p := range tr.devices.phases(claim.Metadata.UID, start, end) {
			held = max(held, len(p.Status.Allocation.Devices.Results))
		}
		tr.divide(all, "gpuCost", 0.9*float64(held), span{start, end}, 1, sees, func(pod *apiObject) bool {
			return pod.Metadata.Namespace == claim.Metadata.Namespace && slices.Contains(claimed(pod), claim.Metadata.Name)
		})
	}
}

// claimed are the names of the resource claims of a pod, those that were made for it among them.
func claimed(pod *apiObject) (names []string) {
	for _, x := range slices.Concat(pod.Spec.ResourceClaims, pod.Status.ResourceClaimStatuses) {
		if x.ResourceClaimName != "" {
			names = append(names, x.ResourceClaimName)
		}
	}
	return names
}

// divide divides what costs so much an hour among the pods that have a part of it, evenly at each moment of its life, and then among their
// containers. It may be off by some seconds, and whenever a pod comes or goes.
func (tr *truth) divide(all map[string]*trueCost, cost string, hourly float64, life span, off float64, sees *sight, has func(pod *apiObject) bool) {
	running, edges := map[string][]span{}, 0.0
	for _, r := range tr.observer.Runs(tr) {
		pod := tr.pods.of(r.UID)
		if r.Container != pod.Spec.Containers[0].Name || overlap(r.Start, r.End, life.from, life.to) == 0 || !has(pod) {
			continue
		}
		when := span{r.Start, r.End}
		running[r.UID], edges = append(running[r.UID], when), edges+when.edges(life.from, life.to)
	}
	parts := shares(life, running)
	for _, x := range all {
		charged := map[string]bool{}
		for _, r := range x.runs {
			if seconds := parts[r.UID]; seconds > 0 && !r.Init && !charged[r.UID] {
				charged[r.UID] = true
				part := seconds / life.to.Sub(life.from).Seconds()
				x.add(cost, hourly/float64(len(tr.pods.of(r.UID).Spec.Containers)), seconds, off*part+edges*sees.off())
			}
		}
	}
}

// span is a time. It has not ended where to is zero.
type span struct{ from, to time.Time }

// edges counts the ends of a time that lie within a window.
func (s span) edges(start, end time.Time) (n float64) {
	for _, edge := range []time.Time{s.from, s.to} {
		if edge.After(start) && edge.Before(end) {
			n++
		}
	}
	return n
}

// shares divides the seconds of a life among those that are there, evenly at each moment.
func shares(life span, there map[string][]span) map[string]float64 {
	edges := []time.Time{life.from, life.to}
	for _, all := range there {
		for _, s := range all {
			for _, edge := range []time.Time{s.from, s.to} {
				if edge.After(life.from) && edge.Before(life.to) {
					edges = append(edges, edge)
				}
			}
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	parts := map[string]float64{}
	for i := 1; i < len(edges); i++ {
		var now []string
		for who, all := range there {
			if slices.ContainsFunc(all, func(s span) bool { return overlap(s.from, s.to, edges[i-1], edges[i]) > 0 }) {
				now = append(now, who)
			}
		}
		for _, who := range now {
			parts[who] += edges[i].Sub(edges[i-1]).Seconds() / float64(len(now))
		}
	}
	return parts
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
	return len(selector) > 0
}

// assets are the costs of nodes, load balancers and volumes in a window, by kind and name, and of nodes by the end of their provider's id. What
// comes or goes may be off by two scrapes at each end.
func (tr *truth) assets(start, end time.Time, sees *sight) map[string]*trueCost {
	all := map[string]*trueCost{}
	add := func(name string, life span, hourly float64) {
		seconds, off := overlap(life.from, life.to, start, end), 2*sees.scrape.Seconds()*life.edges(start, end)
		if seconds == 0 {
			return
		}
		if all[name] == nil {
			all[name] = newTrueCost()
		}
		all[name].add("seconds", 3600, seconds, off)
		all[name].add("cost", hourly, seconds, off)
	}
	for _, x := range tr.machines() {
		price, has := x.prices(), x.Status.Capacity
		gpus := tr.quantity(has["nvidia.com/gpu"])
		if sees.more {
			gpus += tr.deviceCount(x.apiObject)
		}
		add("Node/"+x.Metadata.Name+"/"+lastPart(x.Spec.ProviderID), x.span, tr.quantity(has["cpu"])*price.cpu+tr.quantity(has["memory"])/gib*price.ram+gpus*price.gpu)
	}
	for _, o := range tr.volumes.all() {
		add("Disk/"+o.Metadata.Name, o.life(), tr.quantity(o.Spec.Capacity["storage"])/gib*storagePrice)
	}
	for _, o := range tr.services.all() {
		for _, life := range tr.balanced(o, start, end) {
			add("LoadBalancer/"+o.Metadata.Namespace+"/"+o.Metadata.Name, life, balancerPrice)
		}
	}
	return all
}

// clusterScrape is how often everything of TestClusterE2E is scraped.
const clusterScrape = 5 * time.Second

// machine is a machine whose Node object may have been made again.
type machine struct {
	span
	*apiObject
}

// machines are those of all nodes. One whose Node object comes back under its provider's id while a pod runs on there has been there all the time.
func (tr *truth) machines() (all []machine) {
	for _, o := range tr.nodes.all() {
		i := slices.IndexFunc(all, func(x machine) bool {
			return x.Metadata.Name == o.Metadata.Name && x.Spec.ProviderID == o.Spec.ProviderID && tr.ranOver(o.Metadata.Name, x.to, o.Metadata.CreationTimestamp)
		})
		if i < 0 {
			all = append(all, machine{o.life(), o})
		} else {
			all[i].to = o.gone
		}
	}
	return all
}

// ranOver reports whether a container of a node ran from before one time to after another.
func (tr *truth) ranOver(node string, from, to time.Time) bool {
	return slices.ContainsFunc(tr.observer.Runs(tr), func(r promtest.Run) bool {
		return r.Node == node && r.Start.Before(from) && (r.End.IsZero() || r.End.After(to))
	})
}

// lastPart is the part of an id after its last slash.
func lastPart(id string) string { return id[strings.LastIndex(id, "/")+1:] }
