package recorder

import (
	"context"
	"time"

	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
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
	known    map[keptKey][]float64
}

// maxBudgetCosts bounds the sets whose costs are remembered: two years of days, and more hours than are asked for at once.
const maxBudgetCosts = 4096

// budgetCosts returns, for each stored set, what counts for each budget. Sets that are not cached are read a few at a time.
func (b *budgets) budgetCosts(ctx context.Context, m *metering.Metering, kept []keptSet) (costs [][]float64, err error) {
	costs = b.knownCosts(m, kept)
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
		read, err := b.readBudgets(ctx, m, sets)
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		for j, at := range batch {
			if costs[at] = read[j]; b.costs.metering == m {
				b.costs.known[kept[at].key()] = read[j]
			}
		}
		b.mu.Unlock()
		batch = batch[:0]
	}
	return costs, nil
}

// knownCosts returns the cached costs of stored sets.
func (b *budgets) knownCosts(m *metering.Metering, kept []keptSet) [][]float64 {
	costs := make([][]float64, len(kept))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.costs.metering != m || len(b.costs.known) >= maxBudgetCosts {
		b.costs = budgetCosts{metering: m, known: map[keptKey][]float64{}}
	}
	for i := range kept {
		costs[i] = b.costs.known[kept[i].key()]
	}
	return costs
}

// readBudgets reads, for each stored set, what counts for each budget.
func (b *budgets) readBudgets(ctx context.Context, m *metering.Metering, kept []ledger.Kept) ([][]float64, error) {
	release, err := b.archive.Enter(ctx, time.Duration(len(kept))*time.Hour)
	if err != nil {
		return nil, err
	}
	defer release()
	sets, free, err := b.archive.Read(ctx, kept, m.BudgetProjection())
	defer free()
	if err != nil {
		return nil, b.archive.NoteDamage(err)
	}
	costs := make([][]float64, len(kept))
	for i := range m.Budgets() {
		of, err := m.Budgets()[i].Costs(sets)
		if err != nil {
			return nil, err
		}
		for j, cost := range of {
			costs[j] = append(costs[j], cost)
		}
	}
	return costs, nil
}
