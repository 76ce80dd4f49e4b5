package democluster_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// unrecorded are the metrics of the demo, or labels of one as metric{label}, that no recording has, and why. A metric that
// ends in * stands for all that begin so.
var unrecorded = map[string]string{
	"up":                "Prometheus makes it",
	"container_*{node}": "a label of the target",
	"kubelet_*{node}":   "a label of the target",
	"karpenter_cloudprovider_instance_type_offering_price_estimate": "Karpenter has prices only where it has an account of AWS",
	"DCGM_FI_DEV_GPU_UTIL":           "the published example has the profiling metric in its place",
	"DCGM_*{namespace}":              "the published example has no pods",
	"DCGM_*{pod}":                    "the published example has no pods",
	"DCGM_*{container}":              "the published example has no pods",
	"DCGM_*{exported_namespace}":     "a scrape without honor_labels",
	"DCGM_*{exported_pod}":           "a scrape without honor_labels",
	"DCGM_*{exported_container}":     "a scrape without honor_labels",
	"DCGM_*{modelName}":              "newer than the published example",
	"DCGM_*{pci_bus_id}":             "newer than the published example",
	"DCGM_*{DCGM_FI_DRIVER_VERSION}": "newer than the published example",
}

// omitted are labels that exporters have and the demo leaves out, and why.
var omitted = map[string]string{
	"kube_node_info{kubeproxy_version}":                   "says nothing of costs",
	"kube_persistentvolume_info{reclaim_policy}":          "says nothing of costs",
	"kube_service_info{external_traffic_policy}":          "says nothing of costs",
	"kube_service_status_load_balancer_ingress{hostname}": "the demo's balancers have addresses, as Google's do",
	"kubecost_pod_network_egress_bytes_total{service}":    "says nothing of costs",
}

// TestNamesAreReal checks the metrics of the demo and the names of their labels, as the golden list has them, against what
// real exporters expose.
func TestNamesAreReal(t *testing.T) {
	golden, err := os.ReadFile("testdata/labels.golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]map[string]bool{}
	for _, name := range promtest.Recordings(t) {
		if strings.HasPrefix(name, "opentelemetry") {
			continue // another dialect, with names that both have
		}
		for metric, labels := range promtest.Recorded(t, name).Shapes() {
			if recorded[metric] == nil {
				recorded[metric] = map[string]bool{}
			}
			for label, filled := range labels {
				recorded[metric][label] = recorded[metric][label] || filled
			}
		}
	}
	excused := map[string]bool{} // exceptions that were needed
	for line := range strings.Lines(string(golden)) {
		fields := strings.Fields(line)
		metric, own := fields[0], fields[1:]
		for i := range own {
			own[i] = strings.Trim(own[i], "[]")
		}
		exposed, ok := recorded[metric]
		if !ok {
			if !excuse(unrecorded, excused, metric, "") {
				t.Errorf("no recording has %s", metric)
			}
			continue
		}
		for _, label := range own {
			if _, ok := exposed[label]; !ok && label != "job" && label != "instance" && !excuse(unrecorded, excused, metric, label) {
				t.Errorf("%s has no label %s in the recordings", metric, label)
			}
		}
		for label, filled := range exposed {
			if made := strings.HasPrefix(label, "label_") || strings.HasPrefix(label, "annotation_"); filled && !made && !slices.Contains(own, label) && !excuse(omitted, excused, metric, label) {
				t.Errorf("%s has a label %s in the recordings, and not in the demo", metric, label)
			}
		}
	}
	for _, list := range []map[string]string{unrecorded, omitted} {
		for name := range list {
			if !excused[name] {
				t.Errorf("%s needs no exception any more: take it off the list", name)
			}
		}
	}
}

// excuse reports whether a list has a metric, or a label of it, and records what it found there.
func excuse(list map[string]string, excused map[string]bool, metric, label string) bool {
	found := false
	for name := range list {
		pattern, of, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		prefix, many := strings.CutSuffix(pattern, "*")
		if (pattern == metric || many && strings.HasPrefix(metric, prefix)) && of == label {
			excused[name] = true
			found = true
		}
	}
	return found
}
