package allocation

import (
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/timeline"
)

// services joins the ways by which a pod is known to be behind a service.
type services struct {
	known     map[objectKey]bool
	slices    map[objectKey]Symbol                    // slice → service
	endpoints map[objectKey][]Symbol                  // pod → slices of its namespace
	addresses map[objectKey][]Symbol                  // namespace and IP → services
	selectors map[objectKey]latest[map[string]string] // service → labels that it selects pods by
	selecting map[objectKey][]selector                // namespace → selectors of services without endpoints; nil until it is needed
	selected  map[labeledIn][]string                  // services by what they select
}

// selector selects the pods of a service.
type selector struct {
	service string
	labels  []selectedLabel
}

// selectedLabel is a label that pods have to have.
type selectedLabel struct {
	name  LabelName
	value string
}

// labeledIn are the pods of a namespace that have the same labels, a map of the builder's Dict.
type labeledIn struct {
	namespace objectKey
	labels    ID
}

func newServices() services {
	return services{
		known: map[objectKey]bool{}, slices: map[objectKey]Symbol{},
		endpoints: map[objectKey][]Symbol{}, addresses: map[objectKey][]Symbol{},
		selectors: map[objectKey]latest[map[string]string]{}, selected: map[labeledIn][]string{},
	}
}

func (b *Builder) addService(s *seen) error {
	b.services.known[s.object()] = true
	return nil
}

func (b *Builder) addSliceService(s *seen) error {
	if s.key[3] != none {
		b.services.slices[s.object()] = s.key[3]
	}
	return nil
}

func (b *Builder) addSliceEndpoint(s *seen) error {
	namespace := s.key[3]
	if namespace == none {
		namespace = s.key[1]
	}
	pod := objectKey{s.key[0], namespace, s.key[4]}
	b.services.endpoints[pod] = append(b.services.endpoints[pod], s.key[2])
	return nil
}

func (b *Builder) addServiceAddress(s *seen) error {
	ip := objectKey{s.key[0], s.key[1], s.key[3]}
	b.services.addresses[ip] = append(b.services.addresses[ip], s.key[2])
	return nil
}

func (b *Builder) addServiceSelector(s *seen) error {
	labels := b.services.selectors[s.object()]
	labels.set(s.tailMap(), s.p.Last())
	b.services.selectors[s.object()] = labels
	return nil
}

// of are the services in front of a pod, sorted: by EndpointSlice, else by address, else by the selectors of services that
// neither is known of.
func (v *services) of(p *pod, dict *Dict) []string {
	var names []string
	for _, slice := range v.endpoints[p.objectKey] {
		if service, ok := v.ofSlice(objectKey{p.cluster, p.namespace, slice}); ok {
			names = append(names, service.Value())
		}
	}
	if len(names) == 0 && p.address.known() {
		for _, service := range v.addresses[objectKey{p.cluster, p.namespace, p.address.value}] {
			names = append(names, service.Value())
		}
	}
	if len(names) == 0 {
		names = append(names, v.selectedBy(labeledIn{objectKey{p.cluster, p.namespace, none}, p.labels.at(timeline.Forever)}, dict)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ofSlice is the service of an EndpointSlice: by its label, else by its name, which is the service's and a part of its own.
func (v *services) ofSlice(slice objectKey) (Symbol, bool) {
	if service, ok := v.slices[slice]; ok {
		return service, true
	}
	text := slice.name.Value()
	i := strings.LastIndexByte(text, '-')
	if i <= 0 {
		return none, false
	}
	service := Sym(text[:i])
	return service, v.known[objectKey{slice.cluster, slice.namespace, service}]
}

// selectedBy are the services that select pods by their labels.
func (v *services) selectedBy(pods labeledIn, dict *Dict) []string {
	if len(v.selectors) == 0 {
		return nil
	}
	names, ok := v.selected[pods]
	if !ok {
		labels := map[string]string{}
		for _, pair := range dict.Map(pods.labels) {
			labels[dict.Text(pair.Key)] = dict.Text(pair.Value)
		}
		for _, s := range v.selectorsIn(pods.namespace) {
			if s.matches(labels) {
				names = append(names, s.service)
			}
		}
		v.selected[pods] = names
	}
	return names
}

// matches reports whether a pod with labels is selected.
func (s *selector) matches(labels map[string]string) bool {
	return !slices.ContainsFunc(s.labels, func(l selectedLabel) bool {
		value, ok := FindLabel(&l.name, labels)
		return !ok || value != l.value
	})
}

// selectorsIn are the selectors of the services in a namespace of which no endpoint is known.
func (v *services) selectorsIn(namespace objectKey) []selector {
	if v.selecting == nil {
		v.selecting = map[objectKey][]selector{}
		told := v.withEndpoints()
		for service, labels := range v.selectors {
			if told[service] || len(labels.value) == 0 { // which selects nothing
				continue
			}
			s := selector{service: service.name.Value()}
			names := NewLabelNames(slices.Collect(maps.Keys(labels.value))...)
			for name, value := range labels.value {
				s.labels = append(s.labels, selectedLabel{names.Name(name), value})
			}
			key := objectKey{service.cluster, service.namespace, none}
			v.selecting[key] = append(v.selecting[key], s)
		}
	}
	return v.selecting[namespace]
}

// withEndpoints are the services that pods are known to be behind.
func (v *services) withEndpoints() map[objectKey]bool {
	told := map[objectKey]bool{}
	for pod, list := range v.endpoints {
		for _, slice := range list {
			if service, ok := v.ofSlice(objectKey{pod.cluster, pod.namespace, slice}); ok {
				told[objectKey{pod.cluster, pod.namespace, service}] = true
			}
		}
	}
	for ip, list := range v.addresses {
		for _, service := range list {
			told[objectKey{ip.cluster, ip.namespace, service}] = true
		}
	}
	return told
}
