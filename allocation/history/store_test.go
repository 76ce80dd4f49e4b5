package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/passes"
)

// directory is a store in a directory of the test.
func directory(t testing.TB, o history.Options) (*history.Store, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return history.New(b, o), dir
}

// eachBackend runs a test on every backend.
func eachBackend(t *testing.T, f func(t *testing.T, b history.Backend)) {
	t.Run("directory", func(t *testing.T) {
		b, err := history.OpenDirectory(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		f(t, b)
	})
	t.Run("bucket", func(t *testing.T) {
		f(t, history.NewBucket(objstore.NewInMemBucket(), history.BucketOptions{}))
	})
}

func write(t testing.TB, s *history.Store, set *allocation.Set, o history.WriteOptions) history.Stored {
	t.Helper()
	stored, err := s.Write(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func list(t testing.TB, s *history.Store, p history.Period, w allocation.Window) []history.Stored {
	t.Helper()
	l, err := s.List(t.Context(), p, w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range l.Corrupt {
		t.Error(c)
	}
	return l.Sets
}

// all returns everything that a store has of a period.
func all(t testing.TB, s *history.Store, p history.Period) *history.Listing {
	t.Helper()
	l, err := s.List(t.Context(), p, allocation.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func read(t testing.TB, s *history.Store, sets ...history.Stored) []*allocation.Set {
	t.Helper()
	got, err := s.Read(t.Context(), sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// answers are what the API says of a set, in all ways.
func answers(t testing.TB, sets ...*allocation.Set) string {
	t.Helper()
	var b bytes.Buffer
	for _, aggregate := range []string{"", "cluster", "namespace", "controllerKind,controller", "label:team", "service"} {
		dims, err := allocation.ParseKeys(aggregate, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []passes.Options{
			{Aggregate: dims},
			{Aggregate: dims, Idle: true, IdleByNode: true, Proportions: true},
			{Aggregate: dims, ShareIdle: passes.Weighted, ShareTenancy: true, Accumulate: allocation.All, SharedBreakdown: true, Check: true},
		} {
			out, err := passes.Apply(passes.Join(sets), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := encode.Allocations(&b, out, encode.Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range sets {
		if err := encode.AssetMap(&b, assets.List(s, assets.Options{}), encode.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// canonical is a set with its rows in their one order, as they are stored.
func canonical(t testing.TB, s *allocation.Set) *allocation.Set {
	t.Helper()
	out, err := passes.Merge(s.Window, []*allocation.Set{s})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWriteAndRead(t *testing.T) {
	eachBackend(t, func(t *testing.T, b history.Backend) {
		s := history.New(b, history.Options{})
		clusters := []string{"arn:aws:eks:eu-west-1:1:cluster/a b", "c2", ""}
		var want []*allocation.Set
		for i := range 3 {
			set := soundSet(1, hour(i), 40, clusters...)
			stored := write(t, s, set, history.WriteOptions{Complete: i != 1})
			if stored.Generation != 1 || stored.Rows != 3*42 || stored.Complete != (i != 1) {
				t.Errorf("stored %+v", stored)
			}
			want = append(want, canonical(t, set))
		}
		sets := list(t, s, history.Hourly, allocation.Window{})
		got := read(t, s, sets...)
		if diff := cmp.Diff(answers(t, want...), answers(t, got...)); diff != "" {
			t.Errorf("-computed +stored\n%s", diff)
		}
		for i := range sets {
			if _, err := s.Verify(t.Context(), &sets[i]); err != nil {
				t.Error(err)
			}
			if !slices.Equal(sets[i].Clusters, []string{"", "arn:aws:eks:eu-west-1:1:cluster/a b", "c2"}) || sets[i].Zone != "UTC" || sets[i].Resolution != time.Minute {
				t.Errorf("set %+v", sets[i])
			}
		}
		again := write(t, s, soundSet(2, hour(1), 40, clusters...), history.WriteOptions{})
		if again.Generation != 1 || again.Complete {
			t.Errorf("what is there was not left: %+v", again)
		}
		if n := len(list(t, s, history.Hourly, hour(1))); n != 1 {
			t.Errorf("%d sets in one hour", n)
		}
	})
}

func TestDays(t *testing.T) {
	eachBackend(t, func(t *testing.T, b history.Backend) {
		s := history.New(b, history.Options{})
		zone, err := time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range []int{7, 8, 9} { // on the 8th, clocks are set forward
			w := allocation.Window{Start: time.Date(2026, 3, day, 0, 0, 0, 0, zone), End: time.Date(2026, 3, day+1, 0, 0, 0, 0, zone)}
			write(t, s, soundSet(3, w, 10, "c1"), history.WriteOptions{Period: history.Daily, Zone: zone})
		}
		sets := list(t, s, history.Daily, allocation.Window{Start: time.Date(2026, 3, 8, 5, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 9, 4, 0, 0, 0, time.UTC)})
		if len(sets) != 1 || sets[0].Window.Duration() != 23*time.Hour || sets[0].Zone != "America/New_York" {
			t.Fatalf("sets %+v", sets)
		}
		if want := "allocations_daily/cluster=c1/date=2026-03-08/part-1of1.g1.parquet"; !slices.Contains(sets[0].Files(), want) {
			t.Errorf("files %q, want %s", sets[0].Files(), want)
		}
		if n, err := s.Retain(t.Context(), history.Daily, sets[0].Window.End); n != 2 || err != nil {
			t.Errorf("%d sets removed, %v", n, err)
		}
		if left := list(t, s, history.Daily, allocation.Window{}); len(left) != 1 || left[0].Window.Start.In(zone).Day() != 9 {
			t.Errorf("left %+v", left)
		}
	})
}

func TestGenerations(t *testing.T) {
	eachBackend(t, func(t *testing.T, b history.Backend) {
		now := time.Now()
		s := history.New(b, history.Options{Now: func() time.Time { return now }})
		write(t, s, soundSet(1, hour(0), 10, "c1", "c2"), history.WriteOptions{})
		second := write(t, s, soundSet(2, hour(0), 10, "c1"), history.WriteOptions{Replace: true, Complete: true})
		sets := list(t, s, history.Hourly, hour(0))
		if second.Generation != 2 || len(sets) != 1 || sets[0].Generation != 2 || len(sets[0].Clusters) != 1 {
			t.Fatalf("sets %+v", sets)
		}
		if c, err := s.Clean(t.Context()); c != (history.Cleaned{}) || err != nil {
			t.Errorf("before an hour %+v, %v", c, err)
		}
		now = now.Add(2 * time.Hour)
		if c, err := s.Clean(t.Context()); c != (history.Cleaned{Superseded: 1}) || err != nil {
			t.Errorf("after an hour %+v, %v", c, err)
		}
		if got := names(t, b); len(got) != 3 {
			t.Errorf("files %q", got)
		}
		if err := s.Delete(t.Context(), &sets[0]); err != nil || len(names(t, b)) != 0 {
			t.Errorf("deleted: %v, left %q", err, names(t, b))
		}
		if _, err := s.Read(t.Context(), sets, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading what is gone: %v", err)
		}
	})
}

// names are all that a backend has.
func names(t testing.TB, b history.Backend) (names []string) {
	t.Helper()
	if err := b.List(t.Context(), "", false, func(o history.Object) error { names = append(names, o.Name); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestUnlabeled reads back whether series named their cluster.
func TestUnlabeled(t *testing.T) {
	s := history.New(history.NewBucket(objstore.NewInMemBucket(), history.BucketOptions{}), history.Options{})
	for seed := range uint64(2) {
		want := soundSet(seed, hour(int(seed)), 3, "c1")
		write(t, s, want, history.WriteOptions{Complete: true})
		if got := read(t, s, list(t, s, history.Hourly, hour(int(seed)))...); len(got) != 1 || got[0].Unlabeled != want.Unlabeled {
			t.Errorf("%d sets, want one that is unlabeled: %v", len(got), want.Unlabeled)
		}
	}
}

// Manifests of before the scrape interval was kept are read as ever: it is not known of their sets.
func TestScrapeInterval(t *testing.T) {
	b := history.NewBucket(objstore.NewInMemBucket(), history.BucketOptions{})
	write(t, history.New(b, history.Options{}), soundSet(5, hour(4), 3, "c1"), history.WriteOptions{Complete: true})
	check := func(want time.Duration) {
		t.Helper()
		s := history.New(b, history.Options{})
		if got := read(t, s, list(t, s, history.Hourly, hour(4))...); len(got) != 1 || got[0].ScrapeInterval != want || got[0].Resolution != time.Minute {
			t.Errorf("%d sets, want one with a scrape interval of %s", len(got), want)
		}
	}
	check(30 * time.Second)
	for _, name := range names(t, b) {
		if !strings.HasPrefix(name, "sets_hourly/") {
			continue
		}
		data, err := b.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := bytes.Cut(data, []byte("\n"))
		text = bytes.Replace(text, []byte(`"scrapeIntervalSeconds":30,`), nil, 1)
		sum := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
		if err := errors.Join(b.Delete(t.Context(), name), b.Put(t.Context(), name, fmt.Appendf(text, "\n%08x\n", sum))); err != nil {
			t.Fatal(err)
		}
	}
	check(0)
}

func TestParts(t *testing.T) {
	eachBackend(t, func(t *testing.T, b history.Backend) {
		s := history.New(b, history.Options{})
		whole := soundSet(5, hour(4), 30, "c1")
		shards := split(whole)
		write(t, s, shards[1], history.WriteOptions{Shard: history.Shard{Index: 2, Of: 2}, Complete: true})
		half, err := s.List(t.Context(), history.Hourly, hour(4))
		if err != nil || len(half.Sets) != 0 || len(half.Partial) != 1 || half.Partial[0].Shards != 2 || !cmp.Equal(half.Partial[0].Missing, []history.Shard{{Index: 1, Of: 2}}) {
			t.Fatalf("half a set: %+v, %v", half, err)
		}
		if _, err := s.Verify(t.Context(), &half.Partial[0]); err != nil {
			t.Error(err)
		}
		write(t, s, shards[0], history.WriteOptions{Shard: history.Shard{Index: 1, Of: 2}, Complete: true})
		sets := list(t, s, history.Hourly, hour(4))
		if n := len(all(t, s, history.Hourly).Partial); n != 0 {
			t.Errorf("%d sets still lack parts", n)
		}
		if len(sets) != 1 || sets[0].Shards != 2 || sets[0].Generation != 1 {
			t.Fatalf("sets %+v", sets)
		}
		if diff := cmp.Diff(answers(t, canonical(t, whole)), answers(t, read(t, s, sets...)...)); diff != "" {
			t.Errorf("-whole +parts\n%s", diff)
		}
		narrow := &allocation.Projection{Properties: []allocation.Property{allocation.Namespace}, Columns: []allocation.Column{allocation.Cost.Of(allocation.CPU)}}
		if got, err := s.Read(t.Context(), sets, narrow); err != nil || got[0].Len() != whole.Len() {
			t.Errorf("few columns: %v", err)
		}
	})
}

// TestRetainIncomplete checks that old sets are removed even if parts are missing or manifests are damaged.
func TestRetainIncomplete(t *testing.T) {
	s, dir := directory(t, history.Options{})
	for i := range 2 {
		write(t, s, split(soundSet(5, hour(i), 4, "c1"))[0], history.WriteOptions{Shard: history.Shard{Index: 1, Of: 2}})
	}
	write(t, s, soundSet(5, hour(2), 4, "c1"), history.WriteOptions{})
	if err := os.WriteFile(filepath.Join(dir, "sets_hourly", "date=2026-03-02", "hour=02.part-1of1.g1.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = history.New(open(t, dir), history.Options{})
	for _, tt := range []struct {
		until         time.Time
		n             int
		left, damaged int
	}{{hour(0).End, 1, 1, 1}, {hour(2).End, 1, 0, 1}, {hour(2).End.AddDate(0, 0, 2), 1, 0, 0}} {
		n, err := s.Retain(t.Context(), history.Hourly, tt.until)
		if l := all(t, s, history.Hourly); err != nil || n != tt.n || len(l.Partial) != tt.left || len(l.Corrupt) != tt.damaged {
			t.Errorf("until %s: %d removed, %v; left %+v", tt.until, n, err, l)
		}
	}
}

// split divides a set by the nodes of its rows. The first part also gets everything without a node.
func split(s *allocation.Set) [2]*allocation.Set {
	var out [2]*allocation.Set
	for i := range out {
		out[i] = allocation.NewSet(s.Window, allocation.NewDict())
		out[i].Resolution, out[i].ScrapeInterval, out[i].Warnings = s.Resolution, s.ScrapeInterval, s.Warnings
	}
	of := func(node string) *allocation.Set { return out[len(node)%2] }
	for row := range s.Len() {
		copyRow(of(s.Text(allocation.NodeName, row)), s, row)
	}
	for _, n := range s.Nodes {
		of(n.Name).Nodes = append(of(n.Name).Nodes, n)
	}
	out[0].Disks, out[0].Balancers, out[0].Networks, out[0].Management = s.Disks, s.Balancers, s.Networks, s.Management
	return out
}

func copyRow(to, s *allocation.Set, row int) {
	d := s.Dict()
	r := &allocation.Row{Special: s.Special(row), Start: s.Start(row), End: s.End(row), Labels: map[string]string{}, NSLabels: map[string]string{}}
	for p := range r.Text {
		r.Text[p] = s.Text(allocation.Property(p), row)
	}
	for _, id := range s.List(allocation.Services, row) {
		r.Services = append(r.Services, d.Text(id))
	}
	for p, m := range map[allocation.Property]map[string]string{allocation.Labels: r.Labels, allocation.NamespaceLabels: r.NSLabels} {
		for _, pair := range s.Pairs(p, row) {
			m[d.Text(pair.Key)] = d.Text(pair.Value)
		}
	}
	for c := range r.Values {
		r.Values[c] = s.Value(allocation.Column(c), row)
	}
	for _, v := range s.Volumes(row) {
		v.Key, v.ProviderID = to.Dict().Add(d.Text(v.Key)), to.Dict().Add(d.Text(v.ProviderID))
		r.Volumes = append(r.Volumes, v)
	}
	for _, l := range s.LoadBalancerShares(row) {
		l.Key, l.Service, l.IP = to.Dict().Add(d.Text(l.Key)), to.Dict().Add(d.Text(l.Service)), to.Dict().Add(d.Text(l.IP))
		r.LoadBalancers = append(r.LoadBalancers, l)
	}
	for _, of := range allocation.LevelResources {
		r.Levels[of] = s.Levels(of, row)
	}
	to.Append(r)
}

// TestSameBytes writes one set by two stores, its rows in different orders: they agree.
func TestSameBytes(t *testing.T) {
	var all [2]map[string]string
	for i := range all {
		s, dir := directory(t, history.Options{})
		set := soundSet(9, hour(1), 100, "c1", "c2")
		if i == 1 {
			other := soundSet(9, hour(1), 100, "c1", "c2")
			set = canonical(t, other)
		}
		write(t, s, set, history.WriteOptions{Complete: true})
		all[i] = map[string]string{}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				data, readErr := os.ReadFile(path)
				all[i][strings.TrimPrefix(path, dir)], err = string(data), readErr
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all[0]) != 5 || !cmp.Equal(all[0], all[1]) {
		t.Errorf("%d and %d files, or they differ", len(all[0]), len(all[1]))
	}
}

func TestRefused(t *testing.T) {
	s, _ := directory(t, history.Options{})
	set := soundSet(1, hour(0), 3, "c1")
	made, err := passes.Apply([]*allocation.Set{set}, passes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	billed := *set
	billed.Cloud = []allocation.CloudCost{{}}
	for name, tc := range map[string]struct {
		set  *allocation.Set
		o    history.WriteOptions
		want string
	}{
		"made by passes": {made[0], history.WriteOptions{}, "store hourly set of 2026-03-02T00:00:00Z: passes have made it"},
		"billed":         {&billed, history.WriteOptions{}, "it has what only bills know"},
		"part":           {set, history.WriteOptions{Shard: history.Shard{Index: 3, Of: 2}}, "part 3 of 2 is none"},
		"window":         {allocation.NewSet(allocation.Window{}, allocation.NewDict()), history.WriteOptions{}, "its window is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Write(t.Context(), tc.set, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// column are the values of a column that was read.
func column(s *allocation.Set, c allocation.Column) []float64 {
	values, err := s.Column(c)
	if err != nil {
		panic(err)
	}
	return values
}
