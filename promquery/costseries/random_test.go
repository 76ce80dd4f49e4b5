package costseries_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// What is answered is what a Prometheus would that had scraped each hour, sums made early or not.
func TestAnswersAreThoseOfAPrometheusThatScraped(t *testing.T) {
	engine := promapi.NewEngine(promapi.EngineOptions{})
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 7))
		start := time.Date(2026, 2, 27, 12, 0, 0, 0, time.UTC)
		h := randomHours(rng, start, 72)
		scraped, q := storageOf(t, h, time.UTC), newQueryable(h, costseries.Options{Subjects: everything().Subjects()})
		for _, expr := range expressions {
			from := start.Add(time.Duration(rng.IntN(60*60)) * time.Minute)
			to, step := from, time.Duration(0)
			if rng.IntN(3) > 0 {
				to, step = from.Add(time.Duration(rng.IntN(20*60))*time.Minute+time.Minute), time.Duration(1+rng.IntN(150))*time.Minute
			}
			got, want := resultOf(t, engine, q, expr, from, to, step), resultOf(t, engine, scraped, expr, from, to, step)
			if got.Err != nil || want.Err != nil {
				t.Fatalf("seed %d: %s from %s to %s by %s: %v, want %v", seed, expr, from, to, step, got.Err, want.Err)
			}
			if diff := cmp.Diff(lines(want, nearly), lines(got, nearly)); diff != "" {
				t.Errorf("seed %d: %s from %s to %s by %s (-want +got):\n%s", seed, expr, from, to, step, diff)
			}
		}
	}
}
