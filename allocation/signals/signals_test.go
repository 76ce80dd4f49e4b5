package signals_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/signals"
)

// TestSignals checks that every signal has a name, is keyed by its cluster first, and is known to come before or after it is known what ran.
func TestSignals(t *testing.T) {
	for s := signals.Nothing + 1; s < signals.NumSignals; s++ {
		if s.String() == "" || len(s.Key()) == 0 || s.Key()[0] != "cluster" {
			t.Errorf("signal %d is called %q and keyed by %q, want a name and a key that begins with the cluster", s, s, s.Key())
		}
		if s.IsUsage() && s.IsTraffic() || (s.IsUsage() || s.IsTraffic()) && !s.IsIntegrated() {
			t.Errorf("%s: usage %v, traffic %v, integrated %v", s, s.IsUsage(), s.IsTraffic(), s.IsIntegrated())
		}
		if key := s.Key(); s.HasSeriesKey() != (key[len(key)-1] == "series") {
			t.Errorf("%s: keyed by %q, but HasSeriesKey is %v", s, key, s.HasSeriesKey())
		}
	}
}
