package allocation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

// TestRulesMix checks that a mix records the time that older rules computed, their oldest version, and whether current rules computed the
// rest.
func TestRulesMix(t *testing.T) {
	hour := func(h int) allocation.Window {
		return allocation.Window{Start: testStart.Add(time.Duration(h) * time.Hour), End: testStart.Add(time.Duration(h+1) * time.Hour)}
	}
	var older, current, all allocation.RulesMix
	older.Add(hour(3), allocation.OldestRules)
	older.Add(hour(1), allocation.OldestRules)
	current.Add(hour(2), allocation.RulesVersion)
	if older.Mixed() || current.Mixed() || !older.KeepMeans() || current.KeepMeans() {
		t.Errorf("sets of one version are mixed: %+v, %+v", older, current)
	}
	all.Join(&older)
	all.Join(&current)
	want := allocation.Window{Start: hour(1).Start, End: hour(3).End}
	if !all.Mixed() || !all.KeepMeans() || all.Older != want || all.Version != allocation.OldestRules {
		t.Errorf("of both versions: %+v, want the older ones in %v", all, want)
	}
	if text := all.Warning(allocation.RulesDiffer); !strings.Contains(text, "from 2026-03-02T01:00:00Z to 2026-03-02T04:00:00Z") || !strings.Contains(text, allocation.RulesDiffer) || !strings.Contains(text, "promcost backfill --recompute") {
		t.Errorf("the warning is %q", text)
	}
}
