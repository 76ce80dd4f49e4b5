package collector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/promcost/promcost/collector"
)

func TestStore(t *testing.T) {
	reg := prometheus.NewRegistry()
	state := collector.StoreState{}
	if err := collector.NewStore(reg, func() collector.StoreState { return state }); err != nil {
		t.Fatal(err)
	}
	if err := collector.NewStore(reg, func() collector.StoreState { return state }); err == nil {
		t.Error("registered twice")
	}
	want := func(text string) {
		t.Helper()
		names := []string{"promcost_store_sets", "promcost_store_last_write_timestamp_seconds", "promcost_history_lag_seconds", "promcost_store_failing", "promcost_counters_missing_sets"}
		var values []string
		for line := range strings.SplitSeq(text, "\n") {
			values = append(values, strings.TrimSpace(line))
		}
		list, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range list {
			for _, name := range names {
				if f.GetName() == name {
					for _, m := range f.GetMetric() {
						b.WriteString(name + " " + m.GetGauge().String() + "\n")
					}
				}
			}
		}
		for _, v := range values {
			if !strings.Contains(b.String(), v) {
				t.Errorf("%s lacks %q", b.String(), v)
			}
		}
	}
	want("promcost_store_last_write_timestamp_seconds value:0\npromcost_history_lag_seconds value:0\npromcost_store_failing value:0")
	state = collector.StoreState{Hours: 30, Days: 1, LastWrite: time.Unix(1234, 0), NotCounted: 5, Lag: time.Hour, Failing: true}
	want("promcost_store_sets value:30\npromcost_store_sets value:1\npromcost_store_last_write_timestamp_seconds value:1234\npromcost_history_lag_seconds value:3600\npromcost_store_failing value:1\npromcost_counters_missing_sets value:5")
	if n, err := testutil.GatherAndCount(reg); err != nil || n != 8 {
		t.Errorf("%d series, %v", n, err)
	}
}
