package grouping_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/grouping"
)

// columns are random ids of rows. Adjacent rows often have the same ids.
func columns(rnd *rand.Rand, rows, n int) [][]uint32 {
	cols := make([][]uint32, n)
	for k := range cols {
		cols[k] = make([]uint32, rows)
		for row := range cols[k] {
			if cols[k][row] = rnd.Uint32N(4); row > 0 && rnd.IntN(3) > 0 {
				cols[k][row] = cols[k][row-1]
			}
		}
	}
	return cols
}

// nameOf is the name of a row: its ids without 0, so that different combinations of ids have the same name.
func nameOf(cols [][]uint32, row int) string {
	var ids []string
	for _, col := range cols {
		if col[row] != 0 {
			ids = append(ids, strconv.FormatUint(uint64(col[row]), 10))
		}
	}
	return strings.Join(ids, "/")
}

func TestGroups(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var groups grouping.Groups[uint32]
	for set := range 200 {
		rows, n := rnd.IntN(50), 1+set/3%3
		if set%3 == 0 {
			groups = grouping.Groups[uint32]{} // the number of columns changes
		}
		cols, keep := columns(rnd, rows, n), []bool(nil)
		if set%2 == 0 {
			keep = make([]bool, rows)
			for row := range keep {
				keep[row] = rnd.IntN(2) == 0
			}
		}
		groups.Begin(keep, rows, cols, func(dst []byte, row int) []byte { return append(dst, nameOf(cols, row)...) })
		of, names := groups.RowGroups(rows), groups.Names()
		var order []string
		for row := range rows {
			if keep != nil && !keep[row] {
				if int(of[row]) != groups.Len() {
					t.Fatalf("set %d, dropped row %d: group %d, want %d", set, row, of[row], groups.Len())
				}
				continue
			}
			name := nameOf(cols, row)
			if names[of[row]] != name {
				t.Fatalf("set %d, row %d: %q, want %q", set, row, names[of[row]], name)
			}
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
		if !slices.Equal(names, order) && len(order) > 0 {
			t.Fatalf("set %d: names %q, want %q", set, names, order)
		}
	}
}

func TestOnlyKeepsGroupsWithRowsThatStay(t *testing.T) {
	cols := [][]uint32{{1, 1, 2, 3, 3}}
	var groups grouping.Groups[uint32]
	groups.Begin(nil, 5, cols, func(dst []byte, row int) []byte { return append(dst, nameOf(cols, row)...) })
	groups.RowGroups(5)
	left := groups.Only(func(row int) bool { return row == 1 || row == 4 }, []float64{10, 20, 30})
	if want := []float64{10, 30}; !slices.Equal(left, want) {
		t.Errorf("elements left %v, want %v", left, want)
	}
	if of, want := groups.RowGroups(5), []int32{2, 0, 2, 2, 1}; !slices.Equal(of, want) {
		t.Errorf("groups %v, want %v", of, want)
	}
}

func TestRows(t *testing.T) {
	group, first := grouping.Rows([]bool{true, false, true, true}, 4, [][]uint32{{7, 7, 8, 7}, {1, 1, 1, 1}})
	if want := []int32{0, 2, 1, 0}; !slices.Equal(group, want) {
		t.Errorf("groups %v, want %v", group, want)
	}
	if want := []int32{0, 2}; !slices.Equal(first, want) {
		t.Errorf("first rows %v, want %v", first, want)
	}
}
