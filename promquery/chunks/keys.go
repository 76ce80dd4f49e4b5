package chunks

import (
	"sort"
	"unsafe"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// Symbols are the symbols of label values. Those that a value is likely to be are tried first, which takes a fraction of a look-up
// among all of them. They are not safe for concurrent use.
type Symbols struct {
	of    *promquery.Symbols
	after [][]followers // by number of a symbol; nil where nothing is known
}

// followers are what came after a value, the latest first. Metrics of the same objects mostly have their series in the same order, or
// in one of two: what followed a value, as a value of the same label in the next series, follows it again.
type followers [2]promquery.Symbol

// blockOfFollowers is how many symbols' followers there is room made for at a time.
const blockOfFollowers = 1 << 10

// NewSymbols returns Symbols that makes them by of.
func NewSymbols(of *promquery.Symbols) *Symbols { return &Symbols{of: of} }

// next is the symbol of a value that came after another one. The value is not retained.
func (s *Symbols) next(before promquery.Symbol, text string) promquery.Symbol {
	f := s.followers(before.Number())
	if f[0].Value() == text {
		return f[0]
	}
	x := f[1]
	if x.Value() != text {
		x = s.of.Of(text)
	}
	*f = followers{x, f[0]}
	return x
}

// followers are those of the symbol with a number.
func (s *Symbols) followers(number int) *followers {
	block := number / blockOfFollowers
	for len(s.after) <= block {
		s.after = append(s.after, nil)
	}
	if s.after[block] == nil {
		s.after[block] = make([]followers, blockOfFollowers)
	}
	return &s.after[block][number%blockOfFollowers]
}

// Keys builds the keys of series from their labels. It is not safe for concurrent use. Several Keys, each of a goroutine of its
// own, may share Symbols as long as Key is called for one at a time.
type Keys struct {
	symbols *Symbols
	drop    []label
	keep    []promquery.Label
	key     []promquery.Symbol
	series  uint64
	uid     [36]byte           // of its cgroup path
	open    []element          // of key: what Key has yet to find the symbols of
	last    []promquery.Symbol // of each label in keep: series are sorted, so the next value is often the same
}

type label struct{ name, value string }

// element is a value that belongs into a key.
type element struct {
	at    int
	value string
}

// NewKeys returns Keys that treat the labels of external, where a series carries them with these values, as absent.
func NewKeys(external map[string]string, symbols *Symbols) *Keys {
	k := &Keys{symbols: symbols}
	for name, value := range external {
		k.drop = append(k.drop, label{name, value})
	}
	return k
}

// Begin starts the key of a series that answers a request.
func (k *Keys) Begin(r *promquery.Request) {
	k.keep, k.key, k.open, k.series = r.Keep, k.key[:0], k.open[:0], 0
	for range k.keep {
		k.key = append(k.key, promquery.Symbol{})
	}
	for len(k.last) < len(k.keep) {
		k.last = append(k.last, promquery.Symbol{})
	}
}

// Series is what Points.SetSeries is to say of the series.
func (k *Keys) Series() uint64 { return k.series }

// Label adds a label of the series. The strings are not retained beyond the next call of Key.
func (k *Keys) Label(name, value string) {
	for _, d := range k.drop {
		if d.name == name && d.value == value {
			return
		}
	}
	if k.keep == nil {
		if name != "__name__" && value != "" {
			n := len(k.key)
			k.key = append(k.key, promquery.Symbol{}, promquery.Symbol{})
			k.open = append(k.open, element{n, name}, element{n + 1, value})
		}
		return
	}
	for i := range k.keep {
		if k.keep[i].Name == name {
			k.element(i, value)
		}
	}
}

// element adds the value of a label that is kept.
func (k *Keys) element(i int, value string) {
	if k.keep[i].Series {
		k.series = timeline.SeriesID(value)
	}
	switch {
	case k.keep[i].PodUID:
		uid, ok := promquery.PodUID(value)
		if !ok {
			return
		}
		k.uid = uid
		value = unsafe.String(&k.uid[0], len(k.uid))
	case k.keep[i].Series:
		return
	}
	if k.last[i].Value() == value {
		k.key[i] = k.last[i]
	} else {
		k.open = append(k.open, element{i, value})
	}
}

// Key returns the key; it is valid until the next Begin.
func (k *Keys) Key() []promquery.Symbol {
	for _, x := range k.open {
		if k.keep == nil {
			k.key[x.at] = k.symbols.of.Of(x.value)
			continue
		}
		k.last[x.at] = k.symbols.next(k.last[x.at], x.value)
		k.key[x.at] = k.last[x.at]
	}
	k.open = k.open[:0]
	if k.keep == nil && !sort.IsSorted((*pairs)(k)) {
		sort.Stable((*pairs)(k))
	}
	return k.key
}

// pairs sorts an alternating key by its names.
type pairs Keys

func (p *pairs) Len() int           { return len(p.key) / 2 }
func (p *pairs) Less(i, j int) bool { return p.key[2*i].Value() < p.key[2*j].Value() }
func (p *pairs) Swap(i, j int) {
	p.key[2*i], p.key[2*j] = p.key[2*j], p.key[2*i]
	p.key[2*i+1], p.key[2*j+1] = p.key[2*j+1], p.key[2*i+1]
}
