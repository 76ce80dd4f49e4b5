package manifests

// apiService is the name of the APIService of promcost-apiserver, which is the only object that it may change.
const apiService = apiVersion + "." + apiGroup

// The API that promcost-apiserver answers for.
const (
	apiGroup   = "cost.promcost.io"
	apiVersion = "v1alpha1"
)

// apiPort is where it listens.
const apiPort = 8443

// rbacVersion is that of rights.
const rbacVersion = "rbac.authorization.k8s.io/v1"

// apiServer are promcost-apiserver, its rights and what makes the cluster's API pass requests on to it.
func (v *Values) apiServer() []document {
	name := text{&v.Name, "-apiserver"}
	named := func(more ...any) object { return v.metadata(name, apiserver, more...) }
	made := not(is(&v.APIServer.Secret)) // its certificate, in memory
	port := entry{"ports", list{object{entry{"name", "https"}, entry{"port", 443}, entry{"targetPort", "https"}, entry{"appProtocol", "https"}}}}
	docs := []document{
		{"serviceaccount.yaml", nil, objectOf("v1", "ServiceAccount", named(), entry{"automountServiceAccountToken", false})},
		{"service.yaml", nil, objectOf("v1", "Service", named(), entry{"spec", object{entry{"selector", v.selector(apiserver)}, port}})},
		{"deployment.yaml", nil, objectOf("apps/v1", "Deployment", named(), entry{"spec", object{
			entry{"replicas", &v.APIServer.Replicas},
			only(made, entry{"strategy", object{entry{"type", "Recreate"}}}), // two would each want the API to trust their own
			entry{"selector", object{entry{"matchLabels", v.selector(apiserver)}}},
			entry{"template", v.podTemplate(apiserver, annotations(&v.Pod.Annotations), name, true, v.apiServerContainer(), list{
				object{entry{"name", "promcost-tmp"}, entry{"emptyDir", object{}}},
				secret("promcost-apiserver", &v.APIServer.Secret), secret("promcost-web", &v.Web.Secret, "ca.crt"),
				only(is(&v.Web.Secret), object{entry{"name", "promcost-config"}, entry{"configMap", object{entry{"name", name}}}}),
			})},
		}})},
		{"config.yaml", []condition{is(&v.Web.Secret)}, objectOf("v1", "ConfigMap", named(), entry{"data", object{entry{httpKey, "tls_config: {ca_file: " + webPath + "/ca.crt}"}}})},
		{"networkpolicy.yaml", []condition{is(&v.NetworkPolicy.Enabled)}, objectOf("networking.k8s.io/v1", "NetworkPolicy", named(), entry{"spec", v.apiServerPolicy()})},
		{"poddisruptionbudget.yaml", []condition{is(&v.DisruptionBudget.Enabled), above(&v.APIServer.Replicas, 1)}, objectOf("policy/v1", "PodDisruptionBudget", named(),
			entry{"spec", object{entry{"maxUnavailable", 1}, entry{"selector", object{entry{"matchLabels", v.selector(apiserver)}}}}})},
		{"apiservice.yaml", nil, objectOf("apiregistration.k8s.io/v1", "APIService", v.ofCluster(apiService, nil, annotations(&v.APIServer.Annotations)), entry{"spec", object{
			entry{"group", apiGroup},
			entry{"version", apiVersion},
			entry{"groupPriorityMinimum", 100},
			entry{"versionPriority", 100},
			entry{"service", object{entry{"name", name}, entry{"namespace", &v.Namespace}, entry{"port", 443}}},
			only(is(&v.APIServer.CABundle), entry{"caBundle", &v.APIServer.CABundle}), // else filled in when it runs
		}})},
	}
	docs = append(v.apiServerRights(made), docs...)
	for i := range docs {
		docs[i].file = "apiserver-" + docs[i].file
		docs[i].conditions = append([]condition{is(&v.APIServer.Enabled)}, docs[i].conditions...)
	}
	return docs
}

// ofCluster are the metadata of an object that is not in the namespace of the others: its name, more labels, and more.
func (v *Values) ofCluster(name any, labels list, more ...any) object {
	all := v.selector(apiserver).with(entry{"app.kubernetes.io/part-of", "promcost"}).with(labels...).with(spread{&v.Labels})
	return object{entry{"name", name}, entry{"labels", all}}.with(more...)
}

// apiServerRights are what promcost-apiserver may do in the cluster, and what its users may. made is whether it makes its certificate.
func (v *Values) apiServerRights(made condition) []document {
	named := func(role string) text { return text{&v.Namespace, ":", &v.Name, "-apiserver:" + role} }
	account := entry{"subjects", list{object{entry{"kind", "ServiceAccount"}, entry{"name", text{&v.Name, "-apiserver"}}, entry{"namespace", &v.Namespace}}}}
	role := func(kind string, name any) entry {
		return entry{"roleRef", object{entry{"apiGroup", "rbac.authorization.k8s.io"}, entry{"kind", kind}, entry{"name", name}}}
	}
	rules := func(group, resource string, more ...any) entry {
		return entry{"rules", list{object{entry{"apiGroups", list{group}}, entry{"resources", list{resource}}}.with(more...)}}
	}
	certificate := v.ofCluster(named("certificate"), nil)
	viewing := only(is(&v.APIServer.View), entry{"rbac.authorization.k8s.io/aggregate-to-view", "true"})
	return []document{
		// It lets the API judge the tokens and the rights of those who ask.
		{"delegator.yaml", nil, objectOf(rbacVersion, "ClusterRoleBinding", v.ofCluster(named("auth-delegator"), nil), role("ClusterRole", "system:auth-delegator"), account)},
		{"authentication.yaml", nil, objectOf(rbacVersion, "RoleBinding", v.ofCluster(named("authentication-reader"), nil, entry{"namespace", "kube-system"}), role("Role", "extension-apiserver-authentication-reader"), account)},
		{"certificate-role.yaml", []condition{made}, objectOf(rbacVersion, "ClusterRole", certificate,
			rules("apiregistration.k8s.io", "apiservices", entry{"resourceNames", list{apiService}}, entry{"verbs", list{"get", "patch"}}))},
		{"certificate.yaml", []condition{made}, objectOf(rbacVersion, "ClusterRoleBinding", certificate, role("ClusterRole", named("certificate")), account)},
		// For RoleBindings of those who may get the allocations of a namespace.
		{"allocations-role.yaml", nil, objectOf(rbacVersion, "ClusterRole", v.ofCluster(named("allocations"), list{viewing}), rules(apiGroup, "allocations", entry{"verbs", list{"get", "list", "watch"}}))},
	}
}

// apiServerContainer is promcost-apiserver.
func (v *Values) apiServerContainer() object {
	tls := "/etc/promcost/apiserver"
	own, https := is(&v.APIServer.Secret), is(&v.Web.Secret)
	args := list{
		only(not(https), text{"--promcost.url=http://", &v.Name, ":", &v.Service.Port}),
		only(https, text{"--promcost.url=https://", &v.Name, ".", &v.Namespace, ".svc:", &v.Service.Port}, "--promcost.http-config="+configPath+"/"+httpKey),
		text{"--service=", &v.Namespace, "/", &v.Name, "-apiserver"},
		only(own, "--tls.cert-file="+tls+"/tls.crt", "--tls.key-file="+tls+"/tls.key"),
		only(is(&v.APIServer.ClusterID), text{"--cluster.id=", dollars{&v.APIServer.ClusterID}}),
	}
	return object{
		entry{"name", "apiserver"},
		entry{"image", text{&v.APIServer.Repository, ":", &v.Image.Tag}},
		entry{"imagePullPolicy", &v.Image.PullPolicy},
		entry{"args", args},
		entry{"ports", list{object{entry{"name", "https"}, entry{"containerPort", apiPort}}}},
		probes("https", entry{"scheme", "HTTPS"}, "/livez", "/readyz"),
		only(is(&v.APIServer.Resources), entry{"resources", &v.APIServer.Resources}),
		// At most it takes three times its --cache.max-memory, 512MiB, and what it has at rest.
		only(not(is(&v.APIServer.Resources)), entry{"resources", requests("50m", "128Mi", "1792Mi")}),
		entry{"securityContext", restricted()},
		entry{"volumeMounts", list{
			mount("promcost-tmp", "/tmp", false),
			only(own, mount("promcost-apiserver", tls, true)), only(https, mount("promcost-web", webPath, true), mount("promcost-config", configPath, true)),
		}},
	}
}

// apiServerPolicy is who may talk to promcost-apiserver and to whom it may: the cluster's API, which is no pod of it, asks it and is
// asked, and it asks promcost.
func (v *Values) apiServerPolicy() object {
	return object{
		entry{"podSelector", object{entry{"matchLabels", v.selector(apiserver)}}},
		entry{"policyTypes", list{"Ingress", "Egress"}},
		entry{"ingress", list{object{entry{"ports", list{portOf("TCP", "https")}}}}},
		entry{"egress", list{
			object{entry{"to", list{object{entry{"podSelector", object{}}}}}}, // of its namespace
			object{entry{"ports", list{portOf("UDP", 53), portOf("TCP", 53), portOf("TCP", 443), portOf("TCP", 6443)}}},
		}},
	}
}
