package promtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Run is a time in which a container ran, as the status of its pod said.
type Run struct {
	Namespace, Pod, UID, Container, Node string

	Init       bool      // an init container, native sidecars included
	Start, End time.Time // in whole seconds; no End: it runs still
	CPU        float64   // cores that it requests
}

// Observer records the runs of all containers, by a watch of the API.
type Observer struct {
	mu   sync.Mutex
	runs map[runKey]*Run
	err  error
}

// runKey is what a run is known by.
type runKey struct {
	uid, container string
	start          int64
}

// Observe records runs until the test ends.
func Observe(t testing.TB, k *Kubernetes) *Observer {
	t.Helper()
	o := &Observer{runs: map[runKey]*Run{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			// Without a resource version a watch begins with what there is: none that breaks off leaves a gap.
			if err := k.Watch(ctx, "/api/v1/pods?watch=1&timeoutSeconds=3600", o.record); err != nil && ctx.Err() == nil {
				o.mu.Lock()
				o.err = errors.Join(o.err, err)
				o.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return o
}

// Runs are the runs seen so far, by namespace, pod, container and start. It fails the test if the watch broke off.
func (o *Observer) Runs(t testing.TB) []Run {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		t.Fatalf("watch pods: %v", o.err)
	}
	runs := make([]Run, 0, len(o.runs))
	for _, r := range o.runs {
		runs = append(runs, *r)
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.UID, b.UID),
			strings.Compare(a.Container, b.Container), a.Start.Compare(b.Start))
	})
	return runs
}

// podEvent is an event of a watch on pods.
type podEvent struct {
	Type   string
	Object struct {
		Metadata struct{ Namespace, Name, UID string }
		Spec     struct {
			NodeName                   string
			Containers, InitContainers []struct {
				Name      string
				Resources struct{ Requests map[string]string }
			}
		}
		Status struct{ ContainerStatuses, InitContainerStatuses []containerStatus }
	}
}

// containerStatus is what a pod says of a container.
type containerStatus struct {
	Name             string
	State, LastState struct {
		Running    *struct{ StartedAt time.Time }
		Terminated *struct{ StartedAt, FinishedAt time.Time }
	}
}

// record records the runs in an event.
func (o *Observer) record(line []byte) error {
	var e podEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("read event of a watch: %w", err)
	}
	if e.Type == "ERROR" {
		return fmt.Errorf("watch ends: %s", line)
	}
	pod := &e.Object
	cpu := map[string]float64{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		n, err := quantity(c.Resources.Requests["cpu"])
		if err != nil {
			return err
		}
		cpu[c.Name] = n
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, init := range []bool{false, true} {
		statuses := pod.Status.ContainerStatuses
		if init {
			statuses = pod.Status.InitContainerStatuses
		}
		for _, s := range statuses {
			run := Run{
				Namespace: pod.Metadata.Namespace, Pod: pod.Metadata.Name, UID: pod.Metadata.UID, Container: s.Name,
				Node: pod.Spec.NodeName, Init: init, CPU: cpu[s.Name],
			}
			if r := s.State.Running; r != nil {
				o.add(run, r.StartedAt, time.Time{})
			}
			if e := s.State.Terminated; e != nil {
				o.add(run, e.StartedAt, e.FinishedAt)
			}
			if e := s.LastState.Terminated; e != nil {
				o.add(run, e.StartedAt, e.FinishedAt)
			}
		}
	}
	return nil
}

// add records a run that began at start, and its end if that is known.
func (o *Observer) add(run Run, start, end time.Time) {
	key := runKey{run.UID, run.Container, start.Unix()}
	if o.runs[key] == nil {
		run.Start = start.UTC()
		o.runs[key] = &run
	}
	if !end.IsZero() {
		o.runs[key].End = end.UTC()
	}
}

// quantity is a number of cores as Kubernetes writes it, "" for none.
func quantity(text string) (float64, error) {
	number, scale := text, 1.0
	if milli, ok := strings.CutSuffix(text, "m"); ok {
		number, scale = milli, 1e-3
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("read quantity %q: %w", text, err)
	}
	return n * scale, nil
}

// FormatRuns writes runs as ParseRuns reads them.
func FormatRuns(runs []Run) string {
	var b strings.Builder
	b.WriteString("# namespace pod uid container node init cpu start end\n")
	for _, r := range runs {
		end := "-"
		if !r.End.IsZero() {
			end = r.End.Format(time.RFC3339)
		}
		fmt.Fprintf(&b, "%s %s %s %s %s %t %g %s %s\n", r.Namespace, r.Pod, r.UID, r.Container, r.Node, r.Init, r.CPU, r.Start.Format(time.RFC3339), end)
	}
	return b.String()
}

// ParseRuns reads what FormatRuns wrote.
func ParseRuns(text string) (runs []Run, err error) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var r Run
		var start, end string
		if _, err := fmt.Sscan(line, &r.Namespace, &r.Pod, &r.UID, &r.Container, &r.Node, &r.Init, &r.CPU, &start, &end); err != nil {
			return nil, fmt.Errorf("read run %q: %w", line, err)
		}
		if r.Start, err = time.Parse(time.RFC3339, start); err == nil && end != "-" {
			r.End, err = time.Parse(time.RFC3339, end)
		}
		if err != nil {
			return nil, fmt.Errorf("read run %q: %w", line, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// RecordedRuns are the true runs of the containers that were recorded, as the status of their pods said.
func RecordedRuns(t testing.TB) []Run {
	t.Helper()
	text, err := recordings.ReadFile("testdata/recorded/runs")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := ParseRuns(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return runs
}
