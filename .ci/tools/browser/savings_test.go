package browser_test

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// sizing is the recommendation for a container, as the API has it.
type sizing struct {
	Namespace, Controller, Container string
	CPU, Memory                      sizedAmount
}

type sizedAmount struct {
	Request                 float64
	Recommended, Exceedance *float64
	Distribution            *struct{ Levels, Shares []float64 }
}

// drawing is a histogram of the page: where its bars begin and end, which of them are above the recommendation, where the marks are, and what it says.
type drawing struct {
	Label            string
	Left, Right      float64
	Above            bool
	Now, Recommended float64 // 0 for none
}

// drawings are the histograms by the name of the container and the resource.
const drawings = `Object.fromEntries([...document.querySelectorAll(".savings tr[data-row]")].flatMap((r) => ["cpu", "memory"].map((name) => {
	const svg = r.querySelector("td[data-column=" + name + "] svg.histogram");
	if (!svg) return undefined;
	const numbers = (selector) => [...svg.querySelectorAll(selector)].map((e) => ["x", "width"].map((a) => Number(e.getAttribute(a))));
	const bars = numbers("rect.time");
	const middle = (selector) => numbers(selector).map(([x, width]) => x + width / 2)[0] ?? 0;
	return [r.querySelector("th span").title + " " + name, {
		Label: svg.getAttribute("aria-label"), Left: Math.min(...bars.map(([x]) => x)), Right: Math.max(...bars.map(([x, width]) => x + width)),
		Above: svg.querySelector("rect.above") !== null, Now: middle("rect.now"), Recommended: middle("rect.recommended"),
	}];
}).filter(Boolean)))`

// TestNumbersOfSavingsE2E finds the marks of requests where the API's levels put them, and in words how often usage is above them.
func TestNumbersOfSavingsE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=savings&window=7d")
	eval[bool](p, `document.querySelectorAll(".savings button[title*='show them']").forEach((e) => e.click()) ?? true`)
	p.wait(`document.querySelectorAll(".savings tr[data-row] svg.histogram").length > 20`)
	shown := eval[map[string]drawing](p, drawings)
	checked := 0
	for _, r := range ask[struct{ Requests []sizing }](t, at, "/model/savings/requests", url.Values{"window": {"7d"}, "distribution": {"true"}}).Requests {
		name := r.Namespace + "/" + r.Controller + "/" + r.Container
		for resource, amount := range map[string]sizedAmount{"cpu": r.CPU, "memory": r.Memory} {
			if d, ok := shown[name+" "+resource]; ok && amount.Recommended != nil && amount.Distribution != nil {
				checked += checkDrawing(t, name+" "+resource, &d, &amount)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d histograms were compared", checked)
	}
	p.do(chromedp.SetValue(chromedp.CSS("#toolbar select[name=profile]"), "krr"))
	eval[bool](p, `document.querySelector("#toolbar select[name=profile]").dispatchEvent(new Event("change", {bubbles: true}))`)
	p.wait(`document.querySelector(".tiles").innerText.includes("Risk of krr requests")`)
	if got := p.query("profile"); got != "krr" {
		t.Errorf("the address has the profile %q", got)
	}
}

// TestSavingsAgreeE2E adds up rows: what larger requests cost is what the tile says. No row of requests that are too low has a smaller one for both; what was raised says so.
func TestSavingsAgreeE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=savings")
	tiles := p.texts(".tiles dd")
	sum := 0.0
	for _, caption := range []string{"that are too low", "that were raised"} {
		for _, text := range p.costs(caption, "money") {
			sum += number(t, text)
		}
	}
	for _, text := range p.costs("could be smaller", "money") {
		if _, more, ok := strings.Cut(text, ": "); ok {
			sum += number(t, more)
		}
	}
	if want := number(t, tiles[1]); math.Abs(sum-want) > 0.005*float64(len(p.texts("table.costs tr[data-row]"))) || want == 0 {
		t.Errorf("larger requests cost %v, rows come to %v", want, sum)
	}
	for i := range 2 {
		if !strings.Contains(tiles[i], "at list prices") && !strings.Contains(tiles[i], "as billed") {
			t.Errorf("the tile %q says not at which prices", tiles[i])
		}
	}
	type asked struct{ Requests []sizing }
	lower := map[string]bool{}
	for _, r := range ask[asked](t, at, "/model/savings/requests", url.Values{"window": {"14d"}}).Requests { // as in the terminal
		smaller := func(a sizedAmount) bool { return a.Recommended == nil || *a.Recommended <= a.Request }
		lower[r.Controller+"/"+r.Container+r.Namespace] = smaller(r.CPU) && smaller(r.Memory)
	}
	for name := range p.costs("that are too low", "money") {
		if lower[name] {
			t.Errorf("%s is called too low, and has smaller recommendations", name)
		}
	}
	if got := p.costs("that were raised", "money")["ledger-writer/ledgerpayments"]; !strings.Contains(got, "saves 0 yet: CPU and Memory raised") {
		t.Errorf("ledger-writer says %q", got)
	}
	if text := p.text(".tiles"); !strings.Contains(text, "4 Mar, 00:00 – 18 Mar, 12:00") {
		t.Errorf("the head is %q", text)
	}
}

// TestSmallSavingsE2E finds no row of a table that comes to less than a thousandth: they are one, which opens, and the CSV has them all.
func TestSmallSavingsE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=savings")
	const table = `[...document.querySelectorAll("table.costs")].find((e) => e.caption.textContent.includes("could be smaller"))`
	const small = ".savings button[title*='show them']"
	rows := func() int { return eval[int](p, table+`.querySelectorAll("tr[data-row]").length`) }
	folded, text := rows(), p.text(small)
	count := int(number(t, strings.TrimSuffix(text, " small ones")))
	if last := eval[string](p, table+`.querySelector("tr[data-row]:last-child th").textContent`); count < 20 || last != text {
		t.Fatalf("the last row is %q, and the button says %q", last, text)
	}
	sorted := func(csv string) []string { return slices.Sorted(strings.Lines(csv)) }
	csv := p.saved()
	eval[bool](p, "delete window.saved")
	p.checkAxe()
	p.shot("small-savings")
	p.clickText(small, text)
	p.wait(table + `.querySelectorAll("tr[data-row]").length > ` + strconv.Itoa(folded))
	if got, want := rows(), folded-1+count; got != want {
		t.Errorf("opened, the table has %d rows, want %d", got, want)
	}
	if again := p.saved(); !slices.Equal(sorted(again), sorted(csv)) || strings.Contains(csv, "small ones") {
		t.Error("the CSV depends on whether small rows are open")
	}
}

// TestNodePoolsE2E compares the node pools of the view with the API's. A filter is of workloads, and hides them.
func TestNodePoolsE2E(t *testing.T) {
	at := demoURL(t)
	type pool struct {
		NodePool             string
		MonthlyCost          float64
		Idle, Moving         struct{ MonthlyCost float64 }
		CommittedMonthlyCost *float64
		MonthlySavings       struct{ Least, Most *float64 }
	}
	want := ask[struct {
		Notes []string
		Nodes []pool
	}](t, at, "/model/savings/nodes", url.Values{"window": {"14d"}})
	p := open(t, at+"/ui/?view=savings")
	columns := map[string]map[string]string{}
	for _, column := range []string{"cost", "idle", "moving", "committed", "least", "most"} {
		columns[column] = p.costs("Node pools", column)
	}
	for _, n := range want.Nodes {
		name := cmp.Or(n.NodePool, "__unallocated__")
		for column, amount := range map[string]*float64{
			"cost": &n.MonthlyCost, "idle": &n.Idle.MonthlyCost, "moving": &n.Moving.MonthlyCost, "committed": n.CommittedMonthlyCost, "least": n.MonthlySavings.Least, "most": n.MonthlySavings.Most,
		} {
			got, _, _ := strings.Cut(columns[column][name], " ")
			if amount == nil && got != "–" || amount != nil && !sameMoney(number(t, got), *amount) {
				t.Errorf("%s: %s is %q, the API has %v", name, column, got, amount)
			}
		}
	}
	if len(want.Nodes) == 0 || len(want.Nodes) != len(columns["cost"]) {
		t.Errorf("the page has the pools %v, the API %d", columns["cost"], len(want.Nodes))
	}
	for _, note := range want.Notes {
		if !strings.Contains(p.text("#view"), note) {
			t.Errorf("the page lacks the note %q", note)
		}
	}
	p.navigate(at + "/ui/?view=savings&filter=" + url.QueryEscape(`namespace:"search"`))
	if strings.Contains(p.text("#view"), "Node pools") {
		t.Error("with a filter of workloads, there are node pools")
	}
}

// oftenAbove says in words for which part of the time usage is above its request.
func oftenAbove(part float64) string {
	decimals := 1
	switch {
	case part == 0:
		return "never above its request"
	case part < 0.001:
		return "above its request less than 0.1 % of the time"
	case part >= 0.0995:
		decimals = 0
	}
	return "above its request " + strconv.FormatFloat(100*part, 'f', decimals, 64) + " % of the time"
}

// checkDrawing compares a histogram with the API's numbers, and returns 1 where its bars are wide enough to tell the scale.
func checkDrawing(t *testing.T, name string, d *drawing, a *sizedAmount) int {
	t.Helper()
	often := oftenAbove(*a.Exceedance)
	if !strings.HasSuffix(d.Label, "recommended: usage "+often+".") {
		t.Errorf("%s says %q, want it to end in %q", name, d.Label, often)
	}
	levels, first := a.Distribution.Levels, 0
	for a.Distribution.Shares[first] == 0 {
		first++
	}
	highest := levels[len(levels)-1]
	if levels[first] == 0 || d.Right-d.Left < 20 {
		return 0
	}
	for what, mark := range map[string]struct{ at, of float64 }{"now": {d.Now, a.Request}, "recommended": {d.Recommended, *a.Recommended}} {
		if (mark.at > 0) != (mark.of > 0) {
			t.Errorf("%s: the mark %s of %v is at %v", name, what, mark.of, mark.at)
		}
		if mark.of > 0 {
			want := d.Left + (d.Right-d.Left)*math.Log(mark.of/levels[first])/math.Log(highest/levels[first])
			if math.Abs(mark.at-want) > 0.5 {
				t.Errorf("%s: the mark %s of %v is at %.2f, want %.2f, for bars are from %v at %.2f to %v at %.2f", name, what, mark.of, mark.at, want, levels[first], d.Left, highest, d.Right)
			}
		}
	}
	if want := *a.Recommended < highest; d.Above != want {
		t.Errorf("%s: usage up to %v is above the recommendation %v: %v is shown", name, highest, *a.Recommended, d.Above)
	}
	return 1
}
