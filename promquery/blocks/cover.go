package blocks

import (
	"context"
	"slices"

	"github.com/oklog/ulid/v2"

	"github.com/promcost/promcost/promquery"
)

// Cover says for which time the blocks have all samples of the server that writes them. That is until the end of the newest block
// that has more than out-of-order samples, because samples that came in order at the time of such a block may not be in blocks
// yet. It excludes the times before the blocks and between them, and those that reading has shown to be damaged so far.
// Out-of-order samples may still be missing.
func (db *DB) Cover(context.Context) (promquery.Cover, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	warnings, err := db.scan()
	if err != nil {
		return promquery.Cover{}, err
	}
	c := promquery.Cover{Rest: &Session{db: db, quiet: true}}
	nameless := len(warnings) > 0 // a block does not even say its time: any gap may be its own
	end := int64(promquery.Ever)
	for _, b := range db.sorted() {
		if db.replaced(b) {
			continue
		}
		c.Gaps = append(c.Gaps, b.damaged...)
		if b.meta.Compaction.FromOutOfOrder() {
			continue
		}
		if end < b.meta.MinTime {
			c.Gaps = append(c.Gaps, promquery.Gap{From: end, To: b.meta.MinTime, Damaged: nameless})
		}
		if end = max(end, b.meta.MaxTime); !b.lost {
			c.Until = max(c.Until, b.meta.MaxTime)
		}
	}
	return c, nil
}

// replaced reports whether other blocks replace one that cannot be opened: those that it was compacted from, or one that was
// compacted from it. db.mu is held.
func (db *DB) replaced(b *block) bool {
	there := func(id ulid.ULID) bool {
		x := db.known[id]
		return x != nil && !x.lost
	}
	if !b.lost {
		return false
	}
	parents := b.meta.Compaction.Parents
	for _, p := range parents {
		if !there(p.ULID) {
			parents = nil
		}
	}
	if len(parents) > 0 {
		return true
	}
	for _, x := range db.known {
		for _, p := range x.meta.Compaction.Parents {
			if p.ULID == b.id && !x.lost {
				return true
			}
		}
	}
	return false
}

// lose records that the block cannot be opened. DB.mu is held.
func (b *block) lose() {
	b.lost = true
	b.damage(b.meta.MinTime, b.meta.MaxTime)
}

// damage records that samples in a stretch of time cannot be read. DB.mu is held.
func (b *block) damage(from, to int64) {
	x := promquery.Gap{From: max(from, b.meta.MinTime), To: min(to, b.meta.MaxTime), Damaged: true}
	if x.From >= x.To {
		return
	}
	b.damaged = slices.DeleteFunc(b.damaged, func(l promquery.Gap) bool {
		touches := l.From <= x.To && x.From <= l.To
		if touches {
			x.From, x.To = min(x.From, l.From), max(x.To, l.To)
		}
		return touches
	})
	b.damaged = append(b.damaged, x)
}
