package costseries_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestSeriesDrawWhatTheyTake draws about as much for the series of selects as they take, however many selects there are of how
// many series. With -soak it is measured.
func TestSeriesDrawWhatTheyTake(t *testing.T) {
	for _, tt := range []struct {
		name                                    string
		selects, containers, hours, nameLengths int
		resource                                string // that is selected, empty for all
	}{
		{"one select of many series", 1, soak.Of(20, 20_000), 2, 10, ""},
		{"many selects", soak.Of(2, 400), 100, 2, 10, ""},
		{"many selects of one series a container", soak.Of(2, 400), 100, 2, 10, "cpu"},
		{"many selects of one series", soak.Of(2, 3000), 1, 2, 10, "cpu"},
		{"long names", soak.Of(2, 100), 100, 2, 200, ""},
		{"many hours", soak.Of(2, 40), 100, 200, 10, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := containersOf(tt.containers, tt.hours, tt.nameLengths)
			budget := memory.New(1 << 40)
			ctx, account, done := budget.Within(t.Context(), "")
			defer done()
			before := liveBytes()
			q, err := newQueryable(h, costseries.Options{}).Querier(noon.UnixMilli(), noon.Add(time.Duration(tt.hours)*time.Hour).Add(grace).UnixMilli())
			if err != nil {
				t.Fatal(err)
			}
			matchers := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", "promcost_container_hourly_cost")}
			if tt.resource != "" {
				matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, "resource", tt.resource))
			}
			sets := make([]storage.SeriesSet, tt.selects)
			for i := range sets {
				sets[i] = q.Select(ctx, false, nil, matchers...)
			}
			n := 0
			for _, s := range sets {
				for s.Next() {
					n++
				}
				if s.Err() != nil {
					t.Fatal(s.Err())
				}
			}
			took, drawn := liveBytes()-before, account.Held()
			runtime.KeepAlive(sets)
			t.Logf("%d series take %d bytes each, %d are drawn", n, took/int64(n), drawn/int64(n))
			if n < tt.selects*tt.containers {
				t.Errorf("%d series", n)
			}
			if soak.On() && (took > drawn || drawn > 3*took) {
				t.Errorf("%d bytes are drawn for what takes %d", drawn, took)
			}
		})
	}
}

// containersOf are so many hours of containers that have names of a length.
func containersOf(containers, n, length int) *hours {
	h := &hours{}
	dict := allocation.NewDict()
	pad := strings.Repeat("x", length)
	for i := range n {
		w := allocation.Window{Start: noon.Add(time.Duration(i) * time.Hour), End: noon.Add(time.Duration(i+1) * time.Hour)}
		s := allocation.NewSet(w, dict)
		for c := range containers {
			r := &allocation.Row{Start: w.Start, End: w.End}
			for _, p := range []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Namespace, allocation.Pod, allocation.Container, allocation.Controller} {
				r.Text[p] = pad
			}
			r.Text[allocation.Pod] = fmt.Sprint(pad, c)
			r.Values[allocation.Cost.Of(allocation.CPU)], r.Values[allocation.Cost.Of(allocation.RAM)], r.Values[allocation.NetworkInternetCost] = 1, 2, 3
			s.Append(r)
		}
		h.sets = append(h.sets, s)
	}
	return h
}

// liveBytes are what the heap holds.
func liveBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
