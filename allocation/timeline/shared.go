package timeline

import "math"

// Shared lets equal Steps share memory: objects that ran for all of a window and had the same value mostly have the same. It remembers
// some of the Steps that it saw last. Whoever gets Steps from it must not change them in place. The zero value is ready.
type Shared struct{ recent [1 << 12]Steps }

// Of returns steps, or Steps that are equal to them. They take no more memory than they need.
func (s *Shared) Of(steps Steps) Steps {
	if len(steps) == 0 {
		return nil
	}
	hash := uint64(len(steps))
	for i := range steps {
		x := &steps[i]
		for _, v := range [...]uint64{uint64(x.From), uint64(x.To), math.Float64bits(x.V)} {
			hash = (hash ^ v) * 0x9e3779b97f4a7c15
			hash ^= hash >> 32
		}
	}
	have := &s.recent[hash%uint64(len(s.recent))]
	if !have.same(steps) {
		*have = append(make(Steps, 0, len(steps)), steps...)
	}
	return *have
}

// same reports whether s and o are equal to the bit.
func (s Steps) same(o Steps) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i].From != o[i].From || s[i].To != o[i].To || math.Float64bits(s[i].V) != math.Float64bits(o[i].V) {
			return false
		}
	}
	return true
}
