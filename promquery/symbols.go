package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation/signals"
)

// Symbol is a label value: two of one computation are equal exactly if their texts are. A label that a series lacks has the zero
// Symbol, that of "".
type Symbol = signals.Symbol

// Symbols make the symbols of a computation.
type Symbols = signals.Symbols

type symbolsKey struct{}

// withSymbols makes sources take their symbols from a table.
func withSymbols(ctx context.Context, symbols *Symbols) context.Context {
	return context.WithValue(ctx, symbolsKey{}, symbols)
}

// SymbolsOf returns the symbols that a Select is to yield: those of its computation, or new ones if it belongs to none.
func SymbolsOf(ctx context.Context) *Symbols {
	if symbols, ok := ctx.Value(symbolsKey{}).(*Symbols); ok {
		return symbols
	}
	return signals.NewSymbols()
}
