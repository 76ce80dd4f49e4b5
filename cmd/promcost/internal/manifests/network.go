package manifests

// services are how pods with these labels are reached, from outside of the cluster, too.
func (v *Values) services(pods object) []document {
	ports := func(name string) entry {
		return entry{"ports", list{object{entry{"name", name}, entry{"port", &v.Service.Port}, entry{"targetPort", "http"}, v.appProtocol()}}}
	}
	serving := entry{"selector", pods}
	// Headlamp's plugin asks the first Service of that label, at the port of that name.
	headlamp := object{
		entry{"name", text{&v.Name, "-headlamp"}},
		only(is(&v.Namespace), entry{"namespace", &v.Namespace}),
		entry{"labels", object{entry{"app.kubernetes.io/name", "opencost"}, entry{"app.kubernetes.io/instance", &v.Name}, entry{"app.kubernetes.io/part-of", "promcost"}, spread{&v.Labels}}},
	}
	return []document{
		{"service.yaml", nil, objectOf("v1", "Service", v.metadata(&v.Name, server, annotations(&v.Service.Annotations)), entry{"spec", object{serving, ports("http")}})},
		{"headlamp.yaml", []condition{is(&v.Service.Headlamp)}, objectOf("v1", "Service", headlamp, entry{"spec", object{serving, ports("http-ui")}})},
		{"ingress.yaml", []condition{is(&v.Ingress.Enabled)}, v.ingress()},
		{"httproute.yaml", []condition{is(&v.HTTPRoute.Enabled)}, v.httpRoute()},
	}
}

// appProtocol says that a port is asked by HTTPS, where it is.
func (v *Values) appProtocol() when {
	return only(is(&v.Web.Secret), entry{"appProtocol", "https"})
}

// host is the name of the Service, as its certificate has it.
func (v *Values) host() text { return text{&v.Name, ".", &v.Namespace, ".svc"} }

// policy is who may talk to promcost's pods and to whom they may: what they read from and write to is a Prometheus in the
// cluster, or a service at the port of HTTPS.
func (v *Values) policy() object {
	own := entry{"matchLabels", object{entry{"app.kubernetes.io/name", "promcost"}, entry{"app.kubernetes.io/instance", &v.Name}}}
	others := list{object{entry{"key", "app.kubernetes.io/component"}, entry{"operator", "NotIn"}, entry{"values", list{apiserver}}}}
	return object{
		entry{"podSelector", object{
			own, entry{"matchExpressions", others},
		}},
		entry{"policyTypes", list{"Ingress", "Egress"}},
		entry{"ingress", list{object{
			entry{"ports", list{portOf("TCP", "http")}},
			// promcost-apiserver and the test of the chart ask it, whoever else may.
			only(is(&v.NetworkPolicy.From), entry{"from", list{object{entry{"podSelector", object{own}}}, spread{&v.NetworkPolicy.From}}}),
		}}},
		entry{"egress", list{
			object{entry{"to", list{object{entry{"namespaceSelector", object{}}}}}},
			object{entry{"ports", list{portOf("UDP", 53), portOf("TCP", 53), portOf("TCP", 443)}}},
			spread{&v.NetworkPolicy.Egress},
		}},
	}
}

// portOf is a port of a NetworkPolicy, a number or the name of one of a container.
func portOf(protocol string, port any) object {
	return object{entry{"protocol", protocol}, entry{"port", port}}
}

func (v *Values) ingress() object {
	i := &v.Ingress
	backend := object{entry{"service", object{entry{"name", &v.Name}, entry{"port", object{entry{"name", "http"}}}}}}
	paths := entry{"http", object{entry{"paths", list{object{entry{"path", "/"}, entry{"pathType", "Prefix"}, entry{"backend", backend}}}}}}
	hosts := entry{"hosts", list{&i.Host}}
	return objectOf("networking.k8s.io/v1", "Ingress", v.metadata(&v.Name, server, annotations(&i.Annotations)), entry{"spec", object{
		only(is(&i.Class), entry{"ingressClassName", &i.Class}),
		only(is(&i.TLSSecret), entry{"tls", list{object{entry{"secretName", &i.TLSSecret}, only(is(&i.Host), hosts)}}}),
		entry{"rules", list{object{paths, only(is(&i.Host), entry{"host", &i.Host})}}},
	}})
}

func (v *Values) httpRoute() object {
	r := &v.HTTPRoute
	return objectOf("gateway.networking.k8s.io/v1", "HTTPRoute", v.metadata(&v.Name, server), entry{"spec", object{
		entry{"parentRefs", &r.Gateways},
		only(is(&r.Hostnames), entry{"hostnames", &r.Hostnames}),
		entry{"rules", list{object{entry{"backendRefs", list{object{entry{"name", &v.Name}, entry{"port", &v.Service.Port}}}}}}},
	}})
}

// protection are what pods are to the cluster: who they are, whom they talk to, and how many of them may be stopped at a time.
func (v *Values) protection() []document {
	budget := object{entry{"maxUnavailable", 1}, entry{"selector", object{entry{"matchLabels", v.selector(server)}}}}
	return []document{
		{"serviceaccount.yaml", nil, objectOf("v1", "ServiceAccount", v.metadata(&v.Name, server, annotations(&v.ServiceAccount.Annotations)), entry{"automountServiceAccountToken", false})},
		{"networkpolicy.yaml", []condition{is(&v.NetworkPolicy.Enabled)}, objectOf("networking.k8s.io/v1", "NetworkPolicy", v.metadata(&v.Name, server), entry{"spec", v.policy()})},
		{"poddisruptionbudget.yaml", []condition{is(&v.DisruptionBudget.Enabled)}, objectOf("policy/v1", "PodDisruptionBudget", v.metadata(&v.Name, server), entry{"spec", budget})},
	}
}
