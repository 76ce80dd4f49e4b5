package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// manyFiles reads a history of 10,000 files, or some: hours of ten clusters. Meanwhile they are listed and verified.
func manyFiles(t *testing.T) *troubled {
	t.Helper()
	const clusters, perCluster = 10, 2 // files of an hour, and its manifest
	hours := soak.Of(6, 500)
	dir, start := t.TempDir(), time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	directory, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := history.New(directory, history.Options{})
	for h := range hours {
		if _, err := store.Write(t.Context(), hourOfClusters(start.Add(time.Duration(h)*time.Hour), clusters), history.WriteOptions{Complete: true}); err != nil {
			t.Fatal(err)
		}
	}
	sound := fmt.Sprintf("%d sets in %d files", hours, hours*(clusters*perCluster+1))
	x := &troubled{question: fmt.Sprintf("/model/allocation?aggregate=cluster&accumulate=true&window=%s,%s", start.Format(time.RFC3339), start.Add(time.Duration(hours)*time.Hour).Format(time.RFC3339)), calm: true}
	x.daemon = runDaemon(t, "serve", "--source=none", "--storage.path="+dir)
	x.want = right(t, x.url+x.question)
	for i := range clusters {
		name := fmt.Sprint("cluster-", i)
		if cost, want := x.want.Data[0][name]["cpuCost"], float64(hours*(i+1)); cost != want {
			t.Errorf("CPU of %s costs %v, want %v", name, cost, want)
		}
	}
	x.disturb = func(int) {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"history", "verify", "--storage.path=" + dir}, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), sound) {
			t.Errorf("verify: exit %d, want %s: %s%s", code, sound, &stdout, &stderr)
		}
	}
	return x
}

// hourOfClusters is an hour of clusters that have a container each, whose CPU costs 1, 2, 3 and so on.
func hourOfClusters(start time.Time, clusters int) *allocation.Set {
	w := allocation.Window{Start: start, End: start.Add(time.Hour)}
	s := allocation.NewSet(w, allocation.NewDict())
	s.Resolution, s.ScrapeInterval = time.Minute, time.Minute
	for i := range clusters {
		cluster, cost := fmt.Sprint("cluster-", i), float64(i+1)
		r := &allocation.Row{Start: w.Start, End: w.End, Text: [allocation.Services]string{cluster, "node", "shop", "pod", "uid", "app"}}
		r.Values[allocation.RequestHours.Of(allocation.CPU)], r.Values[allocation.Hours.Of(allocation.CPU)], r.Values[allocation.Cost.Of(allocation.CPU)] = 1, 1, cost
		r.Values[allocation.RunningSeconds], r.Values[allocation.LeastSeconds], r.Values[allocation.MostSeconds] = 3600, 3600, 3600
		s.Append(r)
		n := allocation.Node{Cluster: cluster, Name: "node", Start: w.Start, End: w.End, RunningSeconds: 3600}
		n.Cost[allocation.CPU], n.Hours[allocation.CPU], n.PriceSource[allocation.CPU] = cost, 1, "sheet"
		s.Nodes = append(s.Nodes, n)
	}
	return s
}
