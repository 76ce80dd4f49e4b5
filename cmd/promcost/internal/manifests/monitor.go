package manifests

import (
	"slices"
	"strings"
)

// operatorVersion is that of the objects of the Prometheus Operator.
const operatorVersion = "monitoring.coreos.com/v1"

// dashboardLabel is what Grafana's sidecar looks for.
const dashboardLabel = "grafana_dashboard"

// monitors are how promcost is scraped, watched and shown.
func (v *Values) monitors(p *Program) []document {
	named := func(name any, labels *map[string]string, more ...any) object {
		return object{
			entry{"name", name},
			only(is(&v.Namespace), entry{"namespace", &v.Namespace}),
			entry{"labels", v.selector(server).with(entry{"app.kubernetes.io/part-of", "promcost"}, spread{&v.Labels}, spread{labels})},
		}.with(more...)
	}
	docs := []document{
		{"servicemonitor.yaml", []condition{is(&v.ServiceMonitor.Enabled)}, v.serviceMonitor(named(&v.Name, &v.ServiceMonitor.Labels), server)},
		{"shards-servicemonitor.yaml", []condition{is(&v.ServiceMonitor.Enabled), is(&v.Storage.Secret), is(&v.Shards)}, v.serviceMonitor(named(text{&v.Name, "-shard"}, &v.ServiceMonitor.Labels), shard)},
	}
	for _, f := range p.Rules {
		base := strings.TrimSuffix(f.Name[strings.LastIndex(f.Name, "/")+1:], ".yaml")
		docs = append(docs, document{"rule-" + base + ".yaml", []condition{is(&v.PrometheusRule.Enabled)}, objectOf(operatorVersion, "PrometheusRule",
			named(text{&v.Name, "-" + base}, &v.PrometheusRule.Labels), entry{"spec", fileYAML{File{"files/" + base + ".yaml", f.Text}}})})
	}
	for _, f := range p.Dashboards {
		base := strings.TrimSuffix(f.Name, ".json")
		labels := v.selector(server).with(entry{"app.kubernetes.io/part-of", "promcost"}, entry{dashboardLabel, "1"}, spread{&v.Labels})
		metadata := object{
			entry{"name", text{&v.Name, strings.TrimPrefix(base, "promcost") + "-dashboard"}},
			only(is(&v.Namespace), entry{"namespace", &v.Namespace}),
			entry{"labels", labels},
			annotations(&v.Dashboards.Annotations),
		}
		docs = append(docs, document{"dashboard-" + base + ".yaml", []condition{is(&v.Dashboards.Enabled)}, objectOf("v1", "ConfigMap", metadata,
			entry{"data", object{entry{f.Name, fileText{File{"files/" + f.Name, f.Text}, "currencyUSD", &v.Dashboards.Unit}}}})})
	}
	return docs
}

// serviceMonitor is how pods of a role are scraped.
func (v *Values) serviceMonitor(metadata object, role string) object {
	authority := object{entry{"secret", object{entry{"name", &v.Web.Secret}, entry{"key", "ca.crt"}}}}
	return objectOf(operatorVersion, "ServiceMonitor", metadata, entry{"spec", object{
		entry{"selector", object{entry{"matchLabels", v.selector(role)}}},
		// The labels namespace, pod and container of costs are those of what costs.
		entry{"endpoints", list{object{
			entry{"port", "http"},
			entry{"honorLabels", true},
			entry{"interval", &v.ServiceMonitor.Interval},
			only(is(&v.Web.Secret), entry{"scheme", "https"}, entry{"tlsConfig", object{entry{"ca", authority}, entry{"serverName", v.host()}}}),
		}}},
	}})
}

// sidecar is promcost in the pods of a Prometheus object, to be applied to that on the server's side, and how it is reached.
func (v *Values) sidecar(p *Program) []document {
	volume := text{"prometheus-", &v.Sidecar.Prometheus, "-db"}
	part := func(path, sub string, readOnly bool) object {
		return object{entry{"name", volume}, entry{"mountPath", path}, entry{"subPath", sub}, entry{"readOnly", readOnly}}
	}
	args := append(list{"serve", "--tsdb.path=/prometheus"}, v.args(given{&v.Flags, nil})[1:]...)
	container := v.container(args, list{part("/prometheus", "prometheus-db", true), part(historyPath, "promcost", false)}, nil,
		entry{"runAsUser", &v.Sidecar.UID}, entry{"runAsGroup", &v.Sidecar.GID}) // whose files the TSDB's are
	metadata := object{entry{"name", &v.Sidecar.Prometheus}, only(is(&v.Namespace), entry{"namespace", &v.Namespace})}
	patch := objectOf(operatorVersion, "Prometheus", metadata, entry{"spec", object{entry{"containers", list{container}}, entry{"volumes", v.volumes()}}})
	pods := object{entry{"app.kubernetes.io/name", "prometheus"}, entry{"prometheus", &v.Sidecar.Prometheus}}
	return slices.Concat([]document{v.config(), {body: patch}}, v.services(pods), v.monitors(p), v.apiServer())
}
