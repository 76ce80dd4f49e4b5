package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/texttable"
)

// billPeriod is the word for bills among the periods of a history.
const billPeriod = "bills"

// bills are the statements that lie within the window, and what is damaged.
func (f *historyFlags) bills(ctx context.Context, store *history.Store) (list []history.StoredBill, damaged []*history.CorruptError, err error) {
	w, err := f.parseWindow()
	if err != nil {
		return nil, nil, err
	}
	list, damaged, err = store.Bills().List(ctx)
	return slices.DeleteFunc(list, func(s history.StoredBill) bool { return !within(s.Charged, w) }), damaged, err
}

// listedBill is a statement as JSON shows it.
type listedBill struct {
	Bill       string    `json:"bill"`
	Account    string    `json:"account"`
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	Charged    time.Time `json:"charged"` // the end of the last charge
	Delivery   string    `json:"delivery"`
	Delivered  time.Time `json:"delivered"`
	Lines      int64     `json:"lines"`
	Generation int       `json:"generation"`
	Files      int       `json:"files"`
	Bytes      int64     `json:"bytes"`
}

// listBills prints the statements. Without any, the table is left out.
func (f *historyFlags) listBills(ctx context.Context, store *history.Store, io streams, output string) error {
	list, damaged, err := f.bills(ctx, store)
	if err != nil {
		return err
	}
	if output == "json" {
		out := make([]listedBill, len(list))
		for i, s := range list {
			out[i] = listedBill{s.Bill, s.Account, s.Start.UTC(), s.End.UTC(), s.Charged.End.UTC(), s.Delivery, s.Delivered.UTC(), s.Lines, s.Generation, s.Files, s.Bytes}
		}
		enc := json.NewEncoder(io.out)
		enc.SetIndent("", "  ")
		return errors.Join(enc.Encode(out), printDamaged(io, damaged))
	}
	if len(list) > 0 || f.period == billPeriod {
		if err := billsTable(list).Write(io.out, io.layout(output)); err != nil {
			return err
		}
	}
	return printDamaged(io, damaged)
}

func billsTable(list []history.StoredBill) *texttable.Table {
	t := &texttable.Table{Columns: []texttable.Column{
		{Name: "BILL", Long: texttable.Cut},
		{Name: "ACCOUNT", Long: texttable.Cut},
		{Name: "START"},
		{Name: "END"},
		{Name: "CHARGED UNTIL", Rank: 3},
		{Name: "DELIVERED", Rank: 2},
		{Name: "LINES", Right: true},
		{Name: "GENERATION", Right: true, Rank: 5},
		{Name: "FILES", Right: true, Rank: 4},
		{Name: "BYTES", Right: true, Rank: 1},
	}}
	for _, s := range list {
		t.Rows = append(t.Rows, []string{
			s.Bill, s.Account, s.Start.UTC().Format(time.DateOnly), s.End.UTC().Format(time.DateOnly), s.Charged.End.UTC().Format(time.RFC3339), s.Delivered.UTC().Format(time.RFC3339),
			strconv.FormatInt(s.Lines, 10), strconv.Itoa(s.Generation), strconv.Itoa(s.Files), strconv.FormatInt(s.Bytes, 10),
		})
	}
	return t
}

// verifyBills reads every file of the statements. text says what is sound, "" without any.
func (f *historyFlags) verifyBills(ctx context.Context, store *history.Store) (damaged []*history.CorruptError, text string, err error) {
	list, damaged, err := f.bills(ctx, store)
	if err != nil || len(list) == 0 {
		return damaged, "", err
	}
	sound, lines, files := 0, int64(0), 0
	for i := range list {
		err := store.Bills().Verify(ctx, &list[i])
		if corrupt, ok := errors.AsType[*history.CorruptError](err); ok {
			damaged = append(damaged, corrupt)
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("verify bills: %w", err)
		}
		sound, lines, files = sound+1, lines+list[i].Lines, files+list[i].Files
	}
	return damaged, counted(sound, "{n} {statement|statements} of bills with {} lines in {} {is|are} sound", lines, counted(files, "{n} {file|files}")), nil
}
