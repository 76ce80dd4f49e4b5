package intern_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/promcost/promcost/allocation/intern"
)

// TestIndexTellsCollisionsApart adds texts that all have one of four hashes: each is found by what it is, and what is not there is not.
func TestIndexTellsCollisionsApart(t *testing.T) {
	t.Parallel()
	const many = 1000
	var x intern.Index
	texts := []string{""}
	is := func(text string) func(uint32) bool { return func(id uint32) bool { return texts[id] == text } }
	for i := range many {
		texts = append(texts, strconv.Itoa(i))
		x.Add(uint32(i%4), uint32(len(texts)-1))
	}
	for i := range many {
		if id := x.Find(uint32(i%4), is(strconv.Itoa(i))); id != uint32(i+1) {
			t.Fatalf("text %d has number %d", i, id)
		}
	}
	if id := x.Find(1, is("other")); id != 0 {
		t.Errorf("a text that was not added has number %d", id)
	}
	if id := x.Find(77, is("1")); id != 0 {
		t.Errorf("a text is found by another hash, as %d", id)
	}
}

// TestClonesAreApart adds to a table and to its clone: each has what was in both, and its own.
func TestClonesAreApart(t *testing.T) {
	t.Parallel()
	table := intern.NewTable(func(key []byte, x byte) []byte { return append(key, x) })
	if table.Intern(nil) != 0 || table.Row(0) != nil {
		t.Error("the empty slice does not have the number 0")
	}
	both := table.Intern([]byte("both"))
	clone := table.Clone()
	mine, its := table.Intern([]byte("mine")), clone.Intern([]byte("its"))
	if both != 1 || mine != 2 || its != 2 || table.Len() != 3 || clone.Len() != 3 {
		t.Errorf("numbers %d, %d and %d of %d and %d", both, mine, its, table.Len(), clone.Len())
	}
	for _, x := range []struct {
		of   *intern.Table[byte]
		own  string
		also string
	}{{&table, "mine", "its"}, {&clone, "its", "mine"}} {
		if !slices.Equal(x.of.Row(1), []byte("both")) || !slices.Equal(x.of.Row(2), []byte(x.own)) || x.of.Intern([]byte("both")) != 1 {
			t.Errorf("rows %q and %q, want both and %s", x.of.Row(1), x.of.Row(2), x.own)
		}
		if id := x.of.Intern([]byte(x.also)); id != 3 {
			t.Errorf("%s has number %d, want 3", x.also, id)
		}
	}
}
