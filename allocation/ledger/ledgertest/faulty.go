package ledgertest

import (
	"context"
	"sync"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// Faulty is a history that tests let fail.
type Faulty struct {
	Sound func() error // for sets that are read; nil if nobody can change them
	History

	sync.Mutex // guards the fields below

	Fail func(what string) error // is asked before "list", "read" and "write"; nil lets them work
}

// Mend makes it work again.
func (k *Faulty) Mend() {
	k.Lock()
	defer k.Unlock()
	k.Fail = nil
}

func (k *Faulty) failing(what string) error {
	k.Lock()
	defer k.Unlock()
	if k.Fail == nil {
		return nil
	}
	return k.Fail(what)
}

// List implements ledger.History.
func (k *Faulty) List(ctx context.Context, kind ledger.Kind, w allocation.Window) ([]ledger.Kept, error) {
	if err := k.failing("list"); err != nil {
		return nil, err
	}
	return k.History.List(ctx, kind, w)
}

// Read implements ledger.History.
func (k *Faulty) Read(ctx context.Context, kept []ledger.Kept, only *allocation.Projection) ([]*allocation.Set, error) {
	if err := k.failing("read"); err != nil {
		return nil, err
	}
	sets, err := k.History.Read(ctx, kept, only)
	for _, s := range sets {
		if k.Sound != nil {
			s.Sound = append(s.Sound, k.Sound)
		}
	}
	return sets, err
}

// Write implements ledger.History.
func (k *Faulty) Write(ctx context.Context, set *allocation.Set, keep ledger.Keep) error {
	if err := k.failing("write"); err != nil {
		return err
	}
	return k.History.Write(ctx, set, keep)
}

// FailWith replaces Fail while the history is in use.
func (k *Faulty) FailWith(fail func(what string) error) {
	k.Lock()
	defer k.Unlock()
	k.Fail = fail
}
