package collector_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/collector"
)

// everything is a metering of all collectors.
func everything(t testing.TB) *metering.Metering {
	t.Helper()
	m, err := metering.New(metering.Options{Enabled: collector.Names(), LabelNames: []string{"app", "team"}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fullSet is a cluster with something of every collector.
func fullSet() *allocation.Set {
	set := madeSet()
	row := &allocation.Row{
		Start: set.Window.Start, End: set.Window.End, Labels: map[string]string{"app": "web", "owner": "a"},
		Volumes:       []allocation.VolumeShare{{Key: set.Dict().Add(allocation.VolumeKey("prod", "pv1")), ByteHours: 1 << 33, Cost: 0.5}},
		LoadBalancers: []allocation.LoadBalancerShare{{Key: set.Dict().Add(allocation.LoadBalancerKey("prod", "shop", "web")), Hours: 1, Cost: 0.25}},
	}
	for p, text := range map[allocation.Property]string{
		allocation.Cluster: "prod", allocation.NodeName: "n1", allocation.Namespace: "shop", allocation.Pod: "web-1", allocation.PodUID: "u1",
		allocation.Container: "main", allocation.ControllerKind: "deployment", allocation.Controller: "web",
	} {
		row.Text[p] = text
	}
	for c, v := range map[allocation.Column]float64{
		allocation.Cost.Of(allocation.CPU): 1, allocation.Hours.Of(allocation.CPU): 1, allocation.Hours.Of(allocation.RAM): 1 << 30, allocation.PVCost: 0.5,
		allocation.LoadBalancerCost: 0.25, allocation.NetworkInternetCost: 0.125, allocation.Cost.Of(allocation.GPU): 2, allocation.Hours.Of(allocation.GPU): 1,
	} {
		row.Values[c] = v
	}
	set.Append(row)
	set.Disks = []allocation.Disk{{Cluster: "prod", Name: "pv1", StorageClass: "fast", ClaimNamespace: "shop", ClaimName: "data", ByteHours: 1 << 33, Cost: 0.5}, {Cluster: "prod", Name: "n1", Local: true, Cost: 0.75}}
	set.Balancers = []allocation.LoadBalancer{{Cluster: "prod", Namespace: "shop", Service: "web", IP: "1.2.3.4", Hours: 1, Cost: 0.25}}
	set.Networks = []allocation.Network{{Cluster: "prod", Internet: 0.125, Price: [3]float64{0.01, 0.01, 0.12}, PriceSource: [3]string{"sheet", "sheet", "sheet"}}}
	set.Management = []allocation.Management{{Cluster: "prod", Provisioner: "EKS", Cost: 0.1}}
	return set
}

// outlookOf is what a set should cost by four days like it before.
func outlookOf(m *metering.Metering, set *allocation.Set) *metering.Outlook {
	var pasts []*metering.Past
	for _, s := range m.Subjects() {
		if s.Expects() {
			pasts = append(pasts, metering.NewPast(&s, time.UTC))
		}
	}
	for ago := 4; ago >= 0; ago-- {
		day := *set
		day.Window = allocation.Window{Start: set.Window.Start.AddDate(0, 0, -ago), End: set.Window.End.AddDate(0, 0, -ago)}
		midnight := allocation.Day.Round(day.Window, time.UTC).Start
		day.Covered = []allocation.Covered{{Cluster: "prod", Start: midnight, End: day.Window.End}}
		for _, p := range pasts {
			p.Add(&day)
		}
	}
	return metering.NewOutlook(set.Window.End, pasts)
}

// serveEverything is a registry with all that promcost exports of fullSet.
func serveEverything(t *testing.T) *prometheus.Registry {
	t.Helper()
	m, set := everything(t), fullSet()
	accrued, outlook := metering.NewAccrued(set.Window.Start, m).Add(set), outlookOf(m, set)
	budget := metering.Budget{Name: "all", Amount: 10, Period: metering.BudgetMonth, Billed: true}
	spending := &metering.Spending{End: end, States: []metering.BudgetState{{Budget: &budget, Spent: 1, Forecast: 2, BilledUntil: end.Add(-24 * time.Hour)}}}
	sizes := metering.NewRecommended([]metering.RecommendedRequest{
		{Cluster: "prod", Namespace: "shop", ControllerKind: "deployment", Controller: "web", Container: "main", CPU: 0.263, RAM: 1240e6},
		{Cluster: "prod", Namespace: "shop", ControllerKind: "deployment", Controller: "db", Container: "main", CPU: math.NaN(), RAM: 348e6},
	}, 3)
	reg, _ := serve(t, set, collector.Config{
		Metering: accrued.Metering, Bounds: timeline.ServedBounds, Accrued: func() *metering.Accrued { return accrued }, Spending: func() *metering.Spending { return spending },
		Outlook:     func() *metering.Outlook { return outlook },
		Recommended: func() *metering.Recommended { return sizes },
	})
	observed(t, reg)
	return reg
}

func TestEverything(t *testing.T) {
	reg := serveEverything(t)
	got := families(t, reg)
	for _, s := range everything(t).Subjects() {
		for _, f := range s.Families() {
			if len(got[f.Name]) == 0 {
				t.Errorf("there is no series of %s", f.Name)
			}
		}
	}
	golden(t, "everything", withoutBuild(render(t, reg)))
}

// withoutBuild removes metrics of the build and of this test's process.
func withoutBuild(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if !strings.Contains(line, "_build_info") && !strings.HasPrefix(line, "promcost_source_") && !strings.HasPrefix(line, "promcost_http_") && !strings.HasPrefix(line, "promcost_computation_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// scrape gets the page in a format.
func scrape(t *testing.T, reg *prometheus.Registry, accept string) *httptest.ResponseRecorder {
	t.Helper()
	page, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true}).ServeHTTP(page, request)
	return page
}

// TestOpenMetrics has Prometheus' own parser read the page in OpenMetrics.
func TestOpenMetrics(t *testing.T) {
	page := scrape(t, serveEverything(t), "application/openmetrics-text; version=1.0.0")
	if contentType := page.Header().Get("Content-Type"); !strings.HasPrefix(contentType, "application/openmetrics-text") {
		t.Fatalf("it is %s", contentType)
	}
	p := textparse.NewOpenMetricsParser(page.Body.Bytes(), labels.NewSymbolTable())
	series := 0
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry == textparse.EntrySeries {
			series++
		}
	}
	if series < 100 {
		t.Errorf("only %d series", series)
	}
}

// TestCreatedTimestamps reads the page as Prometheus does that takes created timestamps.
func TestCreatedTimestamps(t *testing.T) {
	page := scrape(t, serveEverything(t), string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	decoder := expfmt.NewDecoder(bufio.NewReader(page.Body), expfmt.ResponseFormat(page.Header()))
	counters := 0
	for {
		var f dto.MetricFamily
		err := decoder.Decode(&f)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f.GetName(), "_cost_total") {
			continue
		}
		for _, m := range f.GetMetric() {
			counters++
			if at := m.GetCounter().GetCreatedTimestamp().AsTime(); !at.Equal(end.Add(-time.Hour)) {
				t.Errorf("%s was created at %s", f.GetName(), at)
			}
		}
	}
	if counters == 0 {
		t.Error("there are no counters")
	}
}

// slow is a LatestSet that takes its time from when on it is told to.
type slow struct {
	set               *allocation.Set
	entered, released chan struct{} // nil if it does not
}

func (s *slow) Latest() (*allocation.Set, time.Time, error) {
	if s.entered != nil {
		close(s.entered)
		<-s.released
	}
	return s.set, s.set.Window.End, nil
}

// TestScrapesWaitForNobody has somebody render for ever, meanwhile scrapes are answered with what there was.
func TestScrapesWaitForNobody(t *testing.T) {
	source := &slow{set: madeSet()}
	c := collector.New(source, collector.Config{})
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	before := render(t, reg)
	source.entered, source.released = make(chan struct{}), make(chan struct{})
	var updating sync.WaitGroup
	updating.Go(c.Update)
	<-source.entered
	for range 3 {
		if after := render(t, reg); after != before {
			t.Errorf("it has changed: %s", after)
		}
	}
	close(source.released)
	updating.Wait()
}

// BenchmarkScrapeContainers is a scrape of 50,000 series of containers with counters; the target is 150 ms and 64 MB.
func BenchmarkScrapeContainers(b *testing.B) {
	set := newSet()
	for i := range 8300 {
		row := &allocation.Row{Start: set.Window.Start, End: set.Window.End}
		for p, text := range map[allocation.Property]string{
			allocation.Cluster: "prod", allocation.NodeName: fmt.Sprint("node-", i%100), allocation.Namespace: fmt.Sprint("namespace-", i%500),
			allocation.ControllerKind: "deployment", allocation.Controller: fmt.Sprint("app-", i%2000), allocation.Pod: fmt.Sprint("app-", i%2000, "-", i), allocation.Container: "main",
		} {
			row.Text[p] = text
		}
		row.Values[allocation.Cost.Of(allocation.CPU)], row.Values[allocation.Cost.Of(allocation.RAM)] = float64(i%977)/7, float64(i%91)/3
		set.Append(row)
	}
	cfg := metered(b, "container", 50_000)
	accrued := metering.NewAccrued(set.Window.Start, cfg.Metering()).Add(set)
	cfg.Accrued = func() *metering.Accrued { return accrued }
	reg := prometheus.NewRegistry()
	register(b, reg, set, cfg)
	n := 0
	for _, metrics := range families(b, reg) {
		n += len(metrics)
	}
	if n < 49_000 || n > 50_100 {
		b.Fatalf("there are %d series", n)
	}
	handler := promhttp.HandlerFor(reg, promhttp.HandlerOpts{DisableCompression: true})
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(discard{io.Discard, http.Header{}}, request)
	}
}
