package costapi_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/filter"
)

// crowd is a ledger all of whose sets have 1,000 containers and 50 nodes of many labels, in a window of any length.
type crowd struct{ set *allocation.Set }

func newCrowd() crowd {
	s := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	for i := range 1_000 {
		row := allocation.Row{}
		row.Text[allocation.Cluster], row.Text[allocation.Namespace], row.Text[allocation.Pod] = "one", "web", fmt.Sprint("web-", i)
		s.Append(&row)
	}
	labels := map[string]string{}
	for i := range 100 {
		labels[fmt.Sprint("k", i)] = "v"
	}
	for i := range 50 {
		s.Nodes = append(s.Nodes, allocation.Node{Cluster: "one", Name: fmt.Sprint("n", i), Labels: labels})
	}
	return crowd{s}
}

func (c crowd) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range windows {
			s := *c.set
			if s.Window = w; !yield(&s, nil) {
				return
			}
		}
	}
}

// TestFiltersOfManySets refuses what is little for one set, and too much for all of them.
func TestFiltersOfManySets(t *testing.T) {
	repeated := func(format string, n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, "|")
	}
	rows, half := repeated(`(node:"x%d"+namespace:"x")`, 500), repeated(`(node:"x%d"+namespace:"x")`, 250)
	labels := repeated(`label[k%d]:"x"`, 99)
	h := costapi.New(newCrowd(), log.NewNopLogger(), costapi.Config{MaxFilterSteps: filter.MaxSteps / 20})
	for _, tc := range []struct {
		path         string
		query        url.Values
		days, status int
	}{
		{"/allocation", url.Values{"filter": {rows}}, 1, http.StatusOK},
		{"/allocation", url.Values{"filter": {rows}}, 45, http.StatusUnprocessableEntity},
		{"/allocation", url.Values{"filter": {half}, "share": {half}}, 45, http.StatusUnprocessableEntity},
		{"/allocation", url.Values{"filterPods": {"a*"}}, 45, http.StatusOK},
		{"/model/assets", url.Values{"filter": {labels}}, 1, http.StatusOK},
		{"/model/assets", url.Values{"filter": {labels}}, 45, http.StatusUnprocessableEntity},
		{"/model/assets", url.Values{"labelSelector": {"k1=v"}}, 45, http.StatusOK},
	} {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		tc.query.Set("window", start.Format(time.RFC3339)+","+start.AddDate(0, 0, tc.days).Format(time.RFC3339))
		tc.query.Set("step", "1d")
		r := httptest.NewRequest(http.MethodPost, tc.path, strings.NewReader(tc.query.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := do(h, r)
		tooMuch := strings.Contains(w.Body.String(), "the filters take more than 2500000 steps: give fewer or simpler comparisons")
		if w.Code != tc.status || tooMuch != (tc.status != http.StatusOK) {
			t.Errorf("%s?%.50s over %d days: status %d, want %d: %.300s", tc.path, tc.query.Encode(), tc.days, w.Code, tc.status, w.Body)
		}
	}
}
