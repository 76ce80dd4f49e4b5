package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

const (
	hostileBudget = 256 << 20                     // of --query.max-memory, in bytes
	mostAnonymous = hostileBudget*13/10 + 100<<20 // bytes of RssAnon
	longestWait   = 500 * time.Millisecond        // of the well-behaved client, the 99th percentile
	killedAbove   = 3 << 30                       // bytes of RssAnon at which promcost is ended, before it ends the machine
	spareSigns    = 20                            // goroutines and descriptors that there may be more afterwards
	leastRequests = 500
)

// TestHostileRequests sends the table of hostile requests to promcost, with and without a history, and well-behaved ones
// beside them. Every answer comes whole, with a status that blames the request or the source, and says what to do; goroutines
// and descriptors do not stay. `make test` sends a sample; with -soak it is all of the table, many requests at a time, and memory and the
// waits of the well-behaved client are measured.
func TestHostileRequests(t *testing.T) {
	if !soak.On() {
		t.Parallel()
	}
	dir := filepath.Join(t.TempDir(), "demo")
	mustRun(t, "demo", "--write="+dir, "--demo.end="+hostileEnd, "--demo.nodes=4", "--demo.pods=40", "--demo.duration=8h", "--demo.scrape-interval="+soak.Of("2m", "30s"))
	all := hostileRequests(t)
	if len(all) < leastRequests {
		t.Errorf("the table has %d requests, want %d", len(all), leastRequests)
	}
	requests := [2][]hostileRequest{all, all}
	if !soak.On() {
		requests = sampleRequests(all)
	}
	t.Run("blocks and history", func(t *testing.T) {
		attack(t, requests[0], "--source=blocks", "--tsdb.path="+dir, "--storage.path="+filepath.Join(t.TempDir(), "history"), "--web.enable-pprof")
	})
	t.Run("Prometheus", func(t *testing.T) {
		attack(t, requests[1], "--prometheus.url="+promtest.Start(t, dir, promtest.Config{}), "--promql.passthrough", "--storage.path=")
	})
}

// sampleRequests are as few of the requests as have every path, every parameter and every attack, in two halves.
func sampleRequests(all []hostileRequest) (halves [2][]hostileRequest) {
	seen := map[string]bool{}
	n := 0
	for i := range all {
		r := &all[i]
		fresh := false
		for _, key := range []string{"path " + r.path, "parameter " + r.parameter, "attack " + r.attack} {
			fresh = fresh || !seen[key]
			seen[key] = true
		}
		if fresh {
			halves[n%2] = append(halves[n%2], *r)
			n++
		}
	}
	return halves
}

// attack starts promcost, sends it the requests and checks what comes back.
func attack(t *testing.T, requests []hostileRequest, args ...string) {
	t.Helper()
	timeout := soak.Of("1m", "10s")
	p := runDaemon(t, append([]string{"serve", fmt.Sprint("--query.max-memory=", hostileBudget, "B"), "--compute.timeout=" + timeout, "--promql.timeout=" + timeout}, args...)...)
	eventually(t, "it does not answer", func() bool { code, _ := get(t, p.url+"/-/healthy"); return code == http.StatusOK })
	before := vitalSigns(t, p.url)
	peak := watchMemory(t, p.Process.Pid)
	client := behave(t, p.url)
	classes := sendAll(t, p.url, requests)
	waits := client()
	ran, waited := processorTime(t, p.Process.Pid)
	http.DefaultClient.CloseIdleConnections()
	after := vitalSigns(t, p.url)
	t.Logf("%d requests: %s; peak of RssAnon %d MB, at most %d are allowed; goroutines %.0f, then %.0f; descriptors %.0f, then %.0f",
		len(requests), classes, peak()>>20, mostAnonymous>>20, before[0], after[0], before[1], after[1])
	var all []time.Duration
	for _, path := range slices.Sorted(maps.Keys(waits)) {
		t.Logf("the well-behaved client: %s", waitText(path, waits[path]))
		all = append(all, waits[path]...)
	}
	t.Logf("the well-behaved client: %s; the threads of promcost ran for %s, and were ready for %s without a processor", waitText("all", all), ran, waited)
	leavesNothing(t, p.url, before)
	if !soak.On() {
		return
	}
	checkPeak(t, peak())
	if wait := quantile(all, 0.99); wait > longestWait {
		t.Errorf("the well-behaved client waited %s (p99), at most %s are allowed where others leave promcost the processors", wait, longestWait)
	}
}

// leavesNothing waits until promcost has no more goroutines and descriptors than before.
func leavesNothing(t *testing.T, base string, before [2]float64) {
	t.Helper()
	eventually(t, "goroutines or descriptors are left behind", func() bool {
		now := vitalSigns(t, base)
		return now[0] <= before[0]+spareSigns && now[1] <= before[1]+spareSigns
	})
}

// checkPeak checks how much memory promcost took at most.
func checkPeak(t *testing.T, peak int64) {
	t.Helper()
	if peak > mostAnonymous {
		t.Errorf("RssAnon was %d MB, at most %d are allowed", peak>>20, mostAnonymous>>20)
	}
}

// vitalSigns are the goroutines and the descriptors that promcost has.
func vitalSigns(t *testing.T, base string) (signs [2]float64) {
	t.Helper()
	_, text := get(t, base+"/metrics")
	for i, name := range []string{"go_goroutines", "process_open_fds"} {
		found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("/metrics lacks %s", name)
		}
		var err error
		if signs[i], err = strconv.ParseFloat(found[1], 64); err != nil {
			t.Fatal(err)
		}
	}
	return signs
}

// watchMemory watches the anonymous memory of a process until the test ends. What it returns is the most so far, in bytes.
func watchMemory(t *testing.T, pid int) func() int64 {
	t.Helper()
	var peak atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			peak.Store(max(peak.Load(), int64(anonymous(pid))<<10))
			if peak.Load() > killedAbove {
				_ = syscall.Kill(pid, syscall.SIGKILL) // the answers show it
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return peak.Load
}

// smallQuestions are what a well-behaved client asks, each time of another time.
func smallQuestions(n int) []string {
	end, err := time.Parse(time.RFC3339, hostileEnd)
	if err != nil {
		panic(err)
	}
	end = end.Add(-time.Duration(n%3600) * time.Second)
	return []string{
		"/-/healthy", "/metrics",
		"/model/allocation/compute?aggregate=namespace&window=" + end.Add(-time.Hour).Format(time.RFC3339) + "," + end.Format(time.RFC3339),
		"/api/v1/query?query=" + url.QueryEscape("sum(promcost_namespace_hourly_cost)") + "&time=" + end.Format(time.RFC3339),
	}
}

// behave asks small questions, one after the other, until what it returns is called, which returns how long each took, by path. All
// are to be answered.
func behave(t *testing.T, base string) (end func() map[string][]time.Duration) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	waits := map[string][]time.Duration{}
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			for _, question := range smallQuestions(n) {
				select {
				case <-stop:
					return
				case <-time.After(soak.Of(100*time.Millisecond, 10*time.Millisecond)):
				}
				begun := time.Now()
				resp, err := http.Get(base + question)
				if err != nil {
					t.Errorf("a well-behaved client is not answered: %s: %v", question, err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				path, _, _ := strings.Cut(question, "?")
				if waits[path] = append(waits[path], time.Since(begun)); err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("a well-behaved client is not answered: %s: %s %v %.300s", question, resp.Status, err, body)
				}
			}
		}
	}()
	return func() map[string][]time.Duration {
		close(stop)
		<-done
		return waits
	}
}

// quantile is the q-quantile of durations, 0 where there are none.
func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[min(int(q*float64(len(list))), len(list)-1)]
}

// waitText tells how long requests took.
func waitText(of string, waits []time.Duration) string {
	return fmt.Sprintf("%s: asked %d times, waited %s (p50), %s (p99), %s (longest)", of, len(waits), quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 1))
}

// processorTime is how long the threads of a process have run, and how long they were ready to run while others had the processors. It
// tells a slow promcost from a busy machine.
func processorTime(t *testing.T, pid int) (ran, waited time.Duration) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		var times [2]time.Duration
		if text, err := os.ReadFile(name); err == nil { // else the thread has ended
			if _, err := fmt.Sscan(string(text), &times[0], &times[1]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		ran, waited = ran+times[0], waited+times[1]
	}
	return ran.Round(time.Millisecond), waited.Round(time.Millisecond)
}

// sendAll sends the requests, some at a time, checks the answers, and returns how many there were of each class of status.
func sendAll(t *testing.T, base string, requests []hostileRequest) string {
	t.Helper()
	queue := make(chan *hostileRequest)
	var mu sync.Mutex
	classes := map[string]int{}
	var group sync.WaitGroup
	for range soak.Of(4, 16) {
		group.Go(func() {
			for r := range queue {
				begun := time.Now()
				a, err := r.send(t.Context(), base)
				class := "none"
				if err == nil {
					class, err = a.class(), a.problem(r)
				}
				if err != nil {
					t.Errorf("%s: after %s: %v", r, time.Since(begun), err)
				}
				mu.Lock()
				classes[class]++
				mu.Unlock()
			}
		})
	}
	for i := range requests {
		queue <- &requests[i]
	}
	close(queue)
	group.Wait()
	return fmt.Sprint(classes)
}
