package signals

import (
	"strings"
	"sync"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/intern"
)

// Symbol is a text of a table of Symbols: two of one table are equal exactly if their texts are, so keys made of label values are
// compared and hashed by their pointers. Symbols of several tables must not be compared. The zero Symbol is that of "" in all of them.
type Symbol struct{ of *symbol }

type symbol struct {
	text   string
	number uint32
}

// Value is the text, as series have it.
func (s Symbol) Value() string {
	if s.of == nil {
		return ""
	}
	return s.of.text
}

// Name is the text as rows and assets show it: allocation.TenantName of Value.
func (s Symbol) Name() string { return allocation.TenantName(s.Value()) }

// Number is the place of the symbol among those of its table, in the order in which they were made: from 1 on, and 0 for "".
func (s Symbol) Number() int {
	if s.of == nil {
		return 0
	}
	return int(s.of.number)
}

// Symbols is the table of the symbols of one computation. It is safe for concurrent use.
type Symbols struct {
	mu    sync.Mutex
	index intern.Index // of numbers
	pages [][]symbol   // by number, from 1 on; all but the last one are full
}

const pageSize = 1 << 10

// NewSymbols returns a table that has only "".
func NewSymbols() *Symbols { return &Symbols{} }

// Of is the symbol of a text, which is not retained.
func (s *Symbols) Of(text string) Symbol {
	if text == "" {
		return Symbol{}
	}
	hash := intern.Hash(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.index.Find(hash, func(number uint32) bool { return s.entry(number).text == text })
	if number == 0 {
		number = s.add(text)
		s.index.Add(hash, number)
	}
	return Symbol{s.entry(number)}
}

func (s *Symbols) entry(number uint32) *symbol {
	return &s.pages[(number-1)/pageSize][(number-1)%pageSize]
}

// add adds a copy of a text that is not there, and returns its number.
func (s *Symbols) add(text string) uint32 {
	last := len(s.pages) - 1
	if last < 0 || len(s.pages[last]) == pageSize {
		s.pages = append(s.pages, make([]symbol, 0, pageSize))
		last++
	}
	number := uint32(last*pageSize + len(s.pages[last]) + 1)
	s.pages[last] = append(s.pages[last], symbol{strings.Clone(text), number})
	return number
}
