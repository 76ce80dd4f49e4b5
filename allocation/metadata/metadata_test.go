package metadata_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metadata"
	"github.com/promcost/promcost/allocation/passes"
)

// newSet is a set of containers, given as namespace, pod and name, with labels that name the pod.
func newSet(containers ...[3]string) *allocation.Set {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	window := allocation.Window{Start: start, End: start.Add(time.Hour)}
	s := allocation.NewSet(window, allocation.NewDict())
	for _, c := range containers {
		r := allocation.Row{Start: window.Start, End: window.End, Labels: map[string]string{"pod": c[1]}}
		r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.Container] = c[0], c[1], c[2]
		s.Append(&r)
	}
	return s
}

func TestShown(t *testing.T) {
	set := newSet([3]string{"a", "x", "main"}, [3]string{"a", "y", "main"}, [3]string{"b", "z", "main"}, [3]string{"c", "w", "main"}, [3]string{"c", "w", "main"})
	none := []bool{false, false, false, false, false}
	for _, tt := range []struct {
		name, by string
		want     []bool
	}{
		{"a namespace of one container, and one with two rows of one", "namespace", []bool{false, false, true, true, true}},
		{"everything in one", "all", none},
		{"each by itself", "pod", []bool{true, true, true, true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keys, err := allocation.ParseKeys(tt.by, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, shard := range []allocation.Shard{{}, {Index: 1, Of: 2}, {Index: 2, Of: 2}} {
				want := tt.want
				if i > 0 && !shard.Has("", "") { // no row is on a node
					want = none
				}
				if got, err := metadata.Shown(set, keys, shard); err != nil || !slices.Equal(got, want) {
					t.Errorf("shard %v: got %v, error %v, want %v", shard, got, err, want)
				}
			}
		})
	}
}

// TestShownByLabels checks that keys which look at what is not read are refused.
func TestShownByLabels(t *testing.T) {
	for _, by := range []string{"label:app", "namespace,annotation:team", "team"} {
		keys, err := allocation.ParseKeys(by, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := metadata.Shown(newSet([3]string{"a", "x", "main"}), keys, allocation.Shard{}); !errors.Is(err, allocation.ErrUnread) {
			t.Errorf("%s: error %v, want %v", by, err, allocation.ErrUnread)
		}
	}
}

// TestShownOfShards checks that rows of other shards do not count.
func TestShownOfShards(t *testing.T) {
	shard := allocation.Shard{Index: 1, Of: 2}
	var own, other string
	for i := 0; own == "" || other == ""; i++ {
		if node := fmt.Sprint("node-", i); shard.Has("", node) {
			own = node
		} else {
			other = node
		}
	}
	set := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	for _, node := range []string{own, other} {
		r := allocation.Row{}
		r.Text[allocation.Pod], r.Text[allocation.NodeName] = "of "+node, node
		set.Append(&r)
	}
	keys, err := allocation.ParseKeys("all", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := metadata.Shown(set, keys, shard); err != nil || !slices.Equal(got, []bool{true, false}) {
		t.Errorf("got %v, error %v, want the first only", got, err)
	}
}

// TestDefer merges rows of which some labels are unread: those of rows that are merged with others are not missed, and the others
// are an error.
func TestDefer(t *testing.T) {
	containers := [][3]string{{"a", "x", "main"}, {"a", "y", "main"}, {"b", "z", "main"}}
	for _, tt := range []struct {
		name, by string
		unread   []int // rows
		want     []string
		err      error
	}{
		{"nothing is unread", "pod", nil, []string{"x", "y", "z"}, nil},
		{"those of merged rows are", "namespace", []int{0, 1}, []string{"", "z"}, nil},
		{"one of a row by itself is", "pod", []int{1}, nil, allocation.ErrUnread},
		{"all are", "all", []int{0, 1, 2}, []string{""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keys, err := allocation.ParseKeys(tt.by, nil)
			if err != nil {
				t.Fatal(err)
			}
			set := newSet(containers...)
			ids, err := set.IDs(allocation.Labels)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range tt.unread {
				ids[row] = metadata.Unread
			}
			if err := metadata.Defer(set); err != nil {
				t.Fatal(err)
			}
			if _, err := set.IDs(allocation.Labels); (err != nil) != (len(tt.unread) > 0) {
				t.Errorf("labels of rows: error %v", err)
			}
			out, err := passes.Apply([]*allocation.Set{set}, passes.Options{Aggregate: keys})
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			var got []string
			for row := range out[0].Len() {
				labels, err := out[0].IDs(allocation.Labels)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, out[0].Dict().TextMap(labels[row])["pod"])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("labels are %q, want %q", got, tt.want)
			}
		})
	}
}
