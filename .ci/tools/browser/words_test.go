package browser_test

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// cutNames are the names of tables of which less is shown than five letters, or not the end, or whose title is not the whole name.
const cutNames = `[...document.querySelectorAll("table.costs .name")].filter((e) => {
	const box = e.getBoundingClientRect(), cell = e.closest("th, td").getBoundingClientRect(), name = e.textContent;
	if (box.height === 0 || name === "") return false; // a column that is not shown
	const [head, end] = [e.querySelector(".head"), e.lastElementChild];
	if (head === end) return head.scrollHeight > head.clientHeight + 1 || !e.title.startsWith(name);
	const inside = (part) => part.getBoundingClientRect().right <= cell.right + 0.5 && part.getBoundingClientRect().left >= cell.left - 0.5;
	return !e.title.startsWith(name) || !inside(e) || !inside(end) || end.getBoundingClientRect().width < 30 || head.getBoundingClientRect().width < 20;
}).map((e) => e.textContent)`

// wideTables are tables that are wider than their boxes.
const wideTables = `[...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.getAttribute("aria-label") + " " + e.scrollWidth + ">" + e.clientWidth)`

// TestNamesE2E looks at all views on a desktop, on a tablet and on a phone: both ends of names can be read, and no table is wider than its box.
func TestNamesE2E(t *testing.T) {
	at := demoURL(t)
	queries := []string{"?aggregate=controller", "?aggregate=pod&window=yesterday", "?view=why&window=yesterday&aggregate=controller"}
	for _, v := range views {
		queries = append(queries, v.query)
	}
	for _, width := range []int64{1440, 1024, 390} {
		p := newPage(t)
		p.do(chromedp.EmulateViewport(width, 900))
		for _, query := range queries {
			p.navigate(at + "/ui/" + query)
			p.quiet()
			if got := p.last(cutNames); len(got) > 0 {
				t.Errorf("%s on %d px: these names cannot be read: %q", query, width, got[:min(5, len(got))])
			}
			if got := p.last(wideTables); len(got) > 0 {
				t.Errorf("%s on %d px: %q", query, width, got)
			}
		}
	}
}

// TestCopiedNamesE2E copies a name that is cut: it is one word.
func TestCopiedNamesE2E(t *testing.T) {
	p := newPage(t)
	p.do(chromedp.EmulateViewport(390, 844))
	p.navigate(demoURL(t) + "/ui/?view=savings")
	p.wait(`document.querySelector(".savings .name:has(.head + span)")`)
	got := eval[[2]string](p, `(() => {
		const name = document.querySelector(".savings .name:has(.head + span)");
		getSelection().selectAllChildren(name);
		const event = new ClipboardEvent("copy", {bubbles: true, cancelable: true, clipboardData: new DataTransfer()});
		name.dispatchEvent(event);
		return [name.textContent, event.clipboardData.getData("text/plain")];
	})()`)
	if got[0] != got[1] || got[0] == "" {
		t.Errorf("of %q, %q is copied", got[0], got[1])
	}
}

// essential are the columns that must be in sight on any screen.
var essential = map[string][]string{
	"?view=savings": {"name", "money"}, "?view=budgets": {"name", "spent", "forecast"}, "?view=health": {"name", "state", "remedy"}, "": {"name", "cost", "change"}, "?view=why&window=yesterday": {"name", "cost", "change"},
}

// underneath are the columns whose texts stand in the second line of rows on a phone.
var underneath = map[string][]string{
	"": {"Share", "A month"}, "?view=budgets": {"Period", "Prices", "Left"}, "?view=why&window=yesterday&aggregate=controller": {"Owner", "What ran", "Why"},
	"?aggregate=pod&window=yesterday": {"Share", "A month"},
}

func TestSecondLinesE2E(t *testing.T) {
	at := demoURL(t)
	p := newPage(t)
	p.do(chromedp.EmulateViewport(390, 844))
	for query, columns := range underneath {
		p.navigate(at + "/ui/" + query)
		p.quiet()
		for _, column := range columns {
			if n := eval[int](p, `[...document.querySelectorAll("tr.under span > small:first-child")].filter((e) => e.textContent === `+quote(column)+` && e.getBoundingClientRect().height > 0 && e.parentNode.textContent.length > e.textContent.length + 1).length`); n < 3 {
				t.Errorf("%q has %d second lines with %s", query, n, column)
			}
		}
		if width := eval[int](p, `document.documentElement.scrollWidth`); width > 390 {
			t.Errorf("%q is %d px wide; the widest: %s", query, width, eval[string](p, widest))
		}
		if got := p.last(wideTables); len(got) > 0 {
			t.Errorf("%q: %q", query, got)
		}
		p.checkAxe()
	}
	p.navigate(at + "/ui/?aggregate=pod&window=yesterday")
	p.wait(`document.querySelector(".scroll.long")`)
	eval[bool](p, `(document.querySelector(".scroll.long").scrollTop = 1e9, true)`)
	p.wait(`document.querySelector(".scroll.long tr.gap:first-child") && !document.querySelector(".scroll.long tr.gap:last-child")`)
	if gap := eval[float64](p, `(() => {
		const box = document.querySelector(".scroll.long").getBoundingClientRect(), last = [...document.querySelectorAll("tr.under")].at(-1).getBoundingClientRect();
		return Math.abs(box.bottom - last.bottom);
	})()`); gap > 40 {
		t.Errorf("below the last row there are %v px", gap)
	}
}

// TestRoomForNamesE2E finds names that are cut while another column has room to spare for them: none.
func TestRoomForNamesE2E(t *testing.T) {
	at := demoURL(t)
	p := newPage(t)
	for _, width := range []int64{1440, 1024} {
		p.do(chromedp.EmulateViewport(width, 900))
		p.navigate(at + "/ui/?view=why&window=yesterday&aggregate=controller")
		p.quiet()
		if got := p.last(`[...document.querySelectorAll("table.costs th .name:has(.head + span)")].map((e) => e.textContent)`); len(got) > 0 {
			t.Errorf("on %d px these names are cut: %q", width, got[:min(5, len(got))])
		}
	}
}

// TestWindowBoxE2E wants the box of the window to show all of its text, and weeks to say when they begin.
func TestWindowBoxE2E(t *testing.T) {
	at := demoURL(t)
	p := newPage(t)
	for _, width := range []int64{1440, 1024, 390} {
		p.do(chromedp.EmulateViewport(width, 900))
		p.navigate(at + "/ui/?window=2026-03-10T10:30:00Z,2026-03-16T12:30:00Z&baseline=2026-03-09T10:30:00Z,2026-03-10T10:30:00Z")
		for _, name := range []string{"window", "baseline"} {
			sizes := eval[[2]float64](p, `(() => {
				const box = document.querySelector("select[name=`+name+`]"), alone = box.cloneNode();
				alone.append(box.selectedOptions[0].cloneNode(true));
				alone.style.width = "auto";
				document.querySelector("#toolbar .actions").append(alone);
				const sizes = [box.offsetWidth, alone.offsetWidth];
				alone.remove();
				return sizes;
			})()`)
			if sizes[0] < sizes[1] {
				t.Errorf("on %d px the box %s has %v px, its text takes %v", width, name, sizes[0], sizes[1])
			}
		}
	}
	if options := strings.Join(p.texts("select[name=window] option"), "; "); !strings.Contains(options, "this week, from Sunday") || !strings.Contains(options, "last week, from Sunday") {
		t.Errorf("windows are %q", options)
	}
}

func TestEssentialColumnsE2E(t *testing.T) {
	at := demoURL(t)
	p := newPage(t)
	p.do(chromedp.EmulateViewport(390, 844))
	for query, columns := range essential {
		p.navigate(at + "/ui/" + query)
		shown := eval[[]string](p, `[...document.querySelector("table.costs tr[data-row]").children].filter((e) => e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().right <= innerWidth).map((e) => e.dataset.column ?? "")`)
		for _, column := range columns {
			if !slices.Contains(shown, column) {
				t.Errorf("%s shows the columns %q, and not %s", query, shown, column)
			}
		}
	}
	p.navigate(at + "/ui/?view=savings")
	row := p.text(".savings tr[data-row]")
	for _, want := range []string{"cores", "iB", "CPU", "Memory"} {
		if !strings.Contains(row, want) {
			t.Errorf("a row of savings says %q, which lacks %q", row, want)
		}
	}
	p.do(chromedp.EmulateViewport(1024, 800))
	p.wait(`document.querySelector(".savings td[data-column=owner]")`)
	if !eval[bool](p, `["owner", "command"].every((c) => { const box = document.querySelector(".savings td[data-column=" + c + "]").getBoundingClientRect(); return box.width > 0 && box.right <= 1024; })`) {
		t.Error("on 1024 px, the owner or the command is cut off")
	}
}

// TestWordsAreExplainedE2E wants an explanation of each column, tile and option.
func TestWordsAreExplainedE2E(t *testing.T) {
	at := demoURL(t)
	p := newPage(t)
	for _, v := range views {
		p.navigate(at + "/ui/" + v.query)
		p.quiet()
		if got := eval[[]string](p, `[...document.querySelectorAll("table.costs thead th:not(.pick) button, .tiles dt, #toolbar label, #toolbar .filter")]
			.filter((e) => !e.matches("[data-help]") && !e.querySelector("[data-help]")).map((e) => e.textContent)`); len(got) > 0 {
			t.Errorf("%s: these words have no explanation: %q", v.name, got)
		}
	}
	p.navigate(at + "/ui/")
	const tip = `document.querySelector("#help:popover-open")`
	b := eval[[2]float64](p, `(() => { const box = document.querySelector(".tiles .term").getBoundingClientRect(); return [box.x + 5, box.y + 5]; })()`)
	p.do(chromedp.MouseEvent("mouseMoved", b[0], b[1]))
	p.wait(tip + `?.innerText.includes("All rows together")`)
	if got := eval[string](p, tip+`.querySelector("a").href`); !strings.HasPrefix(got, "https://github.com/promcost/promcost/blob/main/SEMANTICS.md#") {
		t.Errorf("the link of an explanation leads to %s", got)
	}
	p.checkAxe()
	p.shot("explained")
	p.press(kb.Escape)
	p.wait("!" + tip)
	eval[bool](p, `(document.querySelector("[data-column=efficiency] button").focus({focusVisible: true}), true)`)
	p.wait(tip + `?.innerText.includes("Average usage")`)
	p.press(kb.Tab) // into the explanation
	if !eval[bool](p, `document.activeElement.closest("#help") !== null`) {
		t.Error("the keyboard does not reach the link of an explanation")
	}
}

// TestDrillingKeepsNumbersE2E clicks rows of namespaces: the headline of what comes repeats the number that was clicked, with the row of idle on.
func TestDrillingKeepsNumbersE2E(t *testing.T) {
	at := demoURL(t)
	t.Run("cost", func(t *testing.T) {
		p := open(t, at+"/ui/?window=yesterday")
		want := number(t, p.costs("", "cost")["payments"])
		p.clickText("table.costs tbody th button.name", "payments")
		p.wait(`location.search.includes("path")`)
		p.settle()
		if got := p.total(); got != want {
			t.Errorf("the headline is %v, the row that was clicked had %v", got, want)
		}
		if text := p.text(".tiles dd"); !strings.Contains(text, "idle") {
			t.Errorf("the headline %q says nothing of idle", text)
		}
	})
	t.Run("change", func(t *testing.T) {
		p := open(t, at+"/ui/?window=yesterday")
		p.wait(`[...document.querySelectorAll("table.costs td[data-column=change]")].some((td) => td.textContent.includes("why?"))`)
		want := number(t, p.costs("", "change")["payments"])
		eval[bool](p, `(document.querySelector('button[aria-label="Why did payments change?"]').click(), true)`)
		p.wait(`document.querySelector(".view.why .tiles")`)
		p.settle()
		if got := p.total(); got != want {
			t.Errorf("why begins with a change of %v, the row that was clicked had %v", got, want)
		}
		sum := 0.0
		for _, text := range p.costs("hange", "change") {
			sum += number(t, text)
		}
		if math.Abs(sum-want) > 0.06 {
			t.Errorf("rows add up to %v, their change is %v", sum, want)
		}
	})
}

// TestFilterAndRowAgreeE2E comes to a namespace by its row and by a filter: both headlines say the cost of the row, and the idle capacity apart.
func TestFilterAndRowAgreeE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?window=yesterday")
	want := number(t, p.costs("", "cost")["payments"])
	var said []string
	for _, query := range []string{"&filter=" + url.QueryEscape(`namespace:"payments"`), "&aggregate=controller&path=" + url.QueryEscape(`[["namespace","payments"]]`)} {
		p.navigate(at + "/ui/?window=yesterday" + query)
		if got := p.total(); got != want {
			t.Errorf("%s: the headline is %v, the row says %v", query, got, want)
		}
		said = append(said, p.text(".tiles small.idle"))
		if !eval[bool](p, `document.querySelector(".tiles small.idle [data-help]") !== null`) {
			t.Errorf("%s: idle has no explanation", query)
		}
		p.wait(`document.querySelector(".tiles").innerText.includes("why?")`)
		change := number(t, p.costs("", "change")[p.names()[0]])
		p.clickText(".tiles button", "why?")
		p.wait(`document.querySelector(".view.why .tiles")`)
		p.settle()
		if strings.Contains(query, "filter") && p.total() != change {
			t.Errorf("why says %v, the row %v", p.total(), change)
		}
	}
	if said[0] != said[1] || !strings.Contains(said[0], "idle") {
		t.Errorf("of idle, they say %q", said)
	}
}

// TestCurrencyOfTablesE2E wants each table of money to say its currency.
func TestCurrencyOfTablesE2E(t *testing.T) {
	at := demoURL(t)
	p := newPage(t)
	for _, v := range views {
		if v.name == "health" {
			continue
		}
		p.navigate(at + "/ui/" + v.query)
		p.quiet()
		if got := eval[[]string](p, `[...document.querySelectorAll("table.costs")].map((t) => t.caption.textContent).filter((text) => !text.endsWith("in USD"))`); len(got) > 0 {
			t.Errorf("%s: these tables have no currency: %q", v.name, got)
		}
	}
}

// TestListOrBilledE2E wants each total to say which prices it is at.
func TestListOrBilledE2E(t *testing.T) {
	at := demoURL(t)
	p := newPage(t)
	for _, view := range []string{"window=yesterday", "view=why&window=yesterday", "view=assets&window=yesterday"} {
		for prices, want := range map[string]string{"billed": ", billed", "list": ", list"} {
			p.navigate(at + "/ui/?prices=" + prices + "&" + view)
			if text := p.text(".tiles dt"); !strings.HasSuffix(text, want) {
				t.Errorf("%s at prices %s: the headline is called %q", view, prices, text)
			}
		}
	}
}

func TestFilterBoxE2E(t *testing.T) {
	at := demoURL(t)
	const box = `#toolbar input[name=filter]`
	p := newPage(t)
	p.allowed = refused
	p.navigate(at + "/ui/?filter=" + url.QueryEscape(`namespace:"search"`))
	p.wait(`document.querySelector("#view").innerText.includes("why?")`) // the comparison comes last
	p.quiet()
	before := p.text("#view")
	enter := func(text string) {
		p.t.Helper()
		p.click(box)
		eval[bool](p, `(document.querySelector("`+box+`").select(), true)`)
		p.press(text)
		p.press(kb.Escape + kb.Enter)
	}
	for text, want := range map[string]string{
		`namespase:"search"`: `did you mean "namespace"`,
		"team in team-a":     "team in (team-a)",
		"no-such-thing":      "Nothing in this window is called no-such-thing",
	} {
		enter(text)
		p.wait(`document.querySelector("#mistake:not([hidden])")?.innerText.includes(` + quote(want) + `)`)
		if got := p.query("filter"); got != `namespace:"search"` {
			t.Errorf("after %s the filter of the address is %q", text, got)
		}
		if got := eval[string](p, `document.querySelector("`+box+`").value`); got != text {
			t.Errorf("what was typed, %s, became %q", text, got)
		}
		p.settle()
		p.quiet()
		if after := p.text("#view"); after != before {
			t.Errorf("after %s the view is %.200q", text, after)
		}
	}
	enter("no-such-thing")
	p.press("-either") // without Enter: it says so by itself
	p.wait(`document.querySelector("#mistake:not([hidden])")?.innerText.includes("no-such-thing-either: it is part of no namespace")`)
	p.settle()
	p.checkAxe()
	p.shot("mistake-kept")
	p.click("#toolbar .clear")
	p.wait(`!location.search.includes("filter")`)
	p.settle()
	p.click(box)
	p.press("payments")
	p.wait(`(new URLSearchParams(location.search).get("filter") ?? "").includes("payments")`) // without Enter
	p.settle()
	if got := eval[string](p, `document.activeElement.value`); got != "payments" {
		t.Errorf("in the box there is %q", got)
	}
	if got := p.names(); len(got) != 1 || got[0] != "payments" {
		t.Errorf("rows are %q", got)
	}
}

// TestWarningsE2E looks at the groups of warnings in the footer.
func TestWarningsE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/")
	p.quiet()
	const folded = `"#footer details.notes > section > .group"`
	if n := eval[int](p, `document.querySelectorAll(`+folded+`).length`); n == 0 || n > 3 {
		t.Errorf("%d groups of warnings are shown", n)
	}
	for _, href := range eval[[]string](p, `[...document.querySelectorAll("#footer .group a")].map((a) => a.href)`) {
		if !strings.HasPrefix(href, "https://github.com/promcost/promcost/blob/main/TROUBLESHOOTING.md#") {
			t.Errorf("a group of warnings leads to %s", href)
		}
	}
	kinds := `[{"kind":"labels","level":"minor"},{"kind":"bills","level":"lost"}]`
	fake := proxy(t, at, nil, func(path, body string) string {
		if path != "/model/budgets" {
			return body
		}
		body = strings.NewReplacer(`"warnings":`, `"own":`, `"warningKinds":`, `"ownKinds":`).Replace(body)
		return strings.Replace(body, `"code":200`, `"code":200,"warnings":["trivia","a bill is damaged"],"warningKinds":`+kinds, 1)
	})
	p = open(t, fake+"/ui/?view=budgets")
	p.clickText("#footer summary", "⚠ Costs are missing or wrong: bills that do not count in full")
	if text := p.text("#footer"); !strings.Contains(text, "a bill is damaged") || !strings.Contains(text, "1 smaller note") || strings.Contains(text, "trivia") {
		t.Errorf("the footer says %q", text)
	}
	p.checkAxe()
}
