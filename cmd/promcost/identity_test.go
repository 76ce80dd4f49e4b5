package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Who needs an id while it is asked for shares the answer, if it is a failure, and waits no longer than one try takes; later
// it is asked for again, until it is known.
func TestIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, asked := errors.New("down"), 0
		var fails error
		x := &identity{fetch: func(ctx context.Context) (string, error) {
			asked++
			select {
			case <-time.After(6 * time.Second):
				return "c1", fails
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}}
		type answer struct {
			id  string
			err error
		}
		need := func(n int) (took time.Duration, list []answer) {
			began, answers := time.Now(), make(chan answer)
			for i := range n {
				go func() {
					time.Sleep(time.Duration(i) * time.Second)
					id, err := x.get(t.Context())
					answers <- answer{id, err}
				}()
			}
			for range n {
				list = append(list, <-answers)
			}
			return time.Since(began), list
		}
		for _, tc := range []struct {
			fails error
			known string
			took  time.Duration
			asked int
		}{
			{down, "", 6 * time.Second, 1},
			{nil, "c1", 6 * time.Second, 2},
			{down, "c1", 3 * time.Second, 2}, // it is known
		} {
			fails = tc.fails
			took, list := need(4)
			for _, a := range list {
				if asked < 2 && !errors.Is(a.err, down) || asked == 2 && a.err != nil || a.id != "c1" {
					t.Errorf("asked %d times: %+v", asked, a)
				}
			}
			if took != tc.took || asked != tc.asked || x.known() != tc.known {
				t.Errorf("took %s, asked %d times, knows %q; want %+v", took, asked, x.known(), tc)
			}
		}
	})
}

// Asking ends when nobody waits for it any more, and not before.
func TestIdentityIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 1)
		x := &identity{fetch: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			ended <- time.Now()
			return "", ctx.Err()
		}}
		began, left := time.Now(), make(chan error)
		for i := range 2 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				_, err := x.get(ctx)
				left <- err
			}()
		}
		for range 2 {
			if err := <-left; !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		if after := (<-ended).Sub(began); after != 2*time.Second {
			t.Errorf("it ended after %s", after)
		}
	})
}
