package blocks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestLookupDrawsMemory looks up series with less and with more memory than they take. A read draws the memory before it yields a
// series, returns all of it, and is refused if there is too little.
func TestLookupDrawsMemory(t *testing.T) {
	t.Parallel()
	var series []promtest.Series
	for i := range 3_000 {
		for _, metric := range []string{"few", "many"} {
			if metric == "many" || i < 10 {
				series = append(series, promtest.Series{Labels: []string{"__name__", metric, "pod", fmt.Sprintf("pod-%d", i), "uid", fmt.Sprintf("uid-%d", i)}, Samples: []promtest.Sample{{T: 0, V: 1}}})
			}
		}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	db := open(t, dir)
	few, many := promquery.Request{Metric: "few", Keep: promquery.Labels("pod", "uid"), End: 1}, promquery.Request{Metric: "many", Keep: promquery.Labels("pod", "uid"), End: 1}
	for _, tt := range []struct {
		name   string
		sels   []promquery.Request
		budget int64
		least  int64 // that is drawn for each series before it is yielded
		err    error
	}{
		{name: "few", sels: []promquery.Request{few}, budget: 4 << 20, least: 190},
		{name: "many", sels: []promquery.Request{many}, budget: 4 << 20, least: 190},
		{name: "both", sels: []promquery.Request{few, many}, budget: 4 << 20, least: 190},
		{name: "too many", sels: []promquery.Request{many}, budget: 512 << 10, err: allocation.ErrTooMuch},
		{name: "too many after few", sels: []promquery.Request{few, many}, budget: 512 << 10, least: 190, err: allocation.ErrTooMuch},
		{name: "no bound", sels: []promquery.Request{many}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			budget := memory.New(tt.budget)
			account := budget.Open("ask for less")
			ctx := memory.With(context.Background(), account)
			series := int64(0)
			_, err := promtest.Select(ctx, db, tt.sels, func(int, []promquery.Symbol, *timeline.Points) error {
				series++
				if held := account.Held(); held < tt.least*series {
					t.Errorf("%d bytes are drawn for %d series, want %d for each", held, series, tt.least)
				}
				return nil
			})
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if held := account.Held(); held != 0 {
				t.Errorf("%d bytes are not given back", held)
			}
		})
	}
}

// TestKeysOfManyLabelsAreBounded looks up series whose keys take far more memory than may be found ahead.
func TestKeysOfManyLabelsAreBounded(t *testing.T) {
	t.Parallel()
	var series []promtest.Series
	for i := range 3_000 {
		labels := []string{"__name__", "m", "pod", fmt.Sprintf("pod-%04d", i)}
		for k := range 100 {
			labels = append(labels, fmt.Sprintf("label_%d", k), "value")
		}
		series = append(series, promtest.Series{Labels: labels, Samples: []promtest.Sample{{T: 0, V: 1}}})
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	account := memory.New(64 << 20).Open("ask for less")
	n, most := 0, int64(0)
	_, err := promtest.Select(memory.With(t.Context(), account), open(t, dir), []promquery.Request{{Metric: "m", End: 1}}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
		if want := fmt.Sprintf("pod-%04d", n); len(key) != 202 || key[201].Value() != want || p.Len() != 1 {
			t.Errorf("series %d has a key of %d, the last %q, and %d samples; want 202, %q and 1", n, len(key), key[201].Value(), p.Len(), want)
		}
		n, most = n+1, max(most, account.Held())
		return nil
	})
	if err != nil || n != len(series) {
		t.Errorf("%d series, want %d; error %v", n, len(series), err)
	}
	if most > 3<<20 { // all keys take 4.8 MB
		t.Errorf("%d bytes were held, want at most 3 MiB", most)
	}
}
