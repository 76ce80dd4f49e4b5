package allocation

import (
	"errors"
	"strings"
)

// Errors that callers distinguish. Each is wrapped with the input, the place and the remedy.
var (
	// ErrNoData means that nothing was found for the window. HasNothing tells whether nothing exists.
	ErrNoData = errors.New("no data")
	// ErrNotComputed means that the window is not stored, and that computing it is left to others.
	ErrNotComputed = errors.New("nothing is computed")
	// ErrUpstream means that the source could not be reached or did not answer.
	ErrUpstream = errors.New("upstream failure")
	// ErrBusy means that the limit of running and waiting computations, or of their memory, is reached. The same request may
	// succeed later.
	ErrBusy = errors.New("too many computations")
	// ErrTooMuch means that a computation would exceed a limit: ask for less, or raise the limit.
	ErrTooMuch = errors.New("too much")
	// ErrTooFine means that the samples of the source are not as dense as the query needs.
	ErrTooFine = errors.New("too fine")
)

// HasNothing reports whether err means that the source answered completely and has nothing for the window. If it failed in
// part or was not asked, err wraps ErrUpstream or ErrNotComputed beside ErrNoData.
func HasNothing(err error) bool {
	return errors.Is(err, ErrNoData) && !errors.Is(err, ErrUpstream) && !errors.Is(err, ErrNotComputed)
}

// maxMessage is the most bytes of a message to a client.
const maxMessage = 2 << 10

// Brief shortens a message for a client. A message that is long because it quotes the request keeps its beginning and its
// end, where the remedy stands.
func Brief(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage/2]+" … "+message[len(message)-maxMessage/2:], "")
}
