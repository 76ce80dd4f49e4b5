package promquery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/diagnosis"
)

// program is a program that exposes metrics of inputs.
type program struct {
	name     string
	prefixes []string // prefixes of its metrics
	remedy   string   // the remedy in the table of inputs if it may not be scraped at all
	dropped  string   // why single metrics may be missing; keep says it of kube-state-metrics
}

// Names of programs that clusters have.
const (
	KubeStateMetrics = "kube-state-metrics"
	CAdvisor         = "cAdvisor (/metrics/cadvisor of the kubelets)"
	Kubelets         = "/metrics of the kubelets"
	NodeExporter     = "node_exporter"
	OTelCollector    = "OpenTelemetry Collector"
)

// programs expose the inputs. A metric belongs to the first one with a matching prefix.
var programs = []program{
	{"OpenCost", []string{"node_cpu_hourly", "node_ram_hourly", "node_gpu_hourly", "pv_hourly", "kubecost_", "pod_pvc_"}, "", "metricRelabelings drop it"},
	{KubeStateMetrics, []string{"kube_"}, ksm, ""},
	{CAdvisor, []string{"container_"}, kubelet, "metricRelabelings drop it (cAdvisorMetricRelabelings in kube-prometheus-stack)"},
	{Kubelets, []string{"kubelet_"}, stats, "metricRelabelings drop it"},
	{"cloudcost-exporter", []string{"cloudcost_"}, priceExporter, "metricRelabelings drop it"},
	{"Karpenter", []string{"karpenter_"}, "", "metricRelabelings drop it"},
	{NodeExporter, []string{"node_cpu_seconds", "node_memory_"}, exporter, "a collector is off, or metricRelabelings drop it"},
	{name: OTelCollector},
}

// programOf is the program that exposes a metric, nil if it is unknown.
func programOf(metric string) *program {
	i := slices.IndexFunc(programs, func(e program) bool {
		return slices.ContainsFunc(e.prefixes, func(p string) bool { return strings.HasPrefix(metric, p) })
	})
	if i < 0 {
		return nil
	}
	return &programs[i]
}

// program is the program that exposes the metric, nil if it is unknown.
func (a *Alternative) program() *program {
	if a.OTel != nil {
		return &programs[len(programs)-1]
	}
	return programOf(a.Metric)
}

// Exporter is a program that exposes metrics of inputs.
type Exporter struct {
	Name    string   // "" for all that are none of the others
	Metrics []string // sorted
}

// Exporters are the programs that expose the inputs, with all the metrics that may serve one. Those of the OpenTelemetry Collector have the names that they
// have there.
func Exporters() []Exporter {
	list := make([]Exporter, len(programs)+1)
	for i := range programs {
		list[i].Name = programs[i].name
	}
	for i := range Inputs {
		for _, a := range Inputs[i].Alternatives {
			of := &list[len(programs)]
			if p := a.program(); p != nil {
				of = &list[slices.IndexFunc(list, func(e Exporter) bool { return e.Name == p.name })]
			}
			if a.OTel != nil {
				of.Metrics = append(of.Metrics, a.OTel.Names...)
				continue
			}
			of.Metrics = append(of.Metrics, a.Metric)
		}
	}
	for i := range list {
		slices.Sort(list[i].Metrics)
		list[i].Metrics = slices.Compact(list[i].Metrics)
	}
	return list
}

// fallbacks say what is lost if a metric takes the place of the best one of an input. With metrics that are not listed, nothing is lost.
var fallbacks = []struct{ input, metric, cost string }{
	{"running", "container_memory_working_set_bytes", "containers run while they have usage: starts and ends are told by samples of cAdvisor, and what lives between two of them is not seen"},
	{"running", "kube_pod_container_info", "containers run while their pod's phase is Running: the back-off between restarts is charged"},
	{"started", "container_start_time_seconds", "starts are as cAdvisor tells them: what no scrape of it saw starts half a scrape interval before its first sample"},
	{"node cpu", "kube_node_status_allocatable", "nodes cost what pods may take of them, without what is reserved for the system"},
	{"node memory", "kube_node_status_allocatable", "nodes cost what pods may take of them, without what is reserved for the system"},
	{"node gpu", "kube_node_status_allocatable", "devices that are not healthy cost nothing"},
	{"node gpu", "node_gpu_count", "nodes have whole devices: MIG slices and shares are not told apart"},
	{"node disk", "container_fs_limit_bytes", "a node's own disk is as large as all disks that its kubelet sees, which may be those of volumes"},
	{"running", "k8s_container_ready", "containers run while their pod's phase is Running: the back-off between restarts is charged"},
	{"node cpu", "k8s_node_allocatable_cpu", "nodes cost what pods may take of them, without what is reserved for the system"},
	{"node memory", "k8s_node_allocatable_memory_bytes", "nodes cost what pods may take of them, without what is reserved for the system"},
	{"gpu usage", "DCGM_FI_DEV_GPU_UTIL", "a device counts as used while anything runs on it, however little of it that takes"},
}

// explain says what is lost if an input is not served by its best metric, and the remedy.
func (f *findings) explain(d *diagnosis.Input, i int, cluster Symbol, sheet string) {
	in := &Inputs[i]
	best := in.Alternatives[0]
	missing, cost := d.State == diagnosis.Missing, in.Missing
	if best.Price && sheet == "" {
		cost = "prices are the built-in defaults"
	}
	switch {
	case missing && best.Price && sheet != "":
		d.State, d.Missing = diagnosis.Sheet, "prices are those of "+sheet
	case missing && in.Need == Occasional && f.proof(in, cluster) == nil:
		d.State, d.Missing, d.Remedy = diagnosis.None, cost, in.Remedy
	case missing:
		d.Missing, d.Remedy = f.proof(in, cluster).cost(cost), f.remedy(in, cluster)
	case d.State == diagnosis.Fallback:
		for _, s := range fallbacks {
			if s.input == in.Name && s.metric == f.first(i, cluster) {
				d.Missing, d.Remedy = s.cost, f.remedy(in, cluster)
			}
		}
	}
}

// first is the metric of the first alternative that a cluster has.
func (f *findings) first(i int, cluster Symbol) string {
	rank := slices.IndexFunc(f.inputs[i], func(t tally) bool {
		return slices.ContainsFunc(t.clusters, func(c clusterTally) bool { return c.cluster == cluster })
	})
	return Inputs[i].Alternatives[max(rank, 0)].Metric
}

// remedy is how to get the best metric of an input: the remedy of the table, or, if the program that exposes it is scraped, where
// to look for the metric.
func (f *findings) remedy(in *Input, cluster Symbol) string {
	if f.otel.tells(cluster) {
		return cmp.Or(in.otelSetting(), in.Remedy)
	}
	best := &in.Alternatives[0]
	e := f.dropper(in, cluster)
	if e == nil {
		return in.Remedy
	}
	name := best.selector()
	if sampled, _ := f.samplesOfInput(in, cluster); sampled == nil {
		name = best.Metric
	}
	return fmt.Sprintf("%s is scraped, but `%s` is not among its metrics: %s", e.name, name, e.keep(best.Metric))
}

// dropper is the program that exposes the best metric of an input if it is scraped, so that something drops the metric; nil if it may not be
// scraped, or if it exposes the metric only when told to.
func (f *findings) dropper(in *Input, cluster Symbol) *program {
	e := programOf(in.Alternatives[0].Metric)
	if e == nil || e.remedy != in.Remedy || !f.scrapes(e, cluster) {
		return nil
	}
	return e
}

// selector is the metric with the values of labels that the input needs.
func (a *Alternative) selector() string {
	var labels []string
	for _, m := range a.Matchers {
		switch m.Type {
		case MatchEqual:
			labels = append(labels, fmt.Sprintf("%s=%q", m.Name, m.Value))
		case MatchRegexp:
			labels = append(labels, fmt.Sprintf("%s=~%q", m.Name, m.Value))
		default:
		}
	}
	if len(labels) == 0 {
		return a.Metric
	}
	return a.Metric + "{" + strings.Join(labels, ",") + "}"
}

// scrapes reports whether any metric of a program was found.
func (f *findings) scrapes(e *program, cluster Symbol) bool {
	for i, tallies := range f.inputs {
		for rank := range tallies {
			if Inputs[i].Alternatives[rank].program() == e && slices.ContainsFunc(tallies[rank].clusters, func(c clusterTally) bool { return c.cluster == cluster }) {
				return true
			}
		}
	}
	return false
}
