package promquery_test

import (
	"bytes"
	"context"
	"hash/crc32"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// nameless is a source whose running signal lacks UIDs, which old versions of kube-state-metrics have for pods only.
type nameless struct{ src promquery.Source }

func (n nameless) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	rs = slices.Clone(rs)
	for i := range rs {
		if rs[i].Metric == "kube_pod_container_status_running" {
			rs[i].Keep = slices.Clone(rs[i].Keep)
			rs[i].Keep[slices.Index(rs[i].Keep, promquery.Label{Name: "uid"})].Name = "hidden"
		}
	}
	return n.src.Select(ctx, rs, stats)
}

// label is the value of a label of a series.
func label(s *promtest.Series, name string) string {
	for i := 0; i+1 < len(s.Labels); i += 2 {
		if s.Labels[i] == name {
			return s.Labels[i+1]
		}
	}
	return ""
}

// edited is a source of series that were edited. It lacks those for which edit returns false.
func edited(t *testing.T, list []promtest.Series, edit func(s *promtest.Series) bool) *blocks.DB {
	t.Helper()
	var out []promtest.Series
	for _, s := range list {
		if s.Labels = slices.Clone(s.Labels); edit(&s) {
			out = append(out, s)
		}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, out...)
	return openBlocks(t, dir)
}

// ofCronJob is the name of a pod of a CronJob.
var ofCronJob = regexp.MustCompile(`^(.*)-[0-9]{6,}-[a-z0-9]+$`)

// reuse lets all pods of a CronJob have one name, as pods of a StatefulSet that follow each other do.
func reuse(s *promtest.Series) bool {
	for i := 0; i+1 < len(s.Labels); i += 2 {
		if found := ofCronJob.FindStringSubmatch(s.Labels[i+1]); s.Labels[i] == "pod" && found != nil {
			s.Labels[i+1] = found[1]
		}
	}
	return true
}

// unplaced is reuse where it is not known of some of these pods where they are.
func unplaced(s *promtest.Series) bool {
	job := ofCronJob.MatchString(label(s, "pod"))
	return reuse(s) && (!job || label(s, "__name__") != "kube_pod_info" || crc32.ChecksumIEEE([]byte(label(s, "uid")))%3 != 0)
}

// TestShards checks that merged shards are equal to an unsharded computation: rows to the last bit, assets with rounding. No shard
// is empty, and each is the same every time.
func TestShards(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	db, list := openBlocks(t, dir), seriesOf(t, dir)
	window := allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}
	for name, src := range map[string]promquery.Source{
		"as it is": db,
		"reused":   edited(t, list, reuse),
		"unplaced": edited(t, list, unplaced),
		"late": edited(t, list, func(s *promtest.Series) bool { // nothing tells at first that containers run
			if strings.HasSuffix(label(s, "__name__"), "_status_running") {
				s.Samples = slices.DeleteFunc(slices.Clone(s.Samples), func(x promtest.Sample) bool { return x.T < window.Start.Add(20*time.Minute).UnixMilli() })
			}
			return true
		}),
		"without ids": forgetful{db, []string{"id"}, nil},
		"nameless":    nameless{db},
		"usage alone": forgetful{db, nil, []string{"kube_pod_container_status_running", "kube_pod_container_info", "kube_pod_init_container_status_running"}},
	} {
		t.Run(name, func(t *testing.T) {
			compute := func(h allocation.Shard) *allocation.Set {
				sets, err := promquery.NewEngine(src, config).Compute(t.Context(), allocation.Query{Window: window, Shard: h})
				if err != nil {
					t.Fatal(err)
				}
				return sets[0]
			}
			whole := compute(allocation.Shard{})
			for _, n := range soak.Of([]int{3}, []int{2, 3}) {
				var parts []*allocation.Set
				for i := range n {
					h := allocation.Shard{Index: i + 1, Of: n}
					part := compute(h)
					if len(part.Nodes) == 0 || part.Len() == 0 {
						t.Errorf("shard %d of %d has nothing", i+1, n)
					}
					if !bytes.Equal(stored(t, part), stored(t, compute(h))) {
						t.Errorf("shard %d of %d differs from one time to the next", i+1, n)
					}
					if part.Reading.Sources[0].Samples <= 0 {
						t.Error("nothing was read")
					}
					parts = append(parts, part)
				}
				compareShards(t, whole, parts)
			}
		})
	}
}

// TestShardsOfHours checks that merged shards are equal to an unsharded computation in windows with outages at their ends and within, and
// that each of them reads only a part of the usage.
func TestShardsOfHours(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	const of, metric = 3, "container_cpu_usage_seconds_total"
	for start := c.Start(); start.Before(c.End()); start = start.Add(time.Duration(soak.Of(5, 1)) * time.Hour) {
		for _, resolution := range []time.Duration{0, time.Minute} {
			compute := func(h allocation.Shard) *allocation.Set {
				q := allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Hour)}, Resolution: resolution, Shard: h, After: c.End().Sub(start.Add(time.Hour))}
				sets, err := promquery.NewEngine(db, config).Compute(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				return sets[0]
			}
			whole, parts := compute(allocation.Shard{}), []*allocation.Set(nil)
			for i := range of {
				parts = append(parts, compute(allocation.Shard{Index: i + 1, Of: of}))
				if some, all := seriesRead(parts[i], metric), seriesRead(whole, metric); some >= all && all > 0 {
					t.Errorf("shard %d of %d reads %d of the %d series of %s", i+1, of, some, all, metric)
				}
			}
			t.Run(start.Format(time.RFC3339), func(t *testing.T) { compareShards(t, whole, parts) })
		}
	}
}

// seriesRead is how many series of a metric were read.
func seriesRead(s *allocation.Set, metric string) (n int64) {
	for _, in := range s.Reading.Inputs {
		for _, alternative := range in.Alternatives {
			for _, c := range alternative.Clusters {
				if alternative.Metric == metric {
					n += c.Series
				}
			}
		}
	}
	return n
}

// stored are the rows and assets of a set as they are stored, without warnings.
func stored(t *testing.T, s *allocation.Set) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, kind := range []parquet.Kind{parquet.Allocations, parquet.Assets} {
		if _, err := parquet.Write(&b, s, parquet.Footer{Kind: kind, Window: s.Window}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// compareShards compares a set with the sum of its shards.
func compareShards(t *testing.T, whole *allocation.Set, parts []*allocation.Set) {
	t.Helper()
	sum, err := passes.Merge(whole.Window, parts)
	if err != nil {
		t.Fatal(err)
	}
	if err := passes.Check(sum); err != nil {
		t.Error(err)
	}
	if whole, err = passes.Merge(whole.Window, []*allocation.Set{whole}); err != nil {
		t.Fatal(err)
	}
	var rows [2]bytes.Buffer
	for i, s := range []*allocation.Set{whole, sum} {
		if _, err := parquet.Write(&rows[i], s, parquet.Footer{Kind: parquet.Allocations, Window: s.Window}); err != nil {
			t.Fatal(err)
		}
	}
	// Each shard counts the usage of its own nodes that belongs to no container. The count names nothing, so counts are not joined.
	counts := func(warning string) bool {
		return strings.Contains(warning, "usage series belong to containers that were not seen running")
	}
	if diff := cmp.Diff(slices.DeleteFunc(slices.Clone(whole.Warnings), counts), slices.DeleteFunc(slices.Clone(sum.Warnings), counts)); diff != "" {
		t.Errorf("warnings (-whole +shards):\n%s", diff)
	}
	if whole.Len() != sum.Len() {
		t.Fatalf("%d rows, want %d", sum.Len(), whole.Len())
	}
	if !bytes.Equal(rows[0].Bytes(), rows[1].Bytes()) {
		for row := range whole.Len() {
			for col := range allocation.NumColumns {
				if a, b := whole.Value(col, row), sum.Value(col, row); a != b && (a == a || b == b) {
					t.Errorf("%s: %s is %v, want %v", whole.Name(row), col.Field(), b, a)
				}
			}
		}
		t.Errorf("the rows differ")
	}
	closeTo := cmp.Comparer(func(a, b float64) bool {
		return a == b || a != a && b != b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1e-3)
	})
	for name, pair := range map[string][2]any{
		"nodes": {whole.Nodes, sum.Nodes}, "disks": {whole.Disks, sum.Disks}, "load balancers": {whole.Balancers, sum.Balancers},
		"networks": {whole.Networks, sum.Networks}, "management": {whole.Management, sum.Management}, "residuals": {whole.Residuals, sum.Residuals},
	} {
		if diff := cmp.Diff(pair[0], pair[1], closeTo); diff != "" {
			t.Errorf("%s (-whole +shards):\n%s", name, diff)
		}
	}
}
