package allocation

import (
	"fmt"
	"time"
)

// MaxSets bounds the number of sets of one query.
const MaxSets = 10_000

// AutoResolution is a Resolution that is exact where the source has raw samples of the whole window. Otherwise the grid has
// the distance LeastAuto or the scrape interval, whichever is longer.
const AutoResolution time.Duration = -1

// LeastAuto is the shortest grid distance of AutoResolution.
const LeastAuto = time.Minute

// Query asks for the sets of a window.
type Query struct {
	Window Window
	// Step is the length of a set; 0 makes one set of the window. Sets are cut backward from the window's end, so the oldest
	// may be shorter.
	Step time.Duration
	// Borders, if any, replace Step: each ends one set and begins the next. They are ascending and inside the window.
	Borders []time.Time
	// Resolution is the distance of the grid on which signals are sampled. The grid is anchored at the window's end. 0 uses
	// every raw sample (exact mode), and with AutoResolution the source decides. A resolution below the scrape interval is
	// raised to it, with a warning.
	Resolution time.Duration
	// ExactBelow makes a Resolution below the scrape interval exact mode instead, or ErrTooFine if the source has no raw
	// samples.
	ExactBelow bool
	// ChargeFrom is when the charge for containers' requests begins.
	ChargeFrom ChargeFrom
	// Shard is the part of the sets that is computed; the zero value is everything.
	Shard Shard
	// Stored uses closed hours and days whatever the resolution they were computed at. Without it, only closed hours of the
	// same Resolution are used; for AutoResolution, exact ones.
	Stored bool
	// Alone computes each set as if it were the only one, so that its content does not depend on the other sets of the query.
	// Otherwise signals of one set's window also inform the others.
	Alone bool
	// After is for how long after the window signals may be looked at, up to Evidence: a run that is seen again after a gap
	// at the end went on through the gap. A set computed with Alone that would need more is Incomplete.
	After time.Duration
	// Stream says that the caller holds only a few of the sets at a time: they need not be in memory together, nor share a Dict.
	Stream bool
	// Only says which data of stored rows is needed; nil is everything. Computed sets leave out what FewOfAssets does.
	Only *Projection
	// MergedBy are keys by which rows are merged before anyone looks at labels: looking at labels of merged rows may be ErrUnread.
	MergedBy []Key
	// Bills says what bills give the sets, where there are bills.
	Bills Billed
}

// Billed are the parts of bills that sets may have: see Set.Reconcile.
type Billed struct {
	Adjustments     bool // assets and rows cost what was billed
	Estimate        bool // with Adjustments: what no bill charges costs what bills charged for the like on the last billed days
	External, Cloud bool // Set.External and Set.Cloud are there
}

// RowBytes is about how many bytes a row with all its columns takes in memory.
const RowBytes = 512

// SetBytes and AssetBytes are about how many bytes a set without rows takes in memory, and an asset. filledColumns is how
// many columns of a stored set are usually not all zero; the others share memory.
const (
	SetBytes      = 6 << 10
	AssetBytes    = 1 << 10
	filledColumns = 28
	levelBytes    = 256 // of the levels of a row
)

// SetBytes returns about how many bytes a set read with p takes in memory; nil reads all columns. files is the size of its
// files, which stay in memory while something is deferred.
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
	if p.Levels {
		bytes += int64(rows) * levelBytes
	}
	return bytes
}

// SetsBytes returns about how many bytes sets and their dictionaries take in memory.
func SetsBytes(sets []*Set) (bytes int64) {
	dicts := map[*Dict]bool{}
	for _, s := range sets {
		bytes += (*Projection)(nil).SetBytes(s.Len(), s.assetCount(), 0)
		if !dicts[s.table.Dict] {
			dicts[s.table.Dict] = true
			bytes += s.table.Dict.Memory()
		}
	}
	return bytes
}

// assetCount returns the number of assets.
func (s *Set) assetCount() int {
	return len(s.Nodes) + len(s.Disks) + len(s.Balancers) + len(s.Networks) + len(s.Management) + len(s.Cloud)
}

// MergedBytes returns about how many bytes a row takes that was merged from rows read with p.
func (p *Projection) MergedBytes() int64 {
	if p == nil {
		return RowBytes
	}
	return int64(64 + 8*len(p.Columns) + 4*len(p.Properties) + 16*len(p.Deferred))
}

// Over returns the query for sets of these windows, which must be adjacent.
func (q Query) Over(windows []Window) Query {
	last := len(windows) - 1
	q.Window, q.Step, q.Borders = Window{Start: windows[0].Start, End: windows[last].End}, 0, nil
	for _, w := range windows[:last] {
		q.Borders = append(q.Borders, w.End)
	}
	return q
}

// Windows returns the windows of the query's sets, oldest first. It fails for a negative step, and for one that makes more
// than MaxSets sets.
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

// Evidence is the longest time before and after a window in which signals are looked at. That happens where a gap or an
// outage touches an end of the window (SEMANTICS §2). A longer gap is never running time, as a window inside of it could not
// tell.
const Evidence = time.Hour
