package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// An hour can lack a whole input because something cut it out of an answer unnoticed. What a cluster has in the hours before and after an
// hour it rarely lacks in between. So such an hour is incomplete, and computed again.

// presence is something that a cluster has in an hour.
type presence struct{ cluster, what string }

// steady are columns that clusters have something in, hour after hour, and what they are of.
var steady = [...]struct {
	column allocation.Column
	what   string
}{
	{allocation.RunningSeconds, "running times"},
	{allocation.RequestHours.Of(allocation.CPU), "CPU requests"},
	{allocation.RequestHours.Of(allocation.RAM), "memory requests"},
	{allocation.UsageHours.Of(allocation.CPU), "CPU usage"},
	{allocation.UsageHours.Of(allocation.RAM), "memory usage"},
}

// presences returns what the clusters of a set have.
func presences(s *allocation.Set) map[presence]bool {
	out := map[presence]bool{}
	for row := range s.Len() {
		for _, x := range steady {
			if s.Value(x.column, row) > 0 {
				out[presence{s.Text(allocation.Cluster, row), x.what}] = true
			}
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		out[presence{n.Cluster, "nodes"}] = true
		for _, source := range n.PriceSource {
			if strings.HasSuffix(source, "_hourly_cost") { // a metric, no row of a price sheet
				out[presence{n.Cluster, source}] = true
			}
		}
	}
	return out
}

// vanished says what an hour lacks that those before and after have, "" if nothing.
func vanished(before, hour, after map[presence]bool) string {
	var list []string
	for x := range before {
		if after[x] && !hour[x] {
			list = append(list, fmt.Sprintf("%s of cluster %s", x.what, x.cluster))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// readPresences reads what the clusters of kept hours have.
func (a *Archive) readPresences(ctx context.Context, kept []Kept) ([]map[presence]bool, error) {
	only := &allocation.Projection{Properties: []allocation.Property{allocation.Cluster}}
	for _, x := range steady {
		only.Columns = append(only.Columns, x.column)
	}
	sets, release, err := a.Read(ctx, kept, only)
	defer release()
	if err != nil {
		return nil, err
	}
	out := make([]map[presence]bool, len(sets))
	for i, s := range sets {
		out[i] = presences(s)
	}
	return out, nil
}

// Vanished says what an hour that was computed lacks that the kept hours before and after it have, "" if nothing, or if they are not kept.
func (a *Archive) Vanished(ctx context.Context, hour *allocation.Set) (string, error) {
	before := allocation.Window{Start: hour.Window.Start.Add(-time.Hour), End: hour.Window.Start}
	after := allocation.Window{Start: hour.Window.End, End: hour.Window.End.Add(time.Hour)}
	list, err := a.List(ctx, Hours, allocation.Window{Start: before.Start, End: after.End})
	if err != nil {
		return "", err
	}
	first, second := list.Exact(before), list.Exact(after)
	if first == nil || second == nil {
		return "", nil
	}
	there, err := a.readPresences(ctx, []Kept{*first, *second})
	if err != nil {
		return "", err
	}
	return vanished(there[0], presences(hour), there[1]), nil
}

// doubtVanished marks kept hours as incomplete that lack what those before and after them have: adjacent hours that were just kept, the one
// before and the one after. Where nothing is stored it does nothing.
func (a *Archive) doubtVanished(ctx context.Context, hours []allocation.Window) error {
	if !a.stores {
		return nil
	}
	const around = 2 * time.Hour
	list, err := a.List(ctx, Hours, allocation.Window{Start: hours[0].Start.Add(-around), End: hours[len(hours)-1].End.Add(around)})
	if err != nil {
		return err
	}
	there, err := a.readPresences(ctx, list.Sets)
	if err != nil {
		return err
	}
	for i := 1; i+1 < len(there); i++ {
		k := &list.Sets[i]
		adjacent := list.Sets[i-1].Window.End.Equal(k.Window.Start) && k.Window.End.Equal(list.Sets[i+1].Window.Start)
		if what := vanished(there[i-1], there[i], there[i+1]); adjacent && k.Complete && what != "" {
			if err := a.markVanished(ctx, k, what); err != nil {
				return err
			}
		}
	}
	return nil
}

// markVanished keeps an hour as incomplete, with a warning of what it lacks.
func (a *Archive) markVanished(ctx context.Context, k *Kept, what string) error {
	sets, release, err := a.Read(ctx, []Kept{*k}, nil)
	defer release()
	if err != nil {
		return err
	}
	set := warned(sets[0], fmt.Sprintf("from %s to %s these are missing, though the hours before and after have them: %s. The hour is computed again; if they stay missing, see what exports them and what stands between it and promcost",
		k.Window.Start.UTC().Format(time.RFC3339), k.Window.End.UTC().Format(time.RFC3339), what))
	set.Incomplete = true // warned has made it a copy
	return a.Write(ctx, set, Keep{Kind: Hours, Replace: true})
}
