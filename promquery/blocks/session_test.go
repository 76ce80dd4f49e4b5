package blocks_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestSessionAnswersAfterItsEnd asks a session before and after it let go of what it learned.
func TestSessionAnswersAfterItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pods(2, 0, 8)...)
	session, err := open(t, dir).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		stats, err := promtest.Select(t.Context(), session, []promquery.Request{all}, func(int, []promquery.Symbol, *timeline.Points) error { return nil })
		if err != nil || stats.Samples != 960 {
			t.Errorf("%d samples, error %v", stats.Samples, err)
		}
		session.(promquery.Ender).End()
	}
}
