package timeline

import "slices"

// EachFresh calls f for the parts of ascending cells that are not counted yet, and counts them.
func EachFresh(counted *Intervals, cells []Cell, f func(Cell)) {
	var few [4]Interval
	fresh := Intervals(few[:0])
	for i := range cells {
		x := &cells[i]
		if x.From >= x.To {
			continue
		}
		n := len(fresh)
		if n > 0 && fresh[n-1].To == x.From {
			fresh[n-1].To = x.To
		} else {
			fresh = append(fresh, Interval{From: x.From, To: x.To})
		}
		if k := len(*counted); k == 0 || (*counted)[k-1].To <= x.From {
			f(*x) // mostly
			continue
		}
		for _, free := range Complement(*counted, x.From, x.To) {
			part := *x
			part.From, part.To = free.From, free.To
			part.Amount *= float64(free.To-free.From) / float64(x.To-x.From)
			f(part)
		}
	}
	if n := len(*counted); n > 0 && len(fresh) > 0 {
		last := &(*counted)[n-1]
		if fresh[0].From < last.To {
			*counted = Union(slices.Concat(fresh, *counted)) // appending to fresh would put few on the heap, each time
			return
		}
		if fresh[0].From == last.To {
			last.To = fresh[0].To
			fresh = fresh[1:]
		}
	}
	*counted = append(*counted, fresh...)
}
