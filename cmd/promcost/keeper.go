package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
)

// keeper is a history as the ledger wants it.
type keeper struct {
	store *history.Store
	shard history.Shard // that is computed
}

// historyPeriods are the history's periods for the ledger's kinds.
var historyPeriods = [...]history.Period{ledger.Hours: history.Hourly, ledger.Days: history.Daily, ledger.Counted: history.Counted}

// List implements ledger.History. What is damaged is not there: it is computed again.
func (k *keeper) List(ctx context.Context, kind ledger.Kind, w allocation.Window) ([]ledger.Kept, error) {
	list, err := k.store.List(ctx, historyPeriods[kind], w)
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
func (k *keeper) Read(ctx context.Context, kept []ledger.Kept, only *allocation.Projection) ([]*allocation.Set, error) {
	stored := make([]history.Stored, len(kept))
	for i := range kept {
		stored[i] = *kept[i].Ref.(*history.Stored)
	}
	sets, err := k.store.Read(ctx, stored, only)
	if corrupt, ok := errors.AsType[*history.CorruptError](err); ok {
		return nil, &ledger.DamagedError{Kind: ledger.Kind(slices.Index(historyPeriods[:], corrupt.Period)), Window: corrupt.Window, Err: err}
	}
	for i, s := range sets {
		s.Incomplete = !stored[i].Complete
	}
	return sets, err
}

// Unusable implements ledger.Explainer.
func (k *keeper) Unusable(ctx context.Context, kind ledger.Kind, w allocation.Window) (list []ledger.Unusable, err error) {
	listing, err := k.store.List(ctx, historyPeriods[kind], w)
	if err != nil {
		return nil, err
	}
	for i := range listing.Partial {
		s := &listing.Partial[i]
		verb := "is"
		if len(s.Missing) > 1 {
			verb = "are"
		}
		list = append(list, ledger.Unusable{Window: s.Window, Why: fmt.Sprintf("shard %s of it %s not there", strings.Join(lacksOf(s), " and "), verb)})
	}
	for _, c := range listing.Corrupt {
		list = append(list, ledger.Unusable{Window: c.Window, Why: ledger.Damaged})
	}
	slices.SortStableFunc(list, func(a, b ledger.Unusable) int { return a.Window.Start.Compare(b.Window.Start) })
	return list, nil
}

// Write implements ledger.History.
func (k *keeper) Write(ctx context.Context, set *allocation.Set, keep ledger.Keep) error {
	_, err := k.store.Write(ctx, set, history.WriteOptions{
		Period: historyPeriods[keep.Kind], Zone: keep.Zone, Complete: keep.Complete, Replace: keep.Replace, Shard: k.shard,
	})
	return err
}

// Tidy implements ledger.Tidier.
func (k *keeper) Tidy(ctx context.Context, before time.Time) error {
	_, err := k.store.Clean(ctx)
	if err != nil || before.IsZero() {
		return err
	}
	for _, p := range historyPeriods {
		if _, err := k.store.Retain(ctx, p, before); err != nil {
			return err
		}
	}
	_, err = k.store.Bills().Retain(ctx, before)
	return err
}
