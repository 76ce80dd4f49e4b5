package browser_test

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// asked is what a row of /model/allocation/change says besides its effects.
type asked struct {
	Name, Team    string
	Since         *string
	Before, After struct{ Replicas, Cores float64 }
}

// TestWhyAskedE2E checks what the view says of a workload that changed: since when, whose it is, what ran before and after, and a picture of its costs.
func TestWhyAskedE2E(t *testing.T) {
	at := demoURL(t)
	const workload = "deployment:ledger-writer"
	var want asked
	for _, r := range ask[struct{ Rows []asked }](t, at, "/model/allocation/change", url.Values{"window": {"yesterday"}, "aggregate": {"controller"}}).Rows {
		if r.Name == workload {
			want = r
		}
	}
	if want.Since == nil || want.Team != "team-a" || want.After.Cores < want.Before.Cores*1.5 {
		t.Fatalf("the API has %+v", want)
	}
	p := newPage(t)
	for _, screen := range []struct {
		width, height int
		scheme        string
	}{{1440, 900, "light"}, {1440, 900, "dark"}, {1024, 768, "light"}, {390, 844, "light"}} {
		p.prefer(screen.scheme)
		p.do(chromedp.EmulateViewport(int64(screen.width), int64(screen.height)))
		p.navigate(at + "/ui/?view=why&window=yesterday&aggregate=controller")
		p.wait(`document.querySelector("table.costs svg.timeline")`)
		row := `[...document.querySelectorAll("table.costs tr[data-row]")].find((r) => r.querySelector("th").textContent.includes("ledger-writer"))`
		text := eval[string](p, row+`.textContent`)
		for _, part := range []string{want.Team, "since 17 Mar", "cores", "11 containers"} {
			if !strings.Contains(text, part) {
				t.Errorf("the row says %q, which lacks %q", text, part)
			}
		}
		label := eval[string](p, row+`.querySelector("svg.timeline").getAttribute("aria-label")`)
		if bars := eval[int](p, row+`.querySelectorAll("svg.timeline rect.before, svg.timeline rect.after").length`); bars != 48 || !strings.Contains(label, "at this level since 17 Mar") {
			t.Errorf("the picture has %d bars, and says %q", bars, label)
		}
		if width := eval[int](p, `document.documentElement.scrollWidth`); width > screen.width {
			t.Errorf("the page is %d px wide on a screen of %d px: %s", width, screen.width, eval[string](p, widest))
		}
		p.quiet()
		p.checkAxe()
		eval[bool](p, row+`.scrollIntoView({block: "center"}) ?? true`)
		p.shot(fmt.Sprintf("asked-%d-%s", screen.width, screen.scheme))
	}
}

// TestBarToWhyE2E clicks on the bar of a day: the view why says why it cost that, and dragging still zooms.
func TestBarToWhyE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?window="+week)
	p.wait(`document.querySelector("#view canvas")`)
	p.quiet()
	const box = `(() => { const b = document.querySelector("#view .u-over").getBoundingClientRect(); return [b.x, b.y + b.height / 2, b.width]; })()`
	b := eval[[3]float64](p, box)
	p.do(chromedp.MouseClickXY(b[0]+b[2]*1.5/6, b[1])) // the second of six days, for the demo begins on the first
	p.wait(`new URLSearchParams(location.search).get("view") === "why"`)
	if got, want := p.query("window"), "2026-03-11T00:00:00Z,2026-03-12T00:00:00Z"; got != want {
		t.Errorf("the window is %s, want %s", got, want)
	}
	p.settle()
	if text := p.text(".tiles"); !strings.Contains(text, "10 Mar, 00:00 – 11 Mar") {
		t.Errorf("the day is compared with %q", text)
	}
	p.navigate(at + "/ui/?window=" + week)
	p.wait(`document.querySelector("#view canvas")`)
	p.do(chromedp.Focus(chromedp.CSS("#view .bars")))
	p.press(kb.ArrowRight)
	p.press("w")
	p.wait(`new URLSearchParams(location.search).get("view") === "why"`)
}

// TestFillingE2E compares with a time whose history is still being filled: a bar says how much of it there is, and nothing is compared.
func TestFillingE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=why&window="+week)
	if text := p.text("#view"); !strings.Contains(text, "Before: 0 of 168 h have data") || !strings.Contains(text, "After: 133 of 168 h") || strings.Contains(text, "Why the cost changed") {
		t.Errorf("the page says %q", text)
	}
	if parts := eval[[]float64](p, `[...document.querySelectorAll("progress")].map((bar) => bar.position)`); len(parts) != 2 || parts[0] != 0 || math.Abs(parts[1]-133.0/168) > 1e-9 {
		t.Errorf("the bars are at %v", parts)
	}
	p.checkAxe()
	p.shot("asked-filling")
}
