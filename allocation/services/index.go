// Package services says which pods are behind which services.
package services

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Object names a namespaced object, or a namespace where Name is "".
type Object struct{ Cluster, Namespace, Name signals.Symbol }

// Pod is what connects a pod with services.
type Pod struct {
	Object
	Address timeline.Latest[signals.Symbol]
	Labels  timeline.Dated[allocation.ID] // maps of the index's Dict
	Seen    timeline.Steps                // when it was seen: at other times another pod may have its name or address
}

var none signals.Symbol // of ""

// Index has the signals that say which pods are behind a service.
type Index struct {
	dict      *allocation.Dict
	symbols   *signals.Symbols
	known     map[Object]bool
	slices    map[Object]signals.Symbol                 // slice → service
	endpoints map[Object]timeline.Dated[signals.Symbol] // pod → slices of its namespace
	addresses map[Object]timeline.Dated[signals.Symbol] // namespace and IP → services
	selectors map[Object]timeline.Dated[allocation.ID]  // service → labels by which it selects pods
	selecting map[Object][]selector                     // namespace → selectors of services without endpoints; nil until it is needed
	selected  map[labeledIn][]int                       // pods by labels → indices of the selectors that select them
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

// labeledIn are the pods of a namespace that have the same labels, a map of the index's Dict.
type labeledIn struct {
	namespace Object
	labels    allocation.ID
}

// NewIndex returns an index that knows no service. The labels of selectors and pods are maps of dict, and names are symbols of symbols.
func NewIndex(dict *allocation.Dict, symbols *signals.Symbols) *Index {
	return &Index{
		dict: dict, symbols: symbols, known: map[Object]bool{}, slices: map[Object]signals.Symbol{},
		endpoints: map[Object]timeline.Dated[signals.Symbol]{}, addresses: map[Object]timeline.Dated[signals.Symbol]{},
		selectors: map[Object]timeline.Dated[allocation.ID]{}, selected: map[labeledIn][]int{},
		observed: map[signals.Symbol]timeline.Intervals{}, observedSelectors: map[signals.Symbol]timeline.Intervals{},
	}
}

// AddService adds when a service was seen.
func (x *Index) AddService(service Object, when timeline.Steps) {
	x.known[service] = true
	observe(x.observed, service.Cluster, when)
}

// AddSlice adds the service of an EndpointSlice, "" if it has none.
func (x *Index) AddSlice(slice Object, service signals.Symbol, when timeline.Steps) {
	if service != none {
		x.slices[slice] = service
	}
	observe(x.observed, slice.Cluster, when)
}

// AddEndpoint adds when a pod was in an EndpointSlice of its namespace.
func (x *Index) AddEndpoint(pod Object, slice signals.Symbol, when timeline.Steps) {
	addDated(x.endpoints, pod, slice, when)
	observe(x.observed, pod.Cluster, when)
}

// AddAddress adds when an IP address was behind a service.
func (x *Index) AddAddress(service Object, ip signals.Symbol, when timeline.Steps) {
	addDated(x.addresses, Object{service.Cluster, service.Namespace, ip}, service.Name, when)
	observe(x.observed, service.Cluster, when)
}

// AddSelector adds when a service selected pods with labels.
func (x *Index) AddSelector(service Object, labels allocation.ID, when timeline.Steps) {
	addDated(x.selectors, service, labels, when)
	observe(x.observedSelectors, service.Cluster, when)
}

// addDated records when a value of a key was seen.
func addDated[T comparable](m map[Object]timeline.Dated[T], key Object, value T, when timeline.Steps) {
	values := m[key]
	values.Add(value, when)
	m[key] = values
}

// observe records when a signal about a cluster's services was seen.
func observe(observed map[signals.Symbol]timeline.Intervals, cluster signals.Symbol, when timeline.Steps) {
	all := observed[cluster]
	for _, x := range when {
		if at, ok := all.Find(x.To); !ok || x.From < at.From {
			all = timeline.Union(append(all, timeline.Interval{From: x.From, To: x.To}))
		}
	}
	observed[cluster] = all
}

// sights are when a pod was seen behind which service within some time: by EndpointSlices, else by addresses, else by the selectors of services
// that have neither. observed is when signals of that kind were seen in the cluster at all.
func (x *Index) sights(p *Pod, within timeline.Interval) (sights timeline.Dated[signals.Symbol], observed timeline.Intervals) {
	for _, at := range x.endpoints[p.Object] {
		if service, ok := x.sliceService(Object{p.Cluster, p.Namespace, at.Value}); ok {
			at.Value = service
			sights = append(sights, at)
		}
	}
	if sights = sights.Within(within.From, within.To); len(sights) == 0 && p.Address.Known() {
		sights = x.addresses[Object{p.Cluster, p.Namespace, p.Address.Value}].Within(within.From, within.To)
	}
	if len(sights) > 0 {
		return sights, x.observed[p.Cluster]
	}
	return x.selectedBy(p), x.observedSelectors[p.Cluster]
}

// HasSelectors reports whether any service selects pods by labels.
func (x *Index) HasSelectors() bool { return len(x.selectors) > 0 }

// sliceService is the service of an EndpointSlice: by its label, else by its name, which is the service's name, a hyphen and 5 letters.
func (x *Index) sliceService(slice Object) (signals.Symbol, bool) {
	if service, ok := x.slices[slice]; ok {
		return service, true
	}
	text := slice.Name.Value()
	if i := strings.LastIndexByte(text, '-'); i > 0 {
		service := x.symbols.Of(text[:i])
		if x.known[Object{slice.Cluster, slice.Namespace, service}] {
			return service, true
		}
	}
	const most, own = 63, 5 // the longest name, and the letters that the slice adds
	if len(text) != most {
		return none, false
	}
	return x.beginning(slice, text[:most-own])
}

// beginning is the service in the namespace of an EndpointSlice whose name begins with text: Kubernetes cuts long names of services for
// those of slices. ok is false if there are several.
func (x *Index) beginning(slice Object, text string) (service signals.Symbol, ok bool) {
	for key := range x.known {
		if key.Cluster == slice.Cluster && key.Namespace == slice.Namespace && strings.HasPrefix(key.Name.Value(), text) {
			if ok {
				return none, false
			}
			service, ok = key.Name, true
		}
	}
	return service, ok
}

// selectedBy returns when services select a pod by its labels.
func (x *Index) selectedBy(p *Pod) (sights timeline.Dated[signals.Symbol]) {
	if len(x.selectors) == 0 {
		return nil
	}
	namespace := Object{p.Cluster, p.Namespace, none}
	all := x.selectorsIn(namespace)
	for _, had := range p.Labels {
		for _, i := range x.matching(labeledIn{namespace, had.Value}, all) {
			from, to := max(had.From, all[i].From), min(had.To, all[i].To)
			if from < to {
				sights = append(sights, timeline.DatedValue[signals.Symbol]{Interval: timeline.Interval{From: from, To: to}, Value: all[i].service})
			}
		}
	}
	return sights
}

// matching returns the indices of the selectors that select pods with given labels.
func (x *Index) matching(pods labeledIn, all []selector) []int {
	found, ok := x.selected[pods]
	if !ok {
		labels := x.dict.TextMap(pods.labels)
		for i := range all {
			if all[i].matches(labels) {
				found = append(found, i)
			}
		}
		x.selected[pods] = found
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
func (x *Index) selectorsIn(namespace Object) []selector {
	if x.selecting == nil {
		x.selecting = map[Object][]selector{}
		withEndpoints := x.withEndpoints()
		for _, service := range slices.SortedFunc(maps.Keys(x.selectors), compareObjects) {
			if withEndpoints[service] {
				continue
			}
			key := Object{service.Cluster, service.Namespace, none}
			for _, had := range x.selectors[service] {
				if labels := x.dict.TextMap(had.Value); len(labels) > 0 { // else it selects nothing
					x.selecting[key] = append(x.selecting[key], selector{had.Interval, service.Name, selectedLabels(labels)})
				}
			}
		}
	}
	return x.selecting[namespace]
}

// compareObjects orders objects by cluster, namespace and name.
func compareObjects(a, b Object) int {
	return cmp.Or(signals.Compare(a.Cluster, b.Cluster), signals.Compare(a.Namespace, b.Namespace), signals.Compare(a.Name, b.Name))
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
func (x *Index) withEndpoints() map[Object]bool {
	found := map[Object]bool{}
	for pod, list := range x.endpoints {
		for _, at := range list {
			if service, ok := x.sliceService(Object{pod.Cluster, pod.Namespace, at.Value}); ok {
				found[Object{pod.Cluster, pod.Namespace, service}] = true
			}
		}
	}
	for ip, list := range x.addresses {
		for _, at := range list {
			found[Object{ip.Cluster, ip.Namespace, at.Value}] = true
		}
	}
	return found
}
