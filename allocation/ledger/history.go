package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Kind is a kind of sets of a History.
type Kind uint8

// The kinds.
const (
	Hours Kind = iota
	Days
	// Counted are hours as counters have counted them, where Hours has something else by now: hours that were computed again
	// later, and times without data, of any length, whose later data must not be counted.
	Counted
)

// String names the kind in errors and logs.
func (k Kind) String() string { return [...]string{"hour", "day", "counted hour"}[k] }

// Kept is a set that a History has.
type Kept struct {
	Window     allocation.Window
	Resolution time.Duration // 0 in exact mode
	Rules      int           // the version of the rules that it was computed by, see allocation.RulesVersion
	Complete   bool          // nothing of the source was missing
	Generation int           // a replacement has a higher one
	Rows       int
	Assets     int   // nodes, disks and all others
	Bytes      int64 // that the stored set takes
	Ref        any   // by which the History finds the set
}

// bytes estimates how many bytes the set takes in memory.
func (k *Kept) bytes(only *allocation.Projection) int64 {
	return only.SetBytes(k.Rows, k.Assets, k.Bytes)
}

// bytesOf returns about how many bytes sets take in memory.
func bytesOf(kept []Kept, only *allocation.Projection) (bytes int64) {
	for i := range kept {
		bytes += kept[i].bytes(only)
	}
	return bytes
}

// Keep says how a set is to be kept.
type Keep struct {
	Kind Kind
	// Zone is the time zone on whose clock the set's window was cut.
	Zone *time.Location
	// Complete says that nothing of the source was missing.
	Complete bool
	// Replace replaces a stored set. Without it, a stored set stays.
	Replace bool
}

// History keeps sets as they were computed. It is safe for concurrent use.
type History interface {
	// List returns the sets of a kind that overlap w, oldest first, without damaged ones; all sets for the zero window.
	List(ctx context.Context, k Kind, w allocation.Window) ([]Kept, error)
	// Read reads sets of List over one Dict, in the order given, with their rows in one order. only says which columns are needed;
	// nil reads all. The error is a DamagedError for a damaged set, and fs.ErrNotExist for one that was removed.
	Read(ctx context.Context, sets []Kept, only *allocation.Projection) ([]*allocation.Set, error)
	// Write keeps a set. The set is durable once Write returns.
	Write(ctx context.Context, set *allocation.Set, keep Keep) error
}

// Tidier is a History that has to be tidied now and then.
type Tidier interface {
	// Tidy removes obsolete files, and sets that end at or before t if t is not zero.
	Tidy(ctx context.Context, t time.Time) error
}

// Explainer is a History that can say why the set of a window is missing.
type Explainer interface {
	// Unusable returns the sets of a kind that overlap w and are stored, but not in List because they are not whole, by start.
	Unusable(ctx context.Context, k Kind, w allocation.Window) ([]Unusable, error)
}

// Unusable is a set that is stored, but not whole.
type Unusable struct {
	Window allocation.Window
	Why    string // in words, such as "shard 2/2 of it is not there"
}

// DamagedError says that a set that a History keeps cannot be read.
type DamagedError struct {
	Kind   Kind
	Window allocation.Window
	Err    error
}

// Error says what is damaged.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("read %s of %s: %v", e.Kind, e.Window.Start.UTC().Format(time.RFC3339), e.Err)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }
