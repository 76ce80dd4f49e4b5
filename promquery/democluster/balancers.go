package democluster

import "slices"

// Load balancers and the fee for the cluster.
const (
	loadBalancer         = "LoadBalancer"
	tellsBalancerPrice   = 0.0225 // USD an hour, as exported
	defaultBalancerPrice = 0.025  // USD an hour, what promcost falls back on
	managementPrice      = 0.10   // USD an hour
	provisioner          = "EKS"
)

// service selects the pods of one workload.
type service struct {
	namespace, name, kind, uid, ip, ingress, slice string
	life                                           span
	hourly                                         float64 // USD an hour, of a load balancer
	priced                                         bool    // an exporter has the price
	private                                        bool    // reached from inside only
	pods                                           []*pod  // behind it, by their creation
}

func (c *Cluster) newService(namespace, name, kind string, key uint64) *service {
	s := &service{
		namespace: namespace, name: name, kind: kind, uid: uuid(key), life: c.always(),
		ip: address("172.20", len(c.services)+10), slice: name + "-" + suffix(key, 5),
	}
	if kind == loadBalancer {
		s.ingress, s.hourly = address("198.51", len(c.services)), defaultBalancerPrice
	}
	c.services = append(c.services, s)
	return s
}

// addService puts a service in front of a workload.
func (c *Cluster) addService(w *workload) {
	s := c.newService(w.namespace, w.service, w.serviceType, keyOf(w.key, "service"))
	if s.kind == loadBalancer && !c.cfg.NoOpenCost {
		s.hourly, s.priced = tellsBalancerPrice, true
	}
	w.services = append(w.services, s)
}

// addBalancers adds a load balancer that joins another service in front of the same pods in the middle of the history, and an
// internal one that nothing is behind of and that goes.
func (c *Cluster) addBalancers() {
	const namespace, selected = "payments", "web-frontend"
	for _, w := range c.workloads {
		if w.namespace == namespace && w.name == selected {
			s := c.newService(namespace, "web-external", loadBalancer, keyOf(w.key, "external"))
			s.life.from = c.timeAt(atServiceCreated)
			w.services = append(w.services, s)
		}
	}
	gateway := c.newService(namespace, "legacy-gateway", loadBalancer, keyOf(c.key, "legacy-gateway"))
	gateway.ingress, gateway.private, gateway.life.to = address("10.4", 7), true, c.timeAt(atServiceDeleted)
}

// endpoint is when a pod is one of a service.
func (s *service) endpoint(p *pod) span { return s.life.clip(span{p.ready, p.end}) }

func (s *service) id() string { return s.namespace + "/" + s.name }

// service adds what kube-state-metrics and OpenCost say about a service.
func (b *collector) service(s *service) {
	one := constant(s.life, 1)
	id := []string{"namespace", s.namespace, "service", s.name, "uid", s.uid}
	with := func(kv ...string) []string { return append(slices.Clip(id), kv...) }
	b.ksm(one, "kube_service_info", with("cluster_ip", s.ip, "load_balancer_ip", s.ingress)...)
	b.ksm(one, "kube_service_spec_type", with("type", s.kind)...)
	b.ksm(one, "kube_endpointslice_labels", "namespace", s.namespace, "endpointslice", s.slice,
		"label_kubernetes_io_service_name", s.name, "label_endpointslice_kubernetes_io_managed_by", "endpointslice-controller.k8s.io")
	if s.ingress != "" {
		b.ksm(one, "kube_service_status_load_balancer_ingress", with("ip", s.ingress)...)
	}
	if s.priced {
		b.opencost(constant(s.life, s.hourly), "kubecost_load_balancer_cost",
			"namespace", s.namespace, "service_name", s.name, "ingress_ip", s.ingress)
	}
}

// endpoints adds the pod's place behind its services.
func (b *collector) endpoints(p *pod) {
	for _, s := range p.of.services {
		b.ksm(constant(s.endpoint(p), 1), "kube_endpointslice_endpoints", "namespace", s.namespace, "endpointslice", s.slice,
			"ready", "true", "serving", "true", "terminating", "false", "targetref_kind", "Pod", "targetref_name", p.name,
			"targetref_namespace", s.namespace, "endpoint_nodename", p.node.name, "endpoint_zone", p.node.zone, "address", p.ip)
	}
}
