package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/passes"
)

// deferred is a projection of what is decoded when it is needed.
func deferred() *allocation.Projection {
	return &allocation.Projection{
		Properties: []allocation.Property{allocation.Namespace}, Deferred: []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Pod, allocation.PodUID, allocation.Container, allocation.Labels},
		Columns: allColumns(),
	}
}

// TestMappedWhileNeeded collects garbage between reading sets, decoding them, and using what was decoded.
func TestMappedWhileNeeded(t *testing.T) {
	s, dir := directory(t, history.Options{})
	for i := range 4 {
		write(t, s, soundSet(uint64(i), hour(i), 20, "c1"), history.WriteOptions{Complete: true})
	}
	keys, err := allocation.ParseKeys("namespace,pod", allocation.LabelMapping{})
	if err != nil {
		t.Fatal(err)
	}
	sum := func(p *allocation.Projection, between func()) string {
		s := history.New(open(t, dir), history.Options{})
		sets, err := s.Read(t.Context(), list(t, s, history.Hourly, allocation.Window{}), p)
		if err != nil {
			t.Fatal(err)
		}
		between()
		out, err := passes.Apply(sets, passes.Options{Aggregate: keys, Accumulate: allocation.All})
		if err != nil {
			t.Fatal(err)
		}
		between()
		var b strings.Builder
		for row := range out[0].Len() {
			fmt.Fprint(&b, out[0].Name(row), out[0].Text(allocation.NodeName, row), out[0].Text(allocation.PodUID, row), out[0].TotalCost(row), out[0].Value(allocation.NetworkTransferBytes, row))
			for _, label := range out[0].Pairs(allocation.Labels, row) {
				fmt.Fprint(&b, out[0].Dict().Text(label.Key), out[0].Dict().Text(label.Value))
			}
		}
		return b.String()
	}
	all := deferred()
	all.Properties, all.Deferred = append(all.Properties, all.Deferred...), nil
	want := sum(all, func() {})
	got := sum(deferred(), func() {
		for range 3 { // what cleans up runs after it
			runtime.GC()
		}
	})
	if got != want || len(want) == 0 {
		t.Errorf("got %.500s, want %.500s", got, want)
	}
}

// TestMappedFileIsCut truncates a file after it was read and before its deferred properties are decoded, which must be an
// error.
func TestMappedFileIsCut(t *testing.T) {
	s, dir := directory(t, history.Options{})
	write(t, s, soundSet(1, hour(0), 2000, "c1"), history.WriteOptions{Complete: true})
	stored := list(t, s, history.Hourly, allocation.Window{})
	sets, err := s.Read(t.Context(), stored, deferred())
	if err != nil {
		t.Fatal(err)
	}
	if len(sets[0].Sound) != 2 || sound(sets[0]) != nil {
		t.Errorf("%d functions, %v", len(sets[0].Sound), sound(sets[0]))
	}
	for _, name := range stored[0].Files() {
		if strings.HasPrefix(name, "allocations_") {
			if err := os.Truncate(filepath.Join(dir, name), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	keys, err := allocation.ParseKeys("namespace", allocation.LabelMapping{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := passes.Apply(sets, passes.Options{Aggregate: keys}); err == nil {
		t.Errorf("%d results of a file that is gone", out[0].Len())
	}
	if sound(sets[0]) == nil {
		t.Error("it is sound")
	}
	findDamage(t, dir, stored[0].Files()[0])
}

// sound returns what is wrong with the files of a set.
func sound(s *allocation.Set) (err error) {
	for _, f := range s.Sound {
		err = errors.Join(err, f())
	}
	return err
}
