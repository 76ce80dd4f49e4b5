package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

// ErrRefused is the error of a source that is down.
var ErrRefused = fmt.Errorf("%w: connection refused", allocation.ErrUpstream)

// Computer is a ledger.Computer that calls a function.
type Computer func(ctx context.Context, q allocation.Query) ([]*allocation.Set, error)

// Compute implements ledger.Computer.
func (c Computer) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	return c(ctx, q)
}

// Empty makes the empty sets of a query.
func Empty(q allocation.Query) ([]*allocation.Set, error) {
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	var sets []*allocation.Set
	for _, w := range windows {
		sets = append(sets, allocation.NewSet(w, allocation.NewDict()))
	}
	return sets, nil
}

// Hour is the i-th hour of 2026.
func Hour(i int) allocation.Query {
	start := time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
	return allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Hour)}}
}

// Zone loads a time zone.
func Zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
