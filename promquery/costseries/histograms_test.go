package costseries_test

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// usedHours are n hours of a pod that uses a tenth of a core in the first half of each and half a core in the second, and of one, restarted under its name, that
// uses two cores: since the third hour only.
func usedHours(n int) *hours {
	h := &hours{}
	for i := range n {
		w := allocation.Window{Start: noon.Add(time.Duration(i) * time.Hour), End: noon.Add(time.Duration(i+1) * time.Hour)}
		s := allocation.NewSet(w, allocation.NewDict())
		add := func(pod, uid string, levels ...allocation.Level) {
			r := &allocation.Row{Start: w.Start, End: w.End}
			r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.PodUID] = "c", "shop", pod, uid
			for of := range r.Levels {
				r.Levels[of] = levels
				for _, l := range levels {
					r.Values[allocation.UsageHours.Of(allocation.Resource(of))] += l.Bucket.Middle() * float64(l.Millis) / 3600e3
				}
			}
			s.Append(r)
		}
		tenth, half, two := allocation.BucketOf(0.1), allocation.BucketOf(0.5), allocation.BucketOf(2)
		add("steady", "1", allocation.Level{Bucket: tenth, Millis: 1800e3}, allocation.Level{Bucket: half, Millis: 1800e3})
		if i >= 2 {
			add("restarted", "2", allocation.Level{Bucket: allocation.NoUsage, Millis: 600e3}, allocation.Level{Bucket: two, Millis: 1200e3})
			add("restarted", "3", allocation.Level{Bucket: two, Millis: 1800e3})
		}
		add("unknown", "4")
		h.sets = append(h.sets, s)
	}
	return h
}

// TestHistograms asks Prometheus' engine for quantiles and averages of usage.
func TestHistograms(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	q := newQueryable(usedHours(5), costseries.Options{})
	for expr, want := range map[string]float64{
		`histogram_count(promcost_container_cpu_usage{pod="steady"})`:                                3600,
		`histogram_count(promcost_container_cpu_usage{pod="restarted"})`:                             3600,
		`histogram_quantile(0.25, promcost_container_cpu_usage{pod="steady"})`:                       0.1,
		`histogram_quantile(0.95, promcost_container_cpu_usage{pod="steady"})`:                       0.5,
		`histogram_quantile(0.95, sum(promcost_container_memory_usage))`:                             2,
		`histogram_quantile(0.1, promcost_container_cpu_usage{pod="restarted"})`:                     0,
		`histogram_count(sum by (namespace) (sum_over_time(promcost_container_cpu_usage[5h])))`:      3600 * (5 + 3),
		`histogram_sum(promcost_container_cpu_usage{pod="restarted"}) / 3000`:                        2,
		`histogram_fraction(0.3, 1, promcost_container_cpu_usage{pod="steady"})`:                     0.5,
		`count(promcost_container_cpu_usage)`:                                                        2, // nothing is known of the third
		`count(promcost_container_cpu_usage offset 3h)`:                                              1,
		`histogram_quantile(0.5, sum(sum_over_time(promcost_container_memory_usage{pod!="x"}[5h])))`: 0.5,
		`histogram_count(promcost_container_cpu_usage{pod="unknown"}) or vector(7)`:                  7,
	} {
		at := noon.Add(5*time.Hour + grace)
		r := resultOf(t, engine, q, expr, at, at, 0)
		v, ok := r.Value.(promql.Vector)
		if r.Err != nil || !ok || len(v) != 1 || math.Abs(v[0].F-want) > 0.09*want+1e-12 {
			t.Errorf("%s is %v (%v), want %v", expr, r.Value, r.Err, want)
		}
	}
}

// TestHistogramsEnd checks that a series of histograms ends where its container does.
func TestHistogramsEnd(t *testing.T) {
	h := usedHours(4)
	h.sets = append(h.sets, usedHours(2).sets[0]) // the second pod is gone
	w := allocation.Window{Start: noon.Add(4 * time.Hour), End: noon.Add(5 * time.Hour)}
	h.sets[4].Window = w
	at := w.End.Add(grace)
	r := resultOf(t, promapi.NewEngine(promapi.EngineOptions{}), newQueryable(h, costseries.Options{}), `count(promcost_container_cpu_usage)`, at, at, 0)
	if v, ok := r.Value.(promql.Vector); !ok || len(v) != 1 || v[0].F != 1 {
		t.Errorf("%v have usage (%v), want 1", r.Value, r.Err)
	}
}
