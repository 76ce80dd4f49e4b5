package build

import (
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// services has the signals that say which pods are behind a service.
type services struct {
	known     map[objectKey]bool
	slices    map[objectKey]signals.Symbol                 // slice → service
	endpoints map[objectKey]timeline.Dated[signals.Symbol] // pod → slices of its namespace
	addresses map[objectKey]timeline.Dated[signals.Symbol] // namespace and IP → services
	selectors map[objectKey]timeline.Dated[allocation.ID]  // service → labels by which it selects pods
	selecting map[objectKey][]selector                     // namespace → selectors of services without endpoints; nil until it is needed
	selected  map[labeledIn][]int                          // pods by labels → indices of the selectors that select them
	// observed is when services or endpoints of a cluster were seen, observedSelectors when selectors were.
	observed, observedSelectors map[signals.Symbol]timeline.Intervals
}

// selector selects the pods of a service while it is seen.
type selector struct {
	timeline.Interval
	service signals.Symbol
	labels  []selectedLabel
}

// selectedLabel is a label that selected pods have.
type selectedLabel struct {
	name  labelnames.Name
	value string
}

// labeledIn are the pods of a namespace that have the same labels, a map of the builder's Dict.
type labeledIn struct {
	namespace objectKey
	labels    allocation.ID
}

func newServices() services {
	return services{
		known: map[objectKey]bool{}, slices: map[objectKey]signals.Symbol{},
		endpoints: map[objectKey]timeline.Dated[signals.Symbol]{}, addresses: map[objectKey]timeline.Dated[signals.Symbol]{},
		selectors: map[objectKey]timeline.Dated[allocation.ID]{}, selected: map[labeledIn][]int{},
		observed: map[signals.Symbol]timeline.Intervals{}, observedSelectors: map[signals.Symbol]timeline.Intervals{},
	}
}

func (b *Builder) addService(s *seen) error {
	b.services.behind.known[s.object()] = true
	observe(b.services.behind.observed, s.key[0], b.serviceSteps(s))
	return nil
}

func (b *Builder) addSliceService(s *seen) error {
	if s.key[3] != none {
		b.services.behind.slices[s.object()] = s.key[3]
	}
	observe(b.services.behind.observed, s.key[0], b.serviceSteps(s))
	return nil
}

func (b *Builder) addSliceEndpoint(s *seen) error {
	namespace := s.key[3]
	if namespace == none {
		namespace = s.key[1]
	}
	steps := b.serviceSteps(s)
	addDated(b.services.behind.endpoints, objectKey{s.key[0], namespace, s.key[4]}, s.key[2], steps)
	observe(b.services.behind.observed, s.key[0], steps)
	return nil
}

func (b *Builder) addServiceAddress(s *seen) error {
	steps := b.serviceSteps(s)
	addDated(b.services.behind.addresses, objectKey{s.key[0], s.key[1], s.key[3]}, s.key[2], steps)
	observe(b.services.behind.observed, s.key[0], steps)
	return nil
}

func (b *Builder) addServiceSelector(s *seen) error {
	steps := b.serviceSteps(s)
	addDated(b.services.behind.selectors, s.object(), addTail(b.dict, s.tail), steps)
	observe(b.services.behind.observedSelectors, s.key[0], steps)
	return nil
}

// serviceSteps is when a signal of a service was seen. Like a service, it begins and ends halfway between two scrapes.
func (b *Builder) serviceSteps(s *seen) timeline.Steps {
	steps := b.sampling.Steps(s.p)
	if b.sampling.Exact() {
		for i := range steps {
			steps[i].From -= b.sampling.Interval / 2
			steps[i].To -= b.sampling.Interval / 2
		}
	}
	return steps
}

// addDated records when a value of a key was seen.
func addDated[T comparable](m map[objectKey]timeline.Dated[T], key objectKey, value T, seen timeline.Steps) {
	values := m[key]
	values.Add(value, seen)
	m[key] = values
}

// observe records when a signal about a cluster's services was seen.
func observe(observed map[signals.Symbol]timeline.Intervals, cluster signals.Symbol, seen timeline.Steps) {
	all := observed[cluster]
	for _, x := range seen {
		if at, ok := all.Find(x.To); !ok || x.From < at.From {
			all = timeline.Union(append(all, timeline.Interval{From: x.From, To: x.To}))
		}
	}
	observed[cluster] = all
}

// behind returns when a pod was seen behind which service: by EndpointSlices, else by addresses, else by the selectors of services that have
// neither. within is the time of the pod: at other times another pod may have its name or address. observed is when signals of that kind
// were seen in the cluster at all.
func (v *services) behind(p *pod, within timeline.Interval, dict *allocation.Dict) (sights timeline.Dated[signals.Symbol], observed timeline.Intervals) {
	for _, x := range v.endpoints[p.objectKey] {
		if service, ok := v.ofSlice(objectKey{p.cluster, p.namespace, x.Value}); ok {
			x.Value = service
			sights = append(sights, x)
		}
	}
	if sights = sights.Within(within.From, within.To); len(sights) == 0 && p.address.Known() {
		sights = v.addresses[objectKey{p.cluster, p.namespace, p.address.Value}].Within(within.From, within.To)
	}
	if len(sights) > 0 {
		return sights, v.observed[p.cluster]
	}
	return v.selectedBy(p, dict), v.observedSelectors[p.cluster]
}

// ofSlice is the service of an EndpointSlice: by its label, else by its name, which is the service's name, a hyphen and 5 letters.
func (v *services) ofSlice(slice objectKey) (signals.Symbol, bool) {
	if service, ok := v.slices[slice]; ok {
		return service, true
	}
	text := slice.name.Value()
	if i := strings.LastIndexByte(text, '-'); i > 0 {
		service := signals.Sym(text[:i])
		if v.known[objectKey{slice.cluster, slice.namespace, service}] {
			return service, true
		}
	}
	const most, own = 63, 5 // the longest name, and the letters that the slice adds
	if len(text) != most {
		return none, false
	}
	return v.beginning(slice, text[:most-own])
}

// beginning is the service in the namespace of an EndpointSlice whose name begins with text: Kubernetes cuts long names of services for
// those of slices. ok is false if there are several.
func (v *services) beginning(slice objectKey, text string) (service signals.Symbol, ok bool) {
	for key := range v.known {
		if key.cluster == slice.cluster && key.namespace == slice.namespace && strings.HasPrefix(key.name.Value(), text) {
			if ok {
				return none, false
			}
			service, ok = key.name, true
		}
	}
	return service, ok
}

// selectedBy returns when services select a pod by its labels.
func (v *services) selectedBy(p *pod, dict *allocation.Dict) (sights timeline.Dated[signals.Symbol]) {
	if len(v.selectors) == 0 {
		return nil
	}
	namespace := objectKey{p.cluster, p.namespace, none}
	all := v.selectorsIn(namespace, dict)
	for _, x := range p.labels {
		for _, i := range v.matching(labeledIn{namespace, x.Value}, all, dict) {
			from, to := max(x.From, all[i].From), min(x.To, all[i].To)
			if from < to {
				sights = append(sights, timeline.DatedValue[signals.Symbol]{Interval: timeline.Interval{From: from, To: to}, Value: all[i].service})
			}
		}
	}
	return sights
}

// matching returns the indices of the selectors that select pods with given labels.
func (v *services) matching(pods labeledIn, all []selector, dict *allocation.Dict) []int {
	found, ok := v.selected[pods]
	if !ok {
		labels := dict.TextMap(pods.labels)
		for i := range all {
			if all[i].matches(labels) {
				found = append(found, i)
			}
		}
		v.selected[pods] = found
	}
	return found
}

// matches reports whether a pod with labels is selected.
func (s *selector) matches(labels map[string]string) bool {
	return !slices.ContainsFunc(s.labels, func(l selectedLabel) bool {
		value, ok := labelnames.Find(&l.name, labels)
		return !ok || value != l.value
	})
}

// selectorsIn are the selectors of the services in a namespace without known endpoints.
func (v *services) selectorsIn(namespace objectKey, dict *allocation.Dict) []selector {
	if v.selecting == nil {
		v.selecting = map[objectKey][]selector{}
		withEndpoints := v.withEndpoints()
		for _, service := range sortedObjects(v.selectors) {
			if withEndpoints[service] {
				continue
			}
			key := objectKey{service.cluster, service.namespace, none}
			for _, x := range v.selectors[service] {
				if labels := dict.TextMap(x.Value); len(labels) > 0 { // else it selects nothing
					v.selecting[key] = append(v.selecting[key], selector{x.Interval, service.name, selectedLabels(labels)})
				}
			}
		}
	}
	return v.selecting[namespace]
}

// selectedLabels are the labels of a selector, in no order.
func selectedLabels(labels map[string]string) (out []selectedLabel) {
	names := labelnames.NewNames(slices.Collect(maps.Keys(labels))...)
	for name, value := range labels {
		out = append(out, selectedLabel{names.Name(name), value})
	}
	return out
}

// withEndpoints are the services that pods are known to be behind.
func (v *services) withEndpoints() map[objectKey]bool {
	found := map[objectKey]bool{}
	for pod, list := range v.endpoints {
		for _, x := range list {
			if service, ok := v.ofSlice(objectKey{pod.cluster, pod.namespace, x.Value}); ok {
				found[objectKey{pod.cluster, pod.namespace, service}] = true
			}
		}
	}
	for ip, list := range v.addresses {
		for _, x := range list {
			found[objectKey{ip.cluster, ip.namespace, x.Value}] = true
		}
	}
	return found
}
