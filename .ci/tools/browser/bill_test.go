package browser_test

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// sum is the sum of a column of a table.
func (p *page) sum(t *testing.T, caption, column string) (sum float64) {
	t.Helper()
	for _, text := range eval[[]string](p, `[...document.querySelectorAll("table.costs")].filter((table) => table.caption.textContent.includes(`+quote(caption)+`))
		.flatMap((table) => [...table.querySelectorAll("td[data-column=`+column+`]")].map((td) => td.textContent))`) {
		sum += number(t, text)
	}
	return sum
}

// TestBillOpensE2E opens what is of no cluster down to its lines: each level adds up to the number that was clicked.
func TestBillOpensE2E(t *testing.T) {
	p := open(t, demoURL(t)+"/ui/?view=bill")
	want := number(t, p.costs("What is charged", "cost")["cloud"])
	p.clickText("#view th button.name", "cloud")
	for _, level := range []string{"AWS", "production (410034567890)", "Tax", ""} {
		p.wait(`document.querySelector("#view nav.path")`)
		p.settle()
		if got := p.total(); got != want {
			t.Errorf("above %q, the headline is %v, what was clicked had %v", level, got, want)
		}
		if got := p.sum(t, "Charged by", "cost"); math.Abs(got-want) > 0.06 {
			t.Errorf("above %q, rows add up to %v of %v", level, got, want)
		}
		p.shot("bill-" + strings.ToLower(strings.Fields(level + " lines")[0]))
		if level == "" {
			break
		}
		want = number(t, p.costs("Charged by", "cost")[level])
		was := eval[string](p, `location.search`)
		p.clickText("#view th button.name", level)
		p.wait(`location.search !== ` + quote(was))
		p.settle()
	}
	if lines := p.costs("Charged by line", "what"); lines["Sales tax"] != "tax" {
		t.Errorf("the lines are %v", lines)
	}
	p.clickText("nav.path button", "AWS")
	p.wait(`document.querySelector("#view caption")?.textContent.startsWith("Charged by account")`)
	p.navigate(demoURL(t) + "/ui/?view=bill&bill=" + url.QueryEscape(`[["kind","cloud"],["provider","AWS"],["accountID","410034567890"],["service","Savings Plans for Amazon Compute"]]`))
	if lines := p.costs("Charged by line", "what"); lines["Unused commitment of the savings plan"] != "unused commitment" {
		t.Errorf("the lines are %v", lines)
	}
}

// TestBillOfNamespaceE2E opens the difference of a namespace: by resource and by the lines behind it, it adds up to the number that was clicked.
func TestBillOfNamespaceE2E(t *testing.T) {
	p := open(t, demoURL(t)+"/ui/?view=bill")
	const table = "Costs at list prices and as billed, by namespace"
	want := number(t, p.costs(table, "difference")["payments"])
	p.clickText("#view th button.name", "payments")
	p.wait(`document.querySelector("#view nav.path")`)
	p.settle()
	if got := number(t, p.texts(".tiles dd")[2]); got != want || want == 0 {
		t.Errorf("the difference is %v, what was clicked had %v", got, want)
	}
	if got := p.sum(t, "by resource", "difference"); math.Abs(got-want) > 0.04 {
		t.Errorf("by resource, the difference is %v of %v", got, want)
	}
	text := p.text("#view section:has(table caption) p.muted")
	charged, list := number(t, between(text, "lines charge ", ",")), number(t, between(text, "come to ", ","))
	if got := number(t, between(text, "difference is ", ".")); math.Abs(got-want) > 0.011 || math.Abs(charged-list-want) > 0.011 {
		t.Errorf("%q: the difference is %v", text, want)
	}
	if got := p.sum(t, "Lines of bills behind", "charged"); math.Abs(got-charged) > 0.06 {
		t.Errorf("lines add up to %v of %v", got, charged)
	}
	if lines := p.costs("Lines of bills behind", "kind"); !slices.Contains(slices.Collect(maps.Values(lines)), "node") {
		t.Errorf("the lines are %v", lines)
	}
	p.checkAxe()
	p.shot("bill-namespace")
	p.do(chromedp.EmulateViewport(390, 844))
	if got := p.last(wideTables); len(got) > 0 {
		t.Errorf("on a phone: %q", got)
	}
}

// TestExternalE2E puts costs outside of clusters beside allocations.
func TestExternalE2E(t *testing.T) {
	p := open(t, demoURL(t)+"/ui/?window=yesterday&aggregate=team")
	without := p.total()
	eval[bool](p, `(() => { const s = document.querySelector("select[name=external]"); s.value = "true"; s.dispatchEvent(new Event("change")); return true; })()`)
	p.wait(`document.querySelector("td[data-column=external]")`)
	if more := p.sum(t, "Costs by team", "external"); more == 0 || math.Abs(p.total()-without-more) > 0.02 {
		t.Errorf("external costs of %v lead from %v to %v", more, without, p.total())
	}
	p.shot("external")
}

// TestBillAgainstAllocationsE2E reads the line that says how far Allocations is from the bill, and finds its number there; the window, unused commitments and what kinds are stand in the bill.
func TestBillAgainstAllocationsE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=bill")
	sum := func(more url.Values) (sum float64) {
		more.Set("window", "7d")
		more.Set("aggregate", "namespace")
		more.Set("idle", "true")
		more.Set("accumulate", "true")
		for _, r := range ask[[]map[string]row](t, at, "/model/allocation", more)[0] {
			sum += r.TotalCost
		}
		return sum
	}
	text := p.text("p.estimates")
	there, here := sum(url.Values{"unbilled": {"estimate"}}), sum(url.Values{})
	if got := number(t, text); math.Abs(got-there) > 0.006 || !strings.Contains(text, "from 18 Mar, 00:00 on") {
		t.Errorf("%q: Allocations is %v", text, there)
	}
	if got := number(t, between(text, "as billed, ", "less")); math.Abs(got-(here-there)) > 0.006 {
		t.Errorf("%q: the difference is %v", text, here-there)
	}
	if tiles := p.text(".tiles"); !strings.Contains(tiles, "11 Mar, 00:00 – 18 Mar, 12:00") {
		t.Errorf("the head is %q", tiles)
	}
	if unused := p.costs("Unused commitments", "cost")["Unused commitment of the savings plan"]; number(t, unused) <= 0 {
		t.Errorf("unused commitments cost %q", unused)
	}
	for kind, what := range p.costs("What is charged", "is") {
		if what == "" {
			t.Errorf("the kind %s has no explanation", kind)
		}
	}
}

// TestOutsideOfClustersE2E compares what Assets has outside of clusters with what bills have.
func TestOutsideOfClustersE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=assets&window="+week)
	type costs struct {
		Sets []struct {
			CloudCosts map[string]struct{ AmortizedNetCost struct{ Cost float64 } }
		}
	}
	want := 0.0
	for _, c := range ask[costs](t, at, "/model/cloudCost", url.Values{"window": {week}, "aggregate": {"service"}, "accumulate": {"true"}, "filter": {`kind:"cloud","external"`}}).Sets[0].CloudCosts {
		want += c.AmortizedNetCost.Cost
	}
	if got := p.sum(t, "Outside of clusters", "cost"); math.Abs(got-want) > 0.06 || want == 0 {
		t.Errorf("outside of clusters there are %v, bills have %v", got, want)
	}
	services := strings.Join(slices.Collect(maps.Values(p.costs("Outside of clusters", "service"))), ", ")
	for _, service := range []string{"Amazon Relational Database Service", "Amazon Simple Storage Service", "Log Management"} {
		if !strings.Contains(services, service) {
			t.Errorf("outside of clusters there are %q, and not %s", services, service)
		}
	}
}

// between is the text between two others.
func between(text, after, before string) string {
	_, text, _ = strings.Cut(text, after)
	text, _, _ = strings.Cut(text, before+" ")
	return strings.TrimSuffix(text, before)
}
