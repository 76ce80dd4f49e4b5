package build_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/signals"
)

// replacedNode is a node m of 2 cores at 1 an hour that is made again after 52 minutes, with 8 cores at 3, and a pod of a core on
// each. "" and 0 are not reported.
type replacedNode struct {
	name       string
	providerID [2]string
	created    [2]int // in minutes
	apart      bool   // the provider id tells the two apart
	held       bool   // no staleness marker ends what is told of the first one, so that a grid sees it until the second one
}

var replacedNodes = []replacedNode{
	{"another provider id", [2]string{"aws:///a/i-1", "aws:///a/i-2"}, [2]int{-600, 52}, true, false},
	{"another provider id, no creation time", [2]string{"aws:///a/i-1", "aws:///a/i-2"}, [2]int{}, true, false},
	{"another provider id, no creation time and no staleness markers", [2]string{"aws:///a/i-1", "aws:///a/i-2"}, [2]int{}, true, true},
	{"the same provider id", [2]string{"aws:///a/i-1", "aws:///a/i-1"}, [2]int{-600, 52}, false, false},
	{"no provider id", [2]string{"", ""}, [2]int{-600, 52}, false, false},
}

func (x *replacedNode) series() []given {
	var list []given
	for i, reported := range [][2]int{{-5, 52}, {53, 121}} {
		if x.held {
			reported[1-i] = 54
		}
		add := func(signal signals.Signal, key string, v float64) {
			list = append(list, given{signal: signal, key: key, points: minutes(v, reported[0], reported[1])})
		}
		add(signals.NodeInfo, "c|m|"+x.providerID[i], 1)
		if x.created[i] != 0 {
			add(signals.NodeCreated, "c/m", float64(clusterStart.Add(time.Duration(x.created[i])*time.Minute).Unix()))
		}
		add(signals.NodeCapacity, "c/m", []float64{2, 8}[i])
		add(signals.NodePrice, fmt.Sprintf("c/m/type-%d///", i), []float64{1, 3}[i])
		add(signals.NodeLabels, fmt.Sprintf("c/m/agentpool/pool-%d", i), 1)
		pod := fmt.Sprintf("c/ns/pod-%d/uid-%d", i, i)
		add(signals.PodInfo, pod+fmt.Sprintf("/m/ip-%d/Job/j", i), 1)
		add(signals.PodStarted, pod, float64(clusterStart.Add([]time.Duration{-5 * time.Minute, 52*time.Minute + 30*time.Second}[i]).Unix()))
		add(signals.ContainerRunning, pod+"/main/", 1)
		add(signals.ContainerRequest, pod+"/main", 1)
	}
	return list
}

// TestNodeMadeAgain checks that a node that is created again with the same name is another node: an asset with its own life, capacity,
// price, labels and provider id. Containers have those of the node that they ran on.
func TestNodeMadeAgain(t *testing.T) {
	for _, x := range replacedNodes {
		for _, resolution := range []time.Duration{0, time.Minute} {
			t.Run(x.name+"/"+allocation.ResolutionText(resolution), func(t *testing.T) {
				s := buildGiven(t, allocation.Query{Resolution: resolution}, x.series())[0]
				nodes := nodesNamed(s, "m")
				if len(nodes) != 2 {
					t.Fatalf("%d nodes are named m, want 2: %+v", len(nodes), nodes)
				}
				for i, n := range nodes {
					cores, price, lasts := []float64{2, 8}[i], []float64{1, 3}[i], []float64{51.5, 68}[i]*60
					if n.ProviderID != x.providerID[i] || n.InstanceType != fmt.Sprintf("type-%d", i) || n.Pool != fmt.Sprintf("pool-%d", i) {
						t.Errorf("node %d is %s, a %s of %s", i, n.ProviderID, n.InstanceType, n.Pool)
					}
					if math.Abs(n.RunningSeconds-lasts) > 121 {
						t.Errorf("node %d lived for %vs, want %v", i, n.RunningSeconds, lasts)
					}
					hours := n.RunningSeconds / 3600
					if got, want := n.Cost[allocation.CPU], hours*cores*price; math.Abs(got-want) > 1e-9 || math.Abs(n.Hours[allocation.CPU]-hours*cores) > 1e-9 {
						t.Errorf("node %d: %v core-hours cost %v, want %v", i, n.Hours[allocation.CPU], got, want)
					}
				}
				if end := nodes[0].End; end.After(nodes[1].Start) {
					t.Errorf("the first one ends at %s, the second begins at %s", end, nodes[1].Start)
				}
				for row := range s.Len() {
					var i int
					if _, err := fmt.Sscanf(s.Text(allocation.Pod, row), "pod-%d", &i); err != nil {
						continue
					}
					hours := s.Value(allocation.RunningSeconds, row) / 3600
					if got, want := s.Value(allocation.Cost.Of(allocation.CPU), row), hours*[]float64{1, 3}[i]; math.Abs(got-want) > 1e-6 { // a millisecond: a pod costs nothing beyond the life of its node
						t.Errorf("pod %d costs %v, want %v", i, got, want)
					}
					if got := s.Text(allocation.ProviderID, row); got != x.providerID[i] {
						t.Errorf("pod %d ran on %s", i, got)
					}
					if pairs := s.Pairs(allocation.Labels, row); len(pairs) != 1 || s.Dict().Text(pairs[0].Value) != fmt.Sprintf("pool-%d", i) {
						t.Errorf("pod %d has labels %v", i, pairs)
					}
				}
			})
		}
	}
}

// TestNodeMadeAgainOverHours checks that the hours of nodes of one name add up to those of the window, and how their assets are
// named.
func TestNodeMadeAgainOverHours(t *testing.T) {
	for _, x := range replacedNodes {
		t.Run(x.name, func(t *testing.T) {
			whole := buildGiven(t, allocation.Query{}, x.series())[0]
			hours := buildGiven(t, allocation.Query{Step: time.Hour}, x.series())
			sum, err := passes.Merge(whole.Window, hours)
			if err != nil {
				t.Fatal(err)
			}
			if err := passes.Check(sum); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(nodesNamed(whole, "m"), nodesNamed(sum, "m"), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
				t.Errorf("hours are not the window (-window +hours):\n%s", diff)
			}
			for _, s := range []*allocation.Set{whole, sum} {
				var keys []string
				for _, a := range assets.List(s, assets.Options{}).Assets {
					if a.Title == "m" {
						keys = append(keys, a.Name)
					}
				}
				suffixes := []string{"@" + clusterStart.Add(-10*time.Hour).Format(time.RFC3339), "@" + clusterStart.Add(52*time.Minute).Format(time.RFC3339)}
				var want []string
				for i, suffix := range suffixes {
					if x.apart {
						suffix = ""
					}
					provider, id := allocation.ParseProviderID(x.providerID[i])
					named := func(s string) string {
						if s == "" {
							return "__undefined__"
						}
						return s
					}
					want = append(want, named(provider)+"/__undefined__/__undefined__/Compute/c/Node/Kubernetes/"+named(id)+"/m"+suffix)
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, keys); diff != "" {
					t.Errorf("keys (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// nodesNamed are the nodes of a name, in the order of time.
func nodesNamed(s *allocation.Set, name string) (nodes []allocation.Node) {
	for _, n := range s.Nodes {
		if n.Name == name {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b allocation.Node) int { return a.Start.Compare(b.Start) })
	return nodes
}
