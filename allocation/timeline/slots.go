package timeline

// Slots divide time from Origin on into stretches of Width milliseconds.
type Slots struct{ Origin, Width int64 }

// Slots returns the slots of a life, which is not empty, and how many there are: as wide as cells, and where they lie in a life that is
// longer.
func (s Sampling) Slots(life Intervals) (slots Slots, n int64) {
	width, end := max(s.Cell(), 1), s.End
	if s.Exact() { // slots do not depend on where the window ends
		end = (end + width - 1) / width * width
	}
	from, to := life.Bounds()
	after, before := (end-to)/width, (end-from+width-1)/width // slots from the first and the last one of the life to the end
	return Slots{Origin: end - before*width, Width: width}, before - after
}

// Each calls f with every slot that (from, to] touches, and the share of (from, to] that lies in it.
func (s Slots) Each(from, to int64, f func(slot int, share float64)) {
	whole := float64(to - from)
	for i := (from - s.Origin) / s.Width; from < to; i++ {
		end := min(to, s.Origin+(i+1)*s.Width)
		f(int(i), float64(end-from)/whole)
		from = end
	}
}

// Spread adds amount to the values of slots, evenly over (from, to].
func (s Slots) Spread(values []float64, from, to int64, amount float64) {
	i := (from - s.Origin) / s.Width
	end := s.Origin + (i+1)*s.Width
	if to <= end {
		values[i] += amount
		return
	}
	whole := float64(to - from)
	values[i] += amount * (float64(end-from) / whole)
	i++
	if to-end >= s.Width {
		n, each := (to-end)/s.Width, amount*(float64(s.Width)/whole)
		inner := values[i : i+n]
		for k := range inner {
			inner[k] += each
		}
		i, end = i+n, end+n*s.Width
	}
	if end < to {
		values[i] += amount * (float64(to-end) / whole)
	}
}
