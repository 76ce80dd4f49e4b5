package ledger

import (
	"github.com/promcost/promcost/allocation"
)

// olderRules finds the first window with a kept set that older rules computed. warning is not "" where parts of the answer may
// differ because the current rules computed others, and where error bounds are means because the older rules kept them so.
func (p *plan) olderRules() (window int, warning string) {
	var mix allocation.RulesMix
	for i, pieces := range p.pieces {
		for _, x := range pieces {
			rules := allocation.RulesVersion
			if x.Kept != nil {
				rules = x.Kept.Rules
			}
			if rules < allocation.RulesVersion && mix.Older.Start.IsZero() {
				window = i
			}
			mix.Add(x.Window, rules)
		}
	}
	follows := ""
	if mix.Mixed() {
		follows = allocation.RulesDiffer
	}
	if mix.KeepMeans() {
		follows += "; their error bounds are means of what their hours were counted with, and the truth may lie outside"
	}
	if follows == "" {
		return 0, ""
	}
	return window, mix.Warning(follows)
}
