package manifests

import "strings"

// Counterpart is what values of OpenCost's chart are called here.
type Counterpart struct {
	What   string
	Theirs []string // names of values, or of what is before a dot in them
	Ours   []string // names of values; none where there is no such value, for the reason that Why gives
	Why    string
}

// Counterparts are all values of OpenCost's chart 2.5.17 with those of this one.
var Counterparts = []Counterpart{
	{"names of objects", []string{"nameOverride", "fullnameOverride"}, []string{"nameOverride", "fullnameOverride"}, ""},
	{"namespace", []string{"namespaceOverride"}, nil, "`helm --namespace`"},
	{"name of the cluster", []string{"clusterName", "opencost.exporter.defaultClusterId"}, []string{"flags"}, "`cluster.id`"},
	{"log", []string{"loglevel"}, []string{"flags"}, "`log.level`"},
	{"images", []string{"opencost.exporter.image"}, []string{"image.repository", "image.tag", "image.digest", "image.pullPolicy", "apiserver.repository", "apiserver.digest", "global"}, ""},
	{"Secrets of registries", []string{"imagePullSecrets"}, []string{"image.pullSecrets", "global"}, ""},
	{"ServiceAccount", []string{"serviceAccount"}, []string{"serviceAccount.create", "serviceAccount.name", "serviceAccount.annotations"}, "it has no token"},
	{"rights in the cluster", []string{"rbac", "podAutomountServiceAccountToken", "secretAnnotations"}, nil, "it needs none"},
	{"NetworkPolicy", []string{"networkPolicies"}, []string{"networkPolicy.enabled", "networkPolicy.from", "networkPolicy.egress"}, "on by default; ports and addresses follow from URLs"},
	{"PodDisruptionBudget", []string{"pdb"}, []string{"podDisruptionBudget.enabled"}, "on by default"},
	{"updates", []string{"updateStrategy"}, []string{"revisionHistoryLimit"}, "the strategy follows from the storage"},
	{"labels and annotations", []string{"annotations", "podAnnotations", "podLabels"}, []string{"labels", "podLabels", "podAnnotations", "global"}, ""},
	{"security contexts", []string{"podSecurityContext", "opencost.exporter.securityContext", "opencost.ui.securityContext", "opencost.updateCaTrust"}, []string{"podSecurityContext", "securityContext"}, "the level restricted by default; authorities by `tls_config` in the Secret of `prometheus.secret`"},
	{"where pods run", []string{"priorityClassName", "opencost.tolerations", "opencost.nodeSelector", "opencost.affinity", "opencost.topologySpreadConstraints"}, []string{"priorityClassName", "tolerations", "nodeSelector", "affinity", "topologySpreadConstraints"}, ""},
	{"Service", []string{"service", "opencost.exporter.apiPort"}, []string{"service.type", "service.port", "service.nodePort", "service.targetPort", "service.annotations"}, ""},
	{"replicas", []string{"opencost.exporter.replicas"}, []string{"replicas", "shards"}, ""},
	{"resources", []string{"opencost.exporter.resources", "opencost.ui.resources"}, []string{"pods", "resources"}, "they follow from the number of pods"},
	{"probes", []string{"opencost.exporter.startupProbe", "opencost.exporter.livenessProbe", "opencost.exporter.readinessProbe", "opencost.ui.livenessProbe", "opencost.ui.readinessProbe"}, nil, "fixed"},
	{"more arguments", []string{"opencost.exporter.extraArgs", "opencost.exporter.command", "opencost.exporter.csv_path"}, []string{"flags"}, ""},
	{"environment", []string{"opencost.exporter.env", "opencost.exporter.extraEnv"}, []string{"extraEnv"}, ""},
	{"volumes", []string{"extraVolumes", "opencost.exporter.extraVolumeMounts"}, []string{"extraVolumes", "extraVolumeMounts"}, ""},
	{"more containers", []string{"opencost.extraContainers"}, []string{"extraContainers", "initContainers"}, ""},
	{"more objects", nil, []string{"extraManifests"}, ""},
	{"Prometheus", []string{"opencost.prometheus", "opencost.exporter.prometheusDataSource"}, []string{"prometheus.url", "prometheus.secret", "flags"}, "credentials, TLS, headers and SigV4 in one Secret; `compute.resolution`"},
	{"SigV4", []string{"opencost.sigV4Proxy"}, []string{"prometheus.secret"}, "`sigv4` in its http-config.yaml; or a proxy by `extraContainers`"},
	{"history", []string{"opencost.exporter.persistence", "opencost.retention1d", "opencost.retention1h", "opencost.exporter.collectorDataSource"}, []string{"storage.enabled", "storage.size", "storage.class", "storage.existingClaim", "storage.emptyDir", "storage.secret", "storage.retention"}, "on by default"},
	{"prices", []string{"opencost.customPricing", "opencost.exporter.cloudProviderApiKey", "opencost.exporter.aws"}, []string{"prices", "pricesFile", "config"}, ""},
	{"bills", []string{"opencost.cloudCost", "opencost.cloudIntegrationSecret", "opencost.cloudIntegrationJSON", "plugins"}, []string{"bills.secret", "bills.existingClaim", "files", "config"}, "in FOCUS"},
	{"carbon", []string{"opencost.carbonCost"}, nil, "there is none"},
	{"metrics", []string{"opencost.metrics"}, []string{"serviceMonitor.enabled", "serviceMonitor.kind", "serviceMonitor.interval", "serviceMonitor.labels", "flags"}, "families by `collector.*`"},
	{"rules", nil, []string{"prometheusRule.enabled", "prometheusRule.kind", "prometheusRule.labels"}, ""},
	{"reports", nil, []string{"reports"}, "posted to webhooks"},
	{"dashboards", nil, []string{"dashboards.enabled", "dashboards.unit", "dashboards.url", "dashboards.annotations"}, ""},
	{"page", []string{"opencost.ui.enabled", "opencost.ui.image", "opencost.ui.uiPort", "opencost.ui.uiPath", "opencost.ui.useIPv6", "opencost.ui.useDefaultFqdn", "opencost.ui.nginx", "opencost.ui.extraEnv", "opencost.ui.extraVolumeMounts"}, nil, "in the same container, at /ui/"},
	{"MCP", []string{"opencost.mcp"}, nil, "at /mcp of the same port"},
	{"Ingress", []string{"opencost.exporter.apiIngress", "opencost.ui.ingress"}, []string{"ingress.enabled", "ingress.class", "ingress.host", "ingress.hosts", "ingress.tls", "ingress.tlsSecret", "ingress.annotations"}, ""},
	{"HTTPRoute", []string{"opencost.exporter.apiHttpRoute", "opencost.ui.httpRoute"}, []string{"httpRoute.enabled", "httpRoute.parentRefs", "httpRoute.hostnames", "httpRoute.annotations", "httpRoute.matches", "httpRoute.filters"}, ""},
	{"OpenShift", []string{"opencost.platforms", "opencost.ui.route"}, []string{"route.enabled", "route.host", "route.tls", "route.annotations"}, "users and groups follow from the cluster; it needs no constraint of its own"},
	{"passwords", []string{"opencost.exporter.adminToken"}, []string{"web.secret"}, "HTTPS; who may ask is for a proxy to say"},
	{"API of the cluster", nil, []string{"apiserver.enabled", "apiserver.secret", "apiserver.caBundle", "apiserver.annotations", "apiserver.replicas", "apiserver.clusterID", "apiserver.view", "apiserver.resources"}, ""},
	{"Headlamp", nil, []string{"service.headlamp"}, ""},
	{"older names", nil, []string{"pod.annotations", "pod.labels", "pod.nodeSelector", "pod.tolerations", "pod.affinity", "pod.priorityClass"}, ""},
}

// besideOpenCost is a table of the values of OpenCost's chart and of this one.
func besideOpenCost() string {
	var b strings.Builder
	b.WriteString("\n## Beside OpenCost's chart\n\nWhat values of OpenCost's chart 2.5.17 are called here. All below a name are meant by it.\n\n| what | OpenCost | promcost |\n| --- | --- | --- |\n")
	names := func(all []string) string {
		if len(all) == 0 {
			return ""
		}
		return "`" + strings.Join(all, "`, `") + "`"
	}
	for _, c := range Counterparts {
		ours := strings.Trim(names(c.Ours)+": "+c.Why, ": ")
		b.WriteString("| " + c.What + " | " + names(c.Theirs) + " | " + ours + " |\n")
	}
	return b.String()
}
