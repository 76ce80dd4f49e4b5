package ledger

import (
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// olderRules says which of the windows is the first one with something kept that older rules computed. warning tells of it where the
// answer also has what the current rules computed, so that its parts may differ, and where it has error bounds that the older rules kept
// as means; else it is "".
func (p *plan) olderRules() (window int, warning string) {
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
	means := version < allocation.RulesOfBounds
	if older.Start.IsZero() || !current && !means {
		return 0, ""
	}
	text := ""
	if current {
		text += ", the rest by the current ones, so they may differ"
	}
	if means {
		text += "; their error bounds are means of what their hours were counted with, and the truth may lie outside"
	}
	from, to := older.Start.UTC().Format(time.RFC3339), older.End.UTC().Format(time.RFC3339)
	return window, fmt.Sprintf("hours from %s to %s were computed by older rules (version %d, the current one is %d)%s: promcost backfill --recompute --from=%s --to=%s computes them again",
		from, to, version, allocation.RulesVersion, text, from, to)
}
