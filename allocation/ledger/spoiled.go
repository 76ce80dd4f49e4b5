package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
)

// spoiledError is the error of a time whose set is in the history, but not whole, where nothing is computed.
type spoiledError struct{ why string }

// Error says what is wrong with the set.
func (e *spoiledError) Error() string {
	return fmt.Sprintf("%v: the history is only read here, and %s", allocation.ErrNoData, e.why)
}

// Unwrap makes it an allocation.ErrNoData that says nothing of what there is.
func (e *spoiledError) Unwrap() []error {
	return []error{allocation.ErrNoData, allocation.ErrNotComputed}
}

// explainer says of times within a window why they cannot be had, where nothing is computed.
type explainer struct {
	ledger *Ledger
	window allocation.Window
	// spoiled are sets within the window that are not whole, nil before they were asked for.
	spoiled []Spoiled
}

// why is what is wrong with the set of a time, "" where nothing is, or there is none, or where it is computed.
func (x *explainer) why(ctx context.Context, w allocation.Window) string {
	if !x.ledger.opts.ReadOnly || !x.ledger.keeps() {
		return ""
	}
	if x.spoiled == nil {
		x.spoiled = x.ledger.spoiledSets(ctx, x.window)
	}
	i := slices.IndexFunc(x.spoiled, func(s Spoiled) bool { return s.Window.Start.Before(w.End) && w.Start.Before(s.Window.End) })
	if i < 0 {
		return ""
	}
	return x.spoiled[i].Why
}

// spoiledSets are the sets of a time that are not whole, hours before days, and not nil. Where the history fails in that
// they are none, for it is but for words.
func (l *Ledger) spoiledSets(ctx context.Context, w allocation.Window) []Spoiled {
	list := []Spoiled{}
	for _, k := range [...]Kind{Hours, Days} {
		if h, ok := l.history.(Explainer); ok {
			more, err := h.Spoiled(ctx, k, w)
			if err != nil {
				level.Warn(l.logger).Log("msg", "What is wrong with sets of the history is not known", "kind", k, "err", err)
			}
			list = append(list, more...)
		}
		list = append(list, l.damagedSets(k)...)
	}
	return list
}

// damagedSets are those that were found to be damaged as they were read.
func (l *Ledger) damagedSets(k Kind) (list []Spoiled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.damaged {
		if key.kind == k {
			list = append(list, Spoiled{key.window(), Damaged})
		}
	}
	slices.SortFunc(list, func(a, b Spoiled) int { return a.Window.Start.Compare(b.Window.Start) })
	return list
}

// Damaged is what is wrong with a set whose files cannot be read, in words.
const Damaged = "its files are damaged"
