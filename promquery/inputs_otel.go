package promquery

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/signals"
)

// OTel is what distinguishes a metric of a receiver of the OpenTelemetry Collector. Its series have the attributes of their resource as labels
// (see otelLabels), or target_info has them. Names of metrics and labels come in several spellings, and Alternative.Metric is the first one that Prometheus
// uses unless it is told otherwise.
type OTel struct {
	Receiver Receiver
	// Names are the metric's names in OpenTelemetry, of which one takes the place of another.
	Names []string
	// Values are what the metric's values mean. Samples with other values are left out. Nil takes values as they are.
	Values map[float64]float64
	// Fixed are elements of the key that are the same for all series.
	Fixed map[string]string
	// Without are attributes that series do not have.
	Without []string
	// Rank is that of the alternative whose part it takes; 0 is the best.
	Rank int
}

// Receiver is a receiver of the OpenTelemetry Collector.
type Receiver uint8

// The receivers. ClusterReceiver tells what kube-state-metrics tells, KubeletReceiver what cAdvisor and the kubelets do.
const (
	ClusterReceiver Receiver = iota
	KubeletReceiver
	numReceivers
)

// String is the receiver's name in the configuration of a Collector.
func (r Receiver) String() string { return [...]string{"k8s_cluster", "kubeletstats"}[r] }

// classic are the programs that tell the same as a receiver.
func (r Receiver) classic() string { return [...]string{KubeStateMetrics, "cAdvisor"}[r] }

// otelLabels are the attributes that elements of keys are read from.
var otelLabels = map[string][]string{
	"namespace": {"k8s.namespace.name"}, "pod": {"k8s.pod.name"}, "uid": {"k8s.pod.uid"}, "container": {"k8s.container.name"},
	"node": {"k8s.node.name"}, "kubelet_node": {"k8s.node.name"}, "pod_ip": {"k8s.pod.ip"}, "series": {"container.id"},
	"persistentvolumeclaim": {"k8s.persistentvolumeclaim.name"}, "interface": {"interface", "network.interface.name"},
}

// ofCluster and ofKubelet are metrics of the receivers, by the name that Prometheus gives them and those of OpenTelemetry.
func ofCluster(metric string, names ...string) Alternative {
	return Alternative{Metric: metric, OTel: &OTel{Receiver: ClusterReceiver, Names: names}}
}

func ofKubelet(metric string, names ...string) Alternative {
	return Alternative{Metric: metric, OTel: &OTel{Receiver: KubeletReceiver, Names: names}}
}

// valued is a metric whose values have meanings.
func (a Alternative) valued(values map[float64]float64) Alternative {
	of := *a.OTel
	of.Values, a.OTel = values, &of
	return a
}

// standingIn is a metric that takes the part of an alternative with this rank and signal, or of the input's signal for Nothing.
func (a Alternative) standingIn(rank int, signal signals.Signal) Alternative {
	of := *a.OTel
	of.Rank, a.OTel, a.Signal = rank, &of, signal
	return a
}

// labeled is a metric with labels of its own.
func (a Alternative) labeled(labels map[string][]string) Alternative {
	a.Labels = labels
	return a
}

// matched is a metric of which only some series count.
func (a Alternative) matched(m Matcher) Alternative {
	a.Matchers = []Matcher{m}
	return a
}

// The phases of pods, as the cluster receiver numbers them, and containers, which its metrics are about whatever their values.
var (
	pending  = phases(1)
	running  = phases(2)
	ended    = phases(3, 4)
	anyPhase = phases(1, 2, 3, 4, 5)
	present  = map[float64]float64{-1: 1, 0: 1, 1: 1}
)

// phases is 1 for some phases and 0 for the others.
func phases(some ...float64) map[float64]float64 {
	values := map[float64]float64{1: 0, 2: 0, 3: 0, 4: 0, 5: 0}
	for _, v := range some {
		values[v] = 1
	}
	return values
}

var (
	podPhase      = ofCluster("k8s_pod_phase", "k8s.pod.phase")
	nodeReady     = ofCluster("k8s_node_condition_ready", "k8s.node.condition_ready").valued(present)
	nodeTime      = ofKubelet("k8s_node_cpu_time_seconds_total", "k8s.node.cpu.time")
	containerTime = ofKubelet("container_cpu_time_seconds_total", "container.cpu.time")
	workingSet    = ofKubelet("container_memory_working_set_bytes", "container.memory.working_set").matched(equal("id", ""))
	podBytesOTel  = ofKubelet("k8s_pod_network_io_bytes_total", "k8s.pod.network.io")
	claimCapacity = ofCluster("k8s_persistentvolumeclaim_storage_capacity_bytes", "k8s.persistentvolumeclaim.storage.capacity")
	volumeOfPod   = ofKubelet("k8s_volume_capacity_bytes", "k8s.volume.capacity", "k8s.pod.volume.capacity")
	// Nothing names the volume of a claim, so it has the UID of the claim as its name.
	byClaim = map[string][]string{"persistentvolume": {"k8s.persistentvolumeclaim.uid"}, "storageclass": {"k8s.storageclass.name"}}
)

// creators are the kinds of controllers that the processor k8s_attributes names, those that create others first.
var creators = []struct{ kind, attribute string }{
	{"Deployment", "k8s.deployment.name"},
	{"CronJob", "k8s.cronjob.name"},
	{"StatefulSet", "k8s.statefulset.name"},
	{"DaemonSet", "k8s.daemonset.name"},
	{"Job", "k8s.job.name"},
	{"ReplicaSet", "k8s.replicaset.name"},
}

// owners are the controllers of pods.
func owners() (list []Alternative) {
	var before []string
	for _, x := range creators {
		a := podPhase.valued(anyPhase).labeled(map[string][]string{"owner_name": {x.attribute}})
		a.OTel.Fixed, a.OTel.Without = map[string]string{"owner_kind": x.kind, "owner_is_controller": "true"}, slices.Clone(before)
		list, before = append(list, a), append(before, x.attribute)
	}
	return list
}

// directed are the counters of bytes that pods send or receive: the semantic conventions renamed the attribute.
func directed(to string) []Alternative {
	return []Alternative{podBytesOTel.matched(equal("direction", to)), podBytesOTel.matched(equal("network.io.direction", to))}
}

// quantity is a request or limit of a resource by the cluster receiver.
func quantity(resource, of, suffix string, more ...string) Alternative {
	names := []string{"k8s.container." + resource + "_" + of, "k8s.container." + resource + "." + of}
	for _, name := range append([]string{"desired"}, more...) {
		names = append(names, names[1]+"."+name)
	}
	return ofCluster("k8s_container_"+resource+"_"+of+suffix, names...)
}

// otelAlternatives are the metrics of OpenTelemetry's receivers, by input.
var otelAlternatives = map[string][]Alternative{
	"running": {
		ofCluster("k8s_container_status_state", "k8s.container.status.state").matched(equal("k8s.container.status.state", "running")),
		workingSet.standingIn(1, signals.RunningByUsage),
		ofCluster("k8s_container_ready", "k8s.container.ready").valued(present).standingIn(2, signals.RunningByInfo),
	},
	"pod":              {podPhase.valued(anyPhase)},
	"pod phase":        {podPhase.valued(running)},
	"pod ended":        {podPhase.valued(ended)},
	"pod pending":      {podPhase.valued(pending)},
	"restarts":         {ofCluster("k8s_container_restarts", "k8s.container.restarts", "k8s.container.restart.count")},
	"pod owner":        owners(),
	"cpu allocated":    {ofCluster("k8s_container_cpu_request_current", "k8s.container.cpu.request.current")},
	"memory allocated": {ofCluster("k8s_container_memory_request_current_bytes", "k8s.container.memory.request.current")},
	"cpu request":      {quantity("cpu", "request", "")},
	"memory request":   {quantity("memory", "request", "_bytes")},
	"cpu limit":        {quantity("cpu", "limit", "", "current")},
	"memory limit":     {quantity("memory", "limit", "_bytes", "current")},
	"node":             {nodeReady},
	"node cpu":         {ofCluster("k8s_node_allocatable_cpu", "k8s.node.allocatable_cpu", "k8s.node.cpu.allocatable").standingIn(2, signals.Nothing)},
	"node memory":      {ofCluster("k8s_node_allocatable_memory_bytes", "k8s.node.allocatable_memory", "k8s.node.memory.allocatable").standingIn(2, signals.Nothing)},
	"node disk":        {ofKubelet("k8s_node_filesystem_capacity_bytes", "k8s.node.filesystem.capacity")},
	"node disk usage":  {ofKubelet("k8s_node_filesystem_usage_bytes", "k8s.node.filesystem.usage")},
	"cpu usage":        {containerTime},
	"memory usage":     {workingSet},
	"pod cpu usage":    {ofKubelet("k8s_pod_cpu_time_seconds_total", "k8s.pod.cpu.time").labeled(map[string][]string{"container": {}})},
	"pod memory usage": {ofKubelet("k8s_pod_memory_working_set_bytes", "k8s.pod.memory.working_set").labeled(map[string][]string{"container": {}})},
	"bytes sent":       directed("transmit"),
	"bytes received":   directed("receive"),
	"volume":           {claimCapacity.labeled(byClaim)},
	"volume capacity":  {claimCapacity.labeled(byClaim)},
	"volume claim":     {claimCapacity.labeled(byClaim)},
	"claim capacity":   {volumeOfPod},
	"claim usage":      {ofKubelet("k8s_pod_volume_usage_bytes", "k8s.pod.volume.usage")},
	"pod volumes":      {volumeOfPod},
}

// OTelAttributes are the attributes of resources that inputs are read from, sorted.
func OTelAttributes() (names []string) {
	for _, labels := range []map[string][]string{otelLabels, byClaim} {
		for _, list := range labels {
			names = append(names, list...)
		}
	}
	for _, x := range creators {
		names = append(names, x.attribute)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(otelLabels["interface"], name) }) // which points have
	slices.Sort(names)
	return slices.Compact(names)
}

// withOTel adds the metrics of OpenTelemetry's receivers to inputs.
func withOTel(inputs []Input) []Input {
	for i := range inputs {
		inputs[i].Alternatives = slices.Concat(inputs[i].Alternatives, otelAlternatives[inputs[i].Name])
	}
	return inputs
}

// rank is the rank of an alternative: 0 for the best, or where the input's own ranks begin.
func (in *Input) rank(i int) int {
	if of := in.Alternatives[i].OTel; of != nil {
		i = of.Rank
	}
	return in.Rank + i
}

// isBest reports whether no alternative is better than one.
func (in *Input) isBest(i int) bool { return in.rank(i) == in.Rank }

// dialect is how a source spells what is named with dots.
type dialect uint8

const (
	classic     dialect = iota // has no such names
	underscores                // as Prometheus does by default
	dots                       // as OpenTelemetry does
	numDialects
)

// spell spells the name of a metric or label.
func (d dialect) spell(name string) string {
	if d == underscores {
		return strings.ReplaceAll(name, ".", "_")
	}
	return name
}

// spellings are how metrics may be called in a dialect: with the suffix of the unit and kind or without. Old receivers gave counts and states the unit 1, whose
// suffix is _ratio.
func (a *Alternative) spellings(d dialect) (names []string) {
	suffix := strings.TrimPrefix(a.Metric, underscores.spell(a.OTel.Names[0]))
	if suffix == "" {
		suffix = "_ratio"
	}
	for _, name := range a.OTel.Names {
		for _, name := range [...]string{d.spell(name), d.spell(name) + suffix} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// spellAll spells the labels of matchers.
func (d dialect) spellAll(list []Matcher) []Matcher {
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = d.spell(list[i].Name)
	}
	return list
}

// attributes are the labels that an element is read from, none if the metric has no such attribute.
func (a *Alternative) attributes(element string, d dialect) []string {
	names, ok := a.Labels[element]
	if !ok {
		names = otelLabels[element]
	}
	labels := []string{}
	for _, name := range names {
		labels = append(labels, d.spell(name))
	}
	return labels
}
