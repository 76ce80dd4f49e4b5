package billing

import "time"

// settleTime is how long a file must not have changed before it counts: exporters and copies write files in pieces.
const settleTime = 2 * time.Minute

// sized is a size that a file has had since a look at it.
type sized struct {
	bytes int64
	since time.Time
}

// settling says at one look which files of a bill may still be written.
type settling struct {
	now     time.Time
	taken   map[string]bool  // deliveries, by name
	sizes   map[string]sized // of files whose time lies in the future, by name; changes
	waiting map[string]bool  // the files that may
}

// settled begins a look at a bill.
func (n *Intake) settled(bill string, kept *Kept) *settling {
	if n.sizes[bill] == nil {
		n.sizes[bill] = map[string]sized{}
	}
	s := &settling{now: n.options.Now(), taken: map[string]bool{}, sizes: n.sizes[bill], waiting: map[string]bool{}}
	for name := range kept.Taken {
		if name.Bill == bill {
			s.taken[name.Name] = true
		}
	}
	return s
}

// known reports whether a delivery of that name was taken in before.
func (s *settling) known(name string) bool { return s.taken[name] }

// is reports whether a file is whole as far as its time shows. A time in the future shows nothing: then its size must not have changed.
func (s *settling) is(f *file) bool {
	since := f.Modified
	if since.After(s.now) {
		seen, ok := s.sizes[f.Name]
		if !ok || seen.bytes != f.Bytes {
			seen = sized{f.Bytes, s.now}
			s.sizes[f.Name] = seen
		}
		since = seen.since
	} else {
		delete(s.sizes, f.Name)
	}
	if s.now.Sub(since) >= settleTime {
		return true
	}
	s.waiting[f.Name] = true
	return false
}
