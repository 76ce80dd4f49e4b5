package reconcile

import (
	"hash/maphash"
	"math"
	"sync"

	"github.com/promcost/promcost/allocation"
)

// dayKey identifies a Day: its start, the version of the book, and the assets.
type dayKey struct {
	start  int64
	book   string
	assets uint64
}

// mostCached is how many assets the days of a dayCache have together.
const mostCached = 300_000

// dayCache keeps the days that were used last. The zero value is empty. It is safe for concurrent use.
type dayCache struct {
	mu     sync.Mutex
	days   map[dayKey]*cachedDay
	assets int
	clock  int64
}

type cachedDay struct {
	day  *Day
	used int64
}

func (c *dayCache) get(k dayKey) *Day {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if d := c.days[k]; d != nil {
		d.used = c.clock
		return d.day
	}
	return nil
}

func (c *dayCache) put(k dayKey, d *Day) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.days == nil {
		c.days = map[dayKey]*cachedDay{}
	}
	if c.days[k] != nil {
		return
	}
	c.clock++
	c.days[k] = &cachedDay{d, c.clock}
	for c.assets += len(d.assets); c.assets > mostCached && len(c.days) > 1; {
		c.drop()
	}
}

// drop removes the day that was not used for the longest.
func (c *dayCache) drop() {
	var oldest dayKey
	least := int64(math.MaxInt64)
	for k, d := range c.days {
		if d.used < least {
			oldest, least = k, d.used
		}
	}
	c.assets -= len(c.days[oldest].day.assets)
	delete(c.days, oldest)
}

// seed is that of all fingerprints.
var seed = maphash.MakeSeed()

// fingerprint differs for sets whose assets or costs differ, for all that matters here.
func fingerprint(s *allocation.Set) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	text := func(texts ...string) {
		for _, t := range texts {
			h.WriteString(t)
			h.WriteByte(0)
		}
	}
	eachAsset(s, func(a Asset, has part, of any) {
		h.WriteByte(byte(a.Kind))
		text(a.Cluster, a.Name, a.ProviderID)
		if l, ok := of.(*allocation.LoadBalancer); ok {
			text(l.IP)
		}
		for _, v := range [...]float64{has.list, has.amounts[0], has.amounts[1]} {
			maphash.WriteComparable(&h, math.Float64bits(v))
		}
	})
	usage := usageOf(s)
	for _, cluster := range s.Clusters() {
		text(cluster)
		maphash.WriteComparable(&h, math.Float64bits(usage[cluster]))
	}
	return h.Sum64()
}
