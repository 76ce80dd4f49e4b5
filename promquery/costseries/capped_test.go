package costseries_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// lastSet is a collector's source of one set.
type lastSet struct{ set *allocation.Set }

func (l lastSet) Latest() (*allocation.Set, time.Time, error) { return l.set, l.set.Window.End, nil }

// crowd is an hour of many containers in two clusters, some of which come and go.
func crowd(rng *rand.Rand, w allocation.Window) *allocation.Set {
	s := allocation.NewSet(w, allocation.NewDict())
	for i := range 400 {
		if rng.IntN(5) == 0 {
			continue
		}
		r := &allocation.Row{Start: w.Start, End: w.End, Labels: map[string]string{"app": fmt.Sprint("app-", i%70)}}
		r.Text = [allocation.Services]string{
			fmt.Sprint("c", i%2), fmt.Sprint("node-", i%80), fmt.Sprint("ns-", i%90), fmt.Sprint("pod-", i), fmt.Sprint("uid-", i), "main", "deployment", fmt.Sprint("app-", i%120), "",
		}
		for c := range allocation.NumColumns {
			if c.Money() && rng.IntN(3) > 0 {
				r.Values[c] = rng.ExpFloat64()
			}
		}
		s.Append(r)
	}
	for i := range 80 {
		n := allocation.Node{Cluster: fmt.Sprint("c", i%2), Name: fmt.Sprint("node-", i)}
		for r := range allocation.NumResources {
			n.Hours[r], n.Cost[r], n.Idle[r] = 1, rng.ExpFloat64(), rng.ExpFloat64()
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// TestCappedMetricsSumToTheSame checks that under --collector.max-series /metrics has fewer series than PromQL, but the same sums
// by all labels that the cap keeps: what has no series of its own is in __other__. Counters grow by the same. Their sums are lower
// by those of members that lost their places.
func TestCappedMetricsSumToTheSame(t *testing.T) {
	o := metering.Options{LabelNames: []string{"app", "namespace"}, MaxSeries: 200}
	for _, s := range metering.Subjects() {
		if !s.Always && !strings.HasPrefix(s.Collector(), "opencost") { // which drops, and has no __other__
			o.Enabled = append(o.Enabled, s.Collector())
		}
	}
	m, err := metering.New(o)
	if err != nil {
		t.Fatal(err)
	}
	rng, h := rand.New(rand.NewPCG(1, 2)), &hours{}
	q := newQueryable(h, costseries.Options{Subjects: m.Subjects()})
	var asked, scraped [2]map[string]float64 // by series, an hour apart
	accrued := metering.NewAccrued(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), m)
	for i := range 40 {
		w := allocation.Window{Start: noon.Add(time.Duration(i) * time.Hour), End: noon.Add(time.Duration(i+1) * time.Hour)}
		h.sets = append(h.sets, crowd(rng, w))
		if accrued = accrued.Add(h.sets[i]); i < 38 {
			continue
		}
		now, reg := accrued, prometheus.NewRegistry()
		reg.MustRegister(collector.New(lastSet{h.sets[i]}, collector.Config{
			Metering: func() *metering.Metering { return m }, Accrued: func() *metering.Accrued { return now },
		}))
		scraped[i-38], asked[i-38] = scrapedCosts(t, reg), askedCosts(t, q, w.End.Add(grace))
	}
	folded := 0
	for series := range scraped[1] {
		if strings.Contains(series, allocation.OtherName) {
			folded++
		}
	}
	if len(scraped[1]) >= len(asked[1])/2 || folded < 100 {
		t.Fatalf("%d series of %d are exported, %d folded", len(scraped[1]), len(asked[1]), folded)
	}
	got, want := grouped(t, scraped), grouped(t, asked)
	for g := range want {
		if math.Abs(got[g]-want[g]) > 1e-9*math.Abs(want[g]) {
			t.Errorf("%s: scraped %v, asked %v", g, got[g], want[g])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d groups are scraped, %d asked for", len(got), len(want))
	}
}

// scrapedCosts are the costs of a scrape, by series.
func scrapedCosts(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	values := scraped(t, reg)
	maps.DeleteFunc(values, func(series string, _ float64) bool { return !strings.Contains(series, "_cost") })
	return values
}

// askedCosts are the costs that PromQL tells of, by series.
func askedCosts(t *testing.T, q *costseries.Queryable, at time.Time) map[string]float64 {
	t.Helper()
	r := resultOf(t, promapi.NewEngine(promapi.EngineOptions{}), q, `{__name__=~".+_cost(_total)?"}`, at, at, 0)
	vector, err := r.Vector()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, x := range vector {
		values[x.Metric.String()] = x.F
	}
	return values
}

// grouped sums series by the labels that the cap keeps: gauges, and the growth of counters.
func grouped(t *testing.T, values [2]map[string]float64) map[string]float64 {
	t.Helper()
	sums := map[string]float64{}
	for _, series := range slices.Sorted(maps.Keys(values[1])) {
		l, err := parser.NewParser(parser.Options{}).ParseMetric(series)
		if err != nil {
			t.Fatal(err)
		}
		v := values[1][series]
		if strings.HasSuffix(l.Get(model.MetricNameLabel), "_total") {
			v -= values[0][series]
		}
		sums[l.Get(model.MetricNameLabel)+" "+l.Get("cluster")+" "+l.Get("label")+" "+l.Get("resource")] += v
	}
	return sums
}
