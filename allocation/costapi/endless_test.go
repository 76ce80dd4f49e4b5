package costapi_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/filter"
)

// one is a ledger of one set.
type one struct{ set *allocation.Set }

func (o one) Sets(context.Context, allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) { yield(o.set, nil) }
}

// TestEndlessFilter refuses a filter that would take too many steps, wherever one can be given, with what to do.
func TestEndlessFilter(t *testing.T) {
	s := allocation.NewSet(allocation.Window{Start: now, End: now.Add(time.Hour)}, allocation.NewDict())
	for i := range 3_000 {
		r := allocation.Row{Start: now, End: now.Add(time.Hour), Services: []string{"x"}}
		r.Text[allocation.Pod], r.Text[allocation.NodeName] = "pod-"+strconv.Itoa(i), "n"
		s.Append(&r)
	}
	var parts []string
	for i := range 1500 {
		parts = append(parts, fmt.Sprintf(`(pod!~:"z%d"+node!:"n")`, i))
	}
	h := costapi.New(one{s}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now.Add(time.Hour) }, MaxFilterSteps: filter.MaxSteps / 20})
	for _, parameter := range []string{"filter", "share"} {
		w := httptest.NewRecorder()
		form := url.Values{parameter: {strings.Join(parts, "|")}, "window": {"1h"}}
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/model/allocation/compute", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		h.ServeHTTP(w, r)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "give fewer or simpler comparisons") {
			t.Errorf("%s: %d %s", parameter, w.Code, w.Body)
		}
	}
}
