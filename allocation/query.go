package allocation

import (
	"fmt"
	"time"
)

// MaxSets bounds the sets that one query may be cut into.
const MaxSets = 10_000

// AutoResolution is the Resolution of queries that are exact where the source has raw samples of the whole window, and else
// sampled on a grid of LeastAuto or the scrape interval, whichever is longer.
const AutoResolution time.Duration = -1

// LeastAuto is the shortest distance of a grid that AutoResolution stands for.
const LeastAuto = time.Minute

// Query asks for the sets of a window.
type Query struct {
	Window Window
	// Step is the length of a set; 0 makes the whole window one set. Sets are cut backward from the window's end, so the
	// oldest may be shorter.
	Step time.Duration
	// Borders, where there are any, are where one set ends and the next begins, ascending and within the window. They take the
	// place of Step.
	Borders []time.Time
	// Resolution is the distance of the grid that signals are sampled on, which is anchored at the window's end; 0 uses every raw
	// sample (exact mode), AutoResolution lets the source decide. One below the scrape interval is raised to it, with a warning.
	Resolution time.Duration
	// ExactBelow makes a Resolution below the scrape interval exact mode, or ErrTooFine where the source has no raw samples.
	ExactBelow bool
	// ChargeFrom is from when on containers' requests are charged.
	ChargeFrom ChargeFrom
	// Shard is what of the sets is computed; the zero value is all.
	Shard Shard
	// Stored asks for what is kept of closed hours and days, at whatever resolution it was computed. Without it, kept hours
	// stand in only for hours of the Resolution asked; for AutoResolution, exact ones do.
	Stored bool
	// Alone computes each set as if it were asked for by itself: what is in it does not depend on which others are asked for
	// with it. Without it, what is known of one set's time tells of the others', too.
	Alone bool
	// After is for how long after the window there are signals that may be looked at, of use up to Evidence: what is seen again
	// after a gap at the end has gone on through it. A set of Alone that would need more of it is Incomplete.
	After time.Duration
	// Stream says that who asks holds few of the sets at a time: kept ones need not be in memory together, nor be of one Dict.
	Stream bool
	// Only says which columns of kept rows are needed; nil is all of them. What is computed has all in any case.
	Only *Projection
}

// RowBytes is about how many bytes a row takes in memory with all its columns.
const RowBytes = 512

// SetBytes and AssetBytes are about how many bytes a set without rows takes in memory, and an asset of it. filledColumns is
// how many columns of a stored set have values other than zero, as a rule: the others share their memory.
const (
	SetBytes      = 6 << 10
	AssetBytes    = 1 << 10
	filledColumns = 28
)

// SetBytes is about how many bytes a set of p takes in memory, of all columns for nil, that is kept in files of so many
// bytes: those that something is deferred of are held as long as the set is.
func (p *Projection) SetBytes(rows, assets int, files int64) int64 {
	if p == nil {
		return SetBytes + int64(rows)*RowBytes + int64(assets)*AssetBytes
	}
	bytes := SetBytes + int64(rows)*int64(56+8*min(len(p.Columns), filledColumns)+4*len(p.Properties))
	if len(p.Deferred) > 0 {
		bytes += files
	}
	if !p.WithoutAssets {
		bytes += int64(assets) * AssetBytes
	}
	return bytes
}

// SetsBytes is about how many bytes sets take in memory, and the dictionaries that they are over.
func SetsBytes(sets []*Set) (bytes int64) {
	dicts := map[*Dict]bool{}
	for _, s := range sets {
		bytes += (*Projection)(nil).SetBytes(s.Len(), s.assetCount(), 0)
		if !dicts[s.dict] {
			dicts[s.dict] = true
			bytes += s.dict.Memory()
		}
	}
	return bytes
}

// assetCount is how many assets the set has.
func (s *Set) assetCount() int {
	return len(s.Nodes) + len(s.Disks) + len(s.Balancers) + len(s.Networks) + len(s.Management) + len(s.Cloud)
}

// MergedBytes is about how many bytes a row takes that rows of p were merged into: it has all that they have.
func (p *Projection) MergedBytes() int64 {
	if p == nil {
		return RowBytes
	}
	return int64(64 + 8*len(p.Columns) + 4*len(p.Properties) + 16*len(p.Deferred))
}

// Over is the query for sets of these windows, which follow each other.
func (q Query) Over(windows []Window) Query {
	last := len(windows) - 1
	q.Window, q.Step, q.Borders = Window{Start: windows[0].Start, End: windows[last].End}, 0, nil
	for _, w := range windows[:last] {
		q.Borders = append(q.Borders, w.End)
	}
	return q
}

// Windows are the windows of the query's sets, oldest first. A step below zero, or one that makes more than MaxSets
// sets, is an error.
func (q Query) Windows() ([]Window, error) {
	if len(q.Borders) > 0 {
		windows := make([]Window, 0, len(q.Borders)+1)
		start := q.Window.Start
		for _, end := range q.Borders {
			windows = append(windows, Window{Start: start, End: end})
			start = end
		}
		return append(windows, Window{Start: start, End: q.Window.End}), nil
	}
	step := q.Step
	if step < 0 {
		return nil, fmt.Errorf("step %s is negative: give a duration above 0", step)
	}
	if step == 0 || step > q.Window.Duration() {
		step = q.Window.Duration()
	}
	n := int64((q.Window.Duration() + step - 1) / step)
	if n > MaxSets {
		return nil, fmt.Errorf("step %s makes %d sets of the window of %s, at most %d are allowed: use a longer step or a shorter window", q.Step, n, q.Window.Duration(), MaxSets)
	}
	windows := make([]Window, n)
	end := q.Window.End
	for i := n - 1; i >= 0; i-- {
		start := end.Add(-step)
		if start.Before(q.Window.Start) {
			start = q.Window.Start
		}
		windows[i] = Window{Start: start, End: end}
		end = start
	}
	return windows, nil
}

// Evidence is for how long before and after a window signals are looked at at most: as far as that where a gap or an outage
// touches an end of it (SEMANTICS §2). A longer gap is never taken for running time, for a window within it could not tell.
const Evidence = time.Hour
