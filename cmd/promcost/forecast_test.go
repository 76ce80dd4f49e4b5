package main

import (
	"math"
	"net/url"
	"slices"
	"testing"
)

// TestForecastAtTheTurnOfAMonth asks for the month's forecast just after the month began, when no hour of it is shown yet: costs
// are those of the last hour, which was closed ten minutes before.
func TestForecastAtTheTurnOfAMonth(t *testing.T) {
	t.Parallel()
	p := start(t, "demo", "--web.listen-address=127.0.0.1:0", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=3d", "--demo.scrape-interval=5m",
		"--demo.end=2026-11-01T06:00:00Z", "--timezone=UTC")
	base := p.url(t)
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == 200 })
	all := expressions(t)
	ask := func(panel, at string) float64 {
		i := slices.IndexFunc(all, func(e expression) bool { return e.board == "promcost / Overview" && e.panel == panel })
		if i < 0 {
			t.Fatalf("there is no panel %q", panel)
		}
		got := answerOf(t, base+"/api/v1/query", url.Values{"query": {all[i].whole}, "time": {at}})
		if len(got) != 1 {
			t.Fatalf("%s at %s: %v", panel, at, got)
		}
		return float64(got[0].Value.Value)
	}
	for _, tt := range []struct {
		at   string
		left float64 // hours of the month that are not shown yet
	}{
		{"2026-10-31T22:30:00Z", 2},
		{"2026-10-31T23:59:00Z", 1},
		{"2026-11-01T00:05:00Z", 1}, // still of October, all but an hour
		{"2026-11-01T00:15:00Z", 0}, // all of October
		{"2026-11-01T01:05:00Z", 0},
		{"2026-11-01T01:15:00Z", 30*24 - 1}, // of November
		{"2026-11-01T02:30:00Z", 30*24 - 2},
	} {
		got, spent, hour := ask("Forecast for the month, at list prices", tt.at), ask("Month to date, at list prices", tt.at), ask("Run rate per hour", tt.at)
		if want := spent + tt.left*hour; math.Abs(got-want) > 0.2*tt.left*hour+1e-9*want { // the day's average is not the hour's
			t.Errorf("at %s: forecast %v, want about %v: %v is spent, %v an hour", tt.at, got, want, spent, hour)
		}
	}
	p.end(t)
}
