package billing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/promcost/promcost/allocation"
)

// Drawer bounds memory, as an account of the process' budget does.
type Drawer interface {
	Draw(bytes int64) error
	Return(bytes int64)
}

// Memory keeps statements in memory, where there is no history. What it holds is drawn from the budget of the process.
type Memory struct {
	budget Drawer

	mu         sync.Mutex
	statements map[Key]*held
	taken      map[DeliveryName]string
	version    int
}

// held is a statement with its lines.
type held struct {
	Statement
	days  []*Day
	bytes int64
}

// NewMemory returns an empty keeper.
func NewMemory(budget Drawer) *Memory {
	return &Memory{budget: budget, statements: map[Key]*held{}, taken: map[DeliveryName]string{}}
}

// manyLines is the number of lines in memory from which a warning advises to use a history.
const manyLines = 1_000_000

// Kept implements Keeper.
func (m *Memory) Kept(context.Context) (*Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := &Kept{Taken: maps.Clone(m.taken)}
	lines := int64(0)
	for _, h := range m.statements {
		k.Statements = append(k.Statements, h.Statement)
		lines += h.Lines
	}
	slices.SortFunc(k.Statements, func(a, b Statement) int { return a.Compare(b.Key) })
	if lines > manyLines {
		k.Warnings = []string{fmt.Sprintf("%d lines of bills are kept in memory, and are read again at each start: give --storage.path or --storage.config to keep them", lines)}
	}
	return k, nil
}

// errReplaced is the error for lines that are no longer in memory.
var errReplaced = errors.New("the bill was delivered again while it was read: repeat the request")

// Read is an Opener.
func (m *Memory) Read(_ context.Context, s *Statement, w allocation.Window, f func(*Line) error) error {
	m.mu.Lock()
	h := m.statements[s.Key]
	m.mu.Unlock()
	if h == nil || h.Version != s.Version {
		return errReplaced
	}
	for _, d := range h.days {
		if !d.overlaps(w) {
			continue
		}
		if err := d.Each(f); err != nil {
			return err
		}
	}
	return nil
}

// Take implements Keeper.
func (m *Memory) Take(_ context.Context, d *Delivery) (Taking, error) {
	return &memoryTaking{memory: m, delivery: d, held: map[Key]*held{}}, nil
}

// memoryTaking collects a delivery in memory.
type memoryTaking struct {
	memory   *Memory
	delivery *Delivery
	held     map[Key]*held
}

// Add implements Taking.
func (t *memoryTaking) Add(_ context.Context, d *Day) error {
	own, bytes := d.clone()
	if err := t.memory.budget.Draw(bytes); err != nil {
		return fmt.Errorf("%w: or give --storage.path, which keeps bills on disk", err)
	}
	h := t.held[d.Key]
	if h == nil {
		h = &held{}
		t.held[d.Key] = h
	}
	h.days, h.bytes = append(h.days, own), h.bytes+bytes
	return nil
}

// Commit implements Taking.
func (t *memoryTaking) Commit(_ context.Context, statements []Statement) error {
	m := t.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range statements {
		if old := m.statements[s.Key]; old != nil {
			m.budget.Return(old.bytes)
		}
		m.version++
		h := t.held[s.Key]
		if h == nil {
			h = &held{}
		}
		h.Statement, h.Version = s, m.version
		m.statements[s.Key] = h
		delete(t.held, s.Key)
	}
	m.taken[DeliveryName{t.delivery.Bill, t.delivery.Name}] = t.delivery.Fingerprint
	return nil
}

// Abort implements Taking.
func (t *memoryTaking) Abort() {
	for key, h := range t.held {
		t.memory.budget.Return(h.bytes)
		delete(t.held, key)
	}
}
