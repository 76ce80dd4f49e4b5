package chunks

import (
	"sort"
	"unique"
	"unsafe"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// Symbols are the symbols of label values. Each is made once, and looking one up makes no string. A Select may continue with the
// Symbols of another; Crowded says when to start anew, so that old values are not kept. They are not safe for concurrent use.
type Symbols struct {
	of     map[string]place
	values [][]value // all but the last one full
}

// place is the index of a value in Symbols; 0 is "".
type place int32

// blockOfValues is how many values there is room made for at a time.
const blockOfValues = 1 << 12

// value is a label's value. Metrics of the same objects mostly have their series in the same order, or in one of two: what
// followed a value, as a value of the same label in the next series, follows it again. To compare two strings takes a fraction of
// a look-up among all of them.
type value struct {
	symbol promquery.Symbol
	text   string   // of symbol
	next   [2]place // what came after it, the latest first
}

// NewSymbols returns Symbols of nothing yet.
func NewSymbols() *Symbols {
	s := &Symbols{of: map[string]place{}}
	s.find("")
	return s
}

// maxSymbols is how many values are kept from one Select to the next: some 40 MB. A day of 10,000 pods has 160,000.
const maxSymbols = 1 << 18

// Crowded reports whether there are so many values that another Select should start anew.
func (s *Symbols) Crowded() bool { return len(s.of) > maxSymbols }

func (s *Symbols) at(p place) *value { return &s.values[p/blockOfValues][p%blockOfValues] }

// find is the place of a value, which is not retained.
func (s *Symbols) find(text string) place {
	p, ok := s.of[text]
	if ok {
		return p
	}
	last := len(s.values) - 1
	if last < 0 || len(s.values[last]) == blockOfValues {
		s.values = append(s.values, make([]value, 0, blockOfValues))
		last++
	}
	p = place(last*blockOfValues + len(s.values[last]))
	sym := unique.Make(text)
	v := value{symbol: sym, text: sym.Value()} // the symbol's own string: text may be a view of a buffer
	s.values[last], s.of[v.text] = append(s.values[last], v), p
	return p
}

// after is the place of a value that came after the one at before, which is not retained.
func (s *Symbols) after(before place, text string) place {
	v := s.at(before)
	if s.at(v.next[0]).text == text {
		return v.next[0]
	}
	p := v.next[1]
	if s.at(p).text != text {
		p = s.find(text)
	}
	v.next = [2]place{p, v.next[0]}
	return p
}

// Keys builds the keys of series from their labels. It is not safe for concurrent use. Several Keys, each of a goroutine of its
// own, may share Symbols as long as Key is called for one at a time.
type Keys struct {
	symbols *Symbols
	empty   promquery.Symbol
	drop    []label
	keep    []string
	told    string // the label that tells series apart, "" where all do
	cgroup  string // the label of cgroup paths of which only the UID is needed
	key     []promquery.Symbol
	series  uint64
	uid     [36]byte  // of its cgroup path
	open    []element // of key: what Key has yet to find the symbols of
	last    []latest  // of each label in keep: series are sorted, so the next value is often the same
}

type label struct{ name, value string }

// latest is the value that a label had last.
type latest struct {
	symbol promquery.Symbol
	place  place
}

// element is a value that belongs into a key.
type element struct {
	at    int
	value string
}

// NewKeys returns Keys that treat the labels of external, where a series carries them with these values, as absent.
func NewKeys(external map[string]string, symbols *Symbols) *Keys {
	k := &Keys{symbols: symbols, empty: unique.Make("")}
	for name, value := range external {
		k.drop = append(k.drop, label{name, value})
	}
	return k
}

// Begin starts the key of a series of a selector. The label that tells series apart is left out.
func (k *Keys) Begin(sel *promquery.Selector) {
	k.keep, k.key, k.open = sel.Keep, k.key[:0], k.open[:0]
	k.told, k.cgroup, k.series = sel.Series, sel.Cgroup, 0
	for range k.keep {
		k.key = append(k.key, k.empty)
	}
	for len(k.last) < len(k.keep) {
		k.last = append(k.last, latest{symbol: k.empty})
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
	if k.told != "" && name == k.told {
		if k.series = timeline.SeriesID(value); name != k.cgroup {
			return
		}
	}
	if k.cgroup != "" && name == k.cgroup {
		uid, ok := promquery.PodUID(value)
		if !ok {
			return
		}
		k.uid = uid
		value = unsafe.String(&k.uid[0], len(k.uid))
	}
	if k.keep == nil {
		if name != "__name__" && value != "" {
			n := len(k.key)
			k.key = append(k.key, k.empty, k.empty)
			k.open = append(k.open, element{n, name}, element{n + 1, value})
		}
		return
	}
	for i, n := range k.keep {
		if n != name {
			continue
		}
		if k.last[i].symbol.Value() == value {
			k.key[i] = k.last[i].symbol
		} else {
			k.open = append(k.open, element{i, value})
		}
	}
}

// Key returns the key; it is valid until the next Begin.
func (k *Keys) Key() []promquery.Symbol {
	for _, x := range k.open {
		if k.keep == nil {
			k.key[x.at] = k.symbols.at(k.symbols.find(x.value)).symbol
			continue
		}
		last := &k.last[x.at]
		last.place = k.symbols.after(last.place, x.value)
		last.symbol = k.symbols.at(last.place).symbol
		k.key[x.at] = last.symbol
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
