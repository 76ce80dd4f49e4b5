// Package attempts repeats requests to object stores that fail, and bounds how long each may take.
package attempts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"
)

// Store is an object store that tells its errors apart, as an objstore.Bucket does.
type Store interface {
	Name() string
	IsObjNotFoundErr(err error) bool
	IsAccessDeniedErr(err error) bool
}

// Options say how often a store is asked again that fails. Zero fields take the defaults.
type Options struct {
	Attempts int           // of each request; the default is 5
	Backoff  time.Duration // before the second attempt; it doubles from one to the next. The default is 200ms
	Timeout  time.Duration // of one attempt, and after which no other is made; the default is 30s
}

// WithDefaults returns the options with the defaults in place of zero and negative fields.
func (o Options) WithDefaults() Options {
	return Options{cmp.Or(max(o.Attempts, 0), 5), cmp.Or(max(o.Backoff, 0), 200*time.Millisecond), cmp.Or(max(o.Timeout, 0), 30*time.Second)}
}

// Do calls f until it succeeds, or the attempts are used up. It makes no other attempt where the object does not exist, which is fs.ErrNotExist, or
// access is denied. Errors say what was done with which object.
func (o Options) Do(ctx context.Context, store Store, what, name string, f func(context.Context) error) error {
	backoff, begun := o.Backoff, time.Now()
	for attempt := 1; ; attempt++ {
		within, cancel := context.WithTimeout(ctx, o.Timeout)
		err := f(within)
		cancel()
		switch {
		case err == nil:
			return nil
		case store.IsObjNotFoundErr(err):
			return fmt.Errorf("%s of bucket %s: %s: %w", what, store.Name(), name, fs.ErrNotExist)
		case ctx.Err() != nil:
			return fmt.Errorf("%s of bucket %s: %s: %w", what, store.Name(), name, errors.Join(ctx.Err(), err))
		case store.IsAccessDeniedErr(err):
			return fmt.Errorf("%s of bucket %s: %s: %w: allow it in the bucket's policy", what, store.Name(), name, err)
		case attempt >= o.Attempts, time.Since(begun) >= o.Timeout: // the caller is waiting
			return fmt.Errorf("%s of bucket %s: %s: %w (%d attempts): is the object store there?", what, store.Name(), name, err, attempt)
		}
		timer := time.NewTimer(backoff/2 + rand.N(backoff)) // so that replicas do not retry at the same time
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		backoff *= 2
	}
}
