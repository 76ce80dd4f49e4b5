package dashboards_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// labelValues are the values that labels have in made-up series, where expressions choose among them.
var labelValues = map[string][]string{
	"resource":   {"cpu", "ram", "gpu", "pv", "network", "load_balancer"},
	"controller": {"web", "__unmounted__"},
	"namespace":  {"a", "b"},
	"instance":   {"one", "two"}, // replicas
	"category":   {"Other"},
}

// madeUp are series of every metric, as promqltest loads them. All values are 1.
func madeUp(t *testing.T) string {
	t.Helper()
	metrics := served(t)
	var b strings.Builder
	b.WriteString("load 1m\n")
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		series, names := []string{""}, slices.Concat(targetLabels, metrics[name])
		slices.Sort(names)
		for _, label := range slices.Compact(names) { // some have an instance of their own
			values := labelValues[label]
			if values == nil {
				values = []string{"x"}
			}
			var more []string
			for _, s := range series {
				for _, v := range values {
					more = append(more, fmt.Sprintf("%s%s=%q,", s, label, v))
				}
			}
			series = more
		}
		for _, s := range series {
			fmt.Fprintf(&b, "  %s{%s} 1x180\n", name, strings.TrimSuffix(s, ","))
		}
	}
	return b.String()
}

// TestEveryPanelShowsMadeUpCosts finds joins that lose everything, and replicas that count twice.
func TestEveryPanelShowsMadeUpCosts(t *testing.T) {
	storage := promqltest.LoadedStorage(t, madeUp(t))
	engine := promqltest.NewTestEngine(t, false, 0, 1_000_000)
	value := func(t *testing.T, text string) promql.Vector {
		t.Helper()
		q, err := engine.NewInstantQuery(t.Context(), storage, nil, text, time.Unix(0, 0).Add(150*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		got, err := q.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(got)
	}
	shorter := strings.NewReplacer("offset 1w", "offset 1h")
	for _, b := range readBoards(t) {
		for _, p := range b.Panels {
			for _, target := range p.Targets {
				for _, prices := range bothPrices {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", b.UID, p.Title, target.RefID, prices), func(t *testing.T) {
						got := value(t, shorter.Replace(valuesAt(prices).Replace(target.Expr)))
						if len(got) == 0 {
							t.Errorf("it shows nothing: %s", target.Expr)
						}
						for _, s := range got {
							if math.IsNaN(s.F) || math.IsInf(s.F, 0) {
								t.Errorf("it shows %v: %s", s.F, target.Expr)
							}
						}
					})
				}
			}
		}
	}
	for _, tt := range []struct {
		panel string
		want  float64 // with two replicas of all
	}{
		{"Run rate per hour", 12 + 6 + 1 + 1}, // two namespaces and a node with six resources, its disk, a control plane
		{"Month to date, at list prices", 12 + 6 + 1 + 1},
		{"Idle share", 1},
		{"Change since last week", 0},
		{"Nodes per hour", 6},
		{"Efficiency of requests", 1},
		{"Forecast", 1},
		{"Unmounted per hour", 2},
		{"Controllers per hour", 24},
	} {
		t.Run("once/"+tt.panel, func(t *testing.T) {
			got := value(t, shorter.Replace(values.Replace(panelExpr(t, tt.panel))))
			if len(got) != 1 || math.Abs(got[0].F-tt.want) > 1e-9 {
				t.Errorf("it shows %v, want %v", got, tt.want)
			}
		})
	}
}

// panelExpr is the first query of the panel of that title.
func panelExpr(t *testing.T, title string) string {
	t.Helper()
	for _, b := range readBoards(t) {
		for _, p := range b.Panels {
			if p.Title == title {
				return p.Targets[0].Expr
			}
		}
	}
	t.Fatalf("there is no panel %q", title)
	return ""
}
