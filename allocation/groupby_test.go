package allocation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
)

func TestGroupBy(t *testing.T) {
	set := allocation.NewSet(allocation.Window{End: time.Unix(3600, 0)}, allocation.NewDict())
	for _, row := range []struct {
		kind            allocation.Special
		namespace, team string
	}{
		{allocation.Workload, "a", "x"},
		{allocation.Idle, "a", "x"},
		{allocation.Workload, "a", "y"},
		{allocation.Workload, "a", "x"},
		{allocation.Unmounted, "a", "x"},
		{allocation.Workload, "b", ""},
	} {
		r := allocation.Row{Special: row.kind, Labels: map[string]string{"team": row.team, "n": row.namespace}}
		r.Text[allocation.Namespace] = row.namespace
		set.Append(&r)
	}
	keys, err := allocation.ParseKeys("label:team,label:n", nil)
	if err != nil {
		t.Fatal(err)
	}
	notIdle := func(kind allocation.Special) bool { return kind != allocation.Idle }
	groups, err := allocation.GroupBy(set, notIdle, []allocation.Property{allocation.Namespace}, keys)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{0, 4, 1, 0, 2, 3}, groups.Of); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]int32{0, 2, 4, 5}, groups.First); diff != "" {
		t.Errorf("first rows (-want +got)\n%s", diff)
	}
	var names []string
	for g := range groups.First {
		names = append(names, groups.Name(g))
	}
	if diff := cmp.Diff([]string{"x/a", "y/a", "x/a", "__unallocated__/b"}, names); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
}

func TestGroupByFailsWhereNothingWasRead(t *testing.T) {
	set := allocation.NewSet(allocation.Window{End: time.Unix(3600, 0)}, allocation.NewDict())
	frame := &allocation.Frame{Special: make([]allocation.Special, 1), Start: []int64{0}, End: []int64{3_600_000}, Read: allocation.OfRows([]allocation.Property{allocation.Namespace})}
	if err := set.AppendFrame(frame); err != nil {
		t.Fatal(err)
	}
	keys, err := allocation.ParseKeys("label:team", nil)
	if err != nil {
		t.Fatal(err)
	}
	all := func(allocation.Special) bool { return true }
	for name, of := range map[string]struct {
		by   []allocation.Property
		keys []allocation.Key
	}{
		"a property": {by: []allocation.Property{allocation.Pod}},
		"a key":      {keys: keys},
	} {
		if _, err := allocation.GroupBy(set, all, of.by, of.keys); !errors.Is(err, allocation.ErrUnread) {
			t.Errorf("%s: got %v, want ErrUnread", name, err)
		}
	}
}
