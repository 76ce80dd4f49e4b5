package browser_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// observer notes when the page first has rows of numbers.
const observer = `new MutationObserver((_, o) => {
	if (!document.querySelector("table.costs tr[data-row]")) return;
	requestAnimationFrame(() => { window.numbersAt = performance.now(); });
	o.disconnect();
}).observe(document, {childList: true, subtree: true});`

// BenchmarkExplorer opens the page of a server with the history of -history.dir, which BenchmarkHistory of cmd/promcost wrote: how long
// it takes until something is painted, and until the numbers are. It tells the median, of a browser whose cache is empty and of one
// that was there before, and of a server's first answer.
func BenchmarkExplorer(b *testing.B) {
	if skipped != "" {
		b.Skip(skipped)
	}
	if *historyDir == "" {
		b.Skip("name a directory with -history.dir: make bench-explorer does")
	}
	for _, q := range []struct{ name, query string }{
		{"7-days-by-namespace", "?window=2026-03-25T00:00:00Z,2026-04-01T00:00:00Z"},
		{"7-days-by-namespace-off-midnight", "?window=2026-03-24T13:00:00Z,2026-03-31T13:00:00Z"},
		{"30-days-by-namespace", "?window=2026-03-02T00:00:00Z,2026-04-01T00:00:00Z"},
		{"90-days-by-controller", "?aggregate=controller&window=2026-01-01T00:00:00Z,2026-04-01T00:00:00Z"},
	} {
		b.Run(q.name, func(b *testing.B) {
			at, err := start("promcost is ready", "serve", "--source=none", "--storage.path="+*historyDir)
			if err != nil {
				b.Fatal(err)
			}
			var paints, numbers []float64
			for b.Loop() {
				paint, number := load(b, at+"/ui/"+q.query)
				paints, numbers = append(paints, paint), append(numbers, number)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(numbers[0], "first-numbers-ms")
			b.ReportMetric(median(paints), "paint-ms")
			b.ReportMetric(median(numbers), "numbers-ms")
		})
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// load opens an address in a tab of its own, and says how many milliseconds went by until something was painted, and until numbers were.
func load(b *testing.B, address string) (paint, numbers float64) {
	b.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	defer cancel()
	p := &page{t: b, ctx: ctx}
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: observer})
		return err
	}), chromedp.Navigate(address))
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if numbers = eval[float64](p, `window.numbersAt ?? 0`); numbers > 0 {
			break
		}
	}
	if numbers == 0 {
		b.Fatal(p.state())
	}
	return eval[float64](p, `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1`), numbers
}
