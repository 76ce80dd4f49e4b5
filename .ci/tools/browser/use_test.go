package browser_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// names are the rows of the first column that are workloads.
func (p *page) names() []string {
	p.t.Helper()
	return slices.DeleteFunc(p.texts("table.costs tbody th"), func(name string) bool { return strings.HasPrefix(name, "__") })
}

// total is the cost that the view's headline has.
func (p *page) total() float64 {
	p.t.Helper()
	t, ok := p.t.(*testing.T)
	if !ok {
		p.t.Fatal("only tests ask for totals")
	}
	return number(t, p.text(".tiles dd"))
}

const week = "2026-03-09T00:00:00Z,2026-03-16T00:00:00Z"

func TestNumbersOfAllocationsE2E(t *testing.T) {
	at := demoURL(t)
	for _, tc := range []struct {
		name, query string
		params      url.Values
	}{
		{"namespaces", "", url.Values{"aggregate": {"namespace"}, "idle": {"true"}}},
		{"controllers of a namespace", "aggregate=controller&path=" + url.QueryEscape(`[["namespace","search"]]`), url.Values{"aggregate": {"controller"}, "filter": {`namespace:"search"`}, "idle": {"true"}}},
		{"without idle", "idle=hide", url.Values{"aggregate": {"namespace"}, "idle": {"false"}}},
		{"idle shared", "idle=share", url.Values{"aggregate": {"namespace"}, "shareIdle": {"true"}}},
		{"list prices", "prices=list", url.Values{"aggregate": {"namespace"}, "idle": {"true"}, "reconcile": {"false"}}},
		{"a label", "aggregate=label:team", url.Values{"aggregate": {"label:team"}, "idle": {"true"}}},
		{"filtered", "filter=" + url.QueryEscape(`controllerKind:"job"`), url.Values{"aggregate": {"namespace"}, "filter": {`controllerKind:"job"`}, "idle": {"true"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := open(t, at+"/ui/?window="+week+"&"+tc.query)
			tc.params.Set("window", week)
			tc.params.Set("accumulate", "true")
			tc.params.Set("unbilled", "estimate")
			sum := 0.0
			shown := p.costs("", "cost")
			list := ask[[]map[string]row](t, at, "/model/allocation", tc.params)[0]
			for name, r := range list {
				if name != "__idle__" || !strings.Contains(tc.query, "path=") && !strings.Contains(tc.query, "filter=") { // idle stands apart below a row, and with a filter
					sum += r.TotalCost
				}
				if len(list) > 200 && shown[name] == "" { // of long tables only the rows in sight are there
					continue
				}
				if x := number(t, shown[name]); !sameMoney(x, r.TotalCost) {
					t.Errorf("%s: %v is shown, the API has %v", name, x, r.TotalCost)
				}
			}
			if n := eval[int](p, `Number(document.querySelector("table.costs").getAttribute("aria-rowcount"))`) - 1; n != len(list) || n < 2 || len(shown) < min(n, 20) {
				t.Errorf("there are %d rows, of which %d are shown, the API has %d", n, len(shown), len(list))
			}
			if x := p.total(); !sameMoney(x, sum) {
				t.Errorf("total: %v is shown, the API's sum is %v", x, sum)
			}
		})
	}
}

func TestDrillAndBackE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?idle=hide&window="+week)
	before := number(t, p.costs("", "cost")["search"])
	p.clickText("table.costs tbody th button.name", "search")
	p.wait(`new URLSearchParams(location.search).get("path")?.includes("search")`)
	p.settle()
	if sum := p.total(); math.Abs(sum-before) > 0.1 {
		t.Errorf("the controllers of search cost %v, search %v", sum, before)
	}
	first := p.names()[0]
	p.clickText("table.costs tbody th button.name", first)
	p.wait(fmt.Sprintf(`new URLSearchParams(location.search).get("path")?.includes(%s)`, quote(first)))
	p.settle()
	p.do(chromedp.NavigateBack())
	p.wait(`!new URLSearchParams(location.search).get("path").includes(` + quote(first) + `)`)
	p.settle()
	if sum := p.total(); math.Abs(sum-before) > 0.1 {
		t.Errorf("back at the controllers of search they cost %v, search %v", sum, before)
	}
	p.do(chromedp.NavigateBack())
	p.wait(`!location.search.includes("path")`)
	p.settle()
	if _, ok := p.costs("", "cost")["search"]; !ok {
		t.Error("back at the namespaces, search is not there")
	}
	p.do(chromedp.NavigateForward())
	p.wait(`location.search.includes("path")`)
	p.settle()
	if got := p.names(); got[0] != first {
		t.Errorf("forward again, the first row is %q, and was %q", got[0], first)
	}
	p.shot("drilled")
	p.click("nav.path button") // the way up
	p.wait(`!location.search.includes("path")`)
}

func TestFilterE2E(t *testing.T) {
	at := demoURL(t)
	box := `#toolbar input[name=filter]`
	fill := func(p *page, text string) {
		p.t.Helper()
		p.click(box)
		p.do(chromedp.Clear(chromedp.CSS(box)))
		p.press(text)
	}
	t.Run("v2", func(t *testing.T) {
		p := open(t, at+"/ui/")
		fill(p, `namespace:"search"`)
		p.press(kb.Escape + kb.Enter)
		p.wait(`new URLSearchParams(location.search).get("filter") === 'namespace:"search"'`)
		p.settle()
		if got := p.names(); len(got) == 0 || got[0] != "search" {
			t.Errorf("rows are %q", got)
		}
	})
	t.Run("selector", func(t *testing.T) {
		p := open(t, at+"/ui/?filter="+url.QueryEscape("team in (team-b)"))
		if got := p.names(); len(got) == 0 || got[0] != "search" {
			t.Errorf("rows are %q", got)
		}
	})
	t.Run("words", func(t *testing.T) {
		p := open(t, at+"/ui/")
		fill(p, "search team-b")
		p.press(kb.Escape + kb.Enter)
		p.wait(`/search/.test(new URLSearchParams(location.search).get("filter")) && new URLSearchParams(location.search).get("filter").includes(":")`)
		p.settle()
		if got := p.names(); len(got) == 0 || got[0] != "search" {
			t.Errorf("rows are %q", got)
		}
	})
	t.Run("completion", func(t *testing.T) {
		p := open(t, at+"/ui/")
		fill(p, "namesp")
		p.wait(`[...document.querySelectorAll("[role=option]")].some((o) => o.innerText.includes("namespace"))`)
		p.quiet()
		p.press(kb.ArrowDown + kb.Enter)
		p.press("sea")
		p.wait(`[...document.querySelectorAll("[role=option]")].some((o) => o.innerText.includes("search"))`)
		p.quiet()
		p.checkAxe()
		p.shot("filter")
		p.press(kb.ArrowDown + kb.Enter)
		p.wait(`document.querySelector('` + box + `').value.includes("search")`)
		p.press(kb.Enter)
		p.wait(`(new URLSearchParams(location.search).get("filter") ?? "").includes("search")`)
		p.settle()
		if got := p.names(); len(got) == 0 || got[0] != "search" {
			t.Errorf("rows are %q", got)
		}
	})
	t.Run("mistake", func(t *testing.T) {
		p := newPage(t)
		p.allowed = refused
		p.navigate(at + "/ui/?filter=" + url.QueryEscape(`namespase:"search"`))
		for _, want := range []string{`namespase:"search"`, "^", "namespace"} {
			if text := p.text("#view"); !strings.Contains(text, want) {
				t.Errorf("the page says %q, which lacks %q", text, want)
			}
		}
		p.checkAxe()
		p.shot("mistake")
	})
}

// TestFilterOfLinkE2E opens links whose filters are no filters of the API: they are read as if they were typed, and never dropped.
func TestFilterOfLinkE2E(t *testing.T) {
	at := demoURL(t)
	for _, view := range []string{"allocations", "savings", "why"} {
		for text, want := range map[string]string{
			"no-such-thing":  "Nothing in this window is called no-such-thing",
			"team in team-a": "team in (team-a)",
		} {
			p := open(t, at+"/ui/?"+url.Values{"view": {view}, "filter": {text}}.Encode())
			if got := p.text("#mistake"); !strings.Contains(got, want) {
				t.Errorf("%s: below the filter %q stands %q", view, text, got)
			}
			if got := p.texts("table.costs, .tiles"); len(got) > 0 || !strings.Contains(p.text("#view"), "Nothing is shown until the filter is right") {
				t.Errorf("%s: with the filter %q the view is %.200q", view, text, p.text("#view"))
			}
		}
	}
	p := open(t, at+"/ui/?filter=payments")
	p.wait(`location.search.includes("namespace")`)
	p.settle()
	if got := p.names(); len(got) != 1 || got[0] != "payments" {
		t.Errorf("rows of payments are %q", got)
	}
}

func TestZoomE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?window="+week)
	type box struct{ X, Y, Width, Height float64 }
	p.wait(`document.querySelector(".u-over")?.getBoundingClientRect().width > 100`)
	b := eval[box](p, `document.querySelector(".u-over").getBoundingClientRect().toJSON()`)
	before := p.total()
	p.do(chromedp.DragAndDropXY(b.X+b.Width*0.3, b.Y+b.Height/2, b.X+b.Width*0.7, b.Y+b.Height/2, 8))
	p.wait(`new URLSearchParams(location.search).get("window") !== ` + quote(week))
	p.settle()
	start, end, _ := strings.Cut(p.query("window"), ",")
	if start <= week[:20] || end >= week[21:] || start >= end {
		t.Errorf("the window is %s to %s", start, end)
	}
	if after := p.total(); after >= before || after <= 0 {
		t.Errorf("the part costs %v, all %v", after, before)
	}
	p.do(chromedp.NavigateBack())
	p.wait(`new URLSearchParams(location.search).get("window") === ` + quote(week))
	p.settle()
}

func TestLinkAndCSVE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?window=48h")
	total := p.total()
	p.clickText("#toolbar .actions button", "link")
	p.wait(`document.querySelector("dialog[open] textarea")`)
	p.checkAxe()
	link := eval[string](p, `document.querySelector("dialog[open] textarea").value`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector("dialog[open]")`)
	parsed, err := url.Parse(link)
	if err != nil || !strings.Contains(parsed.Query().Get("window"), "2026-03-18T12:00:00Z") {
		t.Fatalf("the link is %s: %v", link, err)
	}
	if again := open(t, link).total(); again != total {
		t.Errorf("the link shows %v, the page %v", again, total)
	}
	p.wait(`[...document.querySelectorAll("table.costs td")].some((td) => td.innerText.includes("why?"))`)
	lines, err := csv.NewReader(strings.NewReader(p.saved())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if shown := p.costs("", "cost"); len(lines)-1 != len(shown) {
		t.Errorf("%d lines of CSV for %d rows", len(lines)-1, len(shown))
	}
	sum, of := 0.0, func(line []string, title string) string { return line[slices.Index(lines[0], title)] }
	for _, line := range lines[1:] {
		cost, month, change := number(t, of(line, "Cost, billed")), number(t, of(line, "A month")), number(t, of(line, "Δ"))
		if sum += cost; math.Abs(month-cost*730/60) > 1e-6*month || change == 0 {
			t.Errorf("%s costs %v, %v a month, %v more", line[0], cost, month, change)
		}
		if of(line, "Currency") != "USD" || of(line, "Window start") != "2026-03-16T00:00:00Z" || of(line, "Window end") != "2026-03-18T12:00:00Z" {
			t.Errorf("the line %q has another window or currency", line)
		}
	}
	if math.Abs(sum-total) > 0.006 {
		t.Errorf("the lines add up to %v, the page has %v", sum, total)
	}
	p.clickText("#toolbar .actions button", "curl")
	line := eval[string](p, `document.querySelector("dialog[open] textarea").value`)
	if !strings.HasPrefix(line, "curl -sG "+at+"/model/allocation") || !strings.Contains(line, "2026-03-18T12:00:00Z") {
		t.Errorf("the command is %s", line)
	}
}

// saved is what the button CSV saves.
func (p *page) saved() string {
	p.t.Helper()
	eval[bool](p, `(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return make.call(URL, blob); }; return true; })()`)
	p.clickText("#toolbar .actions button", "CSV")
	p.wait("window.saved")
	return eval[string](p, "window.saved")
}

// TestCSVOfTablesE2E saves the tables of views whose answers have no CSV of their own.
func TestCSVOfTablesE2E(t *testing.T) {
	at := demoURL(t)
	for view, want := range map[string]string{
		"budgets": "Budget,Period,Prices", "bill": "Namespace,List,Billed", "health": `Input,State,"What is lost, and what to do"`, "assets": "Name,Type,Spot", "why&window=yesterday": "namespace,Timeline,Before,After",
	} {
		t.Run(view, func(t *testing.T) {
			p := open(t, at+"/ui/?view="+view)
			text := p.saved()
			if !strings.HasPrefix(text, want) || strings.Count(text, "\r\n") < 2 {
				t.Errorf("saved is %.300q", text)
			}
			if view == "health" || view == "budgets" {
				return // they are of no window
			}
			for line := range strings.SplitSeq(strings.TrimSpace(text), "\r\n") {
				if line != "" && !strings.HasSuffix(line, ",USD") && !strings.HasSuffix(line, ",Currency") {
					t.Errorf("the line %.200q has no currency", line)
				}
			}
			if head, _, _ := strings.Cut(text, "\r\n"); !strings.Contains(head, ",Window start,Window end,") || strings.HasPrefix(view, "why") && !strings.Contains(head, ",Changed requests,") {
				t.Errorf("the columns are %q", head)
			}
		})
	}
}

func TestThemeE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/")
	ground := func() string { return eval[string](p, `getComputedStyle(document.body).backgroundColor`) }
	was := ground()
	p.click("#theme")
	p.settle()
	is := ground()
	if is == was {
		t.Errorf("the ground stays %s", is)
	}
	p.navigate(at + "/ui/?view=assets")
	if again := ground(); again != is {
		t.Errorf("the choice is forgotten: the ground is %s, and was %s", again, is)
	}
	eval[bool](p, `(localStorage.clear(), true)`)
}

// TestKeyboardE2E reads, drills, filters and changes the view with the keyboard alone.
func TestKeyboardE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/")
	focus := func() string {
		return eval[string](p, `(() => { const e = document.activeElement; return [e.tagName, e.id, e.name ?? "", e.textContent.trim().slice(0, 30), e.closest("tr[data-row]") ? "row" : ""].join("|"); })()`)
	}
	p.press(kb.Tab)
	if got := focus(); !strings.Contains(got, "Skip") {
		t.Errorf("first the focus is on %s, not on the link that skips the toolbar", got)
	}
	var way []string
	reached := func(what string) bool {
		for range 60 {
			p.press(kb.Tab)
			got := focus()
			way = append(way, got)
			if strings.Contains(got, what) {
				return true
			}
			if outline := eval[string](p, `getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).boxShadow`); outline == "nonenone" {
				t.Errorf("%s does not show that it has the focus", got)
			}
		}
		return false
	}
	if !reached("|filter|") || !reached("|row") {
		t.Fatalf("the tabulator leads to %q", way)
	}
	p.press(kb.ArrowDown)
	p.press(kb.ArrowUp)
	eval[bool](p, `(document.querySelector("table.costs tbody th button.name").focus(), true)`)
	p.press(kb.ArrowDown)
	name := eval[string](p, `document.activeElement.textContent.trim()`)
	p.press(kb.Enter)
	p.wait(fmt.Sprintf(`(new URLSearchParams(location.search).get("path") ?? "").includes(%s)`, quote(name)))
	p.settle()
}

// TestIdleOfPoolE2E finds at the idle row of a node pool which part of the pool's capacity it is.
func TestIdleOfPoolE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?aggregate=nodePool&prices=list")
	type part struct{ CPUCost, RAMCost, GPUCost float64 }
	rows := ask[[]map[string]part](t, at, "/model/allocation", url.Values{"window": {"7d"}, "aggregate": {"nodePool"}, "idle": {"true"}, "accumulate": {"true"}, "reconcile": {"false"}})[0]
	sum := func(of part) float64 { return of.CPUCost + of.RAMCost + of.GPUCost }
	tips := eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("table.costs tr[data-row]")].map((r) => [r.querySelector("th").textContent.trim(), r.querySelector("td[data-column=cost] span").title]))`)
	found := 0
	for name, tip := range tips {
		pool, ok := strings.CutSuffix(name, "/__idle__")
		if !ok {
			continue
		}
		found++
		if want := 100 * sum(rows[name]) / (sum(rows[name]) + sum(rows[pool])); math.Abs(number(t, tip)-want) > 0.5 || !strings.HasSuffix(tip, "of "+pool+" cost") {
			t.Errorf("%s says %q, want %.1f %%", name, tip, want)
		}
	}
	if found < 2 {
		t.Errorf("the rows are %v", tips)
	}
}
