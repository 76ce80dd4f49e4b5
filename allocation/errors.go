package allocation

import (
	"errors"
	"strings"
)

// Errors that callers tell apart, each wrapped with what, where and the remedy.
var (
	// ErrNoData says that nothing was found for the window. HasNothing tells whether there is nothing.
	ErrNoData = errors.New("no data")
	// ErrNotComputed says that what is not kept is left to others to compute.
	ErrNotComputed = errors.New("nothing is computed")
	// ErrUpstream says that the source could not be asked or did not answer.
	ErrUpstream = errors.New("upstream failure")
	// ErrBusy says that as many computations run and wait as are allowed, or take as much: the same request may succeed later.
	ErrBusy = errors.New("too many computations")
	// ErrTooMuch says that a computation would take more than it may: less has to be asked for, or more allowed.
	ErrTooMuch = errors.New("too much")
	// ErrTooFine says that the source has no samples that are as close to each other as the question needs.
	ErrTooFine = errors.New("too fine")
)

// HasNothing reports whether err says that the source answered in whole and has nothing for the window. Where it failed in part, or
// nobody asked it, err wraps ErrUpstream or ErrNotComputed beside ErrNoData.
func HasNothing(err error) bool {
	return errors.Is(err, ErrNoData) && !errors.Is(err, ErrUpstream) && !errors.Is(err, ErrNotComputed)
}

// maxMessage is the most bytes of a message that is sent.
const maxMessage = 2 << 10

// Brief is a message for a client. Of one that is long, because it quotes what was sent, it is the beginning and the end, where
// the remedy stands.
func Brief(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage/2]+" … "+message[len(message)-maxMessage/2:], "")
}
