package savings_test

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
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
	"github.com/promcost/promcost/allocation/savings/picture"
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
	dearer                     float64                       // factor on the prices, at least 1
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
			add(allocation.Cost, hours*max(usage, c.request[r])*[2]float64{pricePerCoreHour, pricePerByteHour}[r]*max(c.dearer, 1))
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

// tracesPicture is README's picture of the back-test on the traces.
const tracesPicture = "../../.ci/backtest.svg"

var update = flag.Bool("update", false, "rewrite "+tracesPicture)

// TestBacktestTraces finds the points that SEMANTICS §10 names, on machines that were really used like that. The machines are containers of their own: each
// begins at its first sample, and its days do. README's picture shows them.
func TestBacktestTraces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(traces, "*_cpu_*.csv"))
	if err != nil || len(files) == 0 {
		t.Skip("no traces in " + traces)
	}
	points := make([]savings.Point, len(savings.Presets()))
	for _, file := range files {
		usage := readTrace(t, file)
		start := usage[0].at
		o := savings.Options{Window: allocation.Window{Start: start, End: start.Add(14 * 24 * time.Hour)}}.For(savings.Presets()...)
		u, err := savings.Collect(usedHours(start, 14*24, container{namespace: "traces", controller: strings.TrimSuffix(filepath.Base(file), ".csv"), pod: "p", usage: usage}), o)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range savings.Backtest(u, savings.Presets()) {
			if p.Containers != 1 || p.Days != 7 {
				t.Errorf("%s, %s: %d containers and %d days, want 1 and 7", file, p.Preset, p.Containers, p.Days)
			}
			points[i].Preset = p.Preset
			points[i].Slack += p.Slack / float64(len(files))
			points[i].Exceedance += p.Exceedance / float64(len(files))
		}
	}
	for i, want := range []savings.Point{
		{Preset: "tight", Slack: 0.33, Exceedance: 0.039},
		{Preset: "balanced", Slack: 0.35, Exceedance: 0.030},
		{Preset: "safe", Slack: 0.38, Exceedance: 0.020},
		{Preset: "krr", Slack: 0.30, Exceedance: 0.093},
		{Preset: "vpa", Slack: 0.32, Exceedance: 0.045},
		{Preset: "kubecost", Slack: 0.65, Exceedance: 0.016},
	} {
		got := points[i]
		t.Logf("%-9s slack %.4f | above the request %.2f %% of the time", got.Preset, got.Slack, 100*got.Exceedance)
		if got.Preset != want.Preset || math.Abs(got.Slack-want.Slack) > 0.01 || math.Abs(got.Exceedance-want.Exceedance) > 0.005 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	drawn := picture.Backtest(points, fmt.Sprintf("CPU of %d machines (Amazon EC2 and RDS) over two weeks each. Memory is not back-tested here.", len(files)),
		"Traces: Numenta Anomaly Benchmark (realAWSCloudwatch), © Numenta Inc., MIT license.")
	if *update {
		if err := os.WriteFile(tracesPicture, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(tracesPicture); err != nil || !bytes.Equal(was, drawn) {
		t.Errorf("%s is not what the traces yield: go test ./allocation/savings -run TestBacktestTraces -update draws it (%v)", tracesPicture, err)
	}
}
