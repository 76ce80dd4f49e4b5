package browser_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// writer is the path to the demo's workload whose requests grow.
var writer = url.QueryEscape(`[["namespace","payments"],["controller","deployment:ledger-writer"]]`)

// TestWorkloadE2E shows a workload, at several widths and in both themes: the numbers are those of the API.
func TestWorkloadE2E(t *testing.T) {
	at := demoURL(t)
	type row struct{ TotalCost, Containers, CPUCoreRequestAverage float64 }
	want := ask[[]map[string]row](t, at, "/model/allocation", url.Values{
		"window": {"yesterday"}, "aggregate": {"all"}, "accumulate": {"true"}, "idle": {"false"}, "unbilled": {"estimate"}, "shareTenancyCosts": {"true"}, "filter": {`namespace:"payments"+controllerKind:"deployment"+controllerName:"ledger-writer"`},
		"fields": {"totalCost,containers,cpuCoreRequestAverage"},
	})[0]
	var of row
	for _, r := range want {
		of = r
	}
	p := newPage(t)
	for _, screen := range []struct {
		width, height int64
		scheme        string
	}{{1440, 1900, "light"}, {1440, 1900, "dark"}, {1024, 1200, "light"}, {390, 2400, "light"}} {
		p.prefer(screen.scheme)
		p.do(chromedp.EmulateViewport(screen.width, screen.height))
		p.navigate(at + "/ui/?view=workload&window=yesterday&path=" + writer)
		p.wait(`document.querySelectorAll("#view canvas").length >= 4`)
		if x := number(t, p.text(".tiles dd")); !sameMoney(x, of.TotalCost) || of.TotalCost == 0 {
			t.Errorf("the cost is %v, the API has %v", x, of.TotalCost)
		}
		text := p.text("#view")
		for _, part := range []string{"team-a", "11", "Changed requests", "since 17 Mar, 01:00", "kubectl -n payments describe deployment/ledger-writer", `promcost_controller_hourly_cost{namespace="payments", controller_kind="deployment", controller="ledger-writer"}`, "Nodes that it ran on", "requested", "used"} {
			if !strings.Contains(text, part) {
				t.Errorf("the view lacks %q", part)
			}
		}
		if width := eval[int64](p, `document.documentElement.scrollWidth`); width > screen.width {
			t.Errorf("the page is %d px wide on a screen of %d px: %s", width, screen.width, eval[string](p, widest))
		}
		p.quiet()
		p.checkAxe()
		p.shot(fmt.Sprintf("workload-%d-%s", screen.width, screen.scheme))
	}
}

// TestToWorkloadE2E comes to a workload from its row: of a controller by its details, of a container, which consists of nothing, by its name.
func TestToWorkloadE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?window=yesterday&aggregate=controller")
	p.click(`button.details[aria-label$="deployment:ledger-writer"]`)
	p.wait(`new URLSearchParams(location.search).get("view") === "workload"`)
	p.settle()
	if text := p.text("nav.path"); !strings.Contains(text, "namespace payments") || !strings.Contains(text, "ledger-writer") {
		t.Errorf("the heading is %q", text)
	}
	p.clickText("nav.path button", "among others")
	p.wait(`new URLSearchParams(location.search).get("aggregate") === "controller"`)
	p.navigate(at + "/ui/?window=yesterday&aggregate=pod&path=" + writer)
	p.clickText("nav.path button", "requests, usage and more")
	p.wait(`document.querySelectorAll("#view canvas").length >= 4`)
	p.navigate(at + "/ui/?window=yesterday&aggregate=container&path=" + writer)
	p.clickText("table.costs tbody th button.name", "ledger")
	p.wait(`new URLSearchParams(location.search).get("view") === "workload"`)
	p.wait(`document.querySelectorAll("#view canvas").length >= 4`)
	p.navigate(at + "/ui/?view=workload")
	if text := p.text("#view"); !strings.Contains(text, "Choose a workload") {
		t.Errorf("without a workload, the view says %q", text)
	}
}
