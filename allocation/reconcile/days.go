package reconcile

import (
	"cmp"
	"hash/maphash"
	"math"
	"sync"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// dayKey identifies a Day: its start, the version of the book, the labels behind aliases, and the assets.
type dayKey struct {
	start        int64
	book, labels string
	assets       uint64
}

const (
	// daysShare is the part of the process' memory that days may take.
	daysShare = 16
	// defaultDays is how many bytes they may take where that has no limit.
	defaultDays = 128 << 20
	// assetBytes is about how much memory an asset of a day takes, with its names.
	assetBytes = 1 << 10
)

// Days keeps the days that were used last. It is safe for concurrent use.
type Days struct {
	most int64 // bytes

	mu      sync.Mutex
	days    map[dayKey]*cachedDay
	clock   int64
	account *memory.Account // holds their memory
}

type cachedDay struct {
	day  *Day
	used int64
}

// NewDays returns an empty Days, whose memory is a part of the budget. Days give way to questions.
func NewDays(budget *memory.Budget) *Days {
	c := &Days{most: cmp.Or(budget.Limit()/daysShare, defaultDays), days: map[dayKey]*cachedDay{}}
	c.account = budget.OpenCache(c.evict)
	return c
}

// bytes is about how much memory the day takes.
func (d *Day) bytes() int64 { return int64(len(d.assets)+1) * assetBytes }

func (c *Days) get(k dayKey) *Day {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if d := c.days[k]; d != nil {
		d.used = c.clock
		return d.day
	}
	return nil
}

// put keeps a day if there is memory for it, in place of those that were not used for the longest.
func (c *Days) put(k dayKey, d *Day) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.days[k] != nil || d.bytes() > c.most {
		return
	}
	for c.account.Held()+d.bytes() > c.most {
		c.drop()
	}
	if c.account.Draw(d.bytes()) == nil {
		c.clock++
		c.days[k] = &cachedDay{d, c.clock}
	}
}

// evict drops days until they took so many bytes.
func (c *Days) evict(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for bytes > 0 && len(c.days) > 0 {
		bytes -= c.drop()
	}
}

// drop drops the day that was not used for the longest, and returns how many bytes it took. mu is held.
func (c *Days) drop() int64 {
	var oldest dayKey
	least := int64(math.MaxInt64)
	for k, d := range c.days {
		if d.used < least {
			oldest, least = k, d.used
		}
	}
	bytes := c.days[oldest].day.bytes()
	c.account.Return(bytes)
	delete(c.days, oldest)
	return bytes
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
	eachAsset(s, func(a Asset, has quantity, of any) {
		h.WriteByte(byte(a.Kind))
		text(a.Cluster, a.Name, a.ProviderID, classOf(a, of).variety)
		maphash.WriteComparable(&h, classOf(a, of).spot)
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
