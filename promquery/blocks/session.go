package blocks

import (
	"context"
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
	idle *finder // nil where there is none yet, or it is in use
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

// take returns a finder for a read of blocks.
func (s *Session) take(blocks []*block, goroutines int, of *readMemory) *finder {
	s.mu.Lock()
	f := s.idle
	s.idle = nil
	s.mu.Unlock()
	if f == nil {
		f = newFinder()
	}
	f.use(blocks, goroutines, of)
	return f
}

// give keeps a finder for the next read.
func (s *Session) give(f *finder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = f
}
