package browser_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestSavedViewsE2E saves a view, comes back to it, begins with it, and forgets it; views of the configuration come first.
func TestSavedViewsE2E(t *testing.T) {
	at := demoURL(t)
	p := open(t, at+"/ui/?view=why&window=yesterday")
	if eval[bool](p, `document.querySelector(".saved").open`) {
		t.Error("the menu is open")
	}
	p.click(".saved summary")
	p.do(chromedp.SendKeys(chromedp.CSS(".saved input"), "Why yesterday"))
	p.click(".saved form button")
	p.wait(`document.querySelector(".saved li a")?.textContent === "Why yesterday"`)
	p.checkAxe()
	p.shot("saved")
	p.navigate(at + "/ui/")
	if got := p.query("view") + p.query("window"); got != "whyyesterday" {
		t.Errorf("the page begins with %q", got)
	}
	p.clickText("#views a", "Allocations")
	p.wait(`document.querySelector("#views a[aria-current]").dataset.view === "allocations"`)
	p.settle()
	if got := p.query("view"); got != "allocations" {
		t.Errorf("the address of allocations has the view %q, and would be that of the first view", got)
	}
	for _, width := range []int64{1024, 390} {
		p.do(chromedp.EmulateViewport(width, 844))
		p.click(".saved summary")
		if sticks := eval[bool](p, `(() => { const b = document.querySelector(".saved .menu").getBoundingClientRect(); return b.left < 0 || b.right > innerWidth; })()`); sticks {
			t.Errorf("at %d px the menu sticks out", width)
		}
		p.shot(fmt.Sprintf("saved-%d", width))
		p.click(".saved summary")
	}
	configured := proxy(t, at, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/model/views" {
			return false
		}
		fmt.Fprint(w, `{"code":200,"data":[{"name":"What we pay","query":"view=bill"}]}`)
		return true
	}, nil)
	other := open(t, configured+"/ui/")
	if got := other.query("view"); got != "bill" {
		t.Errorf("the page begins with %q", got)
	}
	p.do(chromedp.EmulateViewport(1280, 900))
	p.click(".saved summary")
	p.click(".saved li button")
	p.wait(`document.querySelector(".saved .menu").textContent.includes("Nothing is saved yet")`)
	p.navigate(at + "/ui/")
	if got := p.query("view"); got != "" {
		t.Errorf("without saved views the page begins with %q", got)
	}
}
