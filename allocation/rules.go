package allocation

import (
	"fmt"
	"time"
)

// RulesVersion is the version of the rules that sets are computed by. A change of the rules that gives other numbers from the
// same samples raises it, and adds a row here. Sets that are kept carry the version that they were computed by, sums of sets
// the oldest one of their parts; what was kept before there were versions is of OldestRules.
//
//	version  what it changed
//	1        the first rules: all sets that were kept before versions were
//	2        runs begin and end halfway between two scrapes where nothing reports when; jobs that no scrape saw running are
//	         charged by what is reported of them; bounds are the shortest and the longest running time that the data allow;
//	         running time whose usage is known is summed by itself; a node that is made again under its name is another node,
//	         and rows keep the labels and services of their own time; hours add up to the window in every column that is a sum; prices that
//	         cannot be told from promcost's own by their target count unless they repeat those
const (
	RulesVersion = 2
	OldestRules  = 1
	// rulesOfBounds is the first version that keeps error bounds as sums. Older versions kept them as fractions, so for
	// summed rows only their mean is known.
	rulesOfBounds = 2
)

// RulesMix records the versions of the rules by which the sets of an answer were computed.
type RulesMix struct {
	Older   Window // from the first to the last set of older rules; zero if there is none
	Version int    // the oldest
	Current bool   // some sets have the current rules
}

// Add records a set over w.
func (m *RulesMix) Add(w Window, rules int) {
	switch {
	case rules >= RulesVersion:
		m.Current = true
		return
	case m.Older.Start.IsZero():
		m.Older, m.Version = w, rules
		return
	case w.Start.Before(m.Older.Start):
		m.Older.Start = w.Start
	}
	if w.End.After(m.Older.End) {
		m.Older.End = w.End
	}
	m.Version = min(m.Version, rules)
}

// Join adds the records of o.
func (m *RulesMix) Join(o *RulesMix) {
	if !o.Older.Start.IsZero() {
		m.Add(o.Older, o.Version)
	}
	m.Current = m.Current || o.Current
}

// Mixed reports whether there are sets of older and of the current rules.
func (m *RulesMix) Mixed() bool { return m.Current && !m.Older.Start.IsZero() }

// KeepMeans reports whether some sets keep error bounds as means: see rulesOfBounds.
func (m *RulesMix) KeepMeans() bool { return !m.Older.Start.IsZero() && m.Version < rulesOfBounds }

// Warning names the hours that older rules computed, the consequence, and how to compute them again.
func (m *RulesMix) Warning(follows string) string {
	from, to := m.Older.Start.UTC().Format(time.RFC3339), m.Older.End.UTC().Format(time.RFC3339)
	return fmt.Sprintf("hours from %s to %s were computed by older rules (version %d, the current one is %d)%s: promcost backfill --recompute --from=%s --to=%s computes them again",
		from, to, m.Version, RulesVersion, follows, from, to)
}

// RulesDiffer is the consequence when sets of older and of current rules are mixed.
const RulesDiffer = ", the rest by the current ones, so they may differ"
