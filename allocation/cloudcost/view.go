package cloudcost

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// Metric is a cost of OpenCost's cloud costs.
type Metric struct {
	name string
	cost billing.Cost
}

// metrics are in the order of answers. Bills tell no cost that is amortized but not net of discounts.
var metrics = []Metric{
	{"listCost", billing.List},
	{"netCost", billing.Contracted},
	{"amortizedNetCost", billing.Effective},
	{"invoicedCost", billing.Billed},
	{"amortizedCost", billing.Effective},
}

// MetricNames are the names that ParseMetric knows.
func MetricNames() []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.name
	}
	return names
}

// ParseMetric reads the name of a metric in any case.
func ParseMetric(text string) (Metric, error) {
	for _, m := range metrics {
		if strings.EqualFold(m.name, text) {
			return m, nil
		}
	}
	return Metric{}, fmt.Errorf("unknown value: use %s", strings.Join(MetricNames(), " or "))
}

// costJSON is a cost in answers.
type costJSON struct {
	Cost       float64 `json:"cost"`
	Kubernetes float64 `json:"kubernetesPercent"`
}

func (r *Row) json(m Metric) costJSON { return costJSON{r.Costs[m.cost], r.KubernetesShare(m.cost)} }

// properties are the texts of a row that are not empty, with its labels.
func (r *Row) properties() map[string]any {
	out := map[string]any{}
	for f, text := range r.Texts {
		if name := fields[f].cloud; name != "" && text != "" {
			out[name] = text
		}
	}
	if labels := r.Labels(); labels != nil {
		out["labels"] = labels
	}
	return out
}

// JSON is the data of an answer of /cloudCost: rows by name, set by set.
func JSON(sets []Set, keys []Key, zone *time.Location) any {
	list := make([]map[string]any, len(sets))
	for i := range sets {
		s := &sets[i]
		rows := make(map[string]any, len(s.Rows))
		for k := range s.Rows {
			r := &s.Rows[k]
			row := map[string]any{"properties": r.properties(), "window": windowOf(s.Window, zone)}
			for _, m := range metrics {
				row[m.name] = r.json(m)
			}
			rows[r.Name] = row
		}
		list[i] = map[string]any{"cloudCosts": rows, "window": windowOf(s.Window, zone), "aggregationProperties": KeyNames(keys)}
	}
	return map[string]any{"sets": list, "window": windowOf(whole(sets), zone)}
}

// window is a window in answers.
type window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

func windowOf(w allocation.Window, zone *time.Location) window {
	return window{w.Start.In(zone), w.End.In(zone)}
}

// whole is the window from the first set to the last.
func whole(sets []Set) allocation.Window {
	return allocation.Window{Start: sets[0].Window.Start, End: sets[len(sets)-1].Window.End}
}

// GraphSet are the dearest rows of a window.
type GraphSet struct {
	window
	Items []GraphItem `json:"items"`
}

// GraphItem is a row of a graph.
type GraphItem struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// dearest is how many rows a graph shows by name.
const dearest = 10

// Graph returns the dearest rows of each set, and one named Other for the rest.
func Graph(sets []Set, m Metric, zone *time.Location) []GraphSet {
	out := make([]GraphSet, len(sets))
	for i := range sets {
		items := make([]GraphItem, len(sets[i].Rows))
		for k := range items {
			r := &sets[i].Rows[k]
			items[k] = GraphItem{r.Name, r.Costs[m.cost]}
		}
		slices.SortStableFunc(items, func(a, b GraphItem) int { return cmp.Compare(b.Value, a.Value) })
		if len(items) > dearest {
			other := GraphItem{Name: "Other"}
			for _, item := range items[dearest:] {
				other.Value += item.Value
			}
			items = append(items[:dearest], other)
		}
		out[i] = GraphSet{windowOf(sets[i].Window, zone), items}
	}
	return out
}

// TableRow is a row of a table, and of its total.
type TableRow struct {
	Name            string            `json:"name"`
	Labels          map[string]string `json:"labels"`
	KubernetesShare float64           `json:"kubernetesPercent"`
	Cost            float64           `json:"cost"`
	// ProviderID is empty where rows of several were summed.
	ProviderID string `json:"providerID,omitempty"`
}

// Total is the sum of a table.
func Total(s *Set, m Metric) any {
	sum, _ := s.Total()
	return map[string]any{"numResults": len(s.Rows), "combined": TableRow{Name: "Totals", KubernetesShare: sum.KubernetesShare(m.cost), Cost: sum.Costs[m.cost]}}
}

// trend is how a cost changed, as a part of the earlier one.
type trend struct {
	Value    float64 `json:"value"` // 0 where it is no finite number
	Infinite bool    `json:"isInfinite"`
	NaN      bool    `json:"isNaN"`
}

// Trends returns how the costs of rows changed between two sets: of the rows with these names, or of all that one of the sets has.
func Trends(earlier, later *Set, m Metric, names []string, zone *time.Location) any {
	costs := [2]map[string]float64{{}, {}}
	for i, s := range [...]*Set{earlier, later} {
		for k := range s.Rows {
			costs[i][s.Rows[k].Name] += s.Rows[k].Costs[m.cost]
		}
	}
	if len(names) == 0 {
		names = slices.Concat(slices.Collect(maps.Keys(costs[0])), slices.Collect(maps.Keys(costs[1])))
	}
	trends := make(map[string]trend, len(names))
	for _, name := range names {
		change := costs[1][name]/costs[0][name] - 1
		t := trend{Value: change, Infinite: math.IsInf(change, 0), NaN: math.IsNaN(change)}
		if t.Infinite || t.NaN {
			t.Value = 0
		}
		trends[name] = t
	}
	return map[string]any{"trends": trends, "window": windowOf(later.Window, zone), "comparisonWindow": windowOf(earlier.Window, zone)}
}

// Page says which rows of a table are shown, in which order.
type Page struct {
	By            string // cost, name or kubernetesPercent
	Ascending     bool
	Offset, Limit int // 0: no limit
}

// Orders are the values of Page.By.
func Orders() []string { return []string{"cost", "name", "kubernetesPercent"} }

// Table returns the rows of a set in the order of a page; rows that are equal are in the order of their names.
func Table(s *Set, m Metric, p Page) []TableRow {
	rows := make([]TableRow, len(s.Rows))
	for i := range rows {
		r := &s.Rows[i]
		rows[i] = TableRow{r.Name, r.Labels(), r.KubernetesShare(m.cost), r.Costs[m.cost], r.Texts[ProviderID]}
	}
	order := map[string]func(a, b TableRow) int{
		"cost":              func(a, b TableRow) int { return cmp.Compare(a.Cost, b.Cost) },
		"name":              func(a, b TableRow) int { return cmp.Compare(a.Name, b.Name) },
		"kubernetesPercent": func(a, b TableRow) int { return cmp.Compare(a.KubernetesShare, b.KubernetesShare) },
	}[p.By]
	slices.SortStableFunc(rows, func(a, b TableRow) int {
		if p.Ascending {
			return order(a, b)
		}
		return order(b, a)
	})
	return onPage(rows, p)
}

// onPage returns the rows that a page shows.
func onPage[T any](rows []T, p Page) []T {
	rows = rows[min(p.Offset, len(rows)):]
	if p.Limit > 0 {
		rows = rows[:min(p.Limit, len(rows))]
	}
	return rows
}

// WriteTableCSV writes a table as OpenCost does, with three decimals.
func WriteTableCSV(w io.Writer, rows []TableRow, window string) error {
	out := csv.NewWriter(w)
	records := [][]string{{"Name", "K8s Utilization", "Total", "Window"}}
	for _, r := range rows {
		records = append(records, []string{r.Name, fmt.Sprintf("%.3f", r.KubernetesShare), fmt.Sprintf("%.3f", r.Cost), window})
	}
	if err := out.WriteAll(records); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}
