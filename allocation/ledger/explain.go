package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
)

// unusableError is the error of a time whose set is in the history, but cannot be used, where nothing is computed.
type unusableError struct{ why string }

// Error says why the set cannot be used.
func (e *unusableError) Error() string {
	return fmt.Sprintf("%v: the history is only read here, and %s", allocation.ErrNoData, e.why)
}

// Unwrap makes it an allocation.ErrNoData that leaves open whether there are data.
func (e *unusableError) Unwrap() []error {
	return []error{allocation.ErrNoData, allocation.ErrNotComputed}
}

// explainer says why the history has nothing of times within a window, where nothing is computed.
type explainer struct {
	ledger *Ledger
	window allocation.Window
	// unusable are sets within the window that cannot be used, nil before they were asked for.
	unusable []Unusable
}

// why says why the set of a window cannot be used. It is "" if it can, if there is no set, or if sets are computed here.
func (x *explainer) why(ctx context.Context, w allocation.Window) string {
	if !x.ledger.opts.ReadOnly || !x.ledger.Keeps() {
		return ""
	}
	if x.unusable == nil {
		x.unusable = x.ledger.archive.unusable(ctx, x.window)
	}
	i := slices.IndexFunc(x.unusable, func(s Unusable) bool { return s.Window.Start.Before(w.End) && w.Start.Before(s.Window.End) })
	if i < 0 {
		return ""
	}
	return x.unusable[i].Why
}

// unusable are the sets that overlap w and cannot be used, hours before days, and not nil. Where the history fails to tell, they are
// none: it is only for the words of an error.
func (a *Archive) unusable(ctx context.Context, w allocation.Window) []Unusable {
	list := []Unusable{}
	for _, k := range [...]Kind{Hours, Days} {
		if h, ok := a.history.(Explainer); ok {
			more, err := h.Unusable(ctx, k, w)
			if err != nil {
				level.Warn(a.logger).Log("msg", "What is wrong with sets of the history is not known", "kind", k, "err", err)
			}
			list = append(list, more...)
		}
		for _, w := range a.Damaged(k) {
			list = append(list, Unusable{w, Damaged})
		}
	}
	return list
}

// Damaged is the reason for a set whose files cannot be read, in words.
const Damaged = "its files are damaged"
