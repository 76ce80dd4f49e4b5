package costapi_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// estimating is a fake whose sets are estimated in part if that is asked for: a quarter of the last one.
type estimating struct{ fake }

func (f *estimating) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for s, err := range f.fake.Sets(ctx, q) {
			if err == nil && q.Bills.Estimate {
				s.Estimated.Total = 8
				if s.Window.End.Equal(q.Window.End) {
					s.Estimated.From, s.Estimated.Cost = s.Window.Start, 2
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// TestUnbilled verifies on which paths unbilled=estimate asks for estimates, and that the answer says from when costs are estimated, and which part.
func TestUnbilled(t *testing.T) {
	const window = "2026-11-19T00:00:00Z,2026-11-21T00:00:00Z"
	f := &estimating{}
	api := costapi.New(f, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }, Custom: func() (allocation.CustomPrices, bool) { return allocation.CustomPrices{}, true }})
	for target, estimates := range map[string]bool{
		"/model/allocation?step=1d&unbilled=estimate&":                               true,
		"/model/allocation/compute?step=1d&unbilled=estimate&aggregate=all&":         true,
		"/model/allocation/summary?step=1d&unbilled=estimate&aggregate=all&":         true,
		"/model/allocation?step=1d&accumulate=true&unbilled=estimate&":               true,
		"/allocation/compute?step=1d&unbilled=estimate&":                             true,
		"/model/assets?step=1d&unbilled=estimate&":                                   true,
		"/v2/allocation?step=24h&unbilled=estimate&":                                 true,
		"/model/allocation?step=1d&unbilled=list&":                                   false,
		"/model/allocation?step=1d&":                                                 false,
		"/v2/allocation?step=24h&":                                                   false,
		"/model/assets?step=1d&":                                                     false,
		"/model/allocation?step=1d&reconcile=false&unbilled=estimate&":               false,
		"/model/assets?step=1d&disableAdjustments=true&unbilled=estimate&aggregate=": false,
	} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target+"&window="+url.QueryEscape(window), nil))
		var answer struct {
			EstimatedFrom  *time.Time
			EstimatedShare *float64
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %v %.300s", target, w.Code, err, w.Body)
		}
		from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		switch {
		case !estimates && (answer.EstimatedFrom != nil || answer.EstimatedShare != nil):
			t.Errorf("%s: it is estimated: %.300s", target, w.Body)
		case estimates && (answer.EstimatedFrom == nil || !answer.EstimatedFrom.Equal(from) || answer.EstimatedShare == nil || *answer.EstimatedShare != 2./16):
			t.Errorf("%s: want estimatedFrom %s and estimatedShare 0.125: %s", target, from, w.Body)
		}
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/model/allocation?window=1d&unbilled=maybe", nil))
	if w.Code != http.StatusBadRequest {
		t.Errorf("unbilled=maybe: %d %s", w.Code, w.Body)
	}
}
