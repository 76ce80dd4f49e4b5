package browser_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// refused are messages of the browser about answers that failed, which the page cannot keep from the console.
func refused(text string) bool {
	return strings.Contains(text, "Failed to load resource") || strings.Contains(text, "net::ERR")
}

func TestFailingServerE2E(t *testing.T) {
	at := demoURL(t)
	asks := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/model/allocation") }
	for name, tc := range map[string]struct {
		fail func(w http.ResponseWriter)
		want []string
	}{
		"an error with its remedy": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"code":503,"status":"error","data":null,"message":"Prometheus at http://p:9090 does not answer: start it"}`)
		}, []string{"Prometheus at http://p:9090 does not answer: start it", "Try again"}},
		"a proxy's own page": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html><body><h1>502 Bad Gateway</h1></body></html>")
		}, []string{"502", "is there a proxy between", "Try again"}},
		"no answer": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, []string{"promcost does not answer", "Try again"}},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Bool
			broken.Store(true)
			before := proxy(t, at, func(w http.ResponseWriter, r *http.Request) bool {
				if !asks(r) || !broken.Load() {
					return false
				}
				tc.fail(w)
				return true
			}, nil)
			p := newPage(t)
			p.allowed = refused
			p.navigate(before + "/ui/")
			text := p.text(".trouble[role=alert]")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page says %q, which lacks %q", text, want)
				}
			}
			p.checkAxe()
			p.shot("trouble")
			broken.Store(false)
			p.clickText(".trouble button", "Try again")
			p.wait(`document.querySelector("table.costs tr[data-row]")`)
		})
	}
}

// TestEmptyAnswersE2E asks for what is not there.
func TestEmptyAnswersE2E(t *testing.T) {
	at := demoURL(t)
	for _, v := range []struct{ query, want string }{
		{"?window=2020-01-01T00:00:00Z,2020-01-02T00:00:00Z", "No data for this period"},
		{"?view=why&window=2020-01-01T00:00:00Z,2020-01-02T00:00:00Z", "window"},
		{"?view=assets&window=2020-01-01T00:00:00Z,2020-01-02T00:00:00Z", "Choose another window"},
		{"?filter=" + url.QueryEscape(`namespace:"nothing-here"`), "filter"},
	} {
		t.Run(v.query, func(t *testing.T) {
			p := open(t, at+"/ui/"+v.query)
			if text := p.text("#view"); !strings.Contains(text, v.want) {
				t.Errorf("the page says %q, which lacks %q", text, v.want)
			}
			p.checkAxe()
		})
	}
	t.Run("neither budgets nor bills", func(t *testing.T) {
		without := proxy(t, at, func(w http.ResponseWriter, r *http.Request) bool {
			data := map[string]string{"/model/budgets": "[]", "/model/reconciliation": "{}"}[r.URL.Path]
			if data != "" {
				fmt.Fprintf(w, `{"code":200,"status":"success","data":%s}`, data)
			}
			return data != ""
		}, nil)
		for view, want := range map[string]string{"budgets": "budgets:", "bill": "bills:"} {
			p := open(t, without+"/ui/?view="+view)
			if text := p.text("#view"); !strings.Contains(text, want) {
				t.Errorf("%s says %q, which lacks %q", view, text, want)
			}
			p.checkAxe()
		}
	})
}

// TestUnknownViewsE2E opens views that there are not: the first one is shown.
func TestUnknownViewsE2E(t *testing.T) {
	at := demoURL(t)
	for _, view := range []string{"__proto__", "constructor", "toString", "hasOwnProperty", "nosuch", ""} {
		t.Run(view, func(t *testing.T) {
			p := open(t, at+"/ui/?view="+view+"&idle=__proto__&effect=constructor")
			p.wait(`document.querySelector("table.costs tr[data-row]")`)
			if got := eval[string](p, `document.querySelector("#views a[aria-current]").dataset.view`); got != "allocations" {
				t.Errorf("the view is %q", got)
			}
		})
	}
}

// hostile is a name that would do something if it were markup.
const hostile = `<script>document.title='owned'</script><img src=x onerror=document.title='owned'>`

func TestHostileNamesE2E(t *testing.T) {
	at := demoURL(t)
	escaped := strings.NewReplacer(`"`, `\"`, "<", `\u003c`).Replace(hostile)
	before := proxy(t, at, nil, func(path, body string) string {
		if !strings.HasPrefix(path, "/model/") {
			return body
		}
		return strings.NewReplacer(`"search"`, `"`+escaped+`"`, `"team-a"`, `"`+escaped+`"`, `"m5.2xlarge"`, `"`+escaped+`"`, `"cpu usage"`, `"`+escaped+`"`, "/search/", "/"+escaped+"/").Replace(body)
	})
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			p := open(t, before+"/ui/"+v.query)
			p.wait(`document.querySelector("#view").textContent.includes("<script>")`)
			if title := eval[string](p, `document.title`); strings.Contains(title, "owned") {
				t.Error("the name was run")
			}
			if n := eval[int](p, `document.querySelectorAll("#view script, #view img").length`); n > 0 {
				t.Errorf("%d elements were made of the name", n)
			}
			if p.allowed = func(text string) bool { return strings.Contains(text, "CSS") }; v.name == "allocations" {
				p.clickText("table.costs tbody th button.name", hostile)
				p.settle()
			}
		})
	}
}

func TestRoutePrefixE2E(t *testing.T) {
	at := demoURL(t)
	// As the proxy of the API server does, this one takes a prefix away that promcost does not know.
	const below = "/api/v1/namespaces/promcost/services/promcost:9003/proxy"
	stripped := proxy(t, at, func(w http.ResponseWriter, r *http.Request) bool {
		rest, ok := strings.CutPrefix(r.URL.Path, below)
		if r.URL.Path = rest; !ok {
			http.Error(w, "outside of the prefix", http.StatusTeapot)
		}
		return !ok
	}, nil)
	for name, root := range map[string]string{"web.route-prefix": at + prefix, "API server's proxy": stripped + below} {
		t.Run(name, func(t *testing.T) {
			for _, v := range views {
				p := open(t, root+"/ui/"+v.query)
				p.wait(`document.querySelector("#view").innerText.includes(` + quote(v.text) + `)`)
			}
			p := open(t, root+"/ui/")
			p.click(`#views a[data-view="assets"]`)
			p.wait(`document.querySelector("#view").innerText.includes("m5.2xlarge")`)
			if got := eval[string](p, `location.href`); !strings.HasPrefix(got, root+"/ui/?view=assets") {
				t.Errorf("the address is %s", got)
			}
			p.do(chromedp.NavigateBack())
			p.settle()
			for _, href := range eval[[]string](p, `[...document.querySelectorAll("a[href]:not([target=_blank])")].map((a) => a.href)`) {
				if !strings.HasPrefix(href, root+"/") {
					t.Errorf("a link leads to %s", href)
				}
			}
		})
	}
}

// TestLateAnswersE2E holds back what the view shows besides its numbers, until the mouse is pressed on a row. The row stays where and what it is,
// so that letting go opens it.
func TestLateAnswersE2E(t *testing.T) {
	late := make(chan struct{})
	before := proxy(t, demoURL(t), func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/change") || r.URL.Query().Get("accumulate") == "day" {
			select {
			case <-late:
			case <-r.Context().Done():
			}
		}
		return false
	}, nil)
	p := open(t, before+"/ui/?idle=hide&window="+week)
	const row = `[...document.querySelectorAll("table.costs tbody th button.name")].find((e) => e.textContent === "search")`
	const place = `(() => { const box = ` + row + `.getBoundingClientRect(); return [box.x + 10, box.y + box.height / 2]; })()`
	was := eval[[2]float64](p, place)
	mouse := func(event input.DispatchMouseEventType) {
		p.do(chromedp.MouseEvent(event, was[0], was[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	}
	mouse(input.DispatchMouseEventTypeMousePressed)
	close(late)
	p.wait(`[...document.querySelectorAll("table.costs td[data-column=change]")].some((e) => e.innerText.includes("why?")) && document.querySelector("#view canvas")`)
	if is := eval[[2]float64](p, place); is != was {
		t.Errorf("the row was at %v and is at %v", was, is)
	}
	mouse(input.DispatchMouseEventTypeMouseReleased)
	p.wait(`new URLSearchParams(location.search).get("path")?.includes("search")`)
}

// TestNewQuestionCancelsE2E holds an answer back, asks something else meanwhile, and wants the first question to end.
func TestNewQuestionCancelsE2E(t *testing.T) {
	at := demoURL(t)
	asked, ended := make(chan struct{}, 100), make(chan struct{}, 100)
	var once sync.Once
	before := proxy(t, at, func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/model/allocation") || r.URL.Query().Get("window") != "48h" && r.URL.Query().Get("window") != "24h" {
			return false
		}
		once.Do(func() { close(asked) })
		<-r.Context().Done()
		ended <- struct{}{}
		return true
	}, nil)
	p := newPage(t)
	p.do(chromedp.Navigate(before + "/ui/?window=24h"))
	wait := func(of <-chan struct{}, what string) {
		t.Helper()
		select {
		case <-of:
		case <-time.After(patience):
			t.Fatalf("%s\n%s", what, p.state())
		}
	}
	wait(asked, "the page asks nothing")
	p.wait(`document.querySelector("#toolbar select[name=window]")`)
	p.do(chromedp.SetValue(chromedp.CSS("#toolbar select[name=window]"), "7d"))
	eval[bool](p, `document.querySelector("#toolbar select[name=window]").dispatchEvent(new Event("change", {bubbles: true}))`)
	wait(ended, "the first question goes on")
	p.settle()
	if got := p.query("window"); got != "7d" {
		t.Errorf("the window is %q", got)
	}
	p.wait(`document.querySelector("table.costs tr[data-row]")`)
}

func TestTenThousandRowsE2E(t *testing.T) {
	const rows = 10_000
	at := demoURL(t)
	before := proxy(t, at, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/model/allocation") || r.URL.Query().Get("aggregate") != "pod" || r.URL.Query().Get("accumulate") == "day" {
			return false
		}
		const span = `"window":{"start":"2026-03-11T00:00:00Z","end":"2026-03-18T12:00:00Z"},"start":"2026-03-11T00:00:00Z","end":"2026-03-18T12:00:00Z","minutes":10800`
		fmt.Fprint(w, `{"code":200,"status":"success","resolution":"exact","data":[{`)
		for i := range rows {
			comma := ","
			if i == 0 {
				comma = ""
			}
			fmt.Fprintf(w, `%s"pod-%05d":{"name":"pod-%05d","properties":{"cluster":"cluster-one","namespace":"search","pod":"pod-%05d"},%s,"cpuCost":%d,"ramCost":1,"totalCost":%d}`, comma, i, i, i, span, i, i+1)
		}
		fmt.Fprint(w, `}]}`)
		return true
	}, nil)
	p := open(t, before+"/ui/?aggregate=pod&idle=hide")
	p.wait(`document.querySelector("table.costs").getAttribute("aria-rowcount") === "10001"`)
	if n := eval[int](p, `document.querySelectorAll("table.costs tr").length`); n > 500 {
		t.Errorf("%d of %d rows are elements", n, rows)
	}
	// Each step of scrolling is drawn within a frame or two: half of them within 40 ms on any machine that is not overwhelmed.
	took := eval[float64](p, `(async () => {
		const box = document.querySelector(".scroll.long"), frame = () => new Promise(requestAnimationFrame), took = [];
		for (let y = 0; y < 60; y++) {
			const began = performance.now();
			box.scrollTop = y * 4000;
			await frame(); await frame();
			took.push(performance.now() - began);
		}
		return took.sort((a, b) => a - b)[30];
	})()`)
	t.Logf("%d rows: half of the steps of scrolling are drawn within %.0f ms", rows, took)
	eval[bool](p, `(document.querySelector(".scroll.long").scrollTop = 1e9, true)`)
	p.wait(`document.querySelector("table.costs tbody").innerText.includes("pod-00000")`)
	if gap := eval[float64](p, `(() => {
		const box = document.querySelector(".scroll.long").getBoundingClientRect(), last = [...document.querySelectorAll("tr[data-row]")].at(-1).getBoundingClientRect();
		return Math.abs(box.bottom - last.bottom);
	})()`); gap > 40 {
		t.Errorf("below the last row there are %v px", gap)
	}
	p.checkAxe()
}
