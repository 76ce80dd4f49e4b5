package promquery_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// dropping is a source that keeps only some metrics.
type dropping struct {
	src  promquery.Source
	drop func(r *promquery.Request) bool
}

// Select implements promquery.Source.
func (d dropping) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		return promtest.Select(ctx, d.src, rs, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			if d.drop(&rs[i]) {
				return nil
			}
			return yield(i, key, p)
		})
	})
}

// unprovable are inputs of which no other series can show that they should be there, and why.
var unprovable = map[string]string{
	"init started":             "cAdvisor sees few of them, and not all tell it",
	"sidecar running":          "other series do not tell sidecars from other init containers",
	"pod deleted":              "it is there only while pods are being deleted",
	"init cpu request":         "init containers may rightly request nothing",
	"init memory request":      "init containers may rightly request nothing",
	"init cpu limit":           "init containers may rightly have no limits",
	"init memory limit":        "init containers may rightly have no limits",
	"init state started":       "kube-state-metrics has it from 2.20 on",
	"init terminated":          "kube-state-metrics has it from 2.20 on",
	"cpu allocated":            "no kube-state-metrics has it yet",
	"memory allocated":         "no kube-state-metrics has it yet",
	"pod cpu reserve":          "kube-scheduler has it, which few scrape, and requests of containers stand in for it",
	"pod memory reserve":       "kube-scheduler has it, which few scrape, and requests of containers stand in for it",
	"pod cpu overhead":         "few pods have a RuntimeClass",
	"pod memory overhead":      "few pods have a RuntimeClass",
	"other devices":            "few pods request them",
	"pod claims":               "few pods have claims for devices",
	"instance price":           "few clusters have the exporter, and prices of others stand in for it",
	"instance cpu price":       "few clusters have the exporter, and prices of others stand in for it",
	"instance memory price":    "few clusters have the exporter, and prices of others stand in for it",
	"whole volume price":       "few clusters have the exporter, and prices of others stand in for it",
	"offering price":           "few clusters have the exporter, and prices of others stand in for it",
	"cpu periods":              "only containers with a CPU limit have it",
	"throttled cpu periods":    "only containers with a CPU limit have it",
	"autoscaler metric":        "few controllers have an autoscaler",
	"oom kills":                "older kubelets do not have it",
	"killed for memory":        "few containers are ever killed for their memory",
	"cpu waiting time":         "older kubelets and kernels do not have it",
	"pod cpu usage":            "usage of containers stands in for it",
	"pod memory usage":         "usage of containers stands in for it",
	"endpoint addresses":       "endpoint slices stand in for it",
	"service selectors":        "only OpenCost exports it",
	"volume labels":            "kube-state-metrics exports labels only where it is told to",
	"service labels":           "kube-state-metrics exports labels only where it is told to",
	"node gpu price":           "a price sheet may take its place, and a warning names what has no price",
	"volume price":             "a price sheet may take its place, and a warning names what has no price",
	"load balancer price":      "a price sheet may take its place, and a warning names what has no price",
	"cluster management price": "many clusters have no price of their own",
	"node disk usage":          "many kubelets do not tell of the root cgroup",
	"gpu usage":                "only the DCGM exporter has it, which few scrape",
}

// onDemand are inputs that an answer needs only where others are missing, or that do not change its costs: check source tells of them.
var onDemand = []string{"terminated", "pod phase", "pod completed", "pod ended", "restarts", "init restarts", "pod owner", "pod scheduled", "pod pending"}

// TestEachInputIsMissed drops each input in turn: what is said of the source calls it missing, says what it costs and what brings it back, and
// so does the answer.
func TestEachInputIsMissed(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-3 * time.Hour), End: c.End()}
	had := map[string]diagnosis.State{}
	for _, in := range diagnosed(t, db, w.End, "").Inputs {
		had[in.Name] = in.State
	}
	for i := range promquery.Inputs {
		in := &promquery.Inputs[i]
		if _, ok := unprovable[in.Name]; ok || had[in.Name] == diagnosis.None || had[in.Name] == diagnosis.Missing {
			continue
		}
		t.Run(in.Name, func(t *testing.T) {
			src := dropping{db, func(r *promquery.Request) bool {
				return slices.ContainsFunc(in.Alternatives, func(a promquery.Alternative) bool { return a.Metric == r.Metric })
			}}
			d, err := promquery.NewEngine(src, config).Diagnose(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if x := inputOf(t, &d.Clusters[0], in.Name); x.State != diagnosis.Missing && x.State != diagnosis.Sheet || x.Missing == "" || x.Remedy == "" && x.State == diagnosis.Missing {
				t.Errorf("the source is said to have it: %+v", x)
			}
			sets, err := promquery.NewEngine(src, config).Compute(t.Context(), allocation.Query{Window: w})
			if err != nil || slices.Contains(onDemand, in.Name) {
				return // without the running signal, for one
			}
			if !slices.ContainsFunc(sets[0].Warnings, func(text string) bool { return named(in.Alternatives[0].Metric, text) }) {
				t.Errorf("the answer does not say so: %q", sets[0].Warnings)
			}
		})
	}
}

// TestAllowlistsDrop takes away what kube-state-metrics behind some allowlists lacks: the answer says how much of what that concerns, and what
// brings it back.
func TestAllowlistsDrop(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-3 * time.Hour), End: c.End()}
	for name, tt := range map[string]struct {
		prefixes []string
		want     []string // what one warning says together
	}{
		"volumes":        {[]string{"kube_persistentvolume"}, []string{"kube_persistentvolume_capacity_bytes (volume capacity: ", "of the volumes (pvc-", "add kube_persistentvolume_capacity_bytes to its --metric-allowlist and persistentvolumes to its --resources"}},
		"mounted claims": {[]string{"kube_pod_spec_volumes"}, []string{"kube_pod_spec_volumes_persistentvolumeclaims_info (pod volumes: ", "of the claims (", "add kube_pod_spec_volumes"}},
		"owners":         {[]string{"kube_replicaset_", "kube_job_"}, []string{"kube_job_owner (job owner: cronjobs show as their jobs)", "By kube_pod_info, it concerns ", " of the pods (", "jobs to its --resources"}},
		"load balancers": {[]string{"kube_service_spec_type", "kube_service_status"}, []string{"kube_service_spec_type (other services: ", "By kube_service_info, it concerns ", " of the services ("}},
		"all services":   {[]string{"kube_service_", "kube_endpoint", "kubecost_load"}, []string{"kube_service_spec_type (other services: load balancers are free", "services to its --resources"}},
		"volumes of which only claims tell": {
			[]string{"kube_persistentvolume_", "kube_pod_spec_volumes", "pod_pvc_", "pv_hourly", "kubelet_"},
			[]string{"kube_persistentvolume_capacity_bytes (volume capacity: ", "By kube_persistentvolumeclaim_info, it concerns ", " of the claims ("},
		},
		"claims": {
			[]string{"kube_persistentvolumeclaim_", "kube_persistentvolume_claim_ref", "kube_pod_spec_volumes", "pod_pvc_", "kubelet_"},
			[]string{"kube_persistentvolumeclaim_info (volume claim: what volumes cost is unmounted", "By kube_persistentvolume_capacity_bytes, it concerns ", " of the volumes ("},
		},
		"devices": {[]string{"kube_node_status_capacity gpu", "kube_node_status_allocatable gpu", "node_gpu_count"}, []string{"kube_node_status_capacity (node gpu: GPUs cost nothing)", " of the pods ("}},
	} {
		t.Run(name, func(t *testing.T) {
			src := dropping{db, func(r *promquery.Request) bool {
				name := r.Metric
				if slices.ContainsFunc(r.Matchers, func(m promquery.Matcher) bool { return strings.Contains(m.Value, "gpu") }) {
					name += " gpu"
				}
				return slices.ContainsFunc(tt.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
			}}
			warnings := compute(t, src, allocation.Query{Window: w})[0].Warnings
			if !slices.ContainsFunc(warnings, func(text string) bool {
				return !slices.ContainsFunc(tt.want, func(part string) bool { return !strings.Contains(text, part) })
			}) {
				t.Errorf("no %q in %q", tt.want, warnings)
			}
		})
	}
}

// TestNoLongerKept takes away metrics from the middle of a window on, as a new allowlist does: the answer says from when on, what shows that, and
// what is lost. In the demo as it is, nothing is said to be.
func TestNoLongerKept(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	c, _ := newDemoBlocks(t, democluster.Config{End: end, Duration: 6 * time.Hour, Nodes: 4, Pods: 40, Seed: 1})
	list := seriesOfCluster(t, c)
	w := allocation.Window{Start: end.Add(-5 * time.Hour), End: end}
	since := end.Add(-150 * time.Minute)
	for prefix, want := range map[string][]string{
		"none":                       nil,
		"kube_persistentvolume":      {"while pv_hourly_cost had some", "kube_persistentvolume_capacity_bytes (volume capacity: "},
		"kube_pod_spec_volumes":      {"while kubelet_volume_stats_capacity_bytes had some", "kube_pod_spec_volumes_persistentvolumeclaims_info (pod volumes: "},
		"kube_service_spec_type":     {"while kube_service_status_load_balancer_ingress had some", "kube_service_spec_type (load balancer: "},
		"kube_job_owner":             {"while kube_pod_info had some", "kube_job_owner (job owner: "},
		"kubecost_pod_network_egres": {"while kubecost_network_zone_egress_cost had some", "kubecost_pod_network_egress_bytes_total (network egress: "},
	} {
		t.Run(prefix, func(t *testing.T) {
			cut := slices.Clone(list)
			for i := range cut {
				if s := &cut[i]; strings.HasPrefix(label(s, "__name__"), prefix) {
					s.Samples = slices.DeleteFunc(slices.Clone(s.Samples), func(x promtest.Sample) bool { return x.T > since.UnixMilli() })
				}
			}
			db := edited(t, cut, func(s *promtest.Series) bool { return len(s.Samples) > 0 })
			for _, resolution := range grids() {
				warnings := compute(t, db, allocation.Query{Window: w, Resolution: resolution})[0].Warnings
				said := slices.DeleteFunc(slices.Clone(warnings), func(text string) bool { return !strings.Contains(text, " had some, of ") })
				if want == nil {
					if len(said) > 0 {
						t.Errorf("nothing is dropped, but: %q", said)
					}
					continue
				}
				want := append([]string{"no sample from 2026-03-02T15:"}, want...)
				if !slices.ContainsFunc(said, func(text string) bool {
					return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(text, part) })
				}) {
					t.Errorf("resolution %s: no %q in %q", allocation.ResolutionText(resolution), want, said)
				}
			}
		})
	}
}
