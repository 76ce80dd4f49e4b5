// Package memory bounds the memory of a process: every query, computation and cache draws from one Budget before it takes
// memory.
//
// Draws are estimates of live bytes. Garbage comes on top: the process sets GOMEMLIMIT above the budget for it.
package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/promcost/promcost/allocation"
)

// Parts of a budget.
const (
	// reserveShare is the part that only small questions may use, so that they are answered while large ones take all the rest.
	reserveShare = 8
	// smallShare is the part of the reserve up to which a question is small.
	smallShare = 4
)

// Budget is the memory that all questions of a process share. It is safe for concurrent use.
type Budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	changes uint64    // of used
	refused [2]uint64 // as too much, and as busy
	caches  []*Account
}

// New returns a budget of limit bytes; 0 is no bound.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Limit is how many bytes there are, 0 for no bound.
func (b *Budget) Limit() int64 { return b.limit }

// Most is how many bytes one question may hold, 0 for no bound.
func (b *Budget) Most() int64 { return b.limit - b.limit/reserveShare }

// Stats say how a budget stands.
type Stats struct {
	Limit, Used   int64  // bytes; a Limit of 0 is no bound
	Kept          int64  // of Used, held by caches
	Changes       uint64 // of Used since the process began
	TooMuch, Busy uint64 // refused draws since the process began: those that can never fit, and those for which others left no room
}

// Stats returns the current state.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Stats{Limit: b.limit, Used: b.used, Changes: b.changes, TooMuch: b.refused[0], Busy: b.refused[1]}
	for _, a := range b.caches {
		s.Kept += a.held
	}
	return s
}

// Account is what one question holds of a budget. It is safe for concurrent use. The nil Account has no bound.
type Account struct {
	budget *Budget
	remedy string
	evict  func(bytes int64) // of caches, which give way to questions

	// guarded by the budget's mu
	held   int64
	closed bool
}

// Open returns an account for a query. remedy says in errors how such a query becomes smaller: "ask for a shorter window".
// The caller closes the account.
func (b *Budget) Open(remedy string) *Account { return &Account{budget: b, remedy: remedy} }

// OpenCache returns an account for a cache. If a query lacks room, evict is called; it must drop at least so many bytes and
// Return them. It must not draw.
func (b *Budget) OpenCache(evict func(bytes int64)) *Account {
	a := &Account{budget: b, evict: evict}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.caches = append(b.caches, a)
	return a
}

// errClosed is the error for draws of a query that has ended. Nobody waits for its answer.
var errClosed = errors.New("draw memory: the question has ended")

// Draw takes bytes more. It fails with allocation.ErrTooMuch where the question would hold more than any question may, and
// with allocation.ErrBusy where others hold too much for it; nothing is taken then. A cache that fails evicts nothing.
func (a *Account) Draw(bytes int64) error {
	if a == nil || bytes == 0 {
		return nil
	}
	missing, err := a.draw(bytes)
	if missing > 0 && a.evict == nil && a.budget.makeRoom(missing) {
		_, err = a.draw(bytes)
	}
	a.budget.count(err)
	return err
}

// draw takes bytes more, or says how many others would have to give back first.
func (a *Account) draw(bytes int64) (missing int64, err error) {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	own, room := a.held+bytes, b.limit-b.used
	switch {
	case a.closed:
		return 0, errClosed
	case b.limit <= 0 || bytes < 0:
	case own > b.Most():
		return 0, fmt.Errorf("%w: this takes about %s of memory, one question may take %s of --query.max-memory=%s: %s, or raise --query.max-memory",
			allocation.ErrTooMuch, Text(own), Text(b.Most()), Text(b.limit), a.remedy)
	default:
		if small := b.limit / reserveShare / smallShare; own > small || a.evict != nil {
			room = b.Most() - b.used
		}
		if bytes > room {
			return bytes - room, fmt.Errorf("%w: this takes about %s of memory, and others take %s of --query.max-memory=%s now: ask again later, or raise --query.max-memory",
				allocation.ErrBusy, Text(own), Text(b.used-a.held), Text(b.limit))
		}
	}
	a.held, b.used = own, b.used+bytes
	b.changes++
	return 0, nil
}

// makeRoom has caches drop so many bytes, and reports whether there are caches that hold any.
func (b *Budget) makeRoom(bytes int64) bool {
	b.mu.Lock()
	caches := slices.DeleteFunc(slices.Clone(b.caches), func(a *Account) bool { return a.held == 0 })
	b.mu.Unlock()
	for _, a := range caches {
		before := a.Held()
		a.evict(bytes)
		if bytes -= before - a.Held(); bytes <= 0 {
			break
		}
	}
	return len(caches) > 0
}

// count counts a draw that was refused.
func (b *Budget) count(err error) {
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, allocation.ErrTooMuch):
		b.refused[0]++
	case errors.Is(err, allocation.ErrBusy):
		b.refused[1]++
	}
}

// Return gives back bytes that were drawn.
func (a *Account) Return(bytes int64) {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	bytes = min(bytes, a.held) // it may be closed
	a.held, a.budget.used = a.held-bytes, a.budget.used-bytes
	a.budget.changes++
}

// Close gives back all that is held. Draws fail from then on.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	if a.held > 0 {
		a.budget.changes++
	}
	a.budget.used -= a.held
	a.held, a.closed = 0, true
}

// Held is how many bytes the account holds.
func (a *Account) Held() int64 {
	if a == nil {
		return 0
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.held
}

// Most is how many bytes the account may hold, 0 for no bound.
func (a *Account) Most() int64 {
	if a == nil {
		return 0
	}
	return a.budget.Most()
}

type accountKey struct{}

// With returns a context whose questions draw from a.
func With(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// FromContext returns the account of a context, or nil if the context has none.
func FromContext(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// Within returns a context with an account: the account of ctx, or a new one that it opens with remedy and that done closes.
// So all parts of one query draw from one account.
func (b *Budget) Within(ctx context.Context, remedy string) (own context.Context, a *Account, done func()) {
	if a := FromContext(ctx); a != nil {
		return ctx, a, func() {}
	}
	a = b.Open(remedy)
	return With(ctx, a), a, a.Close
}

// Take draws bytes from the account of ctx, or from a new one. release gives them back; it is never nil.
func (b *Budget) Take(ctx context.Context, remedy string, bytes int64) (release func(), err error) {
	_, a, done := b.Within(ctx, remedy)
	if err := a.Draw(bytes); err != nil {
		done()
		return func() {}, err
	}
	return func() {
		a.Return(bytes)
		done()
	}, nil
}

// Text writes a number of bytes in a unit that --query.max-memory takes.
func Text(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%dMB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%dKB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}
