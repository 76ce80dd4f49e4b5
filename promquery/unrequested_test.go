package promquery_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// requestless is a source without the requests of pods whose names begin so.
type requestless struct {
	promquery.Source
	prefix string
}

// Select implements promquery.Source.
func (f requestless) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		return promtest.Select(ctx, f.Source, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			if at := slices.Index(sels[i].Keep, promquery.Label{Name: "pod"}); sels[i].Metric == "kube_pod_container_resource_requests" && at >= 0 && strings.HasPrefix(key[at].Value(), f.prefix) {
				return nil
			}
			return yield(i, key, p)
		})
	})
}

// TestRequestsOfSome takes the requests of a job's short-lived pods away: their limits tell that there must be some.
func TestRequestsOfSome(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}
	const told = "have limits and no requests"
	for _, resolution := range []time.Duration{0, time.Minute, time.Hour} {
		for prefix, want := range map[string]string{
			"-":             "", // nobody's
			"":              "", // all that there are: the input is lacking
			"batch-scoring": "containers (ml/batch-scoring-",
		} {
			_, warnings := sweep(t, requestless{db, prefix}, w, resolution)
			at := slices.IndexFunc(warnings, func(text string) bool { return strings.Contains(text, told) })
			switch {
			case at < 0 && want != "":
				t.Errorf("%s: requests of %s*: want %q in %q", resolution, prefix, want, warnings)
			case at >= 0 && (want == "" || !strings.Contains(warnings[at], want) || !strings.Contains(warnings[at], "2026-03-03T")):
				t.Errorf("%s: requests of %s*: told %q, want %q", resolution, prefix, warnings[at], want)
			}
		}
	}
}
