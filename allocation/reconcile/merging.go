package reconcile

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/passes"
)

// mergeAtOnce is how many pieces of a window are merged at a time: so many of them are in memory.
const mergeAtOnce = 8

// merging merges the pieces of windows, one window after the other. What it holds is drawn from the account of the question.
type merging struct {
	account *memory.Account
	stream  bool // the caller holds few of the merged sets

	pieces []*allocation.Set // of the current window
	held   int64             // bytes, of parts
}

// add adds a piece of a window. It returns the merged set with the last one, and nil before.
func (m *merging) add(w allocation.Window, piece *allocation.Set, last bool) (*allocation.Set, error) {
	m.pieces = append(m.pieces, piece)
	if err := m.hold(); err != nil {
		return nil, err
	}
	if len(m.pieces) > 1 && (last || len(m.pieces) == mergeAtOnce) {
		set, err := passes.Merge(w, m.pieces)
		if err != nil {
			return nil, fmt.Errorf("reconcile: %w", err)
		}
		set.Reading, set.BilledUntil = m.pieces[0].Reading, m.pieces[0].BilledUntil
		m.pieces = append(m.pieces[:0:0], set)
		if err := m.hold(); err != nil {
			return nil, err
		}
	}
	if !last {
		return nil, nil
	}
	set := m.pieces[0]
	if m.pieces = nil; m.stream {
		m.account.Return(m.held)
	}
	m.held = 0 // the caller has it
	return set, nil
}

// hold draws the memory of the parts, in place of the last draw.
func (m *merging) hold() error {
	bytes := allocation.SetsBytes(m.pieces)
	if bytes < m.held {
		m.account.Return(m.held - bytes)
	} else if err := m.account.Draw(bytes - m.held); err != nil {
		return fmt.Errorf("reconcile the days of a window: %w", err)
	}
	m.held = bytes
	return nil
}
