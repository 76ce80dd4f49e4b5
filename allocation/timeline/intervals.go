package timeline

// Intersection is when both are.
func Intersection(all Intervals, seen Steps) (out Intervals) {
	for _, x := range seen {
		out = append(out, all.Clip(x.From, x.To)...)
	}
	return out
}

// AppendIntervals appends the intervals of steps.
func AppendIntervals(dst Intervals, steps Steps) Intervals {
	for _, x := range steps {
		dst = append(dst, Interval{From: x.From, To: x.To})
	}
	return dst
}

// Outside are the intervals of s of which more than a lookback in a row lies outside of mask.
func Outside(s, mask Intervals) Intervals {
	var out Intervals
	var few [4]Interval
	for _, x := range s {
		for _, free := range appendComplement(few[:0], mask, x.From, x.To) {
			if free.To-free.From > Lookback {
				out = append(out, x)
				break
			}
		}
	}
	return out
}

// Ones is 1 where s has any value.
func Ones(s Steps) Steps {
	out := make(Steps, 0, len(s))
	for _, x := range s {
		out = append(out, Step{From: x.From, To: x.To, V: 1})
	}
	return out
}
