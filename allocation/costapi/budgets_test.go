package costapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/metering"
)

// TestBudgets answers with what is known of budgets: the rest is null, and a warning says why.
func TestBudgets(t *testing.T) {
	budgets := []metering.Budget{{Name: "team-a", Amount: 100, Period: metering.BudgetMonth}, {Name: "new", Amount: 5, Period: metering.BudgetWeek}, {Name: "first day", Amount: 7, Period: metering.BudgetDay}}
	for _, name := range [...]string{"bill", "whole bill", "no bill"} {
		budgets = append(budgets, metering.Budget{Name: name, Amount: 8, Period: metering.BudgetMonth, Billed: true})
	}
	month := allocation.Window{Start: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), End: now.Truncate(time.Hour)}
	h := newHandler(&fake{}, costapi.Config{
		Budgets: func() []metering.Budget { return budgets },
		Spending: func() *metering.Spending {
			return &metering.Spending{States: []metering.BudgetState{
				{Budget: &budgets[0], Window: month, Known: month.Duration(), Spent: 60, Forecast: 90},
				{Budget: &budgets[2], Window: month, Known: 24 * time.Hour, Spent: 1, Forecast: -1},
				{Budget: &budgets[3], Window: month, Known: month.Duration(), Spent: 5, Forecast: -1, BilledUntil: time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC), SpentUnbilled: 2},
				{Budget: &budgets[4], Window: month, Known: month.Duration(), Spent: 5, Forecast: -1, BilledUntil: month.End},
				{Budget: &budgets[5], Window: month, Known: month.Duration(), Spent: 5, Forecast: -1},
			}, Unknown: []string{"new"}}
		},
	})
	var answer struct {
		Data     json.RawMessage
		Warnings []string
	}
	if err := json.Unmarshal(get(h, "/model/budgets").Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	const want = `[{"name":"team-a","period":"month","amount":100,"cost":"list","spent":60,"forecast":90,"window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-21T04:00:00Z"},"coveredHours":484,"windowHours":484,"billedUntil":null,"spentUnbilled":null},` +
		`{"name":"new","period":"week","amount":5,"cost":"list","spent":null,"forecast":null,"window":null,"coveredHours":null,"windowHours":null,"billedUntil":null,"spentUnbilled":null},` +
		`{"name":"first day","period":"day","amount":7,"cost":"list","spent":1,"forecast":null,"window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-21T04:00:00Z"},"coveredHours":24,"windowHours":484,"billedUntil":null,"spentUnbilled":null},` +
		`{"name":"bill","period":"month","amount":8,"cost":"billed","spent":5,"forecast":null,"window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-21T04:00:00Z"},"coveredHours":484,"windowHours":484,"billedUntil":"2026-11-19T00:00:00Z","spentUnbilled":2},` +
		`{"name":"whole bill","period":"month","amount":8,"cost":"billed","spent":5,"forecast":null,"window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-21T04:00:00Z"},"coveredHours":484,"windowHours":484,"billedUntil":"2026-11-21T04:00:00Z","spentUnbilled":0},` +
		`{"name":"no bill","period":"month","amount":8,"cost":"billed","spent":5,"forecast":null,"window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-21T04:00:00Z"},"coveredHours":484,"windowHours":484,"billedUntil":null,"spentUnbilled":5}]`
	if diff := cmp.Diff(want, string(answer.Data)); diff != "" {
		t.Error(diff)
	}
	wantWarnings := []string{
		`budget "new": what is spent of it is not known yet: hours of its period have to be computed, see promcost backfill`,
		`budget "first day": 1 of 20.2 days have data: what the others cost is not in what is spent. promcost backfill adds them, as far as the source has samples of them`,
		`budget "bill": what was spent from 2026-11-19T00:00:00Z on is estimated from the last billed days: bills have no final charges of it yet`,
		`budget "no bill": no bill has final charges yet: all of it is at list prices`,
	}
	if diff := cmp.Diff(wantWarnings, answer.Warnings); diff != "" {
		t.Errorf("warnings: %s", diff)
	}
	if got := strings.TrimSpace(get(newHandler(&fake{}, costapi.Config{}), "/model/budgets").Body.String()); got != `{"code":200,"status":"success","data":[]}` {
		t.Errorf("without budgets: %s", got)
	}
}
