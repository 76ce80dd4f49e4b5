package costseries_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// billedHours are hours at a list price of 1, of which a bill charges a quarter until an instant.
func billedHours(n int, until time.Time) (*hours, costseries.Hours) {
	h, _ := monthHours(n)
	h.lacking = nil
	for _, s := range h.sets {
		node := allocation.Node{Cluster: "c", Name: "n1", Start: s.Window.Start, End: s.Window.End}
		node.Hours[allocation.CPU], node.Cost[allocation.CPU], node.Idle[allocation.CPU] = 2, 2, 1
		s.Nodes = append(s.Nodes, node)
	}
	return h, func(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
		return func(yield func(*allocation.Set, error) bool) {
			for s, err := range h.Hours(ctx, w, only) {
				if err != nil || s.Window.Start.After(until) {
					return
				}
				out := allocation.NewSet(s.Window, allocation.NewDict())
				if s.Window.Start.Before(until) {
					if out, err = passes.Reconcile(s, passes.Adjustments{Nodes: map[allocation.AssetKey]float64{{Cluster: "c", Name: "n1"}: -1.5}}); err != nil {
						yield(nil, err)
						return
					}
				}
				out.BilledUntil = until
				if !yield(out, nil) || s.Window.Start.Equal(until) {
					return
				}
			}
		}
	}
}

func TestBilled(t *testing.T) {
	start := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	until := start.Add(5 * time.Hour)
	h, billed := billedHours(12, until)
	q := newQueryable(h, costseries.Options{Subjects: everything().Table(), Billed: billed})
	at := func(hour int) time.Time { return start.Add(time.Duration(hour)*time.Hour + grace) }
	for _, tc := range []struct {
		name, expr string
		from, to   time.Time
		want, info string
	}{
		{name: "a namespace", expr: `promcost_namespace_billed_hourly_cost{resource="cpu"}`, from: at(5), to: at(5), want: "cpu 0.25"},
		{name: "idle takes its part", expr: "promcost_idle_billed_hourly_cost", from: at(5), to: at(5), want: "cpu 0.25"},
		{name: "a node", expr: "promcost_node_billed_hourly_cost", from: at(5), to: at(5), want: "cpu 0.5"},
		{name: "summed", expr: "sum by (resource) (promcost_controller_billed_hourly_cost{resource='cpu'})", from: at(3), to: at(3), want: "cpu 0.25"},
		{name: "beside list prices", expr: `{__name__=~"promcost_node_(billed_)?hourly_cost"}`, from: at(4), to: at(4), want: "cpu 2, cpu 0.5"},
		{name: "it ends", expr: "promcost_node_billed_hourly_cost", from: at(6), to: at(6), want: "", info: "costs by bill end at 2026-03-31T17:00:00Z: the bills have no final charges of later hours yet"},
		{
			name: "a range over the end", expr: "count_over_time(promcost_node_billed_hourly_cost[12h])", from: at(11), to: at(11), want: "cpu 5",
			info: "costs by bill end at 2026-03-31T17:00:00Z: the bills have no final charges of later hours yet",
		},
		{
			name: "after the end", expr: "promcost_node_billed_hourly_cost", from: at(11), to: at(11), want: "",
			info: "there are no costs by bill of 2026-03-31T19:50:00Z to 2026-03-31T23:00:00Z: the bills have no final charges of that time yet, or neither the history nor the source has anything of it",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := resultOf(t, promapi.NewEngine(promapi.EngineOptions{}), q, tc.expr, tc.from, tc.to, 0)
			vector, err := r.Vector()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range vector {
				got = append(got, fmt.Sprint(x.Metric.Get("resource"), " ", x.F))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			warnings, infos := r.Warnings.AsStrings(tc.expr, 0, 0)
			if told := strings.Join(infos, "; "); len(warnings) > 0 || tc.info == "" && told != "" || !strings.Contains(told, tc.info) {
				t.Errorf("warnings %q, infos %q, want %q", warnings, infos, tc.info)
			}
		})
	}
}

// TestWithoutBills checks that costs by bill are no metrics where there are no bills.
func TestWithoutBills(t *testing.T) {
	h, billed := billedHours(3, time.Time{})
	for _, tc := range []struct {
		name   string
		billed costseries.Hours
		want   int
	}{{"without", nil, 0}, {"with", billed, 11}} {
		t.Run(tc.name, func(t *testing.T) {
			n := 0
			for _, f := range newQueryable(h, costseries.Options{Subjects: everything().Table(), Billed: tc.billed}).Families() {
				if strings.Contains(f.Name, "_billed_hourly_") {
					n++
				}
			}
			if n != tc.want {
				t.Errorf("%d metrics, want %d", n, tc.want)
			}
		})
	}
}
