package promquery_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// harm is something that befalls the blocks of a directory.
type harm struct {
	name string
	of   func(list []blocks.Info) blocks.Info // the block
	do   func(t *testing.T, dir string)       // to its directory
	want string                               // in the warning where nobody else has what is lost
}

func inTheMiddle(list []blocks.Info) blocks.Info { return list[len(list)-3] }

func change(file string, how func(data []byte) []byte) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, how(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// flip changes what is between two fractions of a file.
func flip(from, to float64) func([]byte) []byte {
	return func(data []byte) []byte {
		for i := int(from * float64(len(data))); i < int(to*float64(len(data))); i++ {
			data[i] ^= 0x5a
		}
		return data
	}
}

var harms = []harm{
	{"a block is gone", inTheMiddle, remove, "no sample of kube_pod_container_status_running"},
	{"the first block is gone", func(list []blocks.Info) blocks.Info { return list[0] }, remove, "no sample of kube_pod_container_status_running"},
	{"a chunk", inTheMiddle, change("chunks/000001", flip(0.5, 0.5002)), "cannot be read"},
	{"chunks", inTheMiddle, change("chunks/000001", flip(0.1, 0.9)), "cannot be read"},
	{"an index without its end", inTheMiddle, change("index", func(data []byte) []byte { return data[:len(data)/2] }), "skipped"},
	{"an index in the midst", inTheMiddle, change("index", flip(0.5, 0.6)), "cannot be read"},
	{"a meta.json", inTheMiddle, change("meta.json", func([]byte) []byte { return nil }), "skipped"},
}

// befall copies a directory of blocks and does harm to one of the copies.
func (h *harm) befall(t *testing.T, dir string) string {
	t.Helper()
	list, err := openBlocks(t, dir).Blocks()
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	h.do(t, filepath.Join(to, h.of(list).ID))
	return to
}

// TestLacksAreFilled joins blocks, one of them gone or damaged, with a real Prometheus that has everything. The answers are those
// of sound blocks without warnings, whether or not the damage is known already.
func TestLacksAreFilled(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	db, url := openBlocks(t, dir), promtest.Start(t, dir, promtest.Config{})
	cut := c.End().Add(-20 * time.Minute).UnixMilli()
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		server, err := remote.New(remote.Config{URL: url, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		for _, resolution := range grids() {
			if mode == remote.ModeQuery && resolution == 0 {
				continue // it has no staleness markers, so its ends are a scrape interval late
			}
			q := allocation.Query{Window: allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}, Resolution: resolution, Step: 3 * time.Hour}
			want := compute(t, promquery.Join(db, server, at(cut)), q)
			for i, h := range harms {
				if i%2 != 0 && resolution != 0 && !soak.On() {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", mode, allocation.ResolutionText(resolution), h.name), func(t *testing.T) {
					harmed := openBlocks(t, h.befall(t, dir))
					src := promquery.Join(harmed, server, func(ctx context.Context) (promquery.Cover, error) {
						cover, err := harmed.Cover(ctx)
						cover.Until = min(cover.Until, cut)
						return cover, err
					})
					for range 2 {
						got := compute(t, src, q)
						for i := range want {
							compareSets(t, got[i], want[i])
						}
						if diff := cmp.Diff(want[0].Warnings, got[0].Warnings); diff != "" || got[0].Incomplete {
							t.Errorf("warnings (-want +got), incomplete %t:\n%s", got[0].Incomplete, diff)
						}
					}
				})
			}
		}
	}
}

// TestLacksRemain joins blocks, one of them gone or damaged, with a server that does not have its samples either, or is down. The
// answer has what the blocks have, and a warning says what is missing.
func TestLacksRemain(t *testing.T) {
	c, dir := demoDir(t)
	w := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End().Add(-time.Hour)} // without samples that are in no block yet
	for _, h := range harms {
		harmed := openBlocks(t, h.befall(t, dir))
		alone := compute(t, harmed, allocation.Query{Window: w, Resolution: time.Minute})
		for _, server := range []struct {
			name string
			src  promquery.Source
			want string
		}{
			{"none has it", harmed, h.want},
			{"the server is down", failing{errors.New("connection refused")}, "connection refused"},
		} {
			t.Run(h.name+"/"+server.name, func(t *testing.T) {
				src := promquery.Join(harmed, server.src, harmed.Cover)
				got := compute(t, src, allocation.Query{Window: w, Resolution: time.Minute})
				compareSets(t, got[0], alone[0])
				for _, want := range []string{h.want, server.want} {
					if !slices.ContainsFunc(got[0].Warnings, func(text string) bool { return strings.Contains(text, want) }) {
						t.Errorf("want %q in %q", want, got[0].Warnings)
					}
				}
				checkTold(t, h, got[0].Warnings, server.src == harmed && !strings.Contains(h.want, "read") && h.name != "an index without its end")
			})
		}
	}
}

// checkTold checks that one warning says what is missing of a block, however many metrics that are, and that other warnings only
// say that it cannot be read; unknown says that nobody can know what is missing.
func checkTold(t *testing.T, h harm, warnings []string, unknown bool) {
	t.Helper()
	blocks := 0
	for _, text := range warnings {
		if strings.HasPrefix(text, "block ") {
			blocks++
		}
		if h.want == "cannot be read" && strings.Contains(text, "in no block") {
			t.Errorf("the block is there: %s", text)
		}
		planned := strings.Contains(text, "10:30:00Z to 2026-03-03T10:42:00Z") || strings.Contains(text, "09:48:00Z to 2026-03-03T09:55:00Z")
		if !unknown && strings.Contains(text, "down?") && !planned {
			t.Errorf("what exports it was not down: %s", text)
		}
	}
	if want := min(1, strings.Count(h.want, "read")+strings.Count(h.want, "skipped")); blocks != want {
		t.Errorf("%d warnings of blocks, want %d: %q", blocks, want, warnings)
	}
}

// refusing is a source that fails as if nothing listened at its address.
type refusing struct{ asked *atomic.Int64 }

func (r refusing) Select(_ context.Context, _ []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(_ promquery.Yield) (promquery.Stats, error) {
		r.asked.Add(1)
		return promquery.Stats{}, fmt.Errorf("read samples: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")})
	})
}

// TestUnreachableIsAskedOnce joins blocks, two of them gone, with a server that does not answer. It is not asked again for the
// other hole, the newest samples, or after the computation starts again. Warnings name all that is missing.
func TestUnreachableIsAskedOnce(t *testing.T) {
	c, dir := demoDir(t)
	first := func(list []blocks.Info) blocks.Info { return list[0] }
	holed := (&harm{of: first, do: remove}).befall(t, (&harm{of: inTheMiddle, do: remove}).befall(t, dir))
	db := openBlocks(t, holed)
	for name, end := range map[string]time.Time{"to the end": c.End().Add(time.Hour), "within the blocks": c.End().Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			q := allocation.Query{Window: allocation.Window{Start: c.Start().Add(time.Hour), End: end}, Resolution: time.Minute}
			var asked atomic.Int64
			got := compute(t, promquery.Join(db, refusing{&asked}, db.Cover), q)
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times, want once", n)
			}
			if end.Before(c.End()) {
				compareSets(t, got[0], compute(t, db, q)[0])
			}
			missing := 0
			for _, text := range got[0].Warnings {
				if strings.Contains(text, "in no block are missing") {
					missing++
				}
			}
			if missing != 2 {
				t.Errorf("told of %d holes, want 2: %q", missing, got[0].Warnings)
			}
		})
	}
}
