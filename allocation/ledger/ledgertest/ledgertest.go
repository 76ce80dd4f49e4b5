// Package ledgertest lets tests keep the hours of a ledger in a history. Only tests import it.
package ledgertest

import (
	"context"
	"errors"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
)

// Periods are what a history calls the kinds of sets of a ledger.
var Periods = [...]history.Period{ledger.Hours: history.Hourly, ledger.Days: history.Daily, ledger.Counted: history.Counted}

// History is a history as a ledger wants it.
type History struct{ *history.Store }

// List implements ledger.History.
func (h History) List(ctx context.Context, kind ledger.Kind, w allocation.Window) ([]ledger.Kept, error) {
	list, err := h.Store.List(ctx, Periods[kind], w)
	if err != nil {
		return nil, err
	}
	kept := make([]ledger.Kept, len(list.Sets))
	for i := range list.Sets {
		s := &list.Sets[i]
		kept[i] = ledger.Kept{Window: s.Window, Resolution: s.Resolution, Rules: s.Rules, Complete: s.Complete, Generation: s.Generation, Rows: s.Rows, Assets: s.Assets, Bytes: s.Bytes, Ref: s}
	}
	return kept, nil
}

// Read implements ledger.History.
func (h History) Read(ctx context.Context, kept []ledger.Kept, only *allocation.Projection) ([]*allocation.Set, error) {
	stored := make([]history.Stored, len(kept))
	for i := range kept {
		stored[i] = *kept[i].Ref.(*history.Stored)
	}
	sets, err := h.Store.Read(ctx, stored, only)
	if corrupt, ok := errors.AsType[*history.CorruptError](err); ok {
		return nil, &ledger.DamagedError{Kind: ledger.Kind(slices.Index(Periods[:], corrupt.Period)), Window: corrupt.Window, Err: err}
	}
	for i, s := range sets {
		s.Incomplete = !stored[i].Complete
	}
	return sets, err
}

// Write implements ledger.History.
func (h History) Write(ctx context.Context, set *allocation.Set, k ledger.Keep) error {
	_, err := h.Store.Write(ctx, set, history.WriteOptions{Period: Periods[k.Kind], Zone: k.Zone, Complete: k.Complete, Replace: k.Replace})
	return err
}
