package costapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/costapi"
)

// TestSince says from when on costs are at their new level. It is 04:13:46 on the 21st; web costs 3 an hour on the 18th and else 1, on the 17th nothing has data.
func TestSince(t *testing.T) {
	h := costapi.New(weekly(), log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
	for _, tc := range []struct {
		name, params, row string
		want              string // "" for null
	}{
		{"hour by hour, over hours without data", "window=2026-11-18,2026-11-19&baseline=2026-11-16,2026-11-17", "web", "2026-11-18T00:00:00Z"},
		{"day by day", "window=2026-11-18,2026-11-19&baseline=2026-11-11,2026-11-12", "web", "2026-11-18T00:00:00Z"},
		{"back at the level of before", "window=2026-11-19,2026-11-21&baseline=2026-11-12,2026-11-17", "web", "2026-11-19T00:00:00Z"},
		{"within the window", "window=2026-11-18,2026-11-21&baseline=2026-11-11,2026-11-12", "web", "2026-11-19T00:00:00Z"},
		{"always the same", "window=2026-11-20,2026-11-21&baseline=2026-11-19,2026-11-20", "web", ""},
		{"new", "window=2026-11-20,2026-11-21&baseline=2026-11-19,2026-11-20", "new", "2026-11-20T00:00:00Z"},
		{"a part", "window=2026-11-18,2026-11-19&baseline=2026-11-16,2026-11-17&drill=cluster", "web/c", "2026-11-18T00:00:00Z"},
		{"the total", "window=2026-11-18,2026-11-19&baseline=2026-11-16,2026-11-17", "", "2026-11-18T00:00:00Z"},
		{"computed", "window=2026-11-18,2026-11-19&baseline=2026-11-16,2026-11-17&resolution=1m", "web", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			type row struct {
				Name  string
				Since *string
			}
			var answer struct {
				Data struct {
					Total row
					Rows  []struct {
						row
						Parts []row
					}
				}
			}
			w := get(h, "/model/allocation/change", append(strings.Split(tc.params, "&"), "aggregate=namespace")...)
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
				t.Fatalf("%v: status %d: %s", err, w.Code, w.Body)
			}
			got := map[string]*string{"": answer.Data.Total.Since}
			for _, r := range answer.Data.Rows {
				got[r.Name] = r.Since
				for _, p := range r.Parts {
					got[r.Name+"/"+p.Name] = p.Since
				}
			}
			var want *string
			if tc.want != "" {
				want = &tc.want
			}
			since, ok := got[tc.row]
			if diff := cmp.Diff(want, since); diff != "" || !ok {
				t.Errorf("%s\n%s", diff, w.Body)
			}
		})
	}
}
