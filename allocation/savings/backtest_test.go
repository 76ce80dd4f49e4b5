package savings_test

import (
	"encoding/csv"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/savings"
)

// sample is a usage of a container, from a time on and until the next sample.
type sample struct {
	at         time.Time
	cores, ram float64
}

// container is a container whose usage a test knows.
type container struct {
	namespace, controller, pod string
	request, limit             [2]float64
	usage                      []sample
	signals                    map[allocation.Column]float64 // of each hour
}

const pricePerCoreHour, pricePerByteHour = 0.03, 4e-12

// usedHours are the sets of hours in which containers ran, from start on. Rows are what a container used: their levels, sums and maxima.
func usedHours(start time.Time, hours int, containers ...container) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for h := range hours {
			w := allocation.Window{Start: start.Add(time.Duration(h) * time.Hour), End: start.Add(time.Duration(h+1) * time.Hour)}
			s := allocation.NewSet(w, allocation.NewDict())
			s.Covered = []allocation.Covered{{Cluster: "c", Start: w.Start, End: w.End}}
			for i := range containers {
				addHour(s, w, &containers[i])
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// addHour adds the row of a container in an hour.
func addHour(s *allocation.Set, w allocation.Window, c *container) {
	row := allocation.Row{Start: w.Start, End: w.End}
	for p, text := range map[allocation.Property]string{
		allocation.Cluster: "c", allocation.Namespace: c.namespace, allocation.ControllerKind: "deployment", allocation.Controller: c.controller,
		allocation.Pod: c.pod, allocation.PodUID: c.pod, allocation.Container: "main",
	} {
		row.Text[p] = text
	}
	for c, v := range c.signals {
		row.Values[c] = v
	}
	millis := [2]map[allocation.Bucket]int64{{}, {}}
	for i := range c.usage[:len(c.usage)-1] {
		from, to := c.usage[i].at, c.usage[i+1].at
		if from.Before(w.Start) {
			from = w.Start
		}
		if to.After(w.End) {
			to = w.End
		}
		if !from.Before(to) {
			continue
		}
		hours := to.Sub(from).Hours()
		row.Values[allocation.RunningSeconds] += hours * 3600
		for r, usage := range [2]float64{c.usage[i].cores, c.usage[i].ram} {
			of := allocation.Resource(r)
			millis[r][allocation.BucketOf(usage)] += to.Sub(from).Milliseconds()
			add := func(m allocation.Measure, v float64) { row.Values[m.Of(of)] += v }
			add(allocation.UsageHours, hours*usage)
			add(allocation.RequestHours, hours*c.request[r])
			add(allocation.LimitHours, hours*c.limit[r])
			add(allocation.Hours, hours*max(usage, c.request[r]))
			add(allocation.Cost, hours*max(usage, c.request[r])*[2]float64{pricePerCoreHour, pricePerByteHour}[r])
			row.Values[allocation.UsageMax.Of(of)] = max(row.Values[allocation.UsageMax.Of(of)], usage)
		}
	}
	for r := range millis {
		for i := range allocation.NumBuckets {
			if n := millis[r][allocation.BucketAt(i)]; n > 0 {
				row.Levels[r] = append(row.Levels[r], allocation.Level{Bucket: allocation.BucketAt(i), Millis: n})
			}
		}
	}
	s.Append(&row)
}

// traces are the folder of usage that real machines had, which is not part of the repository.
const traces = "../../../shared/data/traces"

// readTrace reads the CPU usage of a machine in percent, as cores.
func readTrace(t *testing.T, file string) (list []sample) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		at, err := time.Parse(time.DateTime, line[0])
		if err != nil {
			t.Fatal(err)
		}
		percent, err := strconv.ParseFloat(line[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, sample{at: at, cores: percent / 100})
	}
	return list
}

// TestBacktestTraces finds the points that SEMANTICS §10 names, on machines that were really used like that. The machines are containers of their own: each
// begins at its first sample, and its days do.
func TestBacktestTraces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(traces, "*_cpu_*.csv"))
	if err != nil || len(files) == 0 {
		t.Skip("no traces in " + traces)
	}
	sums := map[string][2]float64{}
	for _, file := range files {
		usage := readTrace(t, file)
		start := usage[0].at
		o := savings.Options{Window: allocation.Window{Start: start, End: start.Add(14 * 24 * time.Hour)}}.For(savings.Presets()...)
		u, err := savings.Collect(usedHours(start, 14*24, container{namespace: "traces", controller: strings.TrimSuffix(filepath.Base(file), ".csv"), pod: "p", usage: usage}), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range savings.Backtest(u, savings.Presets()) {
			if p.Containers != 1 || p.Days != 7 {
				t.Errorf("%s, %s: %d containers and %d days, want 1 and 7", file, p.Preset, p.Containers, p.Days)
			}
			sums[p.Preset] = [2]float64{sums[p.Preset][0] + p.Slack/float64(len(files)), sums[p.Preset][1] + p.Exceedance/float64(len(files))}
		}
	}
	for _, want := range []struct {
		preset            string
		slack, exceedance float64
	}{
		{"tight", 0.33, 0.039}, {"balanced", 0.35, 0.030}, {"safe", 0.38, 0.020}, {"krr", 0.30, 0.093}, {"vpa", 0.32, 0.045}, {"kubecost", 0.65, 0.016},
	} {
		got := sums[want.preset]
		t.Logf("%-9s slack %.4f | above the request %.2f %% of the time", want.preset, got[0], 100*got[1])
		if math.Abs(got[0]-want.slack) > 0.01 || math.Abs(got[1]-want.exceedance) > 0.005 {
			t.Errorf("%s: slack %.4f, exceedance %.4f, want %.2f, %.3f", want.preset, got[0], got[1], want.slack, want.exceedance)
		}
	}
}
