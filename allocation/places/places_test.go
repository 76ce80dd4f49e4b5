package places_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/promcost/promcost/allocation/places"
)

func TestIsSmall(t *testing.T) {
	about := func(lengths ...time.Duration) context.Context {
		ctx := t.Context()
		for _, d := range lengths {
			ctx = places.About(ctx, d)
		}
		return ctx
	}
	for name, tt := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"no mark":                       {about(), false},
		"an instant":                    {about(0), true},
		"an hour":                       {about(time.Hour), true},
		"more than an hour":             {about(time.Hour + 1), false},
		"part of a large question":      {about(24*time.Hour, time.Hour), false},
		"a small question grows":        {about(time.Minute, 24*time.Hour), false},
		"background":                    {places.Background(about()), false},
		"an hour of the background":     {places.About(places.Background(about()), time.Hour), false},
		"a small one in the background": {places.Background(about(time.Hour)), false},
	} {
		if got := places.IsSmall(tt.ctx); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large, small := places.About(t.Context(), 2*time.Hour), places.About(t.Context(), time.Hour)
		p := places.New(2)
		var leave []func()
		for _, tt := range []struct {
			name string
			ctx  context.Context
			free bool
		}{
			{"first", small, true}, {"second", large, true}, {"large beyond", large, false}, {"small beyond", small, true}, {"small after that", small, false},
		} {
			l, ok := p.Try(tt.ctx)
			if ok != tt.free {
				t.Fatalf("%s: %t, want %t", tt.name, ok, tt.free)
			}
			if ok {
				leave = append(leave, l)
			}
		}
		if p.Taken() != 3 {
			t.Errorf("%d are taken, want 3", p.Taken())
		}
		short, cancel := context.WithTimeout(small, time.Second)
		defer cancel()
		if _, err := p.Take(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that ends: %v", err)
		}
		got := make(chan string, 2)
		wait := func(name string, ctx context.Context) {
			l, err := p.Take(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			got <- name
			l()
		}
		go wait("large", large)
		synctest.Wait()
		leave[2]() // the place that is kept, which is not for the large one
		synctest.Wait()
		wait("small", small)
		leave[0]()
		synctest.Wait()
		if first, second := <-got, <-got; first != "small" || second != "large" {
			t.Errorf("%s, then %s", first, second)
		}
		leave[1]()
		if p.Taken() != 0 {
			t.Errorf("%d are taken in the end", p.Taken())
		}
	})
}
