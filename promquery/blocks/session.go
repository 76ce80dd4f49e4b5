package blocks

import (
	"context"
	"slices"
	"sync"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// Session is a DB as one computation reads it: what one Select has learned about the symbols of blocks, the next ones know.
// It is safe for concurrent use.
type Session struct {
	db    *DB
	quiet bool // directories that are no blocks are not mentioned

	mu   sync.Mutex
	idle []*finder // those that no Select uses, the latest last
}

// Begin implements promquery.Beginner.
func (db *DB) Begin(context.Context) (promquery.Source, error) { return &Session{db: db}, nil }

// Select implements promquery.Source.
func (s *Session) Select(ctx context.Context, sels []promquery.Selector, yield chunks.Yield) (promquery.Stats, error) {
	return s.SelectParallel(ctx, sels, promquery.OneWorker(yield))
}

// SelectParallel implements promquery.Parallel: while workers decode the series of a selector, each on its goroutine, those of the
// next are looked up.
func (s *Session) SelectParallel(ctx context.Context, sels []promquery.Selector, workers promquery.Workers) (promquery.Stats, error) {
	return s.db.selectParallel(ctx, sels, workers, s)
}

// End implements promquery.Ender.
func (s *Session) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = nil
}

// mostIdle is how many finders are kept: the blocks of a window, and those of stretches of it that are read again.
const mostIdle = 3

// take returns a finder for a read of the blocks of a snapshot. Keys are of table.
func (s *Session) take(snap *snapshot, table *promquery.Symbols, of *readMemory) (f *finder) {
	s.mu.Lock()
	if i := slices.IndexFunc(s.idle, func(f *finder) bool { return f.reads(snap, table) }); i >= 0 {
		f = s.idle[i]
		s.idle = slices.Delete(s.idle, i, i+1)
	}
	s.mu.Unlock()
	if f == nil {
		f = newFinder(snap, table)
	}
	f.account(of)
	return f
}

// give keeps a finder for later reads.
func (s *Session) give(f *finder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle = append(s.idle, f); len(s.idle) > mostIdle {
		s.idle = slices.Delete(s.idle, 0, 1)
	}
}
