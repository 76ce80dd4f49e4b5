package elsewhere_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/elsewhere"
)

func pod(name, uid string) elsewhere.Pod {
	return elsewhere.Pod{Cluster: "c", Namespace: "n", Name: name, UID: uid}
}

// left reports whether all pods with a UID are left out.
func left(pods *elsewhere.Pods, uid string) bool {
	all, _ := pods.Left(uid)
	return all
}

// TestPlaces places pods on nodes, and some of them again.
func TestPlaces(t *testing.T) {
	t.Parallel()
	pods := elsewhere.NewPods()
	pods.Place(map[elsewhere.Node]bool{{Cluster: "c", Name: "far"}: true}, map[elsewhere.Pod]bool{
		pod("needed", ""): true, pod("10.0.0.1", ""): true, {Cluster: "c", Namespace: "all"}: true,
	})
	for _, tt := range []struct {
		pod           elsewhere.Pod
		node, address string
		left          bool
	}{
		{pod("a", "1"), "far", "", true},
		{pod("b", "2"), "far", "10.0.0.2", true},
		{pod("b", "3"), "near", "", false},
		{pod("d", "4"), "", "", false},
		{pod("e", ""), "far", "", false},
		{pod("needed", "5"), "far", "", false},
		{pod("g", "6"), "far", "10.0.0.1", false},
		{elsewhere.Pod{Cluster: "c", Namespace: "all", Name: "h", UID: "7"}, "far", "", false},
		{elsewhere.Pod{Cluster: "other", Namespace: "n", Name: "i", UID: "8"}, "far", "", false},
	} {
		if id, nothing := pods.At(tt.pod, tt.node, tt.address); id != 0 != tt.left || nothing {
			t.Errorf("%v: %d, %t, want left out: %t", tt.pod, id, nothing, tt.left)
		}
		if pods.Has(tt.pod) != tt.left && tt.pod.Name != "b" {
			t.Errorf("%v: it is there: %t", tt.pod, !tt.left)
		}
	}
	if pods.Len() != 2 || !pods.Has(pod("b", "")) || pods.Has(pod("b", "3")) || !pods.InCluster("c") || pods.InCluster("other") {
		t.Errorf("%d pods, or others", pods.Len())
	}
	pods.Again(map[elsewhere.Pod]bool{pod("b", ""): true})
	for name, wanted := range map[string]bool{"a": false, "b": true, "new": false} {
		if id, nothing := pods.At(pod(name, "2"), "far", ""); id != 0 || nothing == wanted {
			t.Errorf("%s, again: %d, %t", name, id, nothing)
		}
	}
	pods.Placed()
	if pods.Has(pod("b", "2")) || left(pods, "2") || !left(pods, "1") {
		t.Error("a pod that was placed again is left out, or another is not")
	}
	for p, left := range map[elsewhere.Pod]bool{pod("a", "1"): true, pod("b", "2"): false} {
		if id, nothing := pods.At(p, "far", ""); id != 0 != left || nothing {
			t.Errorf("%v, later: %d, %t", p, id, nothing)
		}
	}
	if !pods.HasAll(pod("a", "")) || pods.HasAll(pod("b", "")) {
		t.Error("only a is there")
	}
	pods.Keep(pod("b", "1"), false)
	if left(pods, "1") || !pods.Has(pod("a", "1")) || !pods.HasAll(pod("a", "")) {
		t.Error("a UID is not kept, or a name is")
	}
	if pods.Keep(pod("a", "9"), false); pods.HasAll(pod("a", "")) || !pods.Has(pod("a", "")) {
		t.Error("a name is not kept")
	}
	if pods.Clear(); pods.Len() != 0 || pods.Has(pod("a", "1")) || pods.InCluster("c") {
		t.Error("pods are left")
	}
}

// TestSights looks for containers by what was seen of them.
func TestSights(t *testing.T) {
	t.Parallel()
	pods := elsewhere.NewPods()
	pods.Add(pod("a", "1"))
	pods.Add(pod("b", "2"))
	id := pods.Container(pod("a", "1"), "main")
	if id == 0 || pods.Container(pod("a", "9"), "main") != 0 || pods.Container(pod("a", ""), "main") != 0 {
		t.Error("containers of other pods are known")
	}
	if pods.Saw(id) || pods.SawNamed(pod("a", ""), "main") {
		t.Error("a container was seen that was not")
	}
	pods.See(id)
	if !pods.Saw(id) || !pods.SawNamed(pod("a", "9"), "main") || pods.SawNamed(pod("a", ""), "side") || pods.Saw(pods.Container(pod("a", "1"), "side")) {
		t.Error("one container of a was seen")
	}
	pods.SeeNameless(pod("b", ""), "main")
	if !pods.SawNamed(pod("b", ""), "main") || !pods.Saw(pods.Container(pod("b", "2"), "main")) || pods.Saw(pods.Container(pod("b", "2"), "side")) {
		t.Error("one container of b was seen, without its UID")
	}
}

// TestShares keeps pods that only share costs, beside others with the UID of one or its name.
func TestShares(t *testing.T) {
	t.Parallel()
	pods := elsewhere.NewPods()
	for _, p := range []elsewhere.Pod{pod("a", "1"), pod("b", "2"), pod("c", "3")} {
		pods.Keep(p, true)
	}
	pods.Keep(pod("b", "4"), false)
	pods.Keep(elsewhere.Pod{Cluster: "d", Namespace: "n", Name: "e", UID: "3"}, false)
	for uid, shares := range map[string]bool{"1": true, "2": false, "3": false, "4": false, "5": false} {
		if all, butRuns := pods.Left(uid); all || butRuns != shares {
			t.Errorf("the pod with UID %s only shares costs: %t", uid, !shares)
		}
	}
	for name, all := range map[string]bool{"a": true, "b": false, "c": true, "e": false} {
		if pods.HasAll(pod(name, "")) != all {
			t.Errorf("all pods named %s are left out or only share costs: %t", name, !all)
		}
	}
}

// TestTwins has two pods with one UID, in two clusters.
func TestTwins(t *testing.T) {
	t.Parallel()
	pods := elsewhere.NewPods()
	one, two := pod("a", "1"), elsewhere.Pod{Cluster: "d", Namespace: "n", Name: "a", UID: "1"}
	for range 2 {
		pods.Add(one)
		pods.Add(two)
	}
	if pods.Len() != 2 || !pods.Has(one) || !pods.Has(two) || !left(pods, "1") {
		t.Error("the twins are not there")
	}
	pods.Again(map[elsewhere.Pod]bool{pod("a", ""): true})
	pods.At(one, "", "")
	pods.At(one, "", "")
	if pods.Len() != 1 || pods.Has(one) || !pods.Has(two) || pods.Has(pod("a", "")) || !left(pods, "1") {
		t.Error("one of them is removed, and only that")
	}
	pods.At(two, "", "")
	if pods.Placed(); !pods.Has(two) {
		t.Error("a pod of another name is removed")
	}
	if pods.Add(one); pods.Len() != 2 || !pods.Has(one) {
		t.Error("it is not there again")
	}
}
