package blocks

import (
	"context"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/promquery"
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

// Select implements promquery.Source: while series of a request are decoded, those of the next are looked up.
func (s *Session) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) { return s.read(ctx, rs, yield) })
}

// read hands the series that answer the requests to yield.
func (s *Session) read(ctx context.Context, rs []promquery.Request, yield promquery.Yield) (stats promquery.Stats, err error) {
	if len(rs) == 0 {
		return stats, nil
	}
	began := time.Now()
	mint, maxt := rs[0].Start, rs[0].End
	for i := range rs {
		mint, maxt = min(mint, rs[i].Start), max(maxt, rs[i].End)
	}
	snap, err := s.db.acquire(mint, maxt)
	if err != nil {
		return stats, err
	}
	defer func() {
		if cerr := snap.release(); err == nil { // an error of yield is returned as it is
			err = cerr
		}
	}()
	stats, err = snap.read(ctx, rs, s, yield)
	stats.Spread(len(snap.blocks), time.Since(began))
	if !s.quiet {
		stats.Warnings = append(snap.nameless, stats.Warnings...)
	}
	for _, l := range snap.losses {
		stats.Lose(l)
	}
	stats.Damaged = snap.damaged
	return stats, err
}

// Name implements promquery.Named.
func (*Session) Name(context.Context) string { return "blocks" }

// End implements promquery.Ender.
func (s *Session) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = nil
}

// mostIdle is how many finders are kept: the blocks of a window, and those of stretches of it that are read again.
const mostIdle = 3

// take returns a finder for a read of the blocks of a snapshot. Keys are of table. It fails where symbols can no longer be read.
func (s *Session) take(snap *snapshot, table *promquery.Symbols, of *readMemory) (f *finder, err error) {
	defer recovered(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
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
	return f, nil
}

// give keeps a finder for later reads.
func (s *Session) give(f *finder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle = append(s.idle, f); len(s.idle) > mostIdle {
		s.idle = slices.Delete(s.idle, 0, 1)
	}
}
