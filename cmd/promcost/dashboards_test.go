package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/dashboards"
	"github.com/promcost/promcost/promquery/promtest"
)

// expression is a query of a panel, as Grafana sends it with all of every variable chosen.
type expression struct {
	board, panel, ref string
	text              string // as a Prometheus can answer it that has scraped for seconds
	whole             string // the expression as it is
	overTime          bool   // it is asked for a range of time
}

// ofPromcost reports whether only promcost's own API has what the expression reads: no bill charges the hour that /metrics shows.
func (e *expression) ofPromcost() bool { return strings.Contains(e.text, "_billed_hourly_cost") }

var (
	// grafanaFills are what Grafana puts into queries.
	grafanaFills = strings.NewReplacer(
		"$cluster", ".*", "$namespace", ".*", "$controller", ".*", "$label", ".*", "$budget", ".*", "$instance", ".*", "$__rate_interval", "10s",
	)
	// bothPrices are the values of the variable prices.
	bothPrices = []string{"hourly_cost", "billed_hourly_cost"}
	// shortened are windows of the few seconds that the test has.
	shortened = strings.NewReplacer("[1d:5m]", "[5s:1s]", "offset 1w", "offset 1s")
)

// expressions are those of all panels.
func expressions(t *testing.T) []expression {
	t.Helper()
	var all []expression
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		var board struct {
			Title  string
			Panels []struct {
				Title   string
				Targets []struct {
					Expr, RefID string
					Range       bool
				}
			}
		}
		if err := json.Unmarshal(f.Text, &board); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for _, p := range board.Panels {
			for _, q := range p.Targets {
				for _, prices := range bothPrices {
					whole := strings.ReplaceAll(grafanaFills.Replace(q.Expr), "${prices}", prices)
					all = append(all, expression{board: board.Title, panel: p.Title, ref: q.RefID, text: shortened.Replace(whole), whole: whole, overTime: q.Range})
					if !strings.Contains(q.Expr, "${prices}") {
						break
					}
				}
			}
		}
	}
	return all
}

// watched is a Prometheus that scrapes promcost and evaluates its rules.
type watched struct {
	url, promcost string
	now           time.Time // when everything is asked for
	names         []string  // of the metrics that it has
}

// watchDemo runs the demo with all collectors on, until a Prometheus has scraped it for a while.
func watchDemo(t *testing.T) *watched {
	t.Helper()
	args := []string{"demo", "--web.listen-address=127.0.0.1:0", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=48h", "--demo.scrape-interval=1m"} // with a whole day, which has a bill
	for _, s := range collector.Switches() {
		args = append(args, "--collector."+s.Name)
	}
	args = append(args, "--collector.label.names=app,team")
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("budgets:\n  - {name: everything, amount: 1000000, period: month}\n  - {name: tiny, amount: 0.01, period: year}\n  - {name: search, amount: 1000000, period: week, filter: 'namespace:\"search\"'}\n  - {name: invoice, amount: 1000000, period: week, cost: billed}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, append(args, "--config.file="+config)...)
	w := &watched{promcost: p.url(t)}
	eventually(t, "the demo does not get ready, or stays behind", func() bool {
		code, body := get(t, w.promcost+"/-/ready")
		return code == 200 && !strings.Contains(body, "behind")
	})
	eventually(t, "the demo has no metrics of its bill, or of recommended requests", func() bool {
		_, body := get(t, w.promcost+"/metrics")
		return strings.Contains(body, "promcost_bill_matched_ratio{") && strings.Contains(body, "promcost_recommended_request{")
	})
	var rules []string
	for _, f := range dashboards.Rules() {
		path := filepath.Join(dir, filepath.Base(f.Name))
		text := strings.NewReplacer("interval: 5m", "interval: 1s", "for: 15m", "for: 1s").Replace(string(f.Text))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, path)
	}
	w.url = promtest.Start(t, "", promtest.Config{Scrape: strings.TrimPrefix(w.promcost, "http://"), Rules: rules})
	asked := 0
	eventually(t, "Prometheus has not scraped promcost a dozen times, or missed it lately", func() bool {
		if asked++; asked%10 == 0 { // promcost has something to do meanwhile, and time to be scraped
			get(t, fmt.Sprintf("%s/model/allocation/compute?window=%dm", w.promcost, 10+asked/10%50))
		}
		w.now = time.Now()
		return len(w.query(t, `sum_over_time(up{job="promcost"}[5m]) > 12 and min_over_time(up{job="promcost"}[10s]) == 1`)) > 0 && w.agree(t)
	})
	_, body := get(t, w.url+"/api/v1/label/__name__/values")
	var answer struct{ Data []string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	w.names = answer.Data
	return w
}

// sample is a series and its newest value.
type sample struct {
	Metric map[string]string
	Value  model.SamplePair
	Values []model.SamplePair
}

func (w *watched) query(t *testing.T, text string) []sample {
	t.Helper()
	return w.ask(t, "/api/v1/query", w.instant(text))
}

func (w *watched) queryRange(t *testing.T, text string) []sample {
	t.Helper()
	return w.ask(t, "/api/v1/query_range", url.Values{
		"query": {text}, "start": {model.TimeFromUnixNano(w.now.Add(-5 * time.Second).UnixNano()).String()},
		"end": {model.TimeFromUnixNano(w.now.UnixNano()).String()}, "step": {"1"},
	})
}

func (w *watched) ask(t *testing.T, path string, q url.Values) []sample {
	t.Helper()
	return answerOf(t, w.url+path, q)
}

// answerOf is what the PromQL API at an address answers, without warnings.
func answerOf(t *testing.T, address string, q url.Values) []sample {
	t.Helper()
	answer, err := tryAnswerOf(t, address, q)
	if err != nil {
		t.Error(err)
	}
	return answer
}

// tryAnswerOf is answerOf where warnings may be expected, which are errors.
func tryAnswerOf(t *testing.T, address string, q url.Values) ([]sample, error) {
	t.Helper()
	_, body := get(t, address+"?"+q.Encode())
	var answer struct {
		Status, Error string
		Warnings      []string
		Data          struct{ Result []sample }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", q.Get("query"), err)
	}
	if answer.Status != "success" || len(answer.Warnings) > 0 {
		return answer.Data.Result, fmt.Errorf("%s: %s %v", q.Get("query"), answer.Error, answer.Warnings)
	}
	return answer.Data.Result, nil
}

// missing are the metrics of an expression that Prometheus has not.
func (w *watched) missing(t *testing.T, text string) []string {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok && !slices.Contains(w.names, s.Name) {
			names = append(names, s.Name)
		}
		return nil
	})
	return names
}

// TestDashboardsShowTheDemo has a real Prometheus scrape the demo, and asks it everything that the dashboards do.
func TestDashboardsShowTheDemo(t *testing.T) {
	t.Parallel()
	awaitNewDay(t)
	w := watchDemo(t)
	t.Run("panels", w.testPanels)
	t.Run("same", w.testSame)
	t.Run("variables", w.testVariables)
	t.Run("values", w.testValues)
	t.Run("assets", w.testAssetFamilies)
	t.Run("rules", w.testRules)
	t.Run("opencost", w.testOpenCost)
	t.Run("budgets", w.testBudgets)
	t.Run("alert", w.testAlert)
}

// testPanels wants every panel to show something, and nothing but numbers.
func (w *watched) testPanels(t *testing.T) {
	for _, e := range expressions(t) {
		if e.ofPromcost() {
			t.Run(strings.Join([]string{e.board, e.panel, e.ref, "by bill"}, "/"), func(t *testing.T) { checkShown(t, e.text, w.byBill(t, &e)) })
			continue
		}
		t.Run(strings.Join([]string{e.board, e.panel, e.ref}, "/"), func(t *testing.T) {
			ask := w.query
			if e.overTime {
				ask = w.queryRange
			}
			checkShown(t, e.text, ask(t, e.text))
			for _, name := range w.missing(t, e.text) {
				t.Errorf("promcost does not export %s, though all collectors are on", name)
			}
		})
	}
}

// byBill asks promcost itself, as it was at the end of the last hour that bills charge.
func (w *watched) byBill(t *testing.T, e *expression) []sample {
	t.Helper()
	until := w.query(t, "max(promcost_bill_charged_until_timestamp_seconds)")
	if len(until) != 1 {
		t.Fatalf("bills charge until %v", until)
	}
	at := strconv.FormatInt(int64(until[0].Value.Value)+30*60, 10) // where that hour is shown
	text := strings.ReplaceAll(e.whole, "offset 1w", "offset 1h")
	if e.overTime {
		from := strconv.FormatInt(int64(until[0].Value.Value)-2*3600, 10)
		return answerOf(t, w.promcost+"/api/v1/query_range", url.Values{"query": {text}, "start": {from}, "end": {at}, "step": {"1h"}})
	}
	return answerOf(t, w.promcost+"/api/v1/query", url.Values{"query": {text}, "time": {at}})
}

// checkShown wants something, and nothing but numbers.
func checkShown(t *testing.T, text string, got []sample) {
	t.Helper()
	if len(got) == 0 {
		t.Errorf("it shows nothing: %s", text)
	}
	for _, s := range got {
		for _, v := range append(s.Values, s.Value) {
			if math.IsNaN(float64(v.Value)) || math.IsInf(float64(v.Value), 0) {
				t.Errorf("it shows %v for %v: %s", v.Value, s.Metric, text)
			}
		}
	}
}

// costs are what the JSON API says of an allocation or an asset.
type costs struct {
	Type                                                   string
	CPUCost, RAMCost, GPUCost, PVCost, NetworkCost, LBCost float64
	LoadBalancerCost, TotalCost, TotalEfficiency           float64
	VolumeName, ClaimName                                  string
	Properties                                             struct{ Name string }
}

// lastHour asks the JSON API for the last closed hour, at list prices: bills of the demo reach it where a day has just ended.
func (w *watched) lastHour(t *testing.T, path, parameters string) map[string]costs {
	t.Helper()
	at := w.query(t, "max(promcost_last_complete_set_timestamp_seconds)")
	if len(at) != 1 {
		t.Fatalf("the last closed hour is %v", at)
	}
	end := int64(at[0].Value.Value)
	_, body := get(t, fmt.Sprintf("%s%s?window=%d,%d&reconcile=false&disableAdjustments=true&%s", w.promcost, path, end-3600, end, parameters))
	var sets struct{ Data []map[string]costs }
	if err := json.Unmarshal([]byte(body), &sets); err == nil && len(sets.Data) == 1 {
		return sets.Data[0]
	}
	var one struct{ Data map[string]costs }
	if err := json.Unmarshal([]byte(body), &one); err != nil || len(one.Data) == 0 {
		t.Fatalf("%s: %v: %.300s", path, err, body)
	}
	return one.Data
}

// panelValues are the newest values of a panel's first query, by a label.
func (w *watched) panelValues(t *testing.T, board, panel, label string) map[string]float64 {
	t.Helper()
	all := expressions(t)
	i := slices.IndexFunc(all, func(e expression) bool { return e.board == board && e.panel == panel })
	if i < 0 {
		t.Fatalf("there is no panel %s on %s", panel, board)
	}
	values := map[string]float64{}
	for _, s := range w.query(t, all[i].text) {
		values[s.Metric[label]] += float64(s.Value.Value)
	}
	return values
}

// testValues compares what panels show with what the JSON API says of the same hour.
func (w *watched) testValues(t *testing.T) {
	const apart = 1e-9
	allocations := w.lastHour(t, "/model/allocation", "aggregate=namespace&idle=true&shareTenancyCosts=false")
	byNamespace, byResource, idle := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(allocations)) {
		a := allocations[name]
		for resource, cost := range map[string]float64{
			"cpu": a.CPUCost, "ram": a.RAMCost, "gpu": a.GPUCost, "pv": a.PVCost, "network": a.NetworkCost, "load_balancer": a.LoadBalancerCost,
		} {
			byResource[resource] += cost
		}
		if name == allocation.IdleName {
			idle[""] += a.TotalCost
		} else {
			byNamespace[name] += a.TotalCost
		}
	}
	nodes := w.assetCosts(t, "Node", nameOf, totalOf)
	delete(allocations, allocation.IdleName)
	each := func(value func(*costs) float64) map[string]float64 {
		values := map[string]float64{}
		for name, a := range allocations {
			values[name] = value(&a)
		}
		return values
	}
	for _, tt := range []struct {
		board, panel, label string
		want                map[string]float64
	}{
		{"promcost / Overview", "Cost per hour by namespace", "namespace", byNamespace},
		{"promcost / Overview", "Cost per hour by resource", "resource", byResource},
		{"promcost / Overview", "Most expensive namespaces", "namespace", byNamespace},
		{"promcost / Nodes and idle", "Idle per hour", "", idle},
		{"promcost / Nodes and idle", "Nodes per hour", "", map[string]float64{"": sumOfCosts(nodes)}},
		{"promcost / Nodes and idle", "All nodes", "node", nodes},
		{"promcost / Namespaces, controllers, pods", "Namespaces per hour", "", map[string]float64{"": sumOfCosts(byNamespace)}},
		{"promcost / Namespaces, controllers, pods", "Controllers over time", "namespace", byNamespace},
		{"promcost / Storage and network", "Volumes per hour by namespace", "namespace", each(func(c *costs) float64 { return c.PVCost })},
		{"promcost / Storage and network", "Traffic per hour by namespace", "namespace", each(func(c *costs) float64 { return c.NetworkCost })},
		{"promcost / Storage and network", "Load balancers per hour by namespace", "namespace", each(func(c *costs) float64 { return c.LoadBalancerCost })},
		{"promcost / Storage and network", "All volumes", "persistentvolume", w.assetCosts(t, "Disk", volumeOf, totalOf)},
		{"promcost / Efficiency and right-sizing", "Efficiency by namespace", "namespace", each(func(c *costs) float64 { return c.TotalEfficiency })},
	} {
		t.Run(tt.panel, func(t *testing.T) {
			got := w.panelValues(t, tt.board, tt.panel, tt.label)
			for _, name := range slices.Sorted(maps.Keys(tt.want)) {
				if want := tt.want[name]; math.Abs(got[name]-want) > apart*cmp.Or(math.Abs(want), 1) {
					t.Errorf("%q: the panel shows %s, the API says %s", name, strconv.FormatFloat(got[name], 'g', -1, 64), strconv.FormatFloat(want, 'g', -1, 64))
				}
				delete(got, name)
			}
			for _, name := range slices.Sorted(maps.Keys(got)) {
				if got[name] != 0 {
					t.Errorf("%q: the panel shows %v, the API does not know it", name, got[name])
				}
			}
		})
	}
}
