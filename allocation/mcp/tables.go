package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits of compact answers.
const (
	defaultRows = 20
	mostRows    = 200
	mostLong    = 50       // rows that are longer than those of costs
	mostBytes   = 20 << 10 // of an answer
)

// table is a compact answer: the rows that matter, and a row of the rest that makes the sum equal.
type table struct {
	Window     json.RawMessage `json:"window,omitempty"`
	Baseline   json.RawMessage `json:"baselineWindow,omitempty"`
	Currency   string          `json:"currency"`
	Resolution string          `json:"resolution,omitempty"`
	// Covered and Hours are how many hours of the window have data, and how many it has up to now.
	Covered float64 `json:"coveredHours"`
	Hours   float64 `json:"windowHours"`
	Total   entry   `json:"total"`
	// Monthly is the total of a month of 730 hours at the rate of the hours that have data (SEMANTICS §1), null where none has.
	Monthly  *money   `json:"totalMonthly"`
	Rows     []entry  `json:"rows"`
	Rest     *rest    `json:"rest,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// entry is a row. Amounts are in currency.
type entry struct {
	Name         string           `json:"name,omitempty"`
	Type         string           `json:"type,omitempty"`
	Baseline     *money           `json:"baseline,omitempty"`
	Cost         money            `json:"cost"`
	Change       *money           `json:"change,omitempty"`
	Of           map[string]money `json:"of,omitempty"`      // what the cost is made of
	Effects      map[string]money `json:"effects,omitempty"` // why it changed
	Efficiency   *float64         `json:"efficiency,omitempty"`
	Bounds       *bounds          `json:"errorBounds,omitempty"`
	WithinBounds bool             `json:"withinBounds,omitempty"`
	Since        string           `json:"since,omitempty"` // when the cost reached its level
	Owner        string           `json:"owner,omitempty"`
	Team         string           `json:"team,omitempty"`
	Before       map[string]money `json:"before,omitempty"` // replicas, cores and the like, and what they cost an hour
	After        map[string]money `json:"after,omitempty"`
	Parts        parts            `json:"parts,omitempty"`

	exact float64 // cost, or change, that the rows are ordered by
}

// parts are rows one level down.
type parts []entry

// rest stands for the rows that are left out, and for what rounding took; Rows is 0 for that alone.
type rest struct {
	Rows   int    `json:"rows"`
	Cost   money  `json:"cost"`
	Change *money `json:"change,omitempty"`
}

// dearest orders entries by what matters of them, the largest first.
func dearest(entries []entry) {
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(math.Abs(b.exact), math.Abs(a.exact)), strings.Compare(a.Name, b.Name))
	})
}

// encode writes the table with at most limit rows, and fewer or less of them where it would be too long.
func (t *table) encode(entries []entry, limit int) ([]byte, error) {
	warnings, shown := t.Warnings, len(t.Warnings)
	for {
		limit = min(limit, len(entries))
		t.Rows, t.Rest = entries[:limit], nil
		if t.Rows == nil {
			t.Rows = []entry{}
		}
		t.addRest(entries)
		body, err := json.Marshal(t)
		if err != nil || len(body) <= mostBytes {
			return body, err
		}
		switch {
		case limit > 1:
			limit /= 2
		case shown > 1:
			shown /= 2
			t.Warnings = append(slices.Clone(warnings[:shown]), fmt.Sprintf("%d more warnings are left out, for the answer would be too long: ask for a shorter window, or with a filter", len(warnings)-shown))
		default:
			return body, nil // one row, which has what it has
		}
	}
}

// addRest adds a row of the rest that makes the rows add up to the total. Where all rows are there, it is what rounding them took, if that is
// anything.
func (t *table) addRest(entries []entry) {
	left := func(amount func(e *entry) *money, total *money) money {
		sum, decimals := 0.0, total.decimals
		for i := range t.Rows {
			if m := amount(&t.Rows[i]); m != nil {
				sum, decimals = sum+m.value, max(decimals, m.decimals)
			}
		}
		return to(total.value-sum, decimals)
	}
	r := &rest{Rows: len(entries) - len(t.Rows), Cost: left(func(e *entry) *money { return &e.Cost }, &t.Total.Cost)}
	if t.Total.Change != nil {
		change := left(func(e *entry) *money { return e.Change }, t.Total.Change)
		r.Change = &change
	}
	if r.Rows > 0 || r.Cost.value != 0 || r.Change != nil && r.Change.value != 0 {
		t.Rest = r
	}
}
