package main

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// TestDemoBill compares what the demo's last billed day costs by bill with the truth of its bills.
func TestDemoBill(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
	flags := []string{"--demo.nodes=4", "--demo.pods=40", "--demo.duration=3d", "--demo.scrape-interval=2m", "--demo.end=" + end.Format(time.RFC3339)}
	file := filepath.Join(t.TempDir(), "config.yaml")
	const budgets = "budgets:\n- {name: by bill, amount: 100, period: week, cost: billed}\n- {name: at list, amount: 100, period: week, cost: list}\n"
	if err := os.WriteFile(file, []byte(budgets), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, append([]string{"demo", "--web.listen-address=127.0.0.1:0", "--config.file=" + file}, flags...)...)
	eventually(t, "it does not greet", func() bool { return strings.Contains(p.out.String(), "Ctrl-C ends it.") })
	if !strings.Contains(p.out.String(), "  BILLED  ") {
		t.Errorf("the table has no column BILLED:\n%s", p.out.String())
	}
	base := p.url(t)
	c, err := democluster.New(changingYesterday(democluster.Config{Nodes: 4, Pods: 40, Duration: 72 * time.Hour, End: end}.WithDefaults(end), time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	from, until, ok := billedDay(c)
	if !ok {
		t.Fatal("no day is billed")
	}
	truth := c.BillTruth(from, until)
	want, list := 0.0, 0.0
	for _, a := range truth.Assets {
		want += a.BilledCost
		list += a.ListCost
	}
	ask := func(reconcile string) float64 {
		sum := 0.0
		for _, set := range decodeCosts(t, base+"/model/allocation/compute?"+url.Values{"window": {from.Format(time.RFC3339) + "," + until.Format(time.RFC3339)}, "reconcile": {reconcile}}.Encode()) {
			for _, row := range set {
				sum += row.TotalCost
			}
		}
		return sum
	}
	const tolerance = 0.01 // the demo has outages, and jobs that no scrape saw
	if got := ask("true"); math.Abs(got-want) > tolerance*want {
		t.Errorf("by bill %v, want %v", got, want)
	}
	if got := ask("false"); math.Abs(got-list) > tolerance*list || math.Abs(got-want) < tolerance*want {
		t.Errorf("at list price %v, want %v", got, list)
	}
	for _, ask := range [...]struct{ path, part string }{
		{"/cloudCost/view/totals?aggregate=provider&window=", `"numResults":2`},
		{"/customCost/total?aggregate=domain&window=", `"domain":"Clearview"`},
		{"/model/reconciliation?window=", `"matchedCost"`},
		{"/model/assets?aggregate=type&window=", `"Cloud"`},
		{"/model/allocation/compute?aggregate=namespace&external=true&filter=namespace%3A%22search%22&window=", `"externalCost":0.9`},
	} {
		code, body := get(t, base+ask.path+from.Format(time.RFC3339)+","+until.Format(time.RFC3339))
		if code != http.StatusOK || !strings.Contains(body, ask.part) {
			t.Errorf("%s: %d, want %s in %.1500s", ask.path, code, ask.part, body)
		}
	}
	checkParts(t, base, from, until)
	checkEstimates(t, base, from, until)
	checkACK(t, base, from.Format(time.RFC3339)+","+until.Format(time.RFC3339))
	checkBilledSeries(t, base, from, until)
	checkBudgets(t, base, until)
	checkDemoChange(t, base, c)
	p.end(t)
}

// checkParts verifies that a day costs the same by bill whatever it is cut into, on stored and computed paths, and by whatever it
// is aggregated.
func checkParts(t *testing.T, base string, from, until time.Time) {
	t.Helper()
	sum := func(path string, from, until time.Time) (sum float64) {
		t.Helper()
		for _, set := range decodeCosts(t, base+path+"&shareTenancyCosts=true&window="+from.Format(time.RFC3339)+","+until.Format(time.RFC3339)) {
			for _, row := range set {
				sum += row.TotalCost
			}
		}
		return sum
	}
	want, odd := sum("/model/allocation?", from, until), from.Add(9*time.Hour+41*time.Minute)
	for _, path := range []string{
		"/model/allocation?step=1h", "/model/allocation/compute?", "/model/allocation/compute?step=1h", "/model/allocation/compute?step=7h",
		"/model/allocation/compute?aggregate=namespace", "/model/allocation/compute?aggregate=node", "/model/allocation/compute?aggregate=nodePool", "/model/allocation/compute?aggregate=controller,label:app",
		"/model/allocation/compute?shareIdle=true&aggregate=pod", "/allocation/compute?includeIdle=true&aggregate=namespace&step=5h",
	} {
		if got := sum(path, from, until); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s costs %v, the stored day %v", path, got, want)
		}
	}
	const computed = "/model/allocation/compute?"
	if got := sum(computed, from, odd) + sum(computed, odd, until); math.Abs(got-want) > 1e-9*want {
		t.Errorf("windows with odd edges cost %v, the stored day %v", got, want)
	}
}

// checkEstimates verifies that estimates change nothing on a billed day, and that the hours after it cost what bills taught of them, by
// whatever they are asked.
func checkEstimates(t *testing.T, base string, from, until time.Time) {
	t.Helper()
	sum := func(from, until time.Time, parameters string) (sum float64) {
		t.Helper()
		for _, set := range decodeCosts(t, base+"/model/allocation/compute?shareTenancyCosts=true&window="+from.Format(time.RFC3339)+","+until.Format(time.RFC3339)+parameters) {
			for _, row := range set {
				sum += row.TotalCost
			}
		}
		return sum
	}
	end := until.Add(5 * time.Hour)
	billed, list := sum(from, until, ""), sum(until, end, "")
	if got := sum(from, until, "&unbilled=estimate"); math.Abs(got-billed) > 1e-9*billed {
		t.Errorf("a billed day costs %v with estimates, else %v", got, billed)
	}
	after := sum(until, end, "&unbilled=estimate")
	if factor, day := after/list, billed/sum(from, until, "&reconcile=false"); math.Abs(factor-day) > 0.1 || math.Abs(factor-1) < 0.1 {
		t.Errorf("after the bills costs are estimated at %v of list prices, the billed day costs %v of them", factor, day)
	}
	for _, parameters := range [...]string{"", "&step=1h", "&step=7h", "&aggregate=namespace", "&shareIdle=true&aggregate=pod&step=1h"} {
		if got := sum(from, end, "&unbilled=estimate"+parameters); math.Abs(got-billed-after) > 1e-9*got {
			t.Errorf("%s: across the end of the bills costs are %v, in two windows %v", parameters, got, billed+after)
		}
	}
	_, body := get(t, base+"/model/assets?unbilled=estimate&window="+from.Format(time.RFC3339)+","+end.Format(time.RFC3339))
	if want := fmt.Sprintf(`"estimatedFrom":%q,"estimatedShare":0.`, until.Format(time.RFC3339)); !strings.Contains(body, want) {
		t.Errorf("the answer lacks %s: %s", want, body[max(0, len(body)-1000):])
	}
	for _, command := range [...]string{"allocation", "change"} {
		for flag, estimates := range map[string]bool{"": true, "--unbilled=list": false} {
			args := []string{"query", command, "--server=" + base, "--output=json", "--window=" + until.Format(time.RFC3339) + "," + end.Format(time.RFC3339)}
			if flag != "" {
				args = append(args, flag)
			}
			p := start(t, args...)
			if code := <-p.code; code != exitOK || strings.Contains(p.out.String(), `"estimatedFrom"`) != estimates {
				t.Errorf("query %s %s: exit %d, want estimates %t: %s", command, flag, code, estimates, p.err.String())
			}
		}
	}
}

// checkACK compares ACK's view with the reconciled allocation of a window: each namespace's part of what the cluster costs.
func checkACK(t *testing.T, base, window string) {
	t.Helper()
	type row struct{ Cost, CostRatio, TotalCost float64 }
	ask := func(target string) map[string]row {
		code, body := get(t, base+target+"&aggregate=namespace&window="+window)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %.300s", target, code, body)
		}
		return dataOf[[]map[string]row](t, []byte(body))[0]
	}
	want, got := ask("/model/allocation/compute?shareIdle=true&shareTenancyCosts=true"), ask("/v2/allocation?")
	whole, ratios := 0.0, 0.0
	for _, r := range want {
		whole += r.TotalCost
	}
	for name, r := range got {
		if of := want[name].TotalCost; math.Abs(r.Cost-of) > 1e-9*whole || math.Abs(r.CostRatio-of/whole) > 1e-9 {
			t.Errorf("%s costs %v, a part of %v, want %v of %v", name, r.Cost, r.CostRatio, of, whole)
		}
		ratios += r.CostRatio
	}
	if len(got) != len(want) || math.Abs(ratios-1) > 1e-9 {
		t.Errorf("%d rows of %d are %v of the cluster", len(got), len(want), ratios)
	}
}

// checkBudgets compares budgets by bill and at list price with the answers of the API for their period.
func checkBudgets(t *testing.T, base string, until time.Time) {
	t.Helper()
	type budget struct {
		Cost                 string
		Spent, SpentUnbilled *float64
		Window               *struct{ Start, End time.Time }
		BilledUntil          *time.Time
	}
	var list []budget
	eventually(t, "the budgets are not known", func() bool {
		code, body := get(t, base+"/model/budgets")
		list = dataOf[[]budget](t, []byte(body))
		return code == http.StatusOK && len(list) == 2 && list[0].Spent != nil && list[1].Spent != nil
	})
	costs := func(from, to time.Time, reconcile string) float64 {
		sum := 0.0
		parameters := url.Values{"window": {from.Format(time.RFC3339) + "," + to.Format(time.RFC3339)}, "reconcile": {reconcile}, "unbilled": {"estimate"}, "shareTenancyCosts": {"true"}, "idle": {"true"}, "accumulate": {"true"}}
		for _, row := range decodeCosts(t, base+"/model/allocation/compute?"+parameters.Encode())[0] {
			sum += row.TotalCost
		}
		return sum
	}
	near := func(what string, got *float64, want float64) {
		if got == nil || math.Abs(*got-want) > 1e-9*want {
			t.Errorf("%s: %v, the API says %v", what, got, want)
		}
	}
	billed, atList := &list[0], &list[1]
	if billed.Cost != "billed" || billed.BilledUntil == nil || !billed.BilledUntil.Equal(until) || atList.Cost != "list" || atList.BilledUntil != nil || atList.SpentUnbilled != nil {
		t.Fatalf("budgets are %+v and %+v, want billed until %s", billed, atList, until)
	}
	near("spent by bill", billed.Spent, costs(billed.Window.Start, billed.Window.End, "true"))
	near("spent after the bills", billed.SpentUnbilled, costs(until, billed.Window.End, "true"))
	near("spent at list price", atList.Spent, costs(atList.Window.Start, atList.Window.End, "false"))
	if *billed.Spent >= *atList.Spent {
		t.Errorf("by bill %v, at list price %v", *billed.Spent, *atList.Spent)
	}
	_, body := get(t, base+"/metrics")
	if series := fmt.Sprintf(`promcost_budget_billed_until_timestamp_seconds{budget="by bill",period="week"} %g`, float64(until.Unix())); !strings.Contains(body, series) {
		t.Errorf("/metrics lacks %s", series)
	}
	if strings.Contains(body, `promcost_budget_billed_until_timestamp_seconds{budget="at list"`) {
		t.Error("the budget at list price has a time of bills")
	}
	spent := instantValues(t, base, `promcost_budget_spent{budget="by bill"}`, "budget", billed.Window.End.Add(59*time.Minute))["by bill"]
	near("spent by PromQL", &spent, *billed.Spent)
}

// checkBilledSeries compares costs by bill of PromQL with the reconciled answers of the API for the same day.
func checkBilledSeries(t *testing.T, base string, from, until time.Time) {
	t.Helper()
	day := "window=" + from.Format(time.RFC3339) + "," + until.Format(time.RFC3339)
	const unshared = "/model/allocation/compute?shareTenancyCosts=false&idle=true&accumulate=true&"
	for _, c := range [...]struct {
		metric, label, path string
		name                func(answered string) string // the label's value; empty to leave it out
	}{
		{"namespace", "namespace", unshared + "aggregate=namespace&" + day, withoutIdle},
		{"controller", "controller", unshared + "aggregate=deployment&filter=controllerKind%3A%22deployment%22&" + day, withoutIdle},
		{"idle", "node", unshared + "aggregate=node&splitIdle=true&idleByNode=true&" + day, func(s string) string {
			node, ok := strings.CutSuffix(s, "/__idle__")
			if !ok {
				return ""
			}
			return node[strings.LastIndex(node, "/")+1:]
		}},
		{"pod", "pod", unshared + "aggregate=pod&" + day, withoutIdle},
		{"node", "node", "/model/assets?filterTypes=Node&aggregate=name&" + day, func(s string) string { return s }},
	} {
		want := map[string]float64{}
		for answered, row := range decodeCosts(t, base+c.path)[0] {
			if name := c.name(answered); name != "" {
				want[name] = row.TotalCost
			}
		}
		series := "promcost_" + c.metric + "_billed_hourly_cost"
		matcher := ""
		if c.metric == "controller" {
			matcher = `{controller_kind="deployment"}`
		}
		if len(want) < 3 {
			t.Errorf("%s: %v: too few to say something", c.path, want)
		}
		got := instantValues(t, base, "sum by ("+c.label+") (sum_over_time("+series+matcher+"[24h]))", c.label, until.Add(59*time.Minute))
		for name, v := range want {
			if math.Abs(got[name]-v) > 1e-9*math.Abs(v) {
				t.Errorf("%s of %s: %v, the API says %v", series, name, got[name], v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v, the API says %v", series, got, want)
		}
		if after := instantValues(t, base, series, c.label, until.Add(2*time.Hour)); len(after) > 0 {
			t.Errorf("%s beyond the reach of the bills: %v", series, after)
		}
	}
}

// withoutIdle leaves out idle.
func withoutIdle(name string) string {
	if strings.HasSuffix(name, "__idle__") {
		return ""
	}
	return name
}

// instantValues are the values of an expression at an instant, by a label.
func instantValues(t *testing.T, base, expr, label string, at time.Time) map[string]float64 {
	t.Helper()
	code, body := get(t, base+"/api/v1/query?"+url.Values{"query": {expr}, "time": {at.Format(time.RFC3339)}}.Encode())
	if code != http.StatusOK {
		t.Fatalf("%s: %d %.300s", expr, code, body)
	}
	values := map[string]float64{}
	for _, series := range dataOf[struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}](t, []byte(body)).Result {
		v, err := strconv.ParseFloat(series.Value[1].(string), 64)
		if err != nil {
			t.Fatal(err)
		}
		values[series.Metric[label]] = v
	}
	return values
}

// decodeCosts are the total costs of the rows of an answer, set by set.
func decodeCosts(t *testing.T, target string) []map[string]struct{ TotalCost float64 } {
	t.Helper()
	code, body := get(t, target)
	if code != http.StatusOK {
		t.Fatalf("%s: %d %.300s", target, code, body)
	}
	return dataOf[[]map[string]struct{ TotalCost float64 }](t, []byte(body))
}
