package passes_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// rowKeys identify the rows of a set, in its order.
func rowKeys(s *allocation.Set) []string {
	keys := make([]string, s.Len())
	for row := range keys {
		var key []string
		for _, p := range []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.Pod, allocation.PodUID, allocation.Container, allocation.NodeName} {
			key = append(key, s.Text(p, row))
		}
		keys[row] = strings.Join(key, "\x00")
	}
	return keys
}

// builtModels are random hours without bills, whose containers keep their names.
func builtModels(seed uint64, hours, pods int) (models []model) {
	models = randomModels(rand.New(rand.NewPCG(seed, 3)), hours, pods)
	for i := range models {
		models[i].bill = passes.Adjustments{}
	}
	return models
}

// TestMergeAddsUp merges hours into days: they pass Check, are in order, and give the answers that the hours give.
func TestMergeAddsUp(t *testing.T) {
	for seed := range uint64(20) {
		sets := setsOf(builtModels(seed, 5, 40))
		window := allocation.Window{Start: sets[0].Window.Start, End: sets[4].Window.End}
		day, err := passes.Merge(window, sets)
		if err != nil {
			t.Fatal(err)
		}
		if err := passes.Check(day); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if keys := rowKeys(day); !slices.IsSorted(keys) {
			t.Errorf("seed %d: rows are not in order", seed)
		}
		o := passes.Options{Aggregate: keys(t, "cluster,namespace,pod,container"), Idle: true, Accumulate: allocation.All, Check: true}
		want, got := apply(t, sets, o)[0], apply(t, []*allocation.Set{day}, o)[0]
		if diff := cmp.Diff(sums(want), sums(got), cmpopts.EquateApprox(1e-9, 1e-12), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("seed %d: -hours +day\n%s", seed, diff)
		}
	}
}

// sums are the values of the rows of an aggregated set, by name.
func sums(s *allocation.Set) map[string][]float64 {
	out := map[string][]float64{}
	for row := range s.Len() {
		for c := range allocation.NumColumns {
			out[s.Name(row)] = append(out[s.Name(row)], s.Value(c, row))
		}
		out[s.Name(row)] = append(out[s.Name(row)], float64(s.Start(row).Unix()), float64(s.End(row).Unix()))
	}
	return out
}

// TestMergeOfClusters divides a set by clusters and merges it again.
func TestMergeOfClusters(t *testing.T) {
	for seed := range uint64(20) {
		m := builtModels(seed, 1, 60)[0]
		whole := m.set(allocation.NewDict())
		var parts []*allocation.Set
		for _, cluster := range whole.Clusters() {
			of, err := whole.OfCluster(cluster)
			if err == nil {
				err = passes.Check(of)
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			parts = append(parts, of)
		}
		want, err := passes.Merge(whole.Window, []*allocation.Set{whole})
		if err != nil {
			t.Fatal(err)
		}
		got, err := passes.Merge(whole.Window, parts)
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) != 3 || got.Len() != whole.Len() {
			t.Fatalf("seed %d: %d parts, %d of %d rows", seed, len(parts), got.Len(), whole.Len())
		}
		if diff := cmp.Diff(rowKeys(want), rowKeys(got)); diff != "" {
			t.Errorf("seed %d: -whole +parts\n%s", seed, diff)
		}
		for c := range allocation.NumColumns {
			if diff := cmp.Diff(column(want, c), column(got, c), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("seed %d: %s -whole +parts\n%s", seed, c, diff)
			}
		}
		if diff := cmp.Diff([]any{want.Nodes, want.Disks, want.Balancers, want.Networks, want.Residuals}, []any{got.Nodes, got.Disks, got.Balancers, got.Networks, got.Residuals}, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("seed %d: -whole +parts\n%s", seed, diff)
		}
	}
}

// TestMergeNewestWord checks what merging does with properties that change.
func TestMergeNewestWord(t *testing.T) {
	dict := allocation.NewDict()
	set := func(hour int, team, controller string) *allocation.Set {
		w := allocation.Window{Start: testStart.Add(time.Duration(hour) * time.Hour), End: testStart.Add(time.Duration(hour+1) * time.Hour)}
		s := allocation.NewSet(w, dict)
		r := allocation.Row{Start: w.Start, End: w.End, Labels: map[string]string{"team": team}}
		r.Text[allocation.Pod], r.Text[allocation.Controller] = "p", controller
		r.Values[allocation.RunningSeconds], r.Values[allocation.UsageMax.Of(allocation.CPU)] = 3600, float64(3-hour)
		s.Append(&r)
		s.Warnings = []string{team}
		return s
	}
	got, err := passes.Merge(allocation.Window{Start: testStart, End: testStart.Add(24 * time.Hour)}, []*allocation.Set{set(0, "a", "api"), set(1, "b", "")})
	if err != nil || got.Len() != 1 {
		t.Fatalf("%d rows, %v", got.Len(), err)
	}
	pairs := got.Pairs(allocation.Labels, 0)
	if team := got.Dict().Text(pairs[0].Value); team != "b" || got.Text(allocation.Controller, 0) != "api" {
		t.Errorf("team %s, controller %s", team, got.Text(allocation.Controller, 0))
	}
	if !got.Single(0) || got.Minutes(0) != 120 || got.Value(allocation.UsageMax.Of(allocation.CPU), 0) != 3 || !slices.Equal(got.Warnings, []string{"a", "b"}) {
		t.Errorf("single %v, %v minutes, %v, %q", got.Single(0), got.Minutes(0), got.Value(allocation.UsageMax.Of(allocation.CPU), 0), got.Warnings)
	}
}

// TestMergeRefuses checks the errors about sets that cannot be merged.
func TestMergeRefuses(t *testing.T) {
	m := smallModel()
	s := m.set(allocation.NewDict())
	made := apply(t, []*allocation.Set{s}, passes.Options{})
	for name, tc := range map[string]struct {
		w    allocation.Window
		sets []*allocation.Set
		want string
	}{
		"none":    {s.Window, nil, "there are none"},
		"made":    {s.Window, made, "passes have made that of 2026-03-02T00:00:00Z"},
		"outside": {allocation.Window{Start: s.Window.Start.Add(time.Minute), End: s.Window.End}, []*allocation.Set{s}, "is not within 2026-03-02T00:01:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := passes.Merge(tc.w, tc.sets); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestAppendFrame checks the errors about frames that do not fit.
func TestAppendFrame(t *testing.T) {
	millis := testStart.UnixMilli()
	whole := func() allocation.Frame {
		return allocation.Frame{Special: []allocation.Special{0, 0}, Start: []int64{millis, millis}, End: []int64{millis, millis}}
	}
	for name, tc := range map[string]struct {
		spoil func(f *allocation.Frame)
		want  string
	}{
		"starts":     {func(f *allocation.Frame) { f.Start = f.Start[:1] }, "1 starts and 2 ends of 2 rows"},
		"ids":        {func(f *allocation.Frame) { f.IDs[allocation.Pod] = make([]allocation.ID, 3) }, "pod of 3 of 2 rows"},
		"values":     {func(f *allocation.Frame) { f.Values[allocation.PVCost] = make([]float64, 1) }, "pvCost of 1 of 2 rows"},
		"volumes":    {func(f *allocation.Frame) { f.VolumeEnds = []int32{1, 2}; f.Volumes = make([]allocation.VolumeShare, 3) }, "volumes of 2 rows end at 2"},
		"balancers":  {func(f *allocation.Frame) { f.BalancerEnds = []int32{2, 1} }, "load balancers are out of order"},
		"levels":     {func(f *allocation.Frame) { f.LevelEnds[allocation.RAM] = []int32{1, 0} }, "levels of RAM usage are out of order"},
		"many rows":  {func(f *allocation.Frame) { f.VolumeEnds = []int32{0, 0, 0} }, "volumes of 3 rows"},
		"as it must": {func(*allocation.Frame) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, allocation.NewDict()), whole()
			tc.spoil(&f)
			err := s.AppendFrame(&f)
			if tc.want == "" && (err != nil || s.Len() != 2) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
