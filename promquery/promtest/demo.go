package promtest

import (
	"context"
	"testing"
	"time"
)

// Demo is a made-up cluster, such as one of democluster.
type Demo interface {
	Start() time.Time
	End() time.Time
	WriteBlocks(ctx context.Context, dir string, from, to time.Time, progress func(written, all int)) error
}

// WriteDemo makes up a cluster, such as by democluster.New, and writes the blocks of all its time into a directory. The directory is
// removed when the test ends.
func WriteDemo[Config any, Cluster Demo](t testing.TB, newCluster func(Config) (Cluster, error), cfg Config) (c Cluster, dir string) {
	t.Helper()
	c, err := newCluster(cfg)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := c.WriteBlocks(t.Context(), dir, c.Start(), c.End(), nil); err != nil {
		t.Fatal(err)
	}
	return c, dir
}
