package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

const mb = 1 << 20

// TestDraw checks that a draw that can never fit is refused with another error than a draw for which others leave no room, and that only
// small questions use the reserve.
func TestDraw(t *testing.T) {
	for _, tt := range []struct {
		name               string
		limit              int64
		others, own, bytes int64
		want               error
		says               string
	}{
		{"no bound", 0, 1 << 40, 1 << 40, 1 << 40, nil, ""},
		{"fits", 800 * mb, 0, 0, 700 * mb, nil, ""},
		{"never fits", 800 * mb, 0, 0, 701 * mb, allocation.ErrTooMuch, "takes about 701MB of memory, one question may take 700MB of --query.max-memory=800MB: ask for less, or raise"},
		{"never fits with what it holds", 800 * mb, 0, 400 * mb, 301 * mb, allocation.ErrTooMuch, "about 701MB"},
		{"never fits beside others", 800 * mb, 700 * mb, 0, 701 * mb, allocation.ErrTooMuch, "ask for less"},
		{"busy", 800 * mb, 400 * mb, 0, 301 * mb, allocation.ErrBusy, "others take 400MB of --query.max-memory=800MB now: ask again later"},
		{"a small one in the reserve", 800 * mb, 700 * mb, 0, 25 * mb, nil, ""},
		{"a small one with what it holds", 800 * mb, 700 * mb, 20 * mb, 5 * mb, nil, ""},
		{"not a small one any more", 800 * mb, 700 * mb, 20 * mb, 6 * mb, allocation.ErrBusy, "about 26MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := memory.New(tt.limit)
			others, a := b.Open(""), b.Open("ask for less")
			if err := errors.Join(others.Draw(tt.others), a.Draw(tt.own)); err != nil {
				t.Fatal(err)
			}
			err := a.Draw(tt.bytes)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v, want %v that says %q", err, tt.want, tt.says)
			}
			held := tt.own
			if tt.want == nil {
				held += tt.bytes
			}
			if a.Held() != held || b.Stats().Used != tt.others+held {
				t.Errorf("holds %d of %d", a.Held(), b.Stats().Used)
			}
			a.Close()
			others.Return(tt.others)
			s := b.Stats()
			if s.Used != 0 || s.TooMuch+s.Busy != map[bool]uint64{true: 0, false: 1}[tt.want == nil] {
				t.Errorf("afterwards %+v", s)
			}
		})
	}
}

// TestCachesGiveWay checks that caches drop as much as a question lacks, and no more.
func TestCachesGiveWay(t *testing.T) {
	b := memory.New(800 * mb)
	var cache *memory.Account
	cache = b.OpenCache(func(bytes int64) { cache.Return((bytes + 99*mb) / (100 * mb) * (100 * mb)) })
	for range 5 {
		if err := cache.Draw(100 * mb); err != nil {
			t.Fatal(err)
		}
	}
	a := b.Open("")
	if err := a.Draw(350 * mb); err != nil || cache.Held() != 300*mb || b.Stats().Kept != 300*mb {
		t.Errorf("%v, %d MB are kept", err, cache.Held()/mb)
	}
	if err := cache.Draw(100 * mb); !errors.Is(err, allocation.ErrBusy) || cache.Held() != 300*mb {
		t.Errorf("the cache draws with %v, %d MB are kept", err, cache.Held()/mb)
	}
	if err := b.Open("").Draw(800 * mb); !errors.Is(err, allocation.ErrTooMuch) {
		t.Error(err)
	}
}

// TestWithin checks that all parts of a question draw from one account, which is closed once.
func TestWithin(t *testing.T) {
	b := memory.New(0)
	ctx, outer, done := b.Within(t.Context(), "")
	inner, a, innerDone := b.Within(ctx, "")
	if a != outer || memory.FromContext(inner) != outer {
		t.Error("the parts have two accounts")
	}
	_ = a.Draw(5)
	innerDone()
	if b.Stats().Used != 5 {
		t.Error("a part closed the account")
	}
	done()
	if err := outer.Draw(5); err == nil || b.Stats().Used != 0 {
		t.Errorf("after its end it draws with %v", err)
	}
	none := memory.FromContext(context.Background())
	if err := none.Draw(1 << 60); err != nil || none.Held() != 0 || none.Most() != 0 {
		t.Error("no account is bounded")
	}
	none.Return(1)
	none.Close()
}

// TestConcurrent checks that nothing is left drawn after many goroutines have drawn and returned.
func TestConcurrent(t *testing.T) {
	b := memory.New(100 * mb)
	var wg sync.WaitGroup
	for seed := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			for range 1000 {
				a := b.Open("")
				for range r.IntN(5) {
					if n := r.Int64N(40 * mb); a.Draw(n) == nil && r.IntN(2) == 0 {
						a.Return(n)
					}
				}
				if s := b.Stats(); s.Used < 0 || s.Used > s.Limit {
					t.Error(fmt.Sprint(s))
				}
				a.Close()
			}
		})
	}
	wg.Wait()
	if s := b.Stats(); s.Used != 0 {
		t.Errorf("%d bytes are still drawn", s.Used)
	}
}
