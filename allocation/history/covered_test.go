package history_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/notices"
)

// TestCoveredIsKept checks that when clusters have data is read as it was written, and that sets from before it was kept are taken to have
// data wherever no warning says that they do not.
func TestCoveredIsKept(t *testing.T) {
	day := allocation.Window{Start: hour(0).Start, End: hour(0).Start.Add(24 * time.Hour)}
	from, to := day.Start.Add(3*time.Hour), day.Start.Add(5*time.Hour)
	stretch := func(cluster string, start, end time.Time) allocation.Covered {
		return allocation.Covered{Cluster: cluster, Start: start, End: end}
	}
	born := stretch("c1", from, to)
	born.Created = from.Add(-time.Minute)
	for _, tt := range []struct {
		name          string
		written, want []allocation.Covered
		old           bool
	}{
		{name: "as it was", written: []allocation.Covered{born, stretch("c2", day.Start, day.End)}, want: []allocation.Covered{born, stretch("c2", day.Start, day.End)}},
		{name: "nothing"},
		{name: "of before", old: true, want: []allocation.Covered{
			stretch("c1", day.Start, from), stretch("c1", to, day.End), stretch("c2", day.Start, from), stretch("c2", to, day.End),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := directory(t, history.Options{})
			set := soundSet(1, day, 3, "c1", "c2")
			set.Covered, set.Warnings = tt.written, []string{notices.HoleWarning(allocation.Window{Start: from, End: to}, "the source was down")}
			stored := write(t, s, set, history.WriteOptions{Period: history.Daily, Complete: true})
			if tt.old {
				name := stored.Files()[slices.IndexFunc(stored.Files(), func(f string) bool { return strings.HasSuffix(f, ".json") })]
				alter(t, filepath.Join(dir, name), func(m map[string]any) { delete(m, "covered") })
			}
			s = history.New(open(t, dir), history.Options{})
			if got := read(t, s, all(t, s, history.Daily).Sets...)[0].Covered; !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
