package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// page is a tab of the browser.
type page struct {
	t       testing.TB
	ctx     context.Context
	mu      sync.Mutex
	said    []string // errors and warnings of the console
	allowed func(string) bool
}

// newPage opens a tab of 1280 by 900 pixels. At the end of the test its console must be without errors, but those that are allowed.
func newPage(t testing.TB) *page {
	t.Helper()
	if skipped != "" {
		t.Skip(skipped)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx, allowed: func(string) bool { return false }}
	p.do(chromedp.EmulateViewport(1280, 900))
	go func() {
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning {
				p.mu.Lock()
				p.said = append(p.said, fmt.Sprintf("%s (%s:%d)", m, m.URL, m.Line+1))
				p.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, text := range p.said {
			if !p.allowed(text) {
				t.Errorf("console: %s", text)
			}
		}
	})
	return p
}

// open opens an address and waits until the view has its numbers.
func open(t testing.TB, address string) *page {
	t.Helper()
	p := newPage(t)
	p.navigate(address)
	return p
}

func (p *page) navigate(address string) {
	p.t.Helper()
	p.do(chromedp.Navigate(address))
	p.settle()
}

// do runs actions, which must not fail, within a test's patience.
func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx); err != nil { // the tab lives as long as the first context
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.state())
	}
}

// state is what the page says, for a test that failed.
func (p *page) state() string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text[:min(len(text), 3000)]
}

// eval is the value of an expression of JavaScript; promises are awaited.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// wait waits until an expression is true.
func (p *page) wait(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("Boolean("+expression+")", chromedp.WithPollingTimeout(patience))); err != nil {
		p.t.Fatalf("wait for %s: %v\n%s", expression, err, p.state())
	}
}

// settle waits until the view has its numbers, or says why it has none.
func (p *page) settle() {
	p.t.Helper()
	p.wait(`document.querySelector("#view > .view") && !document.querySelector("#view[aria-busy]")`)
}

// last is a list of faults when it is empty, or still not after some seconds: tables fit themselves once they are drawn.
func (p *page) last(faults string) []string {
	p.t.Helper()
	return eval[[]string](p, `(async () => {
		const faults = () => `+faults+`;
		for (let i = 0; i < 50 && faults().length > 0; i++) await new Promise((done) => setTimeout(done, 100));
		return faults();
	})()`)
}

// quiet waits until the page has asked nothing for half a second.
func (p *page) quiet() {
	p.t.Helper()
	eval[bool](p, `(async () => {
		for (let was = -1, is = 0; was !== is;) {
			was = is;
			await new Promise((done) => setTimeout(done, 500));
			is = performance.getEntriesByType("resource").length;
		}
		return true;
	})()`)
}

// click clicks with the mouse on the middle of what a selector finds first.
func (p *page) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// clickText clicks with the mouse on the first of the selected elements with a text.
func (p *page) clickText(selector, text string) {
	p.t.Helper()
	at := fmt.Sprintf(`(() => {
		const found = [...document.querySelectorAll(%s)].find((e) => e.textContent.trim() === %s);
		found?.scrollIntoView({block: "center"});
		const box = found?.getBoundingClientRect();
		return found ? [box.x + box.width / 2, box.y + box.height / 2] : null;
	})()`, quote(selector), quote(text))
	p.wait(at)
	middle := eval[[2]float64](p, at)
	p.do(chromedp.MouseClickXY(middle[0], middle[1]))
}

// press presses keys, as kb has them.
func (p *page) press(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	raw := func(e *input.DispatchKeyEventParams) {
		if e.Type == kb.KeyDown {
			e.Type = input.DispatchKeyEventTypeRawKeyDown // as keyboards do, so that a page that prevents it gets no character
		}
	}
	p.do(chromedp.KeyEvent(keys, raw, chromedp.KeyModifiers(modifiers...)))
}

// texts are the texts of the elements that a selector finds.
func (p *page) texts(selector string) []string {
	p.t.Helper()
	return eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%s)].map((e) => e.textContent.trim())`, quote(selector)))
}

// text is the text that is shown of the first element that a selector finds.
func (p *page) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? ""`, quote(selector)))
}

// query is a parameter of the address.
func (p *page) query(name string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`new URLSearchParams(location.search).get(%s) ?? ""`, quote(name)))
}

// prefer has the system of the browser prefer a color scheme: light or dark.
func (p *page) prefer(scheme string) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}

// axeFile is where make puts axe.
const axeFile = "../../../bin/axe.js"

// checkAxe has axe look for what keeps people from using the page.
func (p *page) checkAxe() {
	p.t.Helper()
	source, err := os.ReadFile(named("AXE", axeFile))
	if err != nil {
		return // TestAxeE2E says so
	}
	type violation struct {
		ID, Help string
		Nodes    []struct {
			HTML           string `json:"html"`
			FailureSummary string `json:"failureSummary"`
		}
	}
	eval[*runtime.RemoteObject](p, string(source)+";undefined")
	for _, v := range eval[[]violation](p, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations)`) {
		for _, n := range v.Nodes {
			p.t.Errorf("axe %s: %s: %s\n%s", v.ID, v.Help, n.HTML, n.FailureSummary)
		}
	}
}

// TestAxeE2E says that axe is missing, for the other tests then go on without it.
func TestAxeE2E(t *testing.T) {
	if _, err := os.Stat(named("AXE", axeFile)); err != nil {
		t.Skip("axe-core is missing: make bin/axe.js, or name it with AXE=…")
	}
	open(t, demoURL(t)+"/ui/").checkAxe()
}

// shot writes a screenshot, if they are wanted.
func (p *page) shot(name string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// quote is a text as JavaScript has it.
func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return strings.ReplaceAll(string(out), "<", `\u003c`)
}
