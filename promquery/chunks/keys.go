package chunks

import (
	"sort"
	"unique"

	"github.com/promcost/promcost/promquery"
)

// Keys builds the keys of series from their labels without making a string of any: each value is turned into its symbol
// once. One Select may use what another has left; Crowded says when it is better to begin anew, so that values long gone
// are not kept. It is not safe for concurrent use.
type Keys struct {
	symbols map[string]promquery.Symbol
	empty   promquery.Symbol
	drop    []label
	keep    []string
	key     []promquery.Symbol
	last    []promquery.Symbol // the latest value of each label in keep: series are sorted, so the next is often the same
}

type label struct{ name, value string }

// NewKeys returns Keys that treat the labels of external, where a series carries them with these values, as absent.
func NewKeys(external map[string]string) *Keys {
	k := &Keys{symbols: map[string]promquery.Symbol{}, empty: unique.Make("")}
	for name, value := range external {
		k.drop = append(k.drop, label{name, value})
	}
	return k
}

// maxSymbols is how many values are kept from one Select to the next: some 30 MB. A day of 10,000 pods has 140,000.
const maxSymbols = 1 << 18

// Crowded reports whether so many values are kept that another Select should not use them.
func (k *Keys) Crowded() bool { return len(k.symbols) > maxSymbols }

// Begin starts the key of a series whose selector keeps the labels keep, nil being all but __name__.
func (k *Keys) Begin(keep []string) {
	k.keep, k.key = keep, k.key[:0]
	for range keep {
		k.key = append(k.key, k.empty)
	}
	for len(k.last) < len(keep) {
		k.last = append(k.last, k.empty)
	}
}

// Label adds a label of the series. The strings are not retained.
func (k *Keys) Label(name, value string) {
	for _, d := range k.drop {
		if d.name == name && d.value == value {
			return
		}
	}
	if k.keep == nil {
		if name != "__name__" && value != "" {
			k.key = append(k.key, k.symbol(name), k.symbol(value))
		}
		return
	}
	for i, n := range k.keep {
		if n == name {
			if k.last[i].Value() != value {
				k.last[i] = k.symbol(value)
			}
			k.key[i] = k.last[i]
		}
	}
}

// Key returns the key; it is valid until the next Begin.
func (k *Keys) Key() []promquery.Symbol {
	if k.keep == nil && !sort.IsSorted((*pairs)(k)) {
		sort.Stable((*pairs)(k))
	}
	return k.key
}

func (k *Keys) symbol(s string) promquery.Symbol {
	sym, ok := k.symbols[s]
	if !ok {
		sym = unique.Make(s)
		k.symbols[sym.Value()] = sym // the symbol's own string: s may be a view of a buffer
	}
	return sym
}

// pairs sorts an alternating key by its names.
type pairs Keys

func (p *pairs) Len() int           { return len(p.key) / 2 }
func (p *pairs) Less(i, j int) bool { return p.key[2*i].Value() < p.key[2*j].Value() }
func (p *pairs) Swap(i, j int) {
	p.key[2*i], p.key[2*j] = p.key[2*j], p.key[2*i]
	p.key[2*i+1], p.key[2*j+1] = p.key[2*j+1], p.key[2*i+1]
}
