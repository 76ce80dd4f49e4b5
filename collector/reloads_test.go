package collector_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/collector"
)

func TestReloads(t *testing.T) {
	reg := prometheus.NewRegistry()
	r, err := collector.NewReloads(reg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collector.NewReloads(reg); err == nil {
		t.Error("registered twice")
	}
	names := []string{"promcost_config_last_reload_successful", "promcost_config_last_reload_success_timestamp_seconds"}
	for _, test := range []struct {
		name string
		end  time.Time
		err  error
		want string
	}{
		{"never", time.Time{}, errors.New("line 3"), values(0, 0)},
		{"success", time.Unix(100, 500e6), nil, values(1, 100.5)},
		{"failure", time.Unix(200, 0), errors.New("line 3"), values(0, 100.5)},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.Observe(test.end, test.err)
			compare(t, reg, test.want, names...)
		})
	}
}

// values are the metrics of a reload as text.
func values(successful, last float64) string {
	return metric("promcost_config_last_reload_successful", "Whether the last reading of the configuration succeeded: 1 or 0. Where it did not, the one before is in use.", successful) +
		metric("promcost_config_last_reload_success_timestamp_seconds", "When the configuration in use was read, in Unix seconds.", last)
}

// metric is a gauge as text.
func metric(name, help string, v float64) string {
	return fmt.Sprintf("# HELP %s %s\n# TYPE %s gauge\n%s %v\n", name, help, name, name, v)
}

func TestPrices(t *testing.T) {
	now := time.Unix(10_000, 0)
	sources := []collector.PriceSource{
		{Kind: "sheet", Name: "prices.yaml", Currency: "EUR", AsOf: now.Add(-time.Hour)},
		{Kind: "built-in", Name: "built-in defaults", Currency: "EUR"},
		{Kind: "metric", Name: "node_cpu_hourly_cost", Currency: "EUR", AsOf: now.Add(time.Minute)},
	}
	reg := prometheus.NewRegistry()
	register := func() error {
		return collector.NewPrices(reg, func() time.Time { return now }, func() []collector.PriceSource { return sources })
	}
	if err := register(); err != nil {
		t.Fatal(err)
	}
	if register() == nil {
		t.Error("registered twice")
	}
	compare(t, reg, `
# HELP promcost_price_age_seconds How long ago the prices were right: since asOf of the sheet or the time of its file, since the date of the price list, or since the end of the last closed hour that a metric or exporter priced.
# TYPE promcost_price_age_seconds gauge
promcost_price_age_seconds{source="node_cpu_hourly_cost"} 0
promcost_price_age_seconds{source="prices.yaml"} 3600
# HELP promcost_price_info The sources of prices as labels of the value 1: the sheet or the built-in defaults, and the metrics, exporters and price lists that priced something in the last closed hour.
# TYPE promcost_price_info gauge
promcost_price_info{currency="EUR",kind="built-in",source="built-in defaults"} 1
promcost_price_info{currency="EUR",kind="metric",source="node_cpu_hourly_cost"} 1
promcost_price_info{currency="EUR",kind="sheet",source="prices.yaml"} 1
`)
}

func TestSetCurrency(t *testing.T) {
	reg := prometheus.NewRegistry()
	newHealth(t, reg).SetCurrency("CHF")
	compare(t, reg, `
# HELP promcost_currency_info The currency of every cost, as a label of the value 1.
# TYPE promcost_currency_info gauge
promcost_currency_info{currency="CHF"} 1
`, "promcost_currency_info")
}
