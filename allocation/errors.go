package allocation

import "errors"

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
	// ErrTooFine says that the source has no samples that are as close to each other as the question needs.
	ErrTooFine = errors.New("too fine")
)
