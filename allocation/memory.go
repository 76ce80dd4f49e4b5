package allocation

import (
	"sort"
	"unsafe"
)

// containerMemory is what a builder holds of a container besides its rows, in bytes: its signals as step functions, and the
// names that it goes by.
const containerMemory = 4 << 10

// rowMemory is what a container's part in one set takes, in bytes: the row in its columns, which grow by up to a quarter
// beyond their need, and the running time that counts for it.
const rowMemory = (int64(NumColumns)*8+int64(NumProperties)*int64(unsafe.Sizeof(ID(0)))+24)*5/4 +
	int64(unsafe.Sizeof(segment{})+unsafe.Sizeof(rowRef{})+unsafe.Sizeof(shift{}))

// Memory estimates the bytes that the sets and what they are made from will take, from the containers added so far. It is
// to be asked before Resolve, which lays out the rows.
func (b *Builder) Memory() int64 {
	sets := func(t int64) int64 { // the sets that have begun by t
		return int64(sort.Search(len(b.borders), func(i int) bool { return b.borders[i] >= t }))
	}
	var rows int64
	for _, c := range b.containers {
		from, to := int64(-1), int64(-1)
		for _, steps := range c.running {
			if n := len(steps); n > 0 {
				if first := steps[0].From; from < 0 || first < from {
					from = first
				}
				to = max(to, steps[n-1].To)
			}
		}
		if from >= 0 {
			rows += max(1, min(sets(to), int64(len(b.windows)))-max(1, sets(from+1))+1)
		}
	}
	return int64(len(b.containers))*containerMemory + rows*rowMemory
}
