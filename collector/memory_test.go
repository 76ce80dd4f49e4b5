package collector_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/collector"
)

// TestMemory exports how the budget stands, and passes promtool's rules.
func TestMemory(t *testing.T) {
	b := memory.New(800)
	reg := prometheus.NewRegistry()
	if err := collector.NewMemory(reg, b.Stats); err != nil {
		t.Fatal(err)
	}
	a := b.Open("")
	_, _, _ = a.Draw(700), b.Open("").Draw(100), a.Draw(1)
	if err := b.OpenCache(func(int64) {}).Draw(0); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP promcost_memory_kept_bytes Of the used memory, what answers take that are kept in case they are asked for again: they give way.
# TYPE promcost_memory_kept_bytes gauge
promcost_memory_kept_bytes 0
# HELP promcost_memory_limit_bytes Most memory that questions may take together: --query.max-memory; 0 for any.
# TYPE promcost_memory_limit_bytes gauge
promcost_memory_limit_bytes 800
# HELP promcost_memory_refused_total Times that memory was refused, by reason: too_much where one question can never have so much, busy where others took it.
# TYPE promcost_memory_refused_total counter
promcost_memory_refused_total{reason="busy"} 1
promcost_memory_refused_total{reason="too_much"} 1
# HELP promcost_memory_used_bytes Memory that questions and kept answers are estimated to take now.
# TYPE promcost_memory_used_bytes gauge
promcost_memory_used_bytes 700
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Error(err, problems)
	}
	if err := collector.NewMemory(reg, b.Stats); err == nil {
		t.Error("it registers twice")
	}
}
