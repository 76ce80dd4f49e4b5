package main

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/democluster"
)

// longDemo are the flags of a demo cluster that is more than a week old, so that what looks back a week has something.
var longDemo = []string{"--demo.nodes=4", "--demo.pods=40", "--demo.duration=8d", "--demo.scrape-interval=5m"}

// awaitNewDay waits until the day ends if it does within minutes: after that, the bills of a demo begun before do not reach yesterday.
func awaitNewDay(t *testing.T) {
	t.Helper()
	const day, testsTake = 24 * time.Hour, 5 * time.Minute
	if left := time.Until(time.Now().Truncate(day).Add(day)); left < testsTake {
		select {
		case <-time.After(left):
		case <-t.Context().Done():
		}
	}
}

// TestDemoShowsEveryPanel asks the demo without flags for everything that the dashboards show, as Grafana asks: for newest values
// at an instant, for others over time.
func TestDemoShowsEveryPanel(t *testing.T) {
	t.Parallel()
	awaitNewDay(t)
	p := start(t, append([]string{"demo", "--web.listen-address=127.0.0.1:0"}, longDemo...)...)
	base := p.url(t)
	eventually(t, "the demo does not get ready, or stays behind", func() bool {
		code, body := get(t, base+"/-/ready")
		return code == 200 && !strings.Contains(body, "behind")
	})
	eventually(t, "the history is not filled, which budgets are told from", func() bool {
		told, _ := vector(t, base, "promcost_budget_spent")
		return len(told) == len(demoBudgets)
	})
	eventually(t, "it knows nothing of itself", func() bool {
		return len(answerOf(t, base+"/api/v1/query", url.Values{"query": {`rate(promcost_http_requests_total{handler="/api/v1/query"}[1m])`}})) > 0
	})
	eventually(t, "it knows nothing of its bill", func() bool {
		return len(answerOf(t, base+"/api/v1/query", url.Values{"query": {"promcost_bill_matched_ratio"}})) > 0
	})
	eventually(t, "it recommends no requests", func() bool {
		return len(answerOf(t, base+"/api/v1/query", url.Values{"query": {"promcost_recommended_request"}})) > 0
	})
	now := time.Now()
	for _, e := range expressions(t) {
		t.Run(strings.Join([]string{e.board, e.panel, e.ref}, "/"), func(t *testing.T) {
			at := func(t time.Time) string { return model.TimeFromUnixNano(t.UnixNano()).String() }
			text := strings.ReplaceAll(e.whole, "[10s]", "[1m]") // as Grafana replaces it if samples are 15 seconds apart
			if !e.overTime {
				instant := now
				if lastBilled := now.Truncate(24 * time.Hour).Add(30 * time.Minute); e.ofPromcost() && lastBilled.Before(now) { // as the link By bill chooses
					instant = lastBilled
				}
				checkShown(t, text, answerOf(t, base+"/api/v1/query", url.Values{"query": {text}, "time": {at(instant)}}))
				return
			}
			begin := now.Add(-6 * time.Hour)
			if e.ofPromcost() { // there is nothing of today
				begin = now.Add(-48 * time.Hour)
			}
			got := answerOf(t, base+"/api/v1/query_range", url.Values{
				"query": {text}, "start": {at(begin)}, "end": {at(now)}, "step": {"300"},
			})
			checkShown(t, text, got)
			longest := 0
			for _, s := range got {
				longest = max(longest, len(s.Values))
			}
			if want := 6 * 12; longest < want && e.board != aboutItself && !strings.Contains(text, "promcost_bill_") { // which began with the program
				t.Errorf("it has gaps: the longest series has %d samples, want %d: %s", longest, want, text)
			}
		})
	}
	p.end(t)
}

// TestDemoBudgets makes one that lasts, one that will not, and one that is spent.
func TestDemoBudgets(t *testing.T) {
	end := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
	c, err := democluster.New(democluster.Config{Nodes: 4, Pods: 40, End: end}.WithDefaults(end))
	if err != nil {
		t.Fatal(err)
	}
	cost := costOfTeams(c.Truth(c.Start(), end))
	for i, b := range demoBudgetsOf(c, time.UTC) {
		period := metering.BudgetPeriod(b.Period).Window(end, time.UTC)
		spent := cost[b.Name]
		expected := spent + spent/end.Sub(c.Start()).Hours()*period.End.Sub(end).Hours()
		low, high := [...]float64{1.5 * expected, 1.1 * spent, 0.3 * spent}[i], [...]float64{3 * expected, 0.9 * expected, 0.8 * spent}[i]
		if b.Amount < low || b.Amount > high {
			t.Errorf("%s: %v, want it between %v and %v: %v is spent, and %v expected", b.Name, b.Amount, low, high, spent, expected)
		}
	}
}

// TestDemoBudgetsHaveAnAmount makes budgets at instants when nothing is spent yet, or nothing more is to come.
func TestDemoBudgetsHaveAnAmount(t *testing.T) {
	for _, end := range []string{"2026-01-01T00:00:00Z", "2026-01-31T23:59:00Z", "2026-02-01T00:00:00Z", "2026-12-31T23:59:00Z"} {
		t.Run(end, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, end)
			if err != nil {
				t.Fatal(err)
			}
			c, err := democluster.New(democluster.Config{Nodes: 4, Pods: 40, Duration: 8 * time.Hour, End: at}.WithDefaults(at))
			if err != nil {
				t.Fatal(err)
			}
			budgets := demoBudgetsOf(c, time.UTC)
			if len(budgets) < 2 {
				t.Errorf("%d budgets", len(budgets))
			}
			for _, b := range budgets {
				if b.Amount <= 0 || metering.BudgetPeriod(b.Period).Window(at, time.UTC).Duration() < 24*time.Hour {
					t.Errorf("%s: %v for the %s", b.Name, b.Amount, b.Period)
				}
			}
		})
	}
}
