package promtest

import (
	"cmp"
	"context"
	"encoding/json"
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

	Late time.Duration // how long after its end the API reported it
}

// Observer records the runs of all containers, by a watch of the API.
type Observer struct {
	mu   sync.Mutex
	runs map[ranIn][]*Run
	err  error
}

// ranIn is a container of a pod.
type ranIn struct{ uid, container string }

// Observe records runs until the test ends.
func Observe(t testing.TB, k *Kubernetes) *Observer {
	t.Helper()
	o := &Observer{runs: map[ranIn][]*Run{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := k.Watch(ctx, "/api/v1/pods?watch=1", o.record); err != nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
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
	for _, list := range o.runs {
		for _, r := range list {
			runs = append(runs, *r)
		}
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
			if e := s.LastState.Terminated; e != nil {
				o.add(run, e.StartedAt, e.FinishedAt)
			}
			if e := s.State.Terminated; e != nil {
				o.add(run, e.StartedAt, e.FinishedAt)
			}
			if r := s.State.Running; r != nil {
				o.add(run, r.StartedAt, time.Time{})
			}
		}
	}
	return nil
}

// add records a run that began at start, and its end if that is known. Where another start is reported of a container that runs, and no end of the
// run before, the start before was a mistake: kwok may start a container twice on a busy machine.
func (o *Observer) add(run Run, start, end time.Time) {
	key := ranIn{run.UID, run.Container}
	run.Start, run.End = start.UTC(), end.UTC()
	if !end.IsZero() {
		run.Late = time.Since(end)
	}
	list := o.runs[key]
	i := slices.IndexFunc(list, func(r *Run) bool { return r.Start.Equal(start) })
	switch {
	case i < 0 && end.IsZero():
		list = slices.DeleteFunc(list, func(r *Run) bool { return r.End.IsZero() })
		o.runs[key] = append(list, &run)
	case i < 0:
		o.runs[key] = append(list, &run)
	case !end.IsZero() && list[i].End.IsZero():
		list[i].End, list[i].Late = run.End, run.Late
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
