package build_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
)

// newShard returns a builder of the second of two shards, with a node of its own in cluster c and one of the other shard, whose name it
// returns, too.
func newShard(t *testing.T) (f feed, other string) {
	t.Helper()
	shard, own := allocation.Shard{Index: 1, Of: 2}, ""
	for n := 0; own == "" || other == ""; n++ {
		if name := fmt.Sprint("node", n); shard.Has("c", name) {
			own = name
		} else {
			other = name
		}
	}
	q := allocation.Query{Window: allocation.Window{Start: plainStart, End: plainStart.Add(time.Hour)}, Resolution: time.Minute, Shard: shard}
	b, err := build.NewBuilder(q, time.Minute, flat{}, symbols)
	if err != nil {
		t.Fatal(err)
	}
	f = feed{t: t, b: b}
	for _, node := range []string{own, other} {
		f.add(signals.Series{Signal: signals.NodeInfo}, "c/"+node+"/", minutes(1, -4, 61))
	}
	return f, other
}

// TestRecall leaves out a pod on a node of another shard, until another pod of its name is seen that may be anywhere. From then on the
// first one counts again, when it is added again.
func TestRecall(t *testing.T) {
	f, other := newShard(t)
	b := f.b
	place := func() {
		f.add(signals.Series{Signal: signals.PodInfo}, "c/ns/p/first/"+other+"///", minutes(1, -4, 61))
	}
	run := func() {
		for _, uid := range []string{"first", "second"} {
			f.add(signals.Series{Signal: signals.ContainerRunning}, "c/ns/p/"+uid+"/main/", minutes(1, -4, 61))
		}
	}
	needed := func(uid string) bool {
		key := []signals.Symbol{symbols.Of("c"), symbols.Of("ns"), symbols.Of("p"), symbols.Of(uid)}
		return !b.Foreign(signals.Series{Signal: signals.PodLabels}, key)
	}
	b.PlaceOthers()
	place()
	if b.PlaceTwins() {
		t.Error("there are pods of the same name")
	}
	b.LeaveOthers()
	if left, _ := b.LeavesOut("first"); needed("first") || !left {
		t.Error("the pod on the other node is not left out")
	}
	run()
	names, all := b.Recall()
	if !slices.Equal(names, []string{"p"}) || all {
		t.Fatalf("recalled %q, all: %t", names, all)
	}
	place()
	run()
	b.Placed()
	for _, uid := range []string{"first", "second"} {
		if left, butRuns := b.LeavesOut(uid); !needed(uid) || left || butRuns {
			t.Errorf("the %s pod is left out", uid)
		}
	}
}

// TestEgressOfPodsFoundLate finds a pod of this shard after pods were placed, by what stands in for running signals. Traffic that names it
// without a UID is wanted from the next Placed on, though another pod of its name was left out.
func TestEgressOfPodsFoundLate(t *testing.T) {
	f, other := newShard(t)
	b := f.b
	b.PlaceOthers()
	f.add(signals.Series{Signal: signals.PodInfo}, "c/ns/p/first/"+other+"///", minutes(1, -4, 61))
	b.LeaveOthers()
	b.Placed()
	egress := func() (nothing bool) {
		_, nothing = b.Grade(signals.Series{Signal: signals.PodEgress}, []string{"c", "ns", "p", ""})
		return nothing
	}
	if !egress() {
		t.Error("traffic of a pod that was left out is wanted")
	}
	f.add(signals.Series{Signal: signals.ContainerRunning, Rank: 1}, "c/ns/p/second/main/", minutes(1, -4, 61))
	if b.Placed(); egress() {
		t.Error("traffic of a pod that was found late is not wanted")
	}
}
