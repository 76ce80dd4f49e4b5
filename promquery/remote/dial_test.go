package remote_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/remote"
)

// What comes in pieces is read whole, however much is asked for at once, then the end; a deadline that has passed is an
// error, and so is a server that is not there.
func TestDial(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 32<<10)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for piece := range slices.Chunk(want, 3000) {
			if _, err := c.Write(piece); err != nil {
				return
			}
		}
	}()
	c, err := remote.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []byte
	for size := 1; ; size = size%(200<<10) + 997 {
		p := make([]byte, size)
		n, err := c.Read(p)
		got = append(got, p[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("read %d bytes, want %d", len(got), len(want))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Dial(t.Context(), "tcp", l.Addr().String()); err == nil {
		t.Fatal("a server that is gone was connected to")
	}
}

// Long answers and short ones take turns on a connection that stays open: the reader gets the last bytes of each, although no more
// come before it has asked again.
func TestDialTurns(t *testing.T) {
	sizes := []int{1 << 20, 3, 300<<10 + 1, 1, 64 << 10, 2 << 20}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for _, size := range sizes {
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				return
			}
			for piece := range slices.Chunk(bytes.Repeat([]byte{byte(size)}, size), 2000) {
				if _, err := c.Write(piece); err != nil {
					return
				}
			}
		}
		_, _ = c.Read(make([]byte, 1)) // the reader closes first
	}()
	c, err := remote.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, size := range sizes {
		if _, err := c.Write([]byte{'?'}); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size)
		if n, err := io.ReadFull(c, got); err != nil {
			t.Fatalf("read %d bytes of %d: %v", n, size, err)
		}
		if !bytes.Equal(got, bytes.Repeat([]byte{byte(size)}, size)) {
			t.Fatalf("an answer of %d bytes has other bytes", size)
		}
	}
}

// A read that has waited until the deadline fails with the error that net/http knows a timeout by.
func TestDialDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := remote.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v, want %v", err, os.ErrDeadlineExceeded)
	}
}
