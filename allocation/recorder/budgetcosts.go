package recorder

import (
	"context"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
)

// costsAtOnce is how many sets are read at once.
const costsAtOnce = 12

// keptSet is a kept set and its kind.
type keptSet struct {
	kind ledger.Kind
	*ledger.Kept
}

// key identifies the set as it is.
func (k *keptSet) key() keptKey {
	return keptKey{k.kind, k.Window.Start.Unix(), k.Window.End.Unix(), k.Generation}
}

// keptKey is a kept set as it is.
type keptKey struct {
	kind       ledger.Kind
	start, end int64
	generation int
}

// budgetCosts caches the costs of sets per budget.
type budgetCosts struct {
	metering *metering.Metering
	bills    string // their version
	known    map[keptKey][]float64
}

// maxBudgetCosts bounds the sets whose costs are remembered: two years of days, and more hours than are asked for at once.
const maxBudgetCosts = 4096

// budgetCosts returns, for each stored set, what counts for each budget. Sets that are not cached are read a few at a time.
func (s *spender) budgetCosts(ctx context.Context, kept []keptSet) (costs [][]float64, err error) {
	costs = s.knownCosts(kept)
	var batch []int
	for i := range kept {
		if costs[i] == nil {
			batch = append(batch, i)
		}
		last := i+1 == len(kept) || kept[i+1].kind != kept[i].kind
		if len(batch) < costsAtOnce && !last || len(batch) == 0 {
			continue
		}
		sets := make([]ledger.Kept, len(batch))
		for j, at := range batch {
			sets[j] = *kept[at].Kept
		}
		read, err := s.readBudgets(ctx, sets)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		for j, at := range batch {
			if costs[at] = read[j]; s.caches() {
				s.costs.known[kept[at].key()] = read[j]
			}
		}
		s.mu.Unlock()
		batch = batch[:0]
	}
	return costs, nil
}

// knownCosts returns the cached costs of stored sets.
func (s *spender) knownCosts(kept []keptSet) [][]float64 {
	costs := make([][]float64, len(kept))
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.caches() || len(s.costs.known) >= maxBudgetCosts {
		s.costs = budgetCosts{metering: s.metering, bills: s.version, known: map[keptKey][]float64{}}
	}
	for i := range kept {
		costs[i] = s.costs.known[kept[i].key()]
	}
	return costs
}

// caches reports whether the cached costs are of the same budgets and bills.
func (s *spender) caches() bool {
	return s.costs.metering == s.metering && s.costs.bills == s.version
}

// readBudgets reads, for each stored set, what counts for each budget.
func (s *spender) readBudgets(ctx context.Context, kept []ledger.Kept) ([][]float64, error) {
	listed, free, err := s.readKept(ctx, kept)
	defer free()
	if err != nil {
		return nil, err
	}
	billed := listed
	if s.bills != nil {
		if billed, err = s.reconcile(ctx, listed); err != nil {
			return nil, err
		}
	}
	costs := make([][]float64, len(kept))
	budgets := s.metering.Budgets()
	for i := range budgets {
		sets := listed
		if budgets[i].Billed {
			sets = billed
		}
		of, err := budgets[i].Costs(sets)
		if err != nil {
			return nil, err
		}
		for j, cost := range of {
			costs[j] = append(costs[j], cost)
		}
	}
	return costs, nil
}

// readKept reads stored sets. The place among readers is left at once: reconciling may have to read further sets.
func (s *spender) readKept(ctx context.Context, kept []ledger.Kept) (sets []*allocation.Set, free func(), err error) {
	leave, err := s.archive.Enter(ctx, time.Duration(len(kept))*time.Hour)
	if err != nil {
		return nil, func() {}, err
	}
	defer leave()
	sets, free, err = s.archive.Read(ctx, kept, s.metering.BudgetProjection())
	if err != nil {
		err = s.archive.RecordDamage(err)
	}
	return sets, free, err
}

// reconcile returns sets at the costs of bills, over one dictionary.
func (s *spender) reconcile(ctx context.Context, sets []*allocation.Set) ([]*allocation.Set, error) {
	out := make([]*allocation.Set, len(sets))
	for i, set := range sets {
		var err error
		if out[i], err = s.bills.Reconcile(ctx, set); err != nil {
			return nil, err
		}
	}
	return passes.Join(out), nil
}
