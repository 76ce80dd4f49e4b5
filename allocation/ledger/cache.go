package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

const (
	// cacheShare is the part of Options.Memory that cached answers may take.
	cacheShare = 8
	// cacheAge is how long an unused answer stays.
	cacheAge = 15 * time.Minute
	// defaultMemory stands for the limit of Options.Memory where that has none.
	defaultMemory = 2 << 30
)

// cache holds the last answers that were read from the history and nothing else, and hours that are not kept. Dashboards ask for
// them again and again: their closed days are the same until midnight. It is safe for concurrent use.
type cache struct {
	most int64 // bytes that answers may take
	now  func() time.Time

	mu      sync.Mutex
	answers []cached        // in order of use, the last used one last
	account *memory.Account // holds their memory
}

// cached is an answer and its sources.
type cached struct {
	query string
	kept  []Kept
	sets  []*allocation.Set
	bytes int64
	used  time.Time
}

func newCache(budget *memory.Budget, now func() time.Time) *cache {
	c := &cache{most: cmp.Or(budget.Limit(), defaultMemory) / cacheShare, now: now}
	c.account = budget.OpenCache(c.evict)
	return c
}

// cacheKey identifies what a query wants of the kept sets.
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

// get is the answer of a query, nil if there is none, or it was made of other sets than kept, or a file of it has changed since.
// For a nil kept, it may be made of any sets.
func (c *cache) get(query string, kept []Kept) []*allocation.Set {
	sets := c.find(query, kept)
	for _, s := range sets {
		for _, sound := range s.Sound {
			if sound() != nil { // reading the file again shows the error
				return nil
			}
		}
	}
	return sets
}

// find is get without looking at files.
func (c *cache) find(query string, kept []Kept) []*allocation.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	a.used = c.now()
	c.answers = append(c.answers, a)
	return a.sets
}

// put adds an answer if there is memory for it, and drops the ones that were not asked for the longest to make room.
func (c *cache) put(a cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.used = c.now()
	c.removeAll(func(o *cached) bool { return o.query == a.query || o.used.Before(a.used.Add(-cacheAge)) })
	if a.bytes > c.most {
		return
	}
	for len(c.answers) > 0 && c.account.Held()+a.bytes > c.most {
		c.remove(0)
	}
	if c.account.Draw(a.bytes) == nil {
		c.answers = append(c.answers, a)
	}
}

// remove drops an answer. mu is held.
func (c *cache) remove(i int) {
	c.account.Return(c.answers[i].bytes)
	c.answers = slices.Delete(c.answers, i, i+1)
}

// removeAll drops the answers for which drop is true. mu is held.
func (c *cache) removeAll(drop func(*cached) bool) {
	for i := len(c.answers) - 1; i >= 0; i-- {
		if drop(&c.answers[i]) {
			c.remove(i)
		}
	}
}

// evict drops the answers that were not asked for the longest, until they took so many bytes.
func (c *cache) evict(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for bytes > 0 && len(c.answers) > 0 {
		bytes -= c.answers[0].bytes
		c.remove(0)
	}
}

// dropOld drops the answers that were not used for a while.
func (c *cache) dropOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.now().Add(-cacheAge)
	c.removeAll(func(a *cached) bool { return a.used.Before(t) })
}
