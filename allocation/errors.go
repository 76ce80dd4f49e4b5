package allocation

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers tell apart, each wrapped with what, where and the remedy.
var (
	// ErrNoData says that the source answered and has nothing for the window.
	ErrNoData = errors.New("no data")
	// ErrUpstream says that the source could not be asked or did not answer.
	ErrUpstream = errors.New("upstream failure")
	// ErrBusy says that as many computations run and wait as are allowed, or take as much: the same request may succeed later.
	ErrBusy = errors.New("too many computations")
	// ErrTooMuch says that a computation would take more than it may: less has to be asked for, or more allowed.
	ErrTooMuch = errors.New("too much")
)

// FinerError says that a resolution is below the scrape interval, to those who want to know (Query.NotRaised).
type FinerError struct{ Resolution, Interval time.Duration }

// Error implements error.
func (e *FinerError) Error() string {
	return fmt.Sprintf("resolution %s is finer than the scrape interval of %s: ask for that or a longer one", ResolutionText(e.Resolution), ResolutionText(e.Interval))
}

// Warning says what was used in place of the resolution.
func (e *FinerError) Warning() string {
	return fmt.Sprintf("resolution %s is finer than the scrape interval: %s was used", ResolutionText(e.Resolution), ResolutionText(e.Interval))
}
