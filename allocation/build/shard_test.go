package build_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
)

// newShard returns a builder of the first of two shards, with the names of nodes in cluster c of this shard and of the other.
func newShard(t *testing.T) (f feed, own, other string) {
	t.Helper()
	shard := allocation.Shard{Index: 1, Of: 2}
	for n := 0; own == "" || other == ""; n++ {
		if name := fmt.Sprint("node", n); shard.Has("c", name) {
			own = name
		} else {
			other = name
		}
	}
	q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(time.Hour)}, Resolution: time.Minute, Shard: shard}
	b, err := build.NewBuilder(t.Context(), q, time.Minute, flat{}, symbols, nil)
	if err != nil {
		t.Fatal(err)
	}
	return feed{t: t, b: b}, own, other
}

// runNode adds a node that is there throughout.
func (f feed) runNode(name string) {
	f.add(signals.Series{Signal: signals.NodeInfo}, "c/"+name+"/", minutes(1, -4, 61))
}

// run adds a pod that runs on a node throughout. An empty node is not known.
func (f feed) run(pod, uid, node string) {
	f.add(signals.Series{Signal: signals.PodInfo}, "c/ns/"+pod+"/"+uid+"/"+node+"///", minutes(1, -4, 61))
	f.add(signals.Series{Signal: signals.ContainerRunning}, "c/ns/"+pod+"/"+uid+"/main/", minutes(1, -4, 61))
}

// TestSkips asks which usage and traffic a shard does not need.
func TestSkips(t *testing.T) {
	f, own, other := newShard(t)
	f.runNode(own)
	f.runNode(other)
	f.run("here", "1", own)
	f.run("there", "2", other)
	f.run("both", "3", own)
	f.run("both", "4", other)
	f.run("nowhere", "5", "")
	if err := f.b.Resolve(); err != nil {
		t.Fatal(err)
	}
	skips := f.b.Skips
	for _, tt := range []struct {
		signal signals.Signal
		key    []string
		want   bool
	}{
		{signals.ContainerUse, []string{"here", "1", "main"}, false},
		{signals.ContainerUse, []string{"there", "2", "main"}, true},
		{signals.ContainerUse, []string{"there", "", "main"}, true},
		{signals.ContainerUse, []string{"there", "2", "unknown"}, false},
		{signals.ContainerLevel, []string{"both", "3", "main"}, false},
		{signals.ContainerLevel, []string{"both", "4", "main"}, true},
		{signals.ContainerLevel, []string{"both", "", "main"}, false},
		{signals.ContainerUse, []string{"nowhere", "5", "main"}, false},
		{signals.ContainerUse, []string{"unknown", "6", "main"}, false},
		{signals.PodTransmitted, []string{"there", "2"}, true},
		{signals.PodReceived, []string{"here", "1"}, false},
		{signals.PodEgress, []string{"both", ""}, false},
		{signals.PodEgress, []string{"there", ""}, true},
		{signals.PodEgress, []string{"unknown", ""}, false},
		{signals.PodLabels, []string{"there", "2"}, false},
	} {
		key := []signals.Symbol{symbols.Of("c"), symbols.Of("ns")}
		for _, text := range tt.key {
			key = append(key, symbols.Of(text))
		}
		for len(key) < len(tt.signal.Key()) {
			key = append(key, symbols.Of(""))
		}
		if got := skips(signals.Series{Signal: tt.signal}, key); got != tt.want {
			t.Errorf("%s of %q: skipped %t, want %t", tt.signal, tt.key, got, tt.want)
		}
	}
	for node, want := range map[string]bool{own: false, other: true, "unknown": false} {
		for _, signal := range []signals.Signal{signals.NodeTime, signals.NodeDiskUsed} {
			if got := skips(signals.Series{Signal: signal}, []signals.Symbol{symbols.Of("c"), symbols.Of(node), symbols.Of(""), symbols.Of("")}); got != want {
				t.Errorf("%s of node %s: skipped %t, want %t", signal, node, got, want)
			}
		}
	}
	whole, err := build.NewBuilder(t.Context(), allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(time.Hour)}}, time.Minute, flat{}, symbols, nil)
	if err != nil || whole.Skips(signals.Series{Signal: signals.NodeTime}, []signals.Symbol{symbols.Of("c"), symbols.Of(other), symbols.Of("")}) {
		t.Errorf("a builder of whole sets skips series, %v", err)
	}
}

// TestEmptyShard makes the set of a shard without nodes. It is not missing data, for something ran on a node of another shard.
func TestEmptyShard(t *testing.T) {
	f, _, other := newShard(t)
	f.runNode(other)
	f.run("there", "1", other)
	if err := f.b.Resolve(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.b.Finalize(); err != nil {
		t.Fatal(err)
	}
	sets, err := f.b.Sets()
	if err != nil || sets[0].Len() != 0 || !sets[0].OtherShards {
		t.Errorf("%d rows, data of other shards %t, %v; want no rows, and data", sets[0].Len(), sets[0].OtherShards, err)
	}
}
