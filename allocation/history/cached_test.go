package history_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/memory"
)

// answering is a store as a ledger reads it, of hours alone.
type answering struct{ *history.Store }

func (s answering) List(ctx context.Context, kind ledger.Kind, w allocation.Window) ([]ledger.Kept, error) {
	if kind != ledger.Hours {
		return nil, nil
	}
	list, err := s.Store.List(ctx, history.Hourly, w)
	kept := make([]ledger.Kept, len(list.Sets))
	for i := range list.Sets {
		x := &list.Sets[i]
		kept[i] = ledger.Kept{Window: x.Window, Resolution: x.Resolution, Complete: x.Complete, Generation: x.Generation, Rows: x.Rows, Assets: x.Assets, Bytes: x.Bytes, Ref: x}
	}
	return kept, err
}

func (s answering) Read(ctx context.Context, kept []ledger.Kept, only *allocation.Projection) ([]*allocation.Set, error) {
	stored := make([]history.Stored, len(kept))
	for i := range kept {
		stored[i] = *kept[i].Ref.(*history.Stored)
	}
	return s.Store.Read(ctx, stored, only)
}

func (answering) Write(context.Context, *allocation.Set, ledger.Keep) error { return nil }

func (answering) Compute(context.Context, allocation.Query) ([]*allocation.Set, error) {
	return nil, fmt.Errorf("%w: there is no source", allocation.ErrNoData)
}

// heap returns the bytes of live memory.
func heap() int64 {
	var stats runtime.MemStats
	for range 2 { // what pools have is let go of by the second
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// mapped returns the bytes of a directory's files that are mapped into memory. Only Linux says.
func mapped(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("nothing says which files are mapped:", err)
	}
	for line := range strings.Lines(string(text)) {
		var from, to int64
		if !strings.Contains(line, dir) {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			t.Fatal(err)
		}
		bytes += to - from
	}
	return bytes
}

// TestKeptAnswers compares the memory of cached answers, of which there are more than fit, with the limit.
func TestKeptAnswers(t *testing.T) {
	deferred := &allocation.Projection{Properties: []allocation.Property{allocation.Namespace}, Columns: allColumns(), Volumes: true, Balancers: true}
	for p := range allocation.NumProperties {
		if p != allocation.Namespace {
			deferred.Deferred = append(deferred.Deferred, p)
		}
	}
	bare := *deferred
	bare.WithoutAssets = true
	few := &allocation.Projection{Properties: []allocation.Property{allocation.Namespace}, Columns: []allocation.Column{allocation.Cost.Of(allocation.CPU), allocation.Cost.Of(allocation.RAM)}}
	for _, size := range []struct {
		name         string
		hours, rows  int
		answers, cap int64
		length       time.Duration
	}{
		{"many small sets", 34, 190, 11, 8 << 20, 24 * time.Hour},
		{"few large sets", 14, 6000, 14, 8 << 20, time.Hour},
	} {
		s, dir := directory(t, history.Options{})
		all := hours(size.hours)
		for i, w := range all {
			write(t, s, soundSet(uint64(i), w, size.rows, "c1"), history.WriteOptions{Period: history.Hourly, Complete: true})
		}
		for _, tc := range []struct {
			name string
			only *allocation.Projection
		}{{"deferred", deferred}, {"deferred without assets", &bare}, {"few columns", few}, {"everything", nil}} {
			t.Run(size.name+", "+tc.name, func(t *testing.T) {
				now := all[size.hours-1].End
				l := ledger.NewKeeping(answering{s}, answering{s}, log.NewNopLogger(), ledger.Options{ReadOnly: true, Memory: memory.New(8 * size.cap), Now: func() time.Time { return now }})
				ask := func(from allocation.Window) {
					q := allocation.Query{Window: allocation.Window{Start: from.Start, End: from.Start.Add(size.length)}, Step: time.Hour, Stored: true, Stream: true, Only: tc.only}
					for _, err := range l.Sets(t.Context(), q) {
						if err != nil {
							t.Fatal(err)
						}
					}
				}
				before := heap()
				for _, w := range all[:size.answers] {
					ask(w)
				}
				took := heap() - before + mapped(t, dir)
				runtime.KeepAlive(l)
				if took > size.cap*13/10 || took < size.cap/3 {
					t.Errorf("answers take %d kB of the %d kB that they may", took>>10, size.cap>>10)
				}
			})
		}
	}
}
