package ledger

import (
	"github.com/promcost/promcost/allocation"
)

// olderRules says which of the windows is the first one with something kept that older rules computed. warning tells of it where the
// answer also has what the current rules computed, so that its parts may differ, and where it has error bounds that the older rules kept
// as means; else it is "".
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
