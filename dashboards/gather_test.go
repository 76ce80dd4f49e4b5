package dashboards_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/collector"
)

// histogramType is of families that are three series each.
const histogramType = dto.MetricType_HISTOGRAM

// gather is what promcost registers beside the families, each with something observed.
func gather(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	end := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	set := allocation.NewSet(allocation.Window{Start: end.Add(-time.Hour), End: end}, allocation.NewDict())
	set.Resolution = time.Minute
	c := collector.New(oneHour{set}, collector.Config{Bounds: timeline.ServedBounds})
	reg := prometheus.NewRegistry()
	reg.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	health, err := collector.NewHealth(reg, "USD")
	if err != nil {
		t.Fatal(err)
	}
	health.ObserveSource(allocation.SourceReading{Name: "query", Inputs: []allocation.InputUse{{
		Input: "running", Requests: 1, Retries: 1, Errors: 1, Samples: 1, Bytes: 1, Requesting: time.Second,
	}}})
	answer := health.Instrument("/metrics", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	answer.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if _, err := collector.NewReloads(reg); err != nil {
		t.Fatal(err)
	}
	if err := collector.NewStore(reg, func() collector.StoreState { return collector.StoreState{} }); err != nil {
		t.Fatal(err)
	}
	prices := func() []collector.PriceSource {
		return []collector.PriceSource{{Kind: "sheet", Name: "prices.yaml", Currency: "USD", AsOf: end}}
	}
	if err := collector.NewPrices(reg, func() time.Time { return end }, prices); err != nil {
		t.Fatal(err)
	}
	bills := collector.BillState{
		Reach: []collector.BillReach{{Bill: "aws"}}, Matched: []collector.BillRatio{{Bill: "aws"}}, Cloud: []collector.CloudCost{{Provider: "AWS"}}, Nodes: []collector.NodeRatio{{Cluster: "one"}},
	}
	if err := collector.NewBills(reg, func() int { return 10 }, func() collector.BillState { return bills }, log.NewNopLogger()); err != nil {
		t.Fatal(err)
	}
	gathered, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return gathered
}
