package browser_test

import (
	"strings"
	"testing"
)

// TestBudgetsE2E says first which budgets are spent, will be, or are not known yet: one of which nothing is known is not on track.
func TestBudgetsE2E(t *testing.T) {
	const (
		head    = `{"code":200,"data":[`
		shape   = `"period":"month","cost":"list","window":null,"billedUntil":null,"spentUnbilled":null`
		fine    = `{"name":"fine","amount":100,"spent":10,"forecast":50,` + shape + `}`
		over    = `{"name":"over","amount":100,"spent":10,"forecast":150,` + shape + `}`
		spent   = `{"name":"done","amount":100,"spent":110,"forecast":150,` + shape + `}`
		unknown = `{"name":"new","amount":100,"spent":null,"forecast":null,` + shape + `}`
	)
	for name, tt := range map[string]struct{ data, want string }{
		"fine":    {fine, "All budgets are on track."},
		"unknown": {fine + "," + unknown, "Not known yet: new."},
		"all":     {strings.Join([]string{fine, over, spent, unknown}, ","), "Spent already: done. Over budget by the end of its period: over. Not known yet: new."},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, proxy(t, demoURL(t), nil, func(path, body string) string {
				if path != "/model/budgets" {
					return body
				}
				return head + tt.data + `]}`
			})+"/ui/?view=budgets")
			p.quiet()
			if got := p.text("p.lead"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
