package ledger

import (
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// mixesRules says which of the windows is the first one with something kept that older rules computed, where the answer has both such
// and what the current rules computed. warning tells of it; it is "" where the answer is all of one kind.
func (p *plan) mixesRules() (window int, warning string) {
	var older allocation.Window
	version, current := allocation.RulesVersion, false
	for i, pieces := range p.pieces {
		for _, x := range pieces {
			if x.kept == nil || x.kept.Rules >= allocation.RulesVersion {
				current = true
				continue
			}
			if older.Start.IsZero() {
				window, older.Start = i, x.window.Start
			}
			older.End, version = x.window.End, min(version, x.kept.Rules)
		}
	}
	if !current || older.Start.IsZero() {
		return 0, ""
	}
	from, to := older.Start.UTC().Format(time.RFC3339), older.End.UTC().Format(time.RFC3339)
	return window, fmt.Sprintf("hours from %s to %s were computed by older rules (version %d, the current one is %d), the rest by the current ones, so they may differ: promcost backfill --recompute --from=%s --to=%s computes them again",
		from, to, version, allocation.RulesVersion, from, to)
}
