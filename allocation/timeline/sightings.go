package timeline

// Sightings are when objects were seen.
type Sightings struct {
	Intervals
	known map[*Step]bool // the first of Steps that were added: many objects share theirs
}

// Lacks reports whether steps were not added yet. They are to be added then.
func (s *Sightings) Lacks(steps Steps) bool {
	if len(steps) == 0 || s.known[&steps[0]] {
		return false
	}
	if s.known == nil {
		s.known = map[*Step]bool{}
	}
	s.known[&steps[0]] = true
	return true
}

// Join adds steps, most of which lie within the intervals.
func (s *Sightings) Join(steps Steps) {
	for _, x := range steps {
		s.Intervals = s.With(Interval{From: x.From, To: x.To})
	}
}
