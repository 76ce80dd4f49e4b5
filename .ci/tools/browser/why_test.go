package browser_test

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// change is a row of /model/allocation/change.
type change struct {
	Name                   string
	Baseline, Cost, Change float64
	Effects                map[string]float64
}

// changed is its answer.
type changed struct {
	Total change
	Rows  []change
}

func TestWhyE2E(t *testing.T) {
	at := demoURL(t)
	want := ask[changed](t, at, "/model/allocation/change", url.Values{"window": {"yesterday"}, "aggregate": {"namespace"}, "idle": {"true"}, "unbilled": {"estimate"}})
	p := open(t, at+"/ui/?window=yesterday")
	p.wait(`[...document.querySelectorAll(".tiles button")].some((b) => b.textContent === "why?")`)
	p.clickText(".tiles button", "why?")
	p.wait(`new URLSearchParams(location.search).get("view") === "why"`)
	p.wait(`document.querySelector(".waterfall")`)
	p.settle()
	if x := number(t, p.text(".tiles dd")); !sameMoney(x, want.Total.Change) {
		t.Errorf("the change is %v, the API has %v", x, want.Total.Change)
	}
	steps := eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll(".waterfall li")].map((li) => [li.dataset.name, li.querySelector(".value").textContent]))`)
	for name, size := range want.Total.Effects {
		if text, ok := steps[name]; ok && !sameMoney(number(t, text), size) || !ok && math.Abs(size) > 0.01 {
			t.Errorf("effect %s is %q, the API has %v", name, text, size)
		}
	}
	before, after := number(t, steps["before"]), number(t, steps["after"])
	if !sameMoney(before, want.Total.Baseline) || !sameMoney(after, want.Total.Cost) {
		t.Errorf("from %v to %v, the API has %v and %v", before, after, want.Total.Baseline, want.Total.Cost)
	}
	shown := p.costs("hange", "change")
	for _, r := range want.Rows {
		if math.Abs(r.Change) < 0.005 { // is left out
			continue
		}
		if x := number(t, shown[r.Name]); !sameMoney(x, r.Change) {
			t.Errorf("the change of %s is %v, the API has %v", r.Name, x, r.Change)
		}
	}
	largest := "price"
	for name, size := range want.Total.Effects {
		if _, ok := steps[name]; ok && math.Abs(size) > math.Abs(want.Total.Effects[largest]) && name != "idle" {
			largest = name
		}
	}
	p.click(`.waterfall li[data-name="` + largest + `"] button`)
	p.wait(`new URLSearchParams(location.search).get("effect") === ` + quote(largest))
	p.wait(`document.querySelector('.waterfall button[aria-pressed="true"]') && document.querySelectorAll("table.costs").length > 1`)
	p.settle()
	p.checkAxe()
	p.shot("why-effect")
}

func TestCompareE2E(t *testing.T) {
	at := demoURL(t)
	const baseline = "2026-03-13T00:00:00Z,2026-03-14T00:00:00Z"
	want := ask[changed](t, at, "/model/allocation/change", url.Values{"window": {"yesterday"}, "baseline": {baseline}, "aggregate": {"namespace"}, "idle": {"true"}, "unbilled": {"estimate"}})
	p := open(t, at+"/ui/?window=yesterday&baseline="+baseline)
	p.wait(`[...document.querySelectorAll("table.costs td[data-column=change]")].some((td) => td.textContent !== "")`)
	shown := p.costs("", "change")
	for _, r := range want.Rows {
		if text := shown[r.Name]; text != "" && !sameMoney(number(t, text), r.Change) {
			t.Errorf("the change of %s is %q, the API has %v", r.Name, text, r.Change)
		}
	}
	growth := 100 * want.Total.Change / want.Total.Baseline
	if text := p.text(".tiles"); !strings.Contains(text, "13 Mar") || !strings.Contains(strings.ReplaceAll(text, "−", "-"), strconv.FormatFloat(growth, 'f', map[bool]int{true: 1, false: 0}[math.Abs(growth) < 9.95], 64)+" %") {
		t.Errorf("the headline is %q, the growth %v %%", text, growth)
	}
}

// TestPartE2E compares with a time that the demo has costs of a part of: no growth follows from it.
func TestPartE2E(t *testing.T) {
	at := demoURL(t)
	for _, query := range []string{"", "?view=why"} {
		p := open(t, at+"/ui/"+query)
		p.wait(`document.querySelector(".tiles").innerText.includes("not comparable: ")`)
		if text := p.text(".tiles"); regexp.MustCompile(`\+[\d,]+ %`).MatchString(text) {
			t.Errorf("the headline is %q", text)
		}
	}
	p := open(t, at+"/ui/")
	p.wait(`[...document.querySelectorAll("table.costs td[data-column=change]")].every((td) => td.innerText.startsWith("–"))`)
}

func TestSelectionE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?window="+week)
	shown := p.costs("", "cost")
	for _, name := range []string{"search", "payments"} {
		p.click(`table.costs input[aria-label="Select ` + name + `"]`)
	}
	want := number(t, shown["search"]) + number(t, shown["payments"])
	_, text, _ := strings.Cut(p.text(".sum"), "selected")
	if x := number(t, strings.TrimPrefix(text, ":")); math.Abs(x-want) > 0.011 {
		t.Errorf("%q is the sum, and not %v", text, want)
	}
}

func TestZoneE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?zone=Asia/Kolkata&window="+week)
	if text := p.text(".tiles"); !strings.Contains(text, "9 Mar, 05:30") {
		t.Errorf("in Kolkata the headline is %q", text)
	}
	p.do(chromedp.SetValue(chromedp.CSS("#zone"), ""))
	eval[bool](p, `document.querySelector("#zone").dispatchEvent(new Event("change", {bubbles: true}))`)
	p.wait(`document.querySelector(".tiles").innerText.includes("9 Mar, 00:00")`)
}

func TestPictureE2E(t *testing.T) {
	at := demoURL(t)
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			p := open(t, at+"/ui/"+v.query)
			p.quiet()
			eval[bool](p, `(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => { if (blob.type === "image/png") window.saved = blob; return make(blob); }; return true; })()`)
			p.clickText("#toolbar .actions button", "PNG")
			p.wait(`window.saved`)
			// On the left and on the right there are letters, whose smooth edges have many colors.
			colors := eval[[]int](p, `(async () => {
				const image = await createImageBitmap(window.saved), canvas = new OffscreenCanvas(image.width, image.height), on = canvas.getContext("2d", {willReadFrequently: true});
				on.drawImage(image, 0, 0);
				const of = (x, y, w, h) => new Set(new Uint32Array(on.getImageData(x, y, w, h).data.buffer)).size;
				const { width, height } = image;
				return [of(0, 100, width / 2, height - 100), of(width / 2, 100, width / 2, height - 100)];
			})()`)
			for i, n := range colors {
				if n < 10 {
					t.Errorf("part %d of the picture has %d colors", i, n)
				}
			}
		})
	}
}

// TestLinkOfTodayE2E checks that a link compares with what the page did: times have another default of what is before them than words.
func TestLinkOfTodayE2E(t *testing.T) {
	at := demoURL(t)
	for _, view := range []string{"", "&view=why"} {
		p := open(t, at+"/ui/?window=today"+view)
		p.quiet()
		p.clickText("#toolbar .actions button", "link")
		p.wait(`document.querySelector("dialog[open] textarea")`)
		link, err := url.Parse(eval[string](p, `document.querySelector("dialog[open] textarea").value`))
		if err != nil {
			t.Fatal(err)
		}
		if got := link.Query().Get("baseline"); got != "2026-03-17T00:00:00Z,2026-03-17T12:00:00Z" {
			t.Errorf("%s: the link compares with %q", view, got)
		}
	}
}

// TestCausesAddUpE2E adds up causes: those of the picture and those of each row come to the change, with what is left as others. Rows without a change are folded away.
func TestCausesAddUpE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=why&window=yesterday&aggregate=controller")
	signed := regexp.MustCompile(`[+−][\d,]+\.\d+`)
	sumOf := func(text string) (sum float64) {
		for _, amount := range signed.FindAllString(text, -1) {
			sum += number(t, amount)
		}
		return sum
	}
	if got, want := sumOf(strings.Join(p.texts(".waterfall li:not(.total) .value"), " ")), p.total(); math.Abs(got-want) > 1e-6 {
		t.Errorf("causes add up to %v, the change is %v", got, want)
	}
	changes, others := p.costs("hange", "change"), 0
	for name, why := range p.costs("hange", "why") {
		if strings.Contains(why, "others") {
			others++
		}
		if got, want := sumOf(why), number(t, changes[name]); math.Abs(got-want) > 0.0051 {
			t.Errorf("%s: %q adds up to %v, its change is %v", name, why, got, want)
		}
	}
	if others == 0 {
		t.Error("no row has others")
	}
	for name, change := range changes {
		if strings.HasPrefix(change, "0.00") {
			t.Errorf("%s with a change of %s is shown", name, change)
		}
	}
	const count = `[...document.querySelectorAll("table.costs")].at(-1).ariaRowCount`
	few := eval[string](p, count)
	p.clickText("#view p button.link", "show them")
	p.wait(count + " !== " + quote(few))
}

// TestCauseToBillE2E goes from what bills changed to the lines of bills behind it.
func TestCauseToBillE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=why&window=yesterday&effect=adjustment")
	p.clickText("#view button.link", "before, 16 Mar, 00:00 – 17 Mar, 00:00")
	p.wait(`new URLSearchParams(location.search).get("view") === "bill"`)
	p.settle()
	if got := p.query("window"); got != "2026-03-16T00:00:00Z,2026-03-17T00:00:00Z" {
		t.Errorf("the bill is that of %s", got)
	}
	p.do(chromedp.NavigateBack())
	p.settle()
	eval[bool](p, `(document.querySelector('th button[aria-label^="payments/"]').click(), true)`)
	p.wait(`new URLSearchParams(location.search).get("bill") === '[["namespace","payments"]]'`)
	p.wait(`document.querySelector("#view").innerText.includes("The lines behind it")`)
}
