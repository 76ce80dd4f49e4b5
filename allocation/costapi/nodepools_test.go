package costapi_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/notices"
)

// unlabeledNodes is the rich ledger, which warns that nodes have no labels.
type unlabeledNodes struct{ rich }

func (f *unlabeledNodes) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for s, err := range f.rich.Sets(ctx, q) {
			s.Warnings = append(s.Warnings, notices.AboutNodeLabels.Warning("nodes have no pool"))
			if !yield(s, err) {
				return
			}
		}
	}
}

// TestNodePoolsWarn says that nodes have no labels to whoever asks by pool, and to nobody who does not ask about labels.
func TestNodePoolsWarn(t *testing.T) {
	h := costapi.New(&unlabeledNodes{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
	for params, warns := range map[string]bool{
		"aggregate=NodePool": true, `aggregate=namespace&filter=nodePool:"gpu"`: true, "aggregate=namespace": false,
	} {
		w := get(h, "/model/allocation", append(strings.Split(params, "&"), "window=yesterday")...)
		if got := strings.Contains(w.Body.String(), "nodes have no pool"); w.Code != http.StatusOK || got != warns {
			t.Errorf("%s: status %d, warns %t, want %t", params, w.Code, got, warns)
		}
	}
}
