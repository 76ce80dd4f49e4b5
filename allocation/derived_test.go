package allocation_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// labeledSet is a set with a row for each map of labels, in the namespaces a and b by turns.
func labeledSet(labels ...map[string]string) *allocation.Set {
	w := allocation.Window{Start: time.Unix(0, 0), End: time.Unix(3600, 0)}
	s := allocation.NewSet(w, allocation.NewDict())
	for i, m := range labels {
		r := allocation.Row{Labels: m, Start: w.Start, End: w.End}
		r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.Pod] = "c", string(rune('a'+i%2)), fmt.Sprint("p", i)
		s.Append(&r)
	}
	return s
}

// owner is the label team, or else owner, or else nothing. It records its arguments.
func owner(asked *[]string) allocation.Derivation {
	var mu sync.Mutex
	return func(properties map[string]any) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		*asked = append(*asked, fmt.Sprint(properties))
		labels, _ := properties["labels"].(map[string]any)
		for _, name := range []string{"team", "owner"} {
			if text, ok := labels[name].(string); ok {
				return text, nil
			}
		}
		return "", nil
	}
}

func TestDerived(t *testing.T) {
	var asked []string
	d, err := allocation.NewDerived("team", []allocation.Property{allocation.Labels}, owner(&asked))
	if err != nil {
		t.Fatal(err)
	}
	set := labeledSet(map[string]string{"team": "x"}, map[string]string{"owner": "y", "app": "1"}, map[string]string{"team": "x"}, nil, map[string]string{"owner": "x"})
	for aggregate, want := range map[string]string{
		"team":           "__unallocated__ x y",
		"TEAM,namespace": "__unallocated__/b x/a y/b",
		"label:owner":    "__unallocated__ owner=x owner=y",
	} {
		keys, err := allocation.ParseKeys(aggregate, allocation.LabelMapping{"team": {"squad"}}, d)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		out, err := passes.Apply([]*allocation.Set{set}, passes.Options{Aggregate: keys})
		if err != nil {
			t.Fatal(err)
		}
		for row := range out[0].Len() {
			names = append(names, out[0].Name(row))
		}
		if got := strings.Join(names, " "); !sameWords(got, want) {
			t.Errorf("%s gives %s, want %s", aggregate, got, want)
		}
	}
	want := []string{"map[]", "map[labels:map[app:1 owner:y]]", "map[labels:map[owner:x]]", "map[labels:map[team:x]]"}
	if diff := cmp.Diff(want, sortedTexts(asked)); diff != "" {
		t.Errorf("asked once a combination, whatever the requests (-want +got):\n%s", diff)
	}
	bound, err := d.Bind(set)
	if err != nil {
		t.Fatal(err)
	}
	for row := range set.Len() {
		if bound(row) != d.Text(set, row) {
			t.Errorf("row %d: %q, alone %q", row, bound(row), d.Text(set, row))
		}
	}
}

// TestDerivedByManyAtATime is for the race detector.
func TestDerivedByManyAtATime(t *testing.T) {
	var asked []string
	d, err := allocation.NewDerived("who", []allocation.Property{allocation.Labels, allocation.Pod}, owner(&asked))
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			bound, err := d.Bind(labeledSet(map[string]string{"team": "x"}, nil, map[string]string{"owner": "y"}))
			if err != nil {
				t.Error(err)
				return
			}
			if got := bound(0) + bound(1) + bound(2); got != "xy" {
				t.Error(got)
			}
		})
	}
	wait.Wait()
}

func TestDerivedNames(t *testing.T) {
	for name, want := range map[string]string{
		"team": "", "cost-center.v2": "", "X_1": "",
		"": "use letters", "1a": "use letters", "a b": "use letters", "ä": "use letters", "a:b": "use letters",
		"namespace": "is taken", "Pod": "is taken", "labels": "is taken", "label": "is taken", "all": "is taken",
		"Owner": "differs from the alias owner in case only", "TEAM": "differs from the alias team", "metadata.name": "field selectors",
		"metadata.namespace": "field selectors", "spec.node": "field selectors", "Status.x": "field selectors", "label.x": "field selectors",
		"annotations.y": "field selectors", "specs.x": "", "owner": "", "labelx": "",
		"deployment": "is taken", "providerid": "is taken", "controllername": "is taken", "services": "is taken",
	} {
		_, err := allocation.NewDerived(name, nil, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	d, err := allocation.NewDerived("unit", nil, func(map[string]any) (string, error) { return "all of them", nil })
	if err != nil {
		t.Fatal(err)
	}
	if bound, err := d.Bind(labeledSet(nil, nil)); err != nil || bound(1) != "all of them" {
		t.Error(err)
	}
	if _, err := allocation.ParseKeys("units", nil, d); err == nil || !strings.Contains(err.Error(), `did you mean "unit"?`) {
		t.Error(err)
	}
	if _, err := allocation.ParseKeys("unit,unit", nil, d); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Error(err)
	}
}

// sameWords compares words whatever their order.
func sameWords(a, b string) bool {
	return cmp.Equal(sortedTexts(strings.Fields(a)), sortedTexts(strings.Fields(b)))
}

func sortedTexts(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return texts
}

// TestDerivedProblem checks why no row has a property. If some row has it, only wrong values are a problem, missing ones are not.
func TestDerivedProblem(t *testing.T) {
	d, err := allocation.NewDerived("x", []allocation.Property{allocation.Labels}, func(properties map[string]any) (string, error) {
		labels, _ := properties["labels"].(map[string]any)
		switch {
		case labels["good"] != nil:
			return "good", nil
		case labels["other"] != nil:
			return "", &allocation.MissingError{Cause: errors.New("no such label")}
		case labels["bad"] != nil:
			return "ignored", fmt.Errorf("%v is bad%s", labels["bad"], strings.Repeat("!", 1000))
		}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{"good": "good", "other": "", "bad": "", "none": ""} {
		if got := d.Compute(map[string]any{"labels": map[string]any{label: "1"}}); got != want {
			t.Errorf("of what has the label %s it is %q, want %q", label, got, want)
		}
	}
	if cause := errors.New("x"); !errors.Is(&allocation.MissingError{Cause: cause}, cause) {
		t.Error("a MissingError is not its cause")
	}
	other := map[string]string{"other": "1"}
	good, bad, worse := map[string]string{"good": "1"}, map[string]string{"bad": "1"}, map[string]string{"bad": "2"}
	for _, tc := range []struct {
		name string
		sets []*allocation.Set
		want string
	}{
		{"one has it", []*allocation.Set{labeledSet(bad), labeledSet(worse, good)}, "property x is missing for 2 of 3 allocations: 1 is bad"},
		{"others miss it", []*allocation.Set{labeledSet(other, nil, good)}, ""},
		{"all miss it", []*allocation.Set{labeledSet(other, nil)}, "property x is missing everywhere: no such label"},
		{"what is wrong comes first", []*allocation.Set{labeledSet(other, bad)}, "property x is missing everywhere: 1 is bad"},
		{"none has it", []*allocation.Set{labeledSet(nil, bad, worse)}, "property x is missing everywhere: 1 is bad"},
		{"there are no rows", []*allocation.Set{labeledSet(nil)}, ""},
	} {
		if got := d.Problem(tc.sets); got == "" != (tc.want == "") || !strings.HasPrefix(got, tc.want) || len(got) > 270 {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := d.Text(labeledSet(bad), 0); got != "" {
		t.Errorf("%q beside an error", got)
	}
}
