package allocation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation"
)

// TestDictKeepsIDs interns many strings, lists and maps twice. Each has one id, by which it is found again, and ids are given in the
// order of what came first.
func TestDictKeepsIDs(t *testing.T) {
	t.Parallel()
	const many = 20_000
	d := allocation.NewDict()
	before, lists, maps := d.Sizes()
	var ids [3][]allocation.ID
	for range 2 {
		for i := range many {
			text := fmt.Sprint("text ", i)
			ids[0] = append(ids[0], d.Add(text))
			ids[1] = append(ids[1], d.AddList([]string{text, "a"}))
			ids[2] = append(ids[2], d.AddMap(map[string]string{"a": text, "b": "c"}))
		}
	}
	for kind := range ids {
		if !slices.Equal(ids[kind][:many], ids[kind][many:]) || !slices.IsSorted(ids[kind][:many]) || len(slices.Compact(slices.Clone(ids[kind][:many]))) != many {
			t.Errorf("ids of kind %d: %v and %v", kind, ids[kind][:3], ids[kind][many:][:3])
		}
	}
	if strs, l, m := d.Sizes(); strs != before+many+3 || l != lists+many || m != maps+many {
		t.Errorf("%d strings, %d lists and %d maps", strs-before, l-lists, m-maps)
	}
	for i := range many {
		text := fmt.Sprint("text ", i)
		list, m := d.List(ids[1][i]), d.TextMap(ids[2][i])
		id, ok := d.Find(text)
		if d.Text(ids[0][i]) != text || !ok || id != ids[0][i] || d.AddBytes([]byte(text)) != id || len(list) != 2 || list[0] != id || m["a"] != text || m["b"] != "c" || len(m) != 2 {
			t.Fatalf("text %d: %q, %v, %v", i, d.Text(ids[0][i]), list, m)
		}
	}
	if id, ok := d.Find(""); id != 0 || !ok || d.Add("") != 0 || d.AddList(nil) != 0 || d.AddMap(nil) != 0 {
		t.Error("what is empty does not have id 0")
	}
	if _, ok := d.Find("other"); ok {
		t.Error("a string is found that was not added")
	}
}

// TestDictAddsOnce interns texts in several ways: each has one id.
func TestDictAddsOnce(t *testing.T) {
	t.Parallel()
	d := allocation.NewDict()
	a, b := d.Add("a"), d.AddWhole("b")
	if d.AddWhole("a") != a || d.AddBytes([]byte("b")) != b || a == b || d.Text(b) != "b" {
		t.Errorf("a has id %d, b has id %d and text %q", a, b, d.Text(b))
	}
	for _, id := range []allocation.ID{d.Add(""), d.AddWhole(""), d.AddBytes(nil)} {
		if id != 0 {
			t.Errorf("the empty text has id %d", id)
		}
	}
	one, two := d.AddMap(map[string]string{"x": "1"}), d.AddMap(map[string]string{"y": "2"})
	for _, id := range []allocation.ID{d.Overlay(0, one, 0, two), d.Overlay(two, one), d.Overlay(one, two, one)} {
		if d.Overlay(id) != id || len(d.Map(id)) != 2 || d.Overlay(0, 0) != 0 {
			t.Errorf("the union of two maps has %v", d.Map(id))
		}
	}
}

// TestRowsMakeColumns writes to one column only: the others are zeros.
func TestRowsMakeColumns(t *testing.T) {
	t.Parallel()
	rows := allocation.NewRows(allocation.NewSet(allocation.Window{}, allocation.NewDict()))
	for range 3 {
		rows.Add(allocation.Workload, 0, 1000)
	}
	rows.Column(allocation.PVCost)[1] = 5
	rows.Add(allocation.Workload, 0, 1000)
	if rows.Value(allocation.PVCost, 1) != 5 || rows.Value(allocation.PVCost, 3) != 0 || rows.Value(allocation.SharedCost, 1) != 0 {
		t.Error("values of rows are not what was written")
	}
	set := rows.Set()
	if got := set.Value(allocation.PVCost, 1); got != 5 || set.AllZero(allocation.PVCost) || !set.AllZero(allocation.SharedCost) {
		t.Errorf("%v", got)
	}
}

// TestDictMemory checks that the estimate is not below what a dictionary takes.
func TestDictMemory(t *testing.T) {
	d := allocation.NewDict()
	const text = "a text of some length that nothing else has"
	for what, add := range map[string]func(){
		"a text": func() { d.Add(text) }, "a list": func() { d.AddList([]string{text + "1"}) }, "a map": func() { d.AddMap(map[string]string{text + "2": "v"}) },
	} {
		before := d.Memory()
		add()
		once := d.Memory()
		if once < before+int64(len(text)) {
			t.Errorf("%s makes %d bytes of %d", what, once, before)
		}
		if add(); d.Memory() != once {
			t.Errorf("%s that is there already takes %d bytes", what, d.Memory()-once)
		}
	}
}
