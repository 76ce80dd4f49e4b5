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
	month := allocation.Window{Start: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), End: now.Truncate(time.Hour)}
	h := newHandler(&fake{}, costapi.Config{
		Budgets: func() []metering.Budget { return budgets },
		Spending: func() *metering.Spending {
			return &metering.Spending{States: []metering.BudgetState{{Budget: &budgets[0], Window: month, Spent: 60, Forecast: 90}, {Budget: &budgets[2], Window: month, Spent: 1, Forecast: -1}}, Unknown: []string{"new"}}
		},
	})
	var answer struct {
		Data     json.RawMessage
		Warnings []string
	}
	if err := json.Unmarshal(get(h, "/model/budgets").Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	const want = `[{"name":"team-a","period":"month","amount":100,"spent":60,"forecast":90,"window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-21T04:00:00Z"}},` +
		`{"name":"new","period":"week","amount":5,"spent":null,"forecast":null,"window":null},` +
		`{"name":"first day","period":"day","amount":7,"spent":1,"forecast":null,"window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-21T04:00:00Z"}}]`
	if diff := cmp.Diff(want, string(answer.Data)); diff != "" {
		t.Error(diff)
	}
	if len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], `budget "new"`) || !strings.Contains(answer.Warnings[0], "promcost backfill") {
		t.Errorf("warnings %q", answer.Warnings)
	}
	if got := strings.TrimSpace(get(newHandler(&fake{}, costapi.Config{}), "/model/budgets").Body.String()); got != `{"code":200,"status":"success","data":[]}` {
		t.Errorf("without budgets: %s", got)
	}
}
