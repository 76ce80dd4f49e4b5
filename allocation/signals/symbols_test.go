package signals_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/promcost/promcost/allocation/signals"
)

// TestSymbols compares symbols of many texts, of which some are equal.
func TestSymbols(t *testing.T) {
	const many = 5000
	table, other := signals.NewSymbols(), signals.NewSymbols()
	first := make([]signals.Symbol, many)
	for i := range first {
		first[i] = table.Of(fmt.Sprint("text-", i))
		if first[i].Number() != i+1 {
			t.Errorf("symbol %d has the number %d", i, first[i].Number())
		}
	}
	for i := range first {
		text := fmt.Sprint("text-", i)
		switch again := table.Of(text); {
		case again != first[i] || again.Value() != text || again.Number() != i+1:
			t.Errorf("%q: the second symbol is %q, number %d", text, again.Value(), again.Number())
		case i > 0 && again == first[i-1]:
			t.Errorf("%q and %q have one symbol", text, first[i-1].Value())
		case other.Of(text) == again:
			t.Errorf("%q has one symbol in two tables", text)
		}
	}
	if none := (signals.Symbol{}); table.Of("") != none || none.Value() != "" || none.Number() != 0 {
		t.Errorf("the symbol of \"\" is %v, and the zero one is that of %q", table.Of(""), none.Value())
	}
}

// TestSymbolsDoNotRetain changes the buffer that a text was a view of.
func TestSymbolsDoNotRetain(t *testing.T) {
	table := signals.NewSymbols()
	buffer := []byte("value")
	symbol := table.Of(unsafe.String(&buffer[0], len(buffer)))
	copy(buffer, "other")
	if symbol.Value() != "value" || table.Of("value") != symbol || table.Of("other") == symbol {
		t.Errorf("the symbol of %q changed to %q", "value", symbol.Value())
	}
	if n := testing.AllocsPerRun(100, func() { table.Of("value") }); n != 0 {
		t.Errorf("%v allocations for a known text", n)
	}
}

// TestSymbolsOfSeveralGoroutines makes the same symbols at the same time.
func TestSymbolsOfSeveralGoroutines(t *testing.T) {
	const many = 3000
	table := signals.NewSymbols()
	made := make([][many]signals.Symbol, 4)
	var wait sync.WaitGroup
	for g := range made {
		wait.Go(func() {
			for i := range many {
				at := (i + g*700) % many
				made[g][at] = table.Of(strings.Repeat("x", at%60) + strconv.Itoa(at))
			}
		})
	}
	wait.Wait()
	for g := range made {
		if made[g] != made[0] {
			t.Errorf("goroutine %d got other symbols", g)
		}
	}
}
