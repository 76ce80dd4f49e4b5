package build

import (
	"unique"

	"github.com/promcost/promcost/allocation"
)

// Symbol is an interned string: comparing two compares their strings at the price of comparing pointers, so keys made
// of label values need no hashing of text. A source makes each symbol once.
type Symbol = unique.Handle[string]

// Sym interns s.
func Sym(s string) Symbol { return unique.Make(s) }

// addTail interns a map given as names and values in turn, sorted by name.
func addTail(d *allocation.Dict, tail []Symbol) allocation.ID {
	pairs := make([]allocation.Pair, 0, len(tail)/2)
	for i := 0; i+1 < len(tail); i += 2 {
		pairs = append(pairs, allocation.Pair{Key: d.Add(tail[i].Value()), Value: d.Add(tail[i+1].Value())})
	}
	return d.AddPairs(pairs)
}
