package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// cacheShare is the part of Options.Memory that answers of the history may take which are kept in memory, and cacheAge for how
// long after they were last asked for.
const (
	cacheShare = 8
	cacheAge   = 15 * time.Minute
)

// cache has the last answers that were read from the history and nothing else. They are asked for again and again: by
// dashboards, whose closed days are the same until midnight.
type cache struct {
	answers []cached        // the one asked for last comes last
	account *memory.Account // holds what they take
}

// cached is an answer and what it was made of.
type cached struct {
	query string
	kept  []Kept
	sets  []*allocation.Set
	bytes int64
	asked time.Time
}

// cacheKey tells queries apart by what they want of what is kept.
func cacheKey(q *allocation.Query) string {
	key := fmt.Sprint(q.Window.Start.UnixNano(), " ", q.Window.End.UnixNano(), " ", q.Step, " ", q.Stored, " ", q.Resolution, " ", q.Stream)
	if q.Only != nil {
		key += fmt.Sprint(" ", *q.Only)
	}
	return key
}

// same reports whether a set that is kept is still the one it was.
func (k *Kept) same(o *Kept) bool {
	return k.Window.Start.Equal(o.Window.Start) && k.Window.End.Equal(o.Window.End) && k.Generation == o.Generation && k.Bytes == o.Bytes && k.Rows == o.Rows
}

// get is the answer of a query, if it is of these sets; of any, for nil.
func (c *cache) get(query string, kept []Kept, now time.Time) []*allocation.Set {
	i := slices.IndexFunc(c.answers, func(a cached) bool { return a.query == query })
	if i < 0 {
		return nil
	}
	a := c.answers[i]
	if kept != nil && !slices.EqualFunc(a.kept, kept, func(x, y Kept) bool { return x.same(&y) }) {
		c.remove(i)
		return nil
	}
	c.answers = slices.Delete(c.answers, i, i+1)
	a.asked = now
	c.answers = append(c.answers, a)
	return a.sets
}

// put keeps an answer if there is memory for it, and drops those that were not asked for the longest: most bounds their bytes.
func (c *cache) put(a cached, most int64) {
	c.removeAll(func(o *cached) bool { return o.query == a.query || o.asked.Before(a.asked.Add(-cacheAge)) })
	if a.bytes > most {
		return
	}
	for len(c.answers) > 0 && c.account.Held()+a.bytes > most {
		c.remove(0)
	}
	if c.account.Draw(a.bytes) == nil {
		c.answers = append(c.answers, a)
	}
}

// remove drops an answer.
func (c *cache) remove(i int) {
	c.account.Return(c.answers[i].bytes)
	c.answers = slices.Delete(c.answers, i, i+1)
}

// removeAll drops the answers that are so.
func (c *cache) removeAll(so func(*cached) bool) {
	for i := len(c.answers) - 1; i >= 0; i-- {
		if so(&c.answers[i]) {
			c.remove(i)
		}
	}
}

// evict drops the answers that were not asked for the longest, until they took so many bytes.
func (l *Ledger) evict(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := &l.cache; bytes > 0 && len(c.answers) > 0; {
		bytes -= c.answers[0].bytes
		c.remove(0)
	}
}

// cached is what the cache has of a query, nil without any, and where a file of it is no longer what was read.
func (l *Ledger) cached(query string, kept []Kept, now time.Time) []*allocation.Set {
	l.mu.Lock()
	sets := l.cache.get(query, kept, now)
	l.mu.Unlock()
	for _, s := range sets {
		for _, sound := range s.Sound {
			if sound() != nil { // reading it anew tells
				return nil
			}
		}
	}
	return sets
}

// drop drops what nobody asked for since t.
func (c *cache) drop(t time.Time) {
	c.removeAll(func(a *cached) bool { return a.asked.Before(t) })
}

// readCached is read for the sets of a query, which may have been read before.
func (l *Ledger) readCached(ctx context.Context, q *allocation.Query, kept []Kept, bytes int64) ([]*allocation.Set, error) {
	if len(kept) == 0 {
		return nil, nil
	}
	of := *q
	if !q.Stored { // the windows of those who ask again end later: closed days are the same in all of them
		of.Window, of.Step = allocation.Window{Start: kept[0].Window.Start, End: kept[len(kept)-1].Window.End}, 0
	}
	key, now := cacheKey(&of), l.opts.Now()
	if sets := l.cached(key, kept, now); sets != nil {
		return sets, memory.Of(ctx).Draw(bytes)
	}
	sets, _, err := l.read(ctx, kept, q.Only) // they are held as long as the question is
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache.put(cached{query: key, kept: kept, sets: sets, bytes: bytes, asked: now}, l.cacheBytes())
	return sets, nil
}

// cacheBytes is what answers may take that are kept in memory.
func (l *Ledger) cacheBytes() int64 { return cmp.Or(l.opts.Memory.Limit(), defaultMemory) / cacheShare }

// defaultMemory is what is taken for the limit of Options.Memory where that has none.
const defaultMemory = 2 << 30
