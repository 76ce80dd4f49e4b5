package costseries

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation"
)

// notes are what is to be told of the hours of a select.
type notes struct {
	window     allocation.Window // that was asked for
	counting   bool              // counters are read: they end where an hour cannot be had
	some       bool              // an hour was had
	lacking    []stretch         // hours that cannot be had
	incomplete []stretch         // of which something is missing
	rules      allocation.RulesMix
	unknown    []stretch // at whose end budgets were not known yet, and which
}

// stretch are hours that follow each other, of which the same is to be told.
type stretch struct {
	window allocation.Window
	why    string
}

// hour notes an hour.
func (n *notes) hour(set *allocation.Set, err error) {
	switch {
	case err == nil:
		n.some = true
		n.rules.Add(set.Window, set.Rules)
		if set.Incomplete {
			n.incomplete = join(n.incomplete, set.Window, "")
		}
	case errors.Is(err, allocation.ErrUpstream), !errors.Is(err, allocation.ErrNoData):
		n.lacking = join(n.lacking, set.Window, err.Error())
	}
}

// budgets notes how budgets stood at the end of an hour.
func (n *notes) budgets(w allocation.Window, s *allocation.Spending) {
	if s == nil {
		return
	}
	n.rules.Join(&s.Rules)
	if len(s.Unknown) > 0 {
		n.unknown = join(n.unknown, w, strings.Join(s.Unknown, ", "))
	}
}

// MissingError is a warning that costs of some hours cannot be had.
type MissingError struct {
	of, why  string
	counting bool
}

// Error implements error.
func (e *MissingError) Error() string {
	then := ""
	if e.counting {
		then = ", and counters from then on until the month ends"
	}
	return fmt.Sprintf("%s: costs of %s are missing%s: %s", annotations.PromQLWarning, e.of, then, e.why)
}

// Unwrap makes it a warning of the engine's.
func (*MissingError) Unwrap() error { return annotations.PromQLWarning }

// join adds an hour to stretches.
func join(list []stretch, w allocation.Window, why string) []stretch {
	if last := len(list) - 1; last >= 0 && list[last].why == why && list[last].window.End.Equal(w.Start) {
		list[last].window.End = w.End
		return list
	}
	return append(list, stretch{w, why})
}

// String names the time of a stretch.
func (s *stretch) String() string {
	return s.window.Start.UTC().Format(time.RFC3339) + " to " + s.window.End.UTC().Format(time.RFC3339)
}

// annotations are the notes as a query tells them: a warning for what cannot be had, an info where there is nothing at all.
func (n *notes) annotations() annotations.Annotations {
	all := annotations.New()
	for i := range n.lacking {
		s := &n.lacking[i]
		all.Add(&MissingError{s.String(), s.why, n.counting})
	}
	for i := range n.incomplete {
		all.Add(fmt.Errorf("%w: costs of %s are of incomplete data of the source", annotations.PromQLWarning, &n.incomplete[i]))
	}
	for i := range n.unknown {
		s := &n.unknown[i]
		all.Add(fmt.Errorf("%w: budgets %s are not told for %s: hours of their period have yet to be computed: ask again later", annotations.PromQLWarning, s.why, s))
	}
	if n.rules.Mixed() {
		all.Add(fmt.Errorf("%w: %s", annotations.PromQLWarning, n.rules.Warning(allocation.RulesDiffer)))
	}
	if !n.some && len(n.lacking) == 0 && n.window.Start.Before(n.window.End) {
		all.Add(fmt.Errorf("%w: there are no costs of %s: neither the history nor the source has anything of that time", annotations.PromQLInfo, &stretch{window: n.window}))
	}
	return *all
}
