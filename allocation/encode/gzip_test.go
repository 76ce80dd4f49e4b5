package encode_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/promcost/promcost/allocation/encode"
)

// TestGzip checks that the output is one gzip member that other programs read.
func TestGzip(t *testing.T) {
	const block = 128 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 1000, 16 << 10, 16<<10 + 1, block - 1, block, block + 1, 20*block + 77} {
		t.Run(fmt.Sprint("bytes=", size), func(t *testing.T) {
			want := make([]byte, size)
			for i := range want {
				want[i] = "abcdefgh"[rng.IntN(1+i%8)]
			}
			var packed bytes.Buffer
			z := encode.NewGzip(&packed)
			for rest := want; len(rest) > 0; {
				piece := append([]byte{}, rest[:min(len(rest), 1+rng.IntN(3*block))]...)
				if n, err := z.Write(piece); n != len(piece) || err != nil {
					t.Fatalf("%d of %d bytes: %v", n, len(piece), err)
				}
				rest = rest[len(piece):]
				clear(piece) // Write must have taken a copy
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			whole := packed.Len()
			r, err := gzip.NewReader(&packed)
			if err != nil {
				t.Fatal(err)
			}
			r.Multistream(false)
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
			}
			if packed.Len() > 0 {
				t.Errorf("%d bytes after the member", packed.Len())
			}
			if size > block && whole > size/2 {
				t.Errorf("%d bytes are compressed to %d", size, whole)
			}
		})
	}
}

// TestGzipOfBrokenWriter checks that the writer's error is returned, although later.
func TestGzipOfBrokenWriter(t *testing.T) {
	noise := make([]byte, 64<<10)
	rng := rand.NewChaCha8([32]byte{})
	z := encode.NewGzip(&full{left: 1 << 20})
	var err error
	for range 100 {
		_, _ = rng.Read(noise)
		if _, err = z.Write(noise); err != nil {
			break
		}
	}
	if !errors.Is(err, errFull) || !errors.Is(z.Close(), errFull) {
		t.Errorf("want the writer's error: %v", err)
	}
}
