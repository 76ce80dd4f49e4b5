package nodeuse_test

import (
	"errors"
	"iter"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/nodeuse"
)

const gib = 1 << 30

var begin = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// daily are sets of days, filled by fill.
func daily(days int, fill func(day int, s *allocation.Set)) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for i := range days {
			s := allocation.NewSet(allocation.Window{Start: begin.AddDate(0, 0, i), End: begin.AddDate(0, 0, i+1)}, allocation.NewDict())
			s.Covered = []allocation.Covered{{Cluster: "c", Start: s.Window.Start, End: s.Window.End}}
			fill(i, s)
			if !yield(s, nil) {
				return
			}
		}
	}
}

// nodeDays are two days of a cluster: a1 of pool a has 4 cores and 8 GiB for 1 an hour, half for each, and is billed at 3/4 of that, of which
// 0.25 an hour is committed on the first day; nothing is billed on the second. a2 is its twin on the second day, and has nobody. b1 has no
// pool, 2 cores for 0.5 an hour, and no memory.
func nodeDays() iter.Seq2[*allocation.Set, error] {
	return daily(2, func(i int, s *allocation.Set) {
		const hours = 24
		from, to := s.Window.Start, s.Window.End
		node := func(name, pool string, cores, gibs, perHour float64) *allocation.Node {
			n := allocation.Node{Cluster: "c", Name: name, Pool: pool, InstanceType: "m5", Start: from, End: to, RunningSeconds: hours * 3600}
			n.Hours = [allocation.NumResources]float64{allocation.CPU: cores * hours, allocation.RAM: gibs * gib * hours}
			n.Cost[allocation.CPU] = perHour * hours
			if gibs > 0 {
				n.Cost[allocation.CPU], n.Cost[allocation.RAM] = perHour/2*hours, perHour/2*hours
			}
			n.Idle = n.Cost
			s.Nodes = append(s.Nodes, n)
			return &s.Nodes[len(s.Nodes)-1]
		}
		pod := func(n *allocation.Node, kind string, cores, gibs float64) {
			row := allocation.Row{Start: from, End: to}
			row.Text = [allocation.Services]string{"c", n.Name, "web", "pod-" + kind, "uid", "main", kind, "x", ""}
			for r, amount := range map[allocation.Resource]float64{allocation.CPU: cores, allocation.RAM: gibs * gib} {
				if amount > 0 {
					cost := n.Cost[r] * amount * hours / n.Hours[r]
					row.Values[allocation.Hours.Of(r)], row.Values[allocation.Cost.Of(r)] = amount*hours, cost
					if n.Idle[r] -= cost; n.Charged.Listed > 0 {
						row.Values[allocation.Adjustment.Of(r)] = -cost / 4
					}
				}
			}
			s.Append(&row)
		}
		a := node("a1", "a", 4, 8, 1)
		if i == 0 {
			a.Charged = allocation.Charged{Listed: hours, Committed: 0.25 * hours}
			a.Adjustment = [allocation.NumResources]float64{allocation.CPU: -hours / 8., allocation.RAM: -hours / 8.}
		}
		pod(a, "deployment", 2, 2)
		pod(a, "daemonset", 1, 0)
		if i == 0 {
			a.IdleAdjustment = [allocation.NumResources]float64{allocation.CPU: -a.Idle[allocation.CPU] / 4, allocation.RAM: -a.Idle[allocation.RAM] / 4}
		} else {
			node("a2", "a", 4, 8, 1)
		}
		pod(node("b1", "", 2, 0, 0.5), "deployment", 1.5, 0)
	})
}

// poolOfDays is what is known of pool a: of 3 node-days of 24, one is billed. The divisor is 48 hours of data, and a month has 730.
func poolOfDays() nodeuse.Group {
	const month = 730. / 48
	amounts := func(cores, gibs float64) [allocation.NumResources]float64 {
		return [allocation.NumResources]float64{allocation.CPU: cores, allocation.RAM: gibs * gib}
	}
	part := func(cores, gibs, list, billed float64) nodeuse.Part {
		return nodeuse.Part{Amounts: amounts(cores, gibs), Cost: nodeuse.Monthly{List: list * month, Billed: billed * month}}
	}
	return nodeuse.Group{
		Cluster: "c", Pool: "a", InstanceTypes: []string{"m5"}, Count: 1.5, Cost: nodeuse.Monthly{List: 72 * month, Billed: (72 - 6) * month},
		Moving:     part(2, 2, 2*24*(0.25+0.125), 24*0.375*1.75),
		DaemonSets: part(1, 0, 2*24*0.125, 24*0.125*1.75),
		// a1 has 1 core and 6 GiB idle throughout; a2 has 4 and 8 for half of the time.
		Idle:      part(1+2, 6+4, 2*24*(0.125+0.375)+24, 24*0.5*1.75+24),
		Elsewhere: amounts(0.5, 0),
		Committed: 3 * 6 * month, BilledPart: 1. / 3,
	}
}

func TestGroups(t *testing.T) {
	w := allocation.Window{Start: begin, End: begin.AddDate(0, 0, 2)}
	same := cmp.Options{cmpopts.EquateApprox(1e-12, 0), cmpopts.EquateNaNs()}
	list, err := nodeuse.Groups(nodeDays(), w, time.Time{}, false, func(*allocation.Node) bool { return true })
	if err != nil || len(list) != 2 {
		t.Fatalf("%d pools, %v", len(list), err)
	}
	if diff := cmp.Diff(poolOfDays(), list[0], same); diff != "" {
		t.Errorf("pool a (-want +got):\n%s", diff)
	}
	if b := list[1]; b.Pool != "" || b.Count != 1 || b.BilledPart != 0 || !math.IsNaN(b.Committed) || b.Elsewhere[allocation.CPU] != 3 {
		t.Errorf("nodes without a pool: %+v", b)
	}
	// 66 are paid, what moves costs 18 at list price, and 18 are committed.
	if least, most := list[0].Savings(); math.Abs(least-730./48*(66-18-18)) > 1e-9 || math.Abs(most-730./48*66) > 1e-9 {
		t.Errorf("saves %v to %v", least, most)
	}
	if least, most := list[1].Savings(); !math.IsNaN(least) || math.Abs(most-365) > 1e-9 {
		t.Errorf("without bills it saves %v to %v", least, most)
	}

	nodes, err := nodeuse.Groups(nodeDays(), w, time.Time{}, true, func(n *allocation.Node) bool { return n.Pool == "a" })
	if err != nil || len(nodes) != 2 || nodes[0].Node != "a1" || nodes[1].Node != "a2" || nodes[1].Count != 0.5 {
		t.Fatalf("%+v, %v", nodes, err)
	}
	if a := nodes[0]; a.Elsewhere[allocation.CPU] != 2.5 || a.Elsewhere[allocation.RAM] != 4*gib || math.Abs(a.Committed-730./48*12) > 1e-9 || a.BilledPart != 0.5 {
		t.Errorf("a1: %+v", a)
	}
}

// TestGroupsFail passes on what is wrong with sets.
func TestGroupsFail(t *testing.T) {
	broken := errors.New("broken")
	failing := func(yield func(*allocation.Set, error) bool) { yield(nil, broken) }
	if _, err := nodeuse.Groups(failing, allocation.Window{Start: begin, End: begin.Add(time.Hour)}, time.Time{}, false, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
