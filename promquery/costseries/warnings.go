package costseries

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// warnings collects warnings about the hours that a query read.
type warnings struct {
	window     allocation.Window // that was asked for
	kind       kind              // of the metrics that are read: counters end at a missing hour
	until      time.Time         // until when bills reach; zero if no hour says it
	found      bool              // some hour has data
	missing    []hours           // that cannot be read, and why
	incomplete []hours           // the source has only a part of them
	rules      allocation.RulesMix
	unknown    []hours // hours at whose ends the state of some budgets was unknown, with those budgets
}

// hours are consecutive hours with the same problem.
type hours struct {
	window allocation.Window
	why    string
}

// String is the time of the hours.
func (h *hours) String() string {
	return h.window.Start.UTC().Format(time.RFC3339) + " to " + h.window.End.UTC().Format(time.RFC3339)
}

// addHour adds an hour to a list. It extends the last element if the hour follows that and has the same problem.
func addHour(list []hours, w allocation.Window, why string) []hours {
	if last := len(list) - 1; last >= 0 && list[last].why == why && list[last].window.End.Equal(w.Start) {
		list[last].window.End = w.End
		return list
	}
	return append(list, hours{w, why})
}

// hour records an hour that was read, or why it could not be.
func (w *warnings) hour(set *allocation.Set, err error) {
	switch {
	case err == nil:
		w.found, w.until = true, set.BilledUntil
		w.rules.Add(set.Window, set.Rules)
		if set.Incomplete {
			w.incomplete = addHour(w.incomplete, set.Window, "")
		}
	case errors.Is(err, allocation.ErrUpstream), !errors.Is(err, allocation.ErrNoData):
		w.missing = addHour(w.missing, set.Window, err.Error())
	}
}

// budgets records the state of the budgets at the end of an hour.
func (w *warnings) budgets(hour allocation.Window, s *metering.Spending) {
	if s == nil {
		return
	}
	w.rules.Join(&s.Rules)
	if len(s.Unknown) > 0 {
		w.unknown = addHour(w.unknown, hour, strings.Join(s.Unknown, ", "))
	}
}

// annotations are the warnings in the engine's form: a warning for each problem, and an info where there are no costs at all.
func (w *warnings) annotations() annotations.Annotations {
	all := annotations.New()
	for i := range w.missing {
		h := &w.missing[i]
		all.Add(&MissingError{h.String(), h.why, w.kind == counters})
	}
	for i := range w.incomplete {
		all.Add(fmt.Errorf("%w: costs of %s are of incomplete data of the source", annotations.PromQLWarning, &w.incomplete[i]))
	}
	for i := range w.unknown {
		h := &w.unknown[i]
		all.Add(fmt.Errorf("%w: budgets %s are not told for %s: hours of their period have yet to be computed: ask again later", annotations.PromQLWarning, h.why, h))
	}
	if w.rules.Mixed() {
		all.Add(fmt.Errorf("%w: %s", annotations.PromQLWarning, w.rules.Warning(allocation.RulesDiffer)))
	}
	if w.kind == billed {
		w.addReach(all)
	} else if !w.found && len(w.missing) == 0 && w.window.Start.Before(w.window.End) {
		all.Add(fmt.Errorf("%w: there are no costs of %s: neither the history nor the source has anything of that time", annotations.PromQLInfo, &hours{window: w.window}))
	}
	return *all
}

// addReach adds that bills do not reach all of what was asked for.
func (w *warnings) addReach(all *annotations.Annotations) {
	switch {
	case !w.window.Start.Before(w.window.End) || w.found && w.window.End.Before(w.until.Add(time.Hour)):
	case w.found:
		all.Add(fmt.Errorf("%w: costs by bill end at %s: the bills have no final charges of later hours yet", annotations.PromQLInfo, w.until.UTC().Format(time.RFC3339)))
	case len(w.missing) == 0:
		all.Add(fmt.Errorf("%w: there are no costs by bill of %s: the bills have no final charges of that time yet, or neither the history nor the source has anything of it", annotations.PromQLInfo, &hours{window: w.window}))
	}
}

// MissingError is the warning that the costs of some hours could not be read.
type MissingError struct {
	when, why string
	counting  bool
}

// Error implements error.
func (e *MissingError) Error() string {
	then := ""
	if e.counting {
		then = ", and counters from then on until the month ends"
	}
	return fmt.Sprintf("%s: costs of %s are missing%s: %s", annotations.PromQLWarning, e.when, then, e.why)
}

// Unwrap makes it a warning of the engine.
func (*MissingError) Unwrap() error { return annotations.PromQLWarning }
