package allocation

import "unique"

// Symbol is an interned string: comparing two compares their strings at the price of comparing pointers, so keys made
// of label values need no hashing of text. A source makes each symbol once.
type Symbol = unique.Handle[string]

// Sym interns s.
func Sym(s string) Symbol { return unique.Make(s) }
