package timeline

// Numbered has a T for each of some numbers, such as those of sets: from the lowest to the highest that At was called for.
type Numbered[T any] struct {
	first int
	of    []T
}

// At returns the T of a number. It makes it if it is new.
func (p *Numbered[T]) At(number int) *T {
	switch n := len(p.of); {
	case n == 0:
		p.first, p.of = number, make([]T, 1)
	case number < p.first:
		p.first, p.of = number, append(make([]T, p.first-number), p.of...)
	case number >= p.first+n:
		p.of = append(p.of, make([]T, number-p.first-n+1)...)
	}
	return &p.of[number-p.first]
}

// Get returns the T of a number, the zero T if there is none.
func (p *Numbered[T]) Get(number int) (t T) {
	if i := number - p.first; i >= 0 && i < len(p.of) {
		return p.of[i]
	}
	return t
}
