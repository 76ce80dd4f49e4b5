package browser_test

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// views are the views with the addresses that show them, and a text that each has.
var views = []struct{ name, query, text string }{
	{"allocations", "", "search"},
	{"containers", "?aggregate=cluster,namespace,controller&window=yesterday&idle=node", "payments"},
	{"compared", "?window=2026-03-15T00:00:00Z,2026-03-18T00:00:00Z", "search"},
	{"why", "?view=why&window=yesterday", "search"},
	{"workload", "?view=workload&window=yesterday&path=" + writer, "ledger-writer"},
	{"assets", "?view=assets", "m5.2xlarge"},
	{"savings", "?view=savings", "ledger-writer"},
	{"budgets", "?view=budgets", "team-a"},
	{"bill", "?view=bill", "As billed"},
	{"health", "?view=health", "kube_pod_info"},
}

func TestViewsE2E(t *testing.T) {
	at := demoURL(t)
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			p := newPage(t)
			for _, scheme := range []string{"dark", "light"} {
				p.prefer(scheme)
				p.navigate(at + "/ui/" + v.query)
				p.wait(`document.querySelector("#view").innerText.includes(` + quote(v.text) + `)`)
				if got := p.texts(".trouble"); len(got) > 0 {
					t.Errorf("%s: %q", scheme, got)
				}
				p.quiet()
				p.checkAxe()
				p.shot(v.name + "-" + scheme)
			}
			p.do(chromedp.EmulateViewport(390, 844))
			p.navigate(at + "/ui/" + v.query)
			if width := eval[int](p, `document.documentElement.scrollWidth`); width > 390 {
				t.Errorf("the page is %d px wide on a screen of 390 px; the widest: %s", width, eval[string](p, widest))
			}
			p.quiet()
			p.checkAxe()
			p.shot(v.name + "-narrow")
		})
	}
}

// widest finds an element that sticks out of a narrow screen and does not scroll by itself.
const widest = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > 391 && !e.closest(".scroll"))
	.map((e) => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)).slice(0, 5).join("; ")`

// number is what a text of the page says: the first number of it, with thousands separated by commas.
func number(t *testing.T, text string) float64 {
	t.Helper()
	for f := range strings.FieldsSeq(strings.NewReplacer(",", "", "−", "-", "+", "").Replace(text)) {
		if x, err := strconv.ParseFloat(f, 64); err == nil {
			return x
		}
	}
	t.Fatalf("%q is no number", text)
	return 0
}

// sameMoney reports whether a number of the page is that of the API, rounded to cents or to whole units where it is large.
func sameMoney(page, api float64) bool {
	if math.Abs(page) >= 1000 {
		return math.Abs(page-api) <= 0.5+1e-9
	}
	return math.Abs(page-api) <= 0.005+1e-9
}

type row struct {
	TotalCost, CPUCost float64
}

// costs are the numbers of a table by its first column: what the cells of a column say.
func (p *page) costs(caption, column string) map[string]string {
	p.t.Helper()
	return eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("table.costs")]
		.filter((table) => table.caption.textContent.includes(`+quote(caption)+`))
		.flatMap((table) => [...table.querySelectorAll("tr[data-row]")].map((r) => [r.querySelector("th").textContent.trim(), r.querySelector("td[data-column="+`+quote(column)+`+"]")?.innerText.trim() ?? ""])))`)
}

func TestNumbersOfAssetsE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=assets")
	type asset struct {
		Type       string
		Properties struct{ Name string }
		TotalCost  float64
	}
	list := ask[[]map[string]asset](t, at, "/model/assets", url.Values{"window": {"7d"}, "accumulate": {"true"}, "unbilled": {"estimate"}})[0]
	titles := map[string]string{"Node": "Nodes", "Disk": "Disks", "LoadBalancer": "Load balancers", "Network": "Network", "ClusterManagement": "Cluster management"}
	checked := 0
	for key, a := range list {
		if titles[a.Type] == "" || strings.Contains(key, "previews") {
			continue
		}
		shown, ok := p.costs(titles[a.Type], "cost")[a.Properties.Name]
		if !ok {
			t.Errorf("%s is not shown", key)
			continue
		}
		if x := number(t, shown); !sameMoney(x, a.TotalCost) && x < 1000 {
			t.Errorf("%s: %v is shown, the API has %v", key, x, a.TotalCost)
		}
		checked++
	}
	if checked < 15 {
		t.Errorf("%d assets were compared", checked)
	}
	sum := p.external(t, "7d")
	for _, a := range list {
		sum += a.TotalCost
	}
	if x := number(t, p.text(".tiles dd")); !sameMoney(x, sum) {
		t.Errorf("total: %v is shown, the API's sum is %v", x, sum)
	}
}

// external is what bills charge outside of clusters for those that tags name, which the API has among no assets.
func (p *page) external(t *testing.T, window string) (sum float64) {
	t.Helper()
	for _, r := range ask[[]map[string]struct{ ExternalCost float64 }](t, demoURL(t), "/model/allocation", url.Values{"window": {window}, "aggregate": {"cluster"}, "external": {"true"}, "accumulate": {"true"}})[0] {
		sum += r.ExternalCost
	}
	return sum
}

func TestNumbersOfBudgetsE2E(t *testing.T) {
	at := demoURL(t)
	type budget struct {
		Name            string
		Amount          float64
		Spent, Forecast *float64 // nil before the server has added them up for the first time
	}
	var budgets []budget
	for unknown := true; unknown; {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		budgets = ask[[]budget](t, at, "/model/budgets", nil)
		unknown = slices.ContainsFunc(budgets, func(b budget) bool { return b.Spent == nil || b.Forecast == nil })
	}
	p := open(t, at+"/ui/?view=budgets")
	for _, b := range budgets {
		for column, want := range map[string]float64{"amount": b.Amount, "spent": *b.Spent, "forecast": *b.Forecast, "left": b.Amount - *b.Spent} {
			if x := number(t, p.costs("Budgets", column)[b.Name]); !sameMoney(x, want) {
				t.Errorf("%s of %s: %v is shown, the API has %v", column, b.Name, x, want)
			}
		}
	}
}

func TestNumbersOfBillE2E(t *testing.T) {
	at := demoURL(t)
	const days = "2026-03-11T00:00:00Z,2026-03-18T12:00:00Z" // of 7d
	p := open(t, at+"/ui/?view=bill")
	for column, reconcile := range map[string]string{"billed": "true", "list": "false"} {
		for name, r := range ask[[]map[string]row](t, at, "/model/allocation", url.Values{"window": {days}, "aggregate": {"namespace"}, "idle": {"true"}, "accumulate": {"true"}, "reconcile": {reconcile}})[0] {
			if x := number(t, p.costs("Costs at list prices", column)[name]); !sameMoney(x, r.TotalCost) {
				t.Errorf("%s of %s: %v is shown, the API has %v", column, name, x, r.TotalCost)
			}
		}
	}
	type report struct {
		Bills []struct {
			Name                   string
			TotalCost, MatchedCost float64
		}
	}
	for _, b := range ask[report](t, at, "/model/reconciliation", url.Values{"window": {days}}).Bills {
		if x := number(t, p.costs("Bills", "matchedCost")[b.Name]); !sameMoney(x, b.MatchedCost) || b.MatchedCost > b.TotalCost {
			t.Errorf("matched of bill %s: %v is shown, the API has %v", b.Name, x, b.MatchedCost)
		}
	}
}

func TestHealthE2E(t *testing.T) {
	at := demoURL(t)
	missing := proxy(t, at, nil, func(path, body string) string {
		if path != "/model/diagnose" {
			return body
		}
		return strings.Replace(body, `"name":"cpu usage","state":"found"`, `"name":"cpu usage","state":"missing","missing":"everything costs what it requests","remedy":"scrape /metrics/cadvisor"`, 1)
	})
	p := open(t, missing+"/ui/?view=health")
	first := p.text("table.costs tr[data-row]")
	for _, want := range []string{"cpu usage", "missing", "everything costs what it requests", "scrape /metrics/cadvisor"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first row is %q, which lacks %q", first, want)
		}
	}
	p.click("table.costs tr[data-row] button.copy")
	p.wait(`document.querySelector("button.copy").textContent !== "copy"`)
}

// TestMissingFirstE2E lacks one of the required inputs: Health begins with it. Optional ones that are not there come last, and look like no faults.
func TestMissingFirstE2E(t *testing.T) {
	at := demoURL(t)
	missing := proxy(t, at, nil, func(path, body string) string {
		if path != "/model/diagnose" {
			return body
		}
		body = strings.Replace(body, `"complete":true`, `"complete":false`, 1)
		return strings.Replace(body, `"name":"node cpu","state":"found"`, `"name":"node cpu","state":"missing","missing":"nodes cost nothing","remedy":"run kube-state-metrics"`, 1)
	})
	p := open(t, missing+"/ui/?view=health")
	text := p.text("#view")
	if at, tiles := strings.Index(text, "node cpu of cluster cluster-one"), strings.Index(text, "all required"); at < 0 || at > 200 || tiles >= 0 {
		t.Errorf("the page begins with %.400q", text)
	}
	states := p.texts("table.costs td[data-column=state]")
	if first, last := states[0], states[len(states)-1]; first != "missing, required" || last != "optional, not present" {
		t.Errorf("the states are %q", states)
	}
	if i := slices.Index(states, "optional, not present"); slices.ContainsFunc(states[i:], func(s string) bool { return s != "optional, not present" }) {
		t.Errorf("after what is optional and not there stands %q", states[i:])
	}
	colors := eval[[]string](p, `[...document.querySelectorAll(".state.none")].map((e) => getComputedStyle(e).color)`)
	if muted := eval[string](p, `getComputedStyle(document.querySelector(".health p.muted")).color`); slices.ContainsFunc(colors, func(c string) bool { return c != muted }) {
		t.Errorf("optional inputs have the colors %q, not %s", colors, muted)
	}
	p.checkAxe()
}

// TestMissingPodE2E looks for pods in Health: one with a mistake in its name, and one that is there.
func TestMissingPodE2E(t *testing.T) {
	p := open(t, demoURL(t)+"/ui/?view=health")
	p.click("form.pod input")
	p.press("leger-writer-1" + kb.Enter)
	p.wait(`document.querySelector("#view [role=status]").innerText.includes("Pods with names like it")`)
	said := p.text("#view [role=status]")
	for _, want := range []string{"check how it is spelled", "ledger-writer-", "why pods are missing"} {
		if !strings.Contains(said, want) {
			t.Errorf("the page says %q, which lacks %q", said, want)
		}
	}
	p.checkAxe()
	p.click("#view [role=status] button")
	p.wait(`document.querySelector("#view [role=status]").innerText.includes("It is there")`)
	p.click("#view [role=status] li button")
	p.wait(`new URLSearchParams(location.search).get("aggregate") === "container"`)
	p.settle()
	if got := p.names(); !slices.Equal(got, []string{"ledger"}) {
		t.Errorf("the pod consists of %q", got)
	}
}
