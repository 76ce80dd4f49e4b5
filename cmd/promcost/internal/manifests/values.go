package manifests

import "regexp"

// Values are what a deployment can be set to. The tags describe a field for the command line, for values.yaml and for its
// schema: flag names it on the command line (- for not at all), help says what it is, and range, enum and pattern bound it.
// What has no name in YAML is no value of the chart: Helm knows it of the release.
type Values struct {
	Name      string `yaml:"-" pattern:"^[a-z]([-a-z0-9]*[a-z0-9])?$" help:"Name of all objects."`
	Namespace string `yaml:"-" pattern:"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$" help:"Namespace of all objects. Empty leaves it to kubectl."`

	NameOverride     string            `yaml:"nameOverride" flag:"-" pattern:"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$" help:"What follows the release's name in the names of objects. Empty for nothing, and for the chart's name or its alias where it is part of another chart."`
	FullnameOverride string            `yaml:"fullnameOverride" flag:"-" pattern:"^([a-z]([-a-z0-9]*[a-z0-9])?)?$" help:"Name of all objects, in place of one that follows from the release."`
	Global           map[string]any    `yaml:"global" flag:"-" help:"What charts of charts share: imageRegistry, imagePullSecrets, labels and storageClass. Those of promcost win, but for the registry."`
	Image            Image             `yaml:"image" help:"The container image."`
	Prometheus       Prometheus        `yaml:"prometheus" help:"The Prometheus to read from."`
	Config           string            `yaml:"config" flag:"-" help:"Text of the config file; see \"Config file\" in REFERENCE.md."`
	Files            map[string]string `yaml:"files" help:"Texts of files beside the config, by name, such as those of object stores of bills. What has credentials goes into a Secret: see bills.secret."`
	Prices           string            `yaml:"prices" flag:"-" help:"Text of the price sheet; see \"Price sheets\" in REFERENCE.md."`
	PricesFile       string            `yaml:"pricesFile" flag:"-" enum:"prices.yaml,prices.csv" help:"What the price sheet is called: its ending says whether it is YAML or CSV."`
	Bills            Bills             `yaml:"bills" help:"Where the files of bills are that the config names."`
	Flags            map[string]any    `yaml:"flags" help:"More flags of promcost serve by name, without dashes. A switch is true or false, a flag that repeats a list, any other a text."`
	Pods             int               `yaml:"pods" range:"1,1000000" help:"How many pods the cluster runs at a time, from which resources follow. Where shards share the computing, the pods of one share."`
	Resources        map[string]any    `yaml:"resources" help:"Requests and limits of the container, in place of those that follow from pods."`
	Replicas         int               `yaml:"replicas" range:"1,100" help:"How many promcosts answer. Without an object store each keeps a history of its own."`
	Shards           int               `yaml:"shards" range:"0,1000" help:"How many promcosts share the computing of a very large cluster. The others then only answer. It needs storage.secret. 0 for none."`
	RevisionHistory  int               `yaml:"revisionHistoryLimit" range:"0,100" help:"How many older revisions of the pods are kept."`
	Storage          Storage           `yaml:"storage" help:"Where the history is kept."`
	Web              Web               `yaml:"web" help:"How promcost is asked."`
	APIServer        APIServer         `yaml:"apiserver" help:"promcost-apiserver, by which kubectl gets allocations: the API cost.promcost.io."`
	Service          Service           `yaml:"service" help:"The Service that answers."`
	ServiceAccount   ServiceAccount    `yaml:"serviceAccount" help:"The ServiceAccount, which has no token: promcost does not ask the API."`
	NetworkPolicy    NetworkPolicy     `yaml:"networkPolicy" help:"The NetworkPolicy: all may ask promcost, and it may reach pods of the cluster, DNS, and port 443 anywhere."`
	DisruptionBudget Switch            `yaml:"podDisruptionBudget" help:"The PodDisruptionBudget: one pod at a time."`
	ServiceMonitor   Monitor           `yaml:"serviceMonitor" help:"The ServiceMonitor for the Prometheus Operator."`
	PrometheusRule   Rule              `yaml:"prometheusRule" help:"The recording rules and alerts, for the Prometheus Operator."`
	Dashboards       Dashboards        `yaml:"dashboards" help:"The dashboards, as ConfigMaps for Grafana's sidecar."`
	Reports          []map[string]any  `yaml:"reports" help:"Reports that are posted to webhooks, a CronJob each: name, schedule, timeZone, the Secret whose key url is the webhook's, and flags of promcost report, such as [{name: weekly, schedule: '0 7 * * 1', secret: slack, flags: {window: lastweek, by: team}}]."`
	Ingress          Ingress           `yaml:"ingress" help:"An Ingress. promcost has no users of its own: put authentication before it."`
	HTTPRoute        HTTPRoute         `yaml:"httpRoute" help:"An HTTPRoute of the Gateway API. promcost has no users of its own: put authentication before it."`
	Route            Route             `yaml:"route" help:"A Route of OpenShift. promcost has no users of its own: put authentication before it."`
	Labels           map[string]string `yaml:"labels" help:"More labels of all objects."`
	PodLabels        map[string]string `yaml:"podLabels" help:"More labels of pods."`
	PodAnnotations   map[string]string `yaml:"podAnnotations" help:"Annotations of pods."`
	NodeSelector     map[string]string `yaml:"nodeSelector" help:"Labels of the nodes that pods may run on."`
	Tolerations      []map[string]any  `yaml:"tolerations" help:"Taints of nodes that pods tolerate."`
	Affinity         map[string]any    `yaml:"affinity" help:"Affinity of pods."`
	TopologySpread   []map[string]any  `yaml:"topologySpreadConstraints" help:"How pods are spread over nodes and zones."`
	PriorityClass    string            `yaml:"priorityClassName" help:"Priority class of pods. Empty for the cluster's default."`
	PodSecurity      map[string]any    `yaml:"podSecurityContext" help:"Security context of pods. null leaves it, or a key of it, to the cluster; so does enabled: false, which charts of charts can have in their values.yaml, too. On OpenShift, which Helm knows, pods get users and groups of their namespace."`
	Security         map[string]any    `yaml:"securityContext" help:"Security context of containers. null leaves it, or a key of it, to the cluster, and so does enabled: false."`
	ExtraEnv         []map[string]any  `yaml:"extraEnv" help:"Environment variables of promcost's container, such as [{name: HTTPS_PROXY, value: 'http://proxy.example.com:3128'}]."`
	ExtraVolumes     []map[string]any  `yaml:"extraVolumes" help:"More volumes of pods."`
	ExtraMounts      []map[string]any  `yaml:"extraVolumeMounts" help:"More mounts of promcost's container."`
	ExtraContainers  []map[string]any  `yaml:"extraContainers" help:"More containers of pods, such as a proxy before promcost or behind it."`
	InitContainers   []map[string]any  `yaml:"initContainers" help:"Containers that run before the others."`
	ExtraManifests   []map[string]any  `yaml:"extraManifests" help:"More objects, as they are."`
	Pod              Pod               `yaml:"pod" help:"What older charts call labels and the like of pods. It works still; podLabels and the others are for new values, and win."`
	Sidecar          Sidecar           `yaml:"sidecar" help:"A container in the pods of a Prometheus that the Prometheus Operator runs, in place of pods of its own."`
}

// Image is where the image is.
type Image struct {
	Repository  string           `yaml:"repository" pattern:"^.+$" help:"Registry and name."`
	Tag         string           `yaml:"tag" pattern:"^.+$" help:"Its tag: the version."`
	Digest      string           `yaml:"digest" pattern:"^(sha256:[0-9a-f]{64})?$" help:"Its digest, such as sha256:…, which counts in place of the tag. Empty for none."`
	PullPolicy  string           `yaml:"pullPolicy" enum:"IfNotPresent,Always,Never" help:"When it is pulled."`
	PullSecrets []map[string]any `yaml:"pullSecrets" help:"Secrets of its registry, such as [{name: regcred}]."`
}

// Prometheus is the source.
type Prometheus struct {
	URL    string `yaml:"url" help:"URL of the Prometheus to read from, such as http://prometheus-operated.monitoring:9090. \"promcost check source --in-cluster\" finds it, run in a pod."`
	Secret string `yaml:"secret" help:"Secret whose key http-config.yaml says how to reach it: credentials, TLS, headers. Files that it names lie beside it, in /etc/promcost/prometheus."`
}

// Bills is where files of bills are.
type Bills struct {
	Secret string `yaml:"secret" help:"Secret whose keys lie as files beside the config: what describes object stores of bills, with their credentials, and also small bills."`
	Claim  string `yaml:"existingClaim" help:"PersistentVolumeClaim with files of bills, which is mounted as the directory bills beside the config, read only: the config names it as path: bills."`
}

// Storage is where the history is kept.
type Storage struct {
	Enabled       bool   `yaml:"enabled" help:"Keep a history of closed hours and days. Without one every answer is computed anew from the Prometheus, as far back as it has samples, and there are no counters."`
	Size          string `yaml:"size" pattern:"^[0-9.]+([KMGTPE]i?)?$" help:"Size of the volume of each replica. Keeping hours takes 1.5 kB a container a day: 10Gi last a cluster of 3,000 pods for over a year."`
	Class         string `yaml:"class" help:"StorageClass of the volume, which must exist: \"kubectl get storageclass\" lists them. Empty for the cluster's default; where there is none, pods stay Pending."`
	ExistingClaim string `yaml:"existingClaim" help:"PersistentVolumeClaim to keep the history on, in place of one of its own, by one replica."`
	EmptyDir      bool   `yaml:"emptyDir" help:"Keep the history in the pod only: it is lost when the pod is replaced, and computed again as far back as the Prometheus has samples."`
	Retention     string `yaml:"retention" pattern:"^(([0-9]+(ms|[smhdwy]))+|0)?$" help:"How long hours and days are kept, such as 400d. Empty for ever."`
	Secret        string `yaml:"secret" help:"Secret whose key objstore.yaml names an object store, as Thanos does. The history is kept there, and there is a Deployment in place of a StatefulSet."`
}

// Web is how promcost is asked.
type Web struct {
	Secret string `yaml:"secret" help:"Secret with tls.crt, tls.key and ca.crt, as cert-manager makes it: promcost is then asked by HTTPS. The certificate is for NAME.NAMESPACE.svc; an Ingress has to be told."`
}

// APIServer is what answers for the API cost.promcost.io.
type APIServer struct {
	Enabled     bool              `yaml:"enabled" help:"Run promcost-apiserver, by which users whose rights allow a namespace get its allocations with kubectl: the API cost.promcost.io."`
	Repository  string            `yaml:"repository" pattern:"^.+$" help:"Registry and name of its image. The tag is that of the image."`
	Digest      string            `yaml:"digest" pattern:"^(sha256:[0-9a-f]{64})?$" help:"Digest of its image, which counts in place of the tag. Empty for none."`
	Secret      string            `yaml:"secret" help:"Secret with tls.crt and tls.key for NAME-apiserver.NAMESPACE.svc, as cert-manager makes it. Empty for a certificate that it makes in memory, for which it may change its own APIService."`
	CABundle    string            `yaml:"caBundle" pattern:"^[A-Za-z0-9+/=]*$" help:"The authority of that certificate, as the Secret has it: PEM in base64. Empty where an annotation lets cert-manager fill it in."`
	Annotations map[string]string `yaml:"annotations" help:"Annotations of the APIService, such as cert-manager.io/inject-ca-from."`
	Replicas    int               `yaml:"replicas" range:"1,100" help:"How many of them answer. More than one need a Secret."`
	ClusterID   string            `yaml:"clusterID" flag:"apiserver.cluster-id" help:"Id of this cluster, where promcost knows several."`
	View        bool              `yaml:"view" help:"Let all whom the cluster's roles view, edit and admin are given in a namespace get its allocations."`
	Resources   map[string]any    `yaml:"resources" help:"Requests and limits of its container."`
}

// Service is how pods are reached.
type Service struct {
	Type        string            `yaml:"type" enum:"ClusterIP,NodePort,LoadBalancer" help:"Its type."`
	Port        int               `yaml:"port" range:"1,65535" help:"Its port."`
	NodePort    int               `yaml:"nodePort" range:"0,65535" help:"Its port on nodes, where it is a NodePort or a LoadBalancer. 0 leaves it to the cluster."`
	TargetPort  string            `yaml:"targetPort" pattern:"^[a-z0-9-]+$" help:"Name of the container's port that it leads to: http is promcost's own. A proxy among extraContainers that is to come first has another."`
	Annotations map[string]string `yaml:"annotations" help:"Its annotations."`
	Headlamp    bool              `yaml:"headlamp" help:"Make another Service, with the label and the port by which Headlamp's plugin for OpenCost finds it."`
}

// ServiceAccount is who pods are to others.
type ServiceAccount struct {
	Create      bool              `yaml:"create" help:"Make a ServiceAccount."`
	Name        string            `yaml:"name" pattern:"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$" help:"Its name. Empty for that of the other objects, or where none is made for \"default\"."`
	Annotations map[string]string `yaml:"annotations" help:"Its annotations, such as those by which a cloud lets it reach an object store."`
}

// NetworkPolicy is who may talk to whom.
type NetworkPolicy struct {
	Enabled bool             `yaml:"enabled" help:"Make a NetworkPolicy: all may ask promcost, and it may reach pods of the cluster, DNS, and port 443 anywhere."`
	From    []map[string]any `yaml:"from" help:"Who may ask promcost besides its own pods, as peers of a NetworkPolicy. Empty for all."`
	Egress  []map[string]any `yaml:"egress" help:"More that promcost may reach, as egress rules, such as a Prometheus outside of the cluster."`
}

// Switch is an object that there is or is not.
type Switch struct {
	Enabled bool `yaml:"enabled" help:"Make a PodDisruptionBudget: one pod at a time."`
}

// Monitor is how promcost is scraped.
type Monitor struct {
	Enabled  bool              `yaml:"enabled" help:"Make a ServiceMonitor, by which the Prometheus Operator scrapes promcost."`
	Kind     string            `yaml:"kind" enum:"ServiceMonitor,PodMonitor,ScrapeConfig,VMServiceScrape" help:"What is made in place of it: another object of the Prometheus Operator, or one of VictoriaMetrics' operator."`
	Interval string            `yaml:"interval" pattern:"^([0-9]+(ms|[smhd]))+$" help:"How often promcost is scraped. Costs change once an hour."`
	Labels   map[string]string `yaml:"labels" help:"Its labels, by which a Prometheus selects it, such as release: kube-prometheus-stack."`
}

// Rule is whether there are rules.
type Rule struct {
	Enabled bool              `yaml:"enabled" help:"Make PrometheusRules of promcost's recording rules and alerts."`
	Kind    string            `yaml:"kind" enum:"PrometheusRule,VMRule" help:"What is made in place of them: VMRules are for VictoriaMetrics' operator."`
	Labels  map[string]string `yaml:"labels" help:"Their labels, by which a Prometheus selects them, such as release: kube-prometheus-stack."`
}

// Dashboards are those of Grafana.
type Dashboards struct {
	Enabled     bool              `yaml:"enabled" help:"Make ConfigMaps of the dashboards, with the label that Grafana's sidecar looks for."`
	Unit        string            `yaml:"unit" pattern:"^currency.+$" help:"Grafana's unit of money: currencyEUR, say, or \"currency:XYZ \" for one that Grafana does not know."`
	URL         string            `yaml:"url" pattern:"^https?://[^ \"\\\\]+$" help:"URL by which browsers reach promcost's page, to which series lead: why did this cost change?"`
	Annotations map[string]string `yaml:"annotations" help:"Their annotations, such as grafana_folder: Costs."`
}

// Ingress is a way in from outside.
type Ingress struct {
	Enabled     bool              `yaml:"enabled" help:"Make an Ingress. promcost has no users of its own: put authentication before it."`
	Class       string            `yaml:"class" help:"Its class. Empty for the cluster's default."`
	Host        string            `yaml:"host" help:"Its only host, by which promcost then answers. Empty for any, of which promcost answers by those that its flag web.allowed-hosts names."`
	Hosts       []map[string]any  `yaml:"hosts" help:"Its hosts and their paths, in place of host, such as [{host: costs.example.com, paths: [{path: /, pathType: Prefix}]}]. Without paths all of them lead to promcost."`
	TLSSecret   string            `yaml:"tlsSecret" help:"Secret with the certificate of host. Empty for none."`
	TLS         []map[string]any  `yaml:"tls" help:"Certificates of hosts, such as [{secretName: costs-tls, hosts: [costs.example.com]}]."`
	Annotations map[string]string `yaml:"annotations" help:"Its annotations."`
}

// HTTPRoute is a way in by the Gateway API.
type HTTPRoute struct {
	Enabled     bool              `yaml:"enabled" help:"Make an HTTPRoute of the Gateway API. promcost has no users of its own: put authentication before it."`
	Gateways    []map[string]any  `yaml:"parentRefs" help:"The Gateways that it belongs to, such as [{name: public, namespace: gateways}]."`
	Annotations map[string]string `yaml:"annotations" help:"Its annotations."`
	Matches     []map[string]any  `yaml:"matches" help:"Requests that it passes on, such as [{path: {type: PathPrefix, value: /model}}]. Empty for all."`
	Filters     []map[string]any  `yaml:"filters" help:"What it does to requests."`
	Hostnames   []string          `yaml:"hostnames" help:"Its hosts, by which promcost then answers. Empty for any, of which promcost answers by those that its flag web.allowed-hosts names."`
}

// Route is a way in by OpenShift's router.
type Route struct {
	Enabled     bool              `yaml:"enabled" help:"Make a Route of OpenShift. promcost has no users of its own: put authentication before it."`
	Host        string            `yaml:"host" help:"Its host, by which promcost then answers. Empty for one that the router makes up, which the flag web.allowed-hosts has to name."`
	TLS         map[string]any    `yaml:"tls" help:"How it is encrypted. Empty for a certificate of the router, to which requests by HTTP are sent on; where web.secret is given, for promcost's own."`
	Annotations map[string]string `yaml:"annotations" help:"Its annotations."`
}

// Pod is what older charts call the values of pods.
type Pod struct {
	Annotations   map[string]string `yaml:"annotations" help:"podAnnotations."`
	Labels        map[string]string `yaml:"labels" help:"podLabels."`
	NodeSelector  map[string]string `yaml:"nodeSelector" help:"nodeSelector."`
	Tolerations   []map[string]any  `yaml:"tolerations" help:"tolerations."`
	Affinity      map[string]any    `yaml:"affinity" help:"affinity."`
	PriorityClass string            `yaml:"priorityClass" help:"priorityClassName."`
}

// Sidecar is promcost in the pods of a Prometheus.
type Sidecar struct {
	Prometheus string `yaml:"prometheus" flag:"sidecar" help:"Name of the Prometheus object whose pods get promcost as a sidecar, which reads its TSDB, to be applied on the server's side. Empty for pods of promcost's own."`
	UID        int    `yaml:"uid" range:"1,2147483647" help:"User that those pods run as."`
	GID        int    `yaml:"gid" range:"1,2147483647" help:"Group that those pods run as."`
}

// release is what the versions of releases look like, which there are images of.
var release = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

// Default are the values of a deployment of a version that nothing else is said about.
func Default(version string) *Values {
	if !release.MatchString(version) {
		version = "latest"
	}
	return &Values{
		Name: "promcost", Image: Image{Repository: "ghcr.io/promcost/promcost", Tag: version, PullPolicy: "IfNotPresent"}, PricesFile: "prices.yaml",
		Pods: 1000, Replicas: 1, RevisionHistory: 10, Storage: Storage{Enabled: true, Size: "10Gi"}, Service: Service{Type: "ClusterIP", Port: 9003, TargetPort: "http"},
		ServiceAccount: ServiceAccount{Create: true}, PodSecurity: podSecurityContext(), Security: securityContext(),
		NetworkPolicy: NetworkPolicy{Enabled: true}, DisruptionBudget: Switch{Enabled: true},
		APIServer:      APIServer{Repository: "ghcr.io/promcost/promcost-apiserver", Replicas: 1},
		ServiceMonitor: Monitor{Kind: "ServiceMonitor", Interval: "1m"}, PrometheusRule: Rule{Kind: "PrometheusRule"}, Dashboards: Dashboards{Unit: "currencyUSD", URL: "http://localhost:9003"}, Sidecar: Sidecar{UID: 1000, GID: 2000},
	}
}

// podSecurityContext is what the Pod Security level restricted asks of a pod, as the user and the group that the image names.
func podSecurityContext() map[string]any {
	return map[string]any{
		"runAsNonRoot": true, "runAsUser": imageUser, "runAsGroup": imageUser, "fsGroup": imageUser, "fsGroupChangePolicy": "OnRootMismatch",
		"seccompProfile": map[string]any{"type": "RuntimeDefault"},
	}
}

// imageUser is the user, and the group, that the images run as.
const imageUser = 65532

// securityContext is what the level restricted asks of a container, and a root that is read only.
func securityContext() map[string]any {
	return map[string]any{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
		"capabilities": map[string]any{"drop": []any{"ALL"}}, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
	}
}
