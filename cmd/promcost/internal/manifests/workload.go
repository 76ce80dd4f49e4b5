package manifests

// Where things are in a container.
const (
	port        = 9003
	historyPath = "/data"
	configPath  = "/etc/promcost/config"
	httpPath    = "/etc/promcost/prometheus"
	webPath     = "/etc/promcost/web"
	bucketPath  = "/etc/promcost/storage"
)

// userID is the user and the group that the image names.
const userID = 65532

// Keys of ConfigMaps and Secrets.
const (
	configKey = "config.yaml"
	httpKey   = "http-config.yaml"
	bucketKey = "objstore.yaml"
	webKey    = "web-config.yaml"
)

// container is the name of promcost's containers.
const container = "promcost"

// Roles of pods, as the label app.kubernetes.io/component.
const (
	server    = "server"
	shard     = "shard"
	apiserver = "apiserver"
)

// selector are the labels of pods of a role, which never change.
func (v *Values) selector(role string) object {
	return object{
		entry{"app.kubernetes.io/name", "promcost"}, entry{"app.kubernetes.io/instance", &v.Name}, entry{"app.kubernetes.io/component", role},
	}
}

// metadata are a name and labels, and more.
func (v *Values) metadata(name any, role string, more ...any) object {
	labels := v.selector(role).with(entry{"app.kubernetes.io/part-of", "promcost"}, spread{&v.Labels})
	return object{
		entry{"name", name}, only(is(&v.Namespace), entry{"namespace", &v.Namespace}), entry{"labels", labels},
	}.with(more...)
}

// annotations are a field of them, where it has some.
func annotations(field *map[string]string) when {
	return only(is(field), entry{"annotations", field})
}

// objectOf is one of a kind.
func objectOf(version, kind string, metadata object, more ...any) object {
	return object{entry{"apiVersion", version}, entry{"kind", kind}, entry{"metadata", metadata}}.with(more...)
}

// workloads are what runs: a StatefulSet with a volume, or a Deployment over an object store, whose computing shards may do.
func (v *Values) workloads(p *Program) []document {
	pods := func(role string, args, mounts, env list) []any {
		return []any{entry{"selector", object{entry{"matchLabels", v.selector(role)}}}, entry{"template", v.template(role, args, mounts, env)}}
	}
	bucket, shards := is(&v.Storage.Secret), is(&v.Shards)
	data := list{mount("history", historyPath, false)}
	statefulSet := object{
		entry{"serviceName", &v.Name}, entry{"replicas", &v.Replicas}, entry{"podManagementPolicy", "Parallel"},
	}.with(pods(server, v.args(given{&v.Flags, nil}), data, nil)...).with(entry{"volumeClaimTemplates", list{v.claim()}})
	deployment := object{entry{"replicas", &v.Replicas}}
	all := deployment.with(pods(server, v.args(given{&v.Flags, nil}), nil, nil)...)
	readers := deployment.with(pods(server, v.readerArgs(p), nil, nil)...)
	// Each share is named by the ordinal of its pod, which begins at 1 and is in a label.
	share := text{"--shard=$(SHARD)/", &v.Shards}
	computing := object{
		entry{"serviceName", text{&v.Name, "-shard"}},
		entry{"replicas", &v.Shards},
		entry{"podManagementPolicy", "Parallel"},
		entry{"ordinals", object{entry{"start", 1}}},
	}.with(pods(shard, append(v.args(given{&v.Flags, []string{"promql.passthrough"}}), share), nil, list{fromLabel("SHARD", "apps.kubernetes.io/pod-index")})...)
	const apps = "apps/v1"
	named := v.metadata(&v.Name, server)
	return []document{
		{"statefulset.yaml", []condition{not(bucket)}, objectOf(apps, "StatefulSet", named, entry{"spec", statefulSet})},
		{"deployment.yaml", []condition{bucket, not(shards)}, objectOf(apps, "Deployment", named, entry{"spec", all})},
		{"readers.yaml", []condition{bucket, shards}, objectOf(apps, "Deployment", named, entry{"spec", readers})},
		// Its pods are named by it, and scraped, but not asked.
		{"shard-service.yaml", []condition{bucket, shards}, objectOf("v1", "Service", v.metadata(text{&v.Name, "-shard"}, shard), entry{"spec", object{
			entry{"clusterIP", "None"}, entry{"selector", v.selector(shard)}, entry{"ports", list{object{entry{"name", "http"}, entry{"port", port}, entry{"targetPort", "http"}, v.appProtocol()}}},
		}})},
		{"shards.yaml", []condition{bucket, shards}, objectOf(apps, "StatefulSet", v.metadata(text{&v.Name, "-shard"}, shard), entry{"spec", computing})},
	}
}

// fromLabel is an environment variable with the value of a label of the pod.
func fromLabel(name, label string) object {
	return object{entry{"name", name}, entry{"valueFrom", object{entry{"fieldRef", object{entry{"fieldPath", "metadata.labels['" + label + "']"}}}}}}
}

// claim is the volume that a pod of the StatefulSet keeps its history on.
func (v *Values) claim() object {
	return object{
		entry{"metadata", object{entry{"name", "history"}}},
		entry{"spec", object{
			entry{"accessModes", list{"ReadWriteOnce"}},
			only(is(&v.Storage.Class), entry{"storageClassName", &v.Storage.Class}),
			entry{"resources", object{entry{"requests", object{entry{"storage", &v.Storage.Size}}}}},
		}},
	}
}

// args are the arguments of a promcost that computes.
func (v *Values) args(more given) list {
	return append(append(list{
		"serve",
		text{"--prometheus.url=", dollars{&v.Prometheus.URL}},
		only(is(&v.Prometheus.Secret), "--prometheus.http-config="+httpPath+"/"+httpKey),
	}, v.fileArgs()...), more)
}

// readerArgs are those of a promcost that answers from the history that others fill.
func (v *Values) readerArgs(p *Program) list {
	return append(append(list{"serve", "--source=none"}, v.fileArgs()...), given{&v.Flags, p.sourceFlags()})
}

// fileArgs name the files that a container has.
func (v *Values) fileArgs() list {
	return list{
		only(is(&v.Storage.Secret), "--storage.config="+bucketPath+"/"+bucketKey), only(not(is(&v.Storage.Secret)), "--storage.path="+historyPath),
		"--config.file=" + configPath + "/" + configKey, only(is(&v.Prices), text{"--pricing.file=" + configPath + "/", &v.PricesFile}),
		only(is(&v.Web.Secret), "--web.config.file="+configPath+"/"+webKey),
	}
}

// template is that of pods of promcost.
func (v *Values) template(role string, args, mounts, env list) object {
	// A changed ConfigMap makes new pods.
	changes := entry{"annotations", object{entry{"promcost.io/config-hash", hash{&v.Config, &v.Prices, &v.PricesFile}}, spread{&v.Pod.Annotations}}}
	return v.podTemplate(role, changes, &v.Name, false, v.container(args, mounts, env), v.volumes())
}

// podTemplate is the template of pods with one container, which run as an account, with or without its token.
func (v *Values) podTemplate(role string, annotations, account any, token bool, container object, volumes list) object {
	return object{
		entry{"metadata", object{entry{"labels", v.selector(role).with(spread{&v.Labels}, spread{&v.Pod.Labels})}, annotations}},
		entry{"spec", object{
			entry{"serviceAccountName", account},
			entry{"automountServiceAccountToken", token},
			entry{"enableServiceLinks", false},
			entry{"securityContext", object{
				entry{"runAsNonRoot", true},
				entry{"runAsUser", userID},
				entry{"runAsGroup", userID},
				entry{"fsGroup", userID},
				entry{"fsGroupChangePolicy", "OnRootMismatch"},
				entry{"seccompProfile", object{entry{"type", "RuntimeDefault"}}},
			}},
			only(is(&v.Image.PullSecrets), entry{"imagePullSecrets", &v.Image.PullSecrets}),
			only(is(&v.Pod.PriorityClass), entry{"priorityClassName", &v.Pod.PriorityClass}),
			only(is(&v.Pod.NodeSelector), entry{"nodeSelector", &v.Pod.NodeSelector}),
			only(is(&v.Pod.Affinity), entry{"affinity", &v.Pod.Affinity}),
			only(is(&v.Pod.Tolerations), entry{"tolerations", &v.Pod.Tolerations}),
			entry{"containers", list{container}},
			entry{"volumes", volumes},
		}},
	}
}

// container is promcost, as the user of the pod or another.
func (v *Values) container(args, mounts, env list, as ...any) object {
	c := object{entry{"name", container}, entry{"image", text{&v.Image.Repository, ":", &v.Image.Tag}}, entry{"imagePullPolicy", &v.Image.PullPolicy}, entry{"args", args}}
	if env != nil {
		c = append(c, entry{"env", env})
	}
	return c.with(
		entry{"ports", list{object{entry{"name", "http"}, entry{"containerPort", port}}}},
		probes("http", only(is(&v.Web.Secret), entry{"scheme", "HTTPS"}), "/-/healthy", "/-/ready"),
		v.resources(),
		entry{"securityContext", restricted(as...)},
		entry{"volumeMounts", append(append(list{mount("promcost-tmp", "/tmp", false)}, mounts...), v.fileMounts()...)},
	)
}

// mount is where a container has a volume.
func mount(volume, path string, readOnly bool) object {
	return object{entry{"name", volume}, entry{"mountPath", path}, entry{"readOnly", readOnly}}
}

// fileMounts are where a container has its files.
func (v *Values) fileMounts() list {
	return list{
		mount("promcost-config", configPath, true),
		only(is(&v.Prometheus.Secret), mount("promcost-prometheus", httpPath, true)), only(is(&v.Storage.Secret), mount("promcost-storage", bucketPath, true)),
		only(is(&v.Web.Secret), mount("promcost-web", webPath, true)),
	}
}

// volumes are what containers mount, but for claims.
func (v *Values) volumes() list {
	return list{
		object{entry{"name", "promcost-tmp"}, entry{"emptyDir", object{}}},
		object{entry{"name", "promcost-config"}, entry{"configMap", object{entry{"name", &v.Name}}}},
		secret("promcost-prometheus", &v.Prometheus.Secret), secret("promcost-storage", &v.Storage.Secret), secret("promcost-web", &v.Web.Secret),
	}
}

// secret is a volume of a Secret, where there is one, with all of its keys or with those that are named.
func secret(volume string, field *string, keys ...string) when {
	source := object{entry{"secretName", field}}
	var items list
	for _, key := range keys {
		items = append(items, object{entry{"key", key}, entry{"path", key}})
	}
	if items != nil {
		source = append(source, entry{"items", items})
	}
	return only(is(field), object{entry{"name", volume}, entry{"secret", source}})
}

// config is the ConfigMap of the config and the prices.
func (v *Values) config() document {
	const web = "tls_server_config: {cert_file: " + webPath + "/tls.crt, key_file: " + webPath + "/tls.key}"
	return document{"config.yaml", nil, objectOf("v1", "ConfigMap", v.metadata(&v.Name, server), entry{"data", object{
		entry{configKey, &v.Config}, only(is(&v.Prices), entry{&v.PricesFile, &v.Prices}), only(is(&v.Web.Secret), entry{webKey, web}),
	}})}
}

// restricted are the settings of a container that the Pod Security level restricted asks for, and a root that is read only.
func restricted(more ...any) object {
	return object{
		entry{"allowPrivilegeEscalation", false},
		entry{"readOnlyRootFilesystem", true},
		entry{"runAsNonRoot", true},
		entry{"capabilities", object{entry{"drop", list{"ALL"}}}},
		entry{"seccompProfile", object{entry{"type", "RuntimeDefault"}}},
	}.with(more...)
}

// probes ask whether a container lives, and whether it is ready.
func probes(port string, scheme any, alive, ready string) []any {
	// probe asks a path every so many seconds; so many failures count.
	probe := func(path string, seconds, failures int) object {
		return object{
			entry{"httpGet", object{entry{"path", path}, entry{"port", port}, scheme}}, entry{"periodSeconds", seconds}, entry{"timeoutSeconds", 5}, entry{"failureThreshold", failures},
		}
	}
	return []any{entry{"startupProbe", probe(alive, 1, 60)}, entry{"livenessProbe", probe(alive, 10, 6)}, entry{"readinessProbe", probe(ready, 5, 3)}}
}

// size is what a container needs in a cluster of up to so many pods; 0 for any number.
type size struct {
	pods                 int
	cpu, memory, ceiling string
}

// sizes follow from the figures of BENCHMARKS.md, the memory of a question about a day ("Memory", first table) and of filling a
// history (below it), which the first start does: 35 MB and as much for 200 pods, 116 and 209 MB for 3,000, 347 and 423 MB for
// 10,000. For 30,000 pods it is 717 MB and three times the history of 10,000; for more, the 1.6 GB of 100,000 for both.
// What is requested is the larger one and the 49 MB of a server at rest. The ceiling is such that questions, which may take
// (ceiling - 100 MB) / 1.5, get twice the sum. Closing an hour takes 1.3 s of processor time for 3,000 pods and 50 to 71 s for
// 100,000, and filling a day 15 s for 3,000: a request of some hundredths of a core would do, but the first answers would be slow.
// There is no ceiling of CPU: what is computed once an hour would only take longer.
var sizes = [...]size{
	{300, "50m", "128Mi", "512Mi"},
	{3000, "100m", "256Mi", "1152Mi"},
	{10000, "250m", "512Mi", "2560Mi"},
	{30000, "500m", "1280Mi", "6Gi"},
	{0, "1", "1664Mi", "10Gi"},
}

// requests are the requests of a container, and the limit of its memory.
func requests(cpu, memory, ceiling string) object {
	return object{entry{"requests", object{entry{"cpu", cpu}, entry{"memory", memory}}}, entry{"limits", object{entry{"memory", ceiling}}}}
}

// resources are the requests and limits of the container.
func (v *Values) resources() []any {
	given := is(&v.Resources)
	elements := []any{only(given, entry{"resources", &v.Resources})}
	least := 0
	for _, s := range sizes {
		of := when{above(&v.Pods, least), []any{entry{"resources", requests(s.cpu, s.memory, s.ceiling)}}}
		if s.pods > 0 {
			of = only(not(above(&v.Pods, s.pods)), of)
		}
		elements = append(elements, only(not(given), of))
		least = s.pods
	}
	return elements
}
