package costapi_test

import (
	"context"
	"iter"
	"net/http"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/places"
)

// sizing is a ledger that notes whether it was asked for a small question.
type sizing struct{ small *bool }

func (s sizing) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	*s.small = places.IsSmall(ctx)
	return one{allocation.NewSet(q.Window, allocation.NewDict())}.Sets(ctx, q)
}

// TestSmallQuestions checks that a question is small if its whole window is, however short its sets are.
func TestSmallQuestions(t *testing.T) {
	for window, want := range map[string]bool{
		"2026-01-01T09:00:00Z,2026-01-01T10:00:00Z": true,
		"2026-01-01T09:00:00Z,2026-01-01T10:00:01Z": false,
		"2026-01-01T09:59:00Z,2026-01-01T10:00:00Z": true,
	} {
		for _, path := range []string{"/model/allocation", "/model/allocation/compute", "/model/assets", "/allocation/summary"} {
			small := !want
			h := costapi.New(sizing{&small}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now.Add(1000 * time.Hour) }})
			if w := get(h, path, "window="+window); w.Code != http.StatusOK || small != want {
				t.Errorf("%s of %s: status %d, small %t, want %t", path, window, w.Code, small, want)
			}
		}
	}
}
