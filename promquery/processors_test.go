package promquery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// forgetful is a source whose series lack some labels and metrics.
type forgetful struct {
	src             promquery.Source
	labels, metrics []string
}

func (f forgetful) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].Keep = slices.Clone(rs[i].Keep)
		for k, l := range rs[i].Keep {
			if slices.Contains(f.labels, l.Name) {
				rs[i].Keep[k].Name = "hidden"
			}
		}
		if slices.Contains(f.metrics, rs[i].Metric) {
			rs[i].Metric = "hidden"
		}
	}
	return f.src.Select(ctx, rs, stats)
}

// mixed is a source that knows the ids of some series only.
type mixed struct{ src promquery.Source }

func (m mixed) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return func(yield func(promquery.Series, error) bool) {
		for s, err := range m.src.Select(ctx, rs, stats) {
			if err == nil {
				at := slices.IndexFunc(rs[s.Request].Keep, func(l promquery.Label) bool { return l.Name == "id" })
				if at >= 0 && crc32.ChecksumIEEE([]byte(s.Key[at].Value()))%2 != 0 {
					s.Key = slices.Clone(s.Key)
					s.Key[at] = promquery.Symbol{}
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// namesakes is a source in which all pods of a ReplicaSet have one name, wherever they run, and some series no ids.
func namesakes(t *testing.T, dir string) mixed {
	t.Helper()
	var list []promtest.Series
	seen := map[string]bool{}
	for _, s := range seriesOf(t, dir) {
		for i := 0; i+1 < len(s.Labels); i += 2 {
			if name := s.Labels[i+1]; s.Labels[i] == "pod" && strings.Count(name, "-") > 1 {
				s.Labels[i+1] = name[:strings.LastIndexByte(name, '-')]
			}
		}
		if text := strings.Join(s.Labels, "\x00"); !seen[text] {
			seen[text] = true
			list = append(list, s)
		}
	}
	merged := t.TempDir()
	promtest.WriteBlocks(t, merged, 2*time.Hour, list...)
	return mixed{openBlocks(t, merged)}
}

// TestProcessors compares results to the last bit with any number of processors, also if series belong to no single container, or
// create one.
func TestProcessors(t *testing.T) {
	c, dir := demoDir(t)
	db := openBlocks(t, dir)
	sources := map[string]promquery.Source{
		"as it is":    db,
		"namesakes":   namesakes(t, dir),
		"without ids": forgetful{db, []string{"id"}, nil},
		"usage alone": forgetful{db, nil, []string{"kube_pod_container_status_running", "kube_pod_container_info", "kube_pod_init_container_status_running"}},
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, src := range sources {
		for _, resolution := range grids() {
			t.Run(fmt.Sprintf("%s/%s", name, allocation.ResolutionText(resolution)), func(t *testing.T) {
				q := allocation.Query{Window: allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}, Step: 3 * time.Hour, Resolution: resolution}
				var want []byte
				for _, n := range []int{1, 2, 3, 8} {
					runtime.GOMAXPROCS(n)
					sets, err := promquery.NewEngine(src, config).Compute(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					if len(sets) < 3 || sets[0].Len() == 0 {
						t.Fatalf("got %d sets, want several with allocations", len(sets))
					}
					var got bytes.Buffer
					var lists []*assets.Set
					for _, s := range sets {
						lists = append(lists, assets.List(s, assets.Options{}))
					}
					if err := errors.Join(encode.Allocations(&got, sets, encode.Options{}), encode.Assets(&got, lists, encode.Options{})); err != nil {
						t.Fatal(err)
					}
					if want == nil {
						want = got.Bytes()
					} else if !bytes.Equal(got.Bytes(), want) {
						t.Errorf("%d processors: the sets differ from those of one", n)
					}
				}
			})
		}
	}
}
