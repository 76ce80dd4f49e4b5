package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a buffer that a goroutine writes and the test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestProgressIsDrawnAndWipedOut(t *testing.T) {
	var b lockedBuffer
	drawn := make(chan struct{})
	var once sync.Once
	stop := drawPictures(&b, 0, time.Microsecond, func(n int, elapsed time.Duration) string {
		once.Do(func() { close(drawn) })
		return progressLine(n, elapsed, "5 samples")
	})
	<-drawn
	stop()
	got := b.String()
	if !strings.HasPrefix(got, "\r\033[K[======                  ] 0s 5 samples") || !strings.HasSuffix(got, "\r\033[K") {
		t.Errorf("drawn: %q", got)
	}
}

func TestProgressOfShortWorkIsNotDrawn(t *testing.T) {
	var b lockedBuffer
	drawPictures(&b, time.Hour, time.Hour, func(int, time.Duration) string { return "" })()
	if got := b.String(); got != "" {
		t.Errorf("drawn: %q", got)
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	var b lockedBuffer
	stop := showProgress(&b, func() string { t.Error("asked for the status"); return "" })
	stop()
	if got := b.String(); got != "" {
		t.Errorf("drawn: %q", got)
	}
}

func TestProgressLineMovesToAndFro(t *testing.T) {
	at := func(n int) int { return strings.Index(progressLine(n, 0, ""), "=") - 1 }
	for n, want := range map[int]int{0: 0, 1: 1, 18: 18, 19: 17, 35: 1, 36: 0, 37: 1} {
		if got := at(n); got != want {
			t.Errorf("picture %d: the block is at %d, want %d", n, got, want)
		}
	}
}
