package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// Flags of TestCompare, as `make compare` gives them.
var (
	compareBase      = flag.String("compare.base", "", "promcost before a change, which -compare.changed is compared with; without it the test compares a sample of itself with itself")
	compareChanged   = flag.String("compare.changed", "", "promcost after the change; the default is the test's own")
	compareRequests  = flag.Int("compare.requests", 5000, "how many requests both are sent")
	compareSeed      = flag.Uint64("compare.seed", 1, "which requests they are")
	compareTolerance = flag.Float64("compare.tolerance", 0, "how far apart two numbers may be, by the larger: such differences are listed apart")
	compareDir       = flag.String("compare.dir", "", "new directory where data, histories and the list of differences stay")
)

const (
	sampledRequests = 150
	mostListed      = 40 // requests that differ
	mostOfOne       = 5  // differences of one request that are listed
	leastWithRows   = 0.6
	reportEach      = 500 // requests
	compareAtOnce   = 3
	compareZone     = "Europe/Berlin"
)

// compareEnd is where the data ends: not at an hour, and after the beginning of a month.
var compareEnd = time.Date(2026, 2, 3, 7, 20, 0, 0, time.UTC)

// compareConfig has what answers depend on besides the data.
const compareConfig = `
labelMapping:
  team: [team]
properties:
  cost-center: "labels.team || namespaceLabels.team || 'unowned'"
timeZone: ` + compareZone + `
currency: EUR
budgets:
  - {name: payments, filter: 'namespace:"payments"', amount: 40, period: month}
  - {name: all, amount: 100.5, period: day}
`

// comparison is of two programs, by their answers.
type comparison struct {
	programs  [2]string // before and after
	dir       string
	tolerance float64
	sources   [][2]*daemon // of blocks and history, and of a Prometheus
	end       time.Time

	mu       sync.Mutex
	kinds    map[string]int // differences
	statuses map[string]int // requests, by class and status
	used     map[string]bool
	listed   []string
	differ   int
	rounded  int
	rows     int
	sent     int
}

// TestCompare sends the same random requests to two programs over the same data and compares the answers, and what they write into a
// history.
func TestCompare(t *testing.T) {
	c := &comparison{programs: [2]string{os.Args[0], os.Args[0]}, dir: *compareDir, tolerance: *compareTolerance, end: compareEnd, kinds: map[string]int{}, statuses: map[string]int{}, used: map[string]bool{}}
	n, duration, interval, size := sampledRequests, 35*time.Hour, "2m", []string{"--demo.nodes=4", "--demo.pods=40"}
	if *compareBase != "" {
		c.programs[0], n, duration, interval, size = *compareBase, *compareRequests, 100*time.Hour, "1m", []string{"--demo.nodes=8", "--demo.pods=80"}
		if *compareChanged != "" {
			c.programs[1] = *compareChanged
		}
	} else {
		t.Parallel()
	}
	if c.dir == "" {
		c.dir = t.TempDir()
	}
	blocks, config := filepath.Join(c.dir, "blocks"), filepath.Join(c.dir, "config.yaml")
	c.run(t, 0, append([]string{"demo", "--write=" + blocks, "--demo.end=" + compareEnd.Format(time.RFC3339), "--demo.duration=" + duration.String(), "--demo.scrape-interval=" + interval}, size...)...)
	if err := os.WriteFile(config, []byte(compareConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	start := compareEnd.Add(-duration)
	c.fill(t, blocks, config, start)
	c.serve(t, blocks, config)
	zone, err := time.LoadLocation(compareZone)
	if err != nil {
		t.Fatal(err)
	}
	g := newCompareGenerator(t, *compareSeed, c.sources[0][0].url, start, compareEnd, zone)
	requests := g.requests(n)
	if *compareBase == "" && !soak.On() {
		requests = sampleComparisons(requests)
	}
	c.ask(t, requests)
	c.report(t, g)
}

// sampleComparisons are as few of the requests as have every path of each source, and every parameter.
func sampleComparisons(all []comparedRequest) (some []comparedRequest) {
	seen := map[string]bool{}
	for i := range all {
		r := &all[i]
		fresh := false
		for _, key := range append([]string{fmt.Sprint("path ", r.source, r.path)}, r.used...) {
			fresh = fresh || !seen[key]
			seen[key] = true
		}
		if fresh {
			some = append(some, *r)
		}
	}
	return some
}

// run runs one of the programs and returns what it writes.
func (c *comparison) run(t *testing.T, program int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.programs[program], args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), asProgram+"=1"), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, stderr.String())
	}
	return stdout.String()
}

// history is the storage of one of the programs.
func (c *comparison) history(program int) string {
	return filepath.Join(c.dir, "history-"+[...]string{"base", "changed"}[program])
}

// fill has both programs compute a history, and compares what they export of it.
func (c *comparison) fill(t *testing.T, blocks, config string, start time.Time) {
	t.Helper()
	for program := range 2 {
		c.run(t, program, "backfill", "--source=blocks", "--tsdb.path="+blocks, "--config.file="+config, "--storage.path="+c.history(program), "--from="+start.Format(time.RFC3339))
	}
	for format, kind := range map[string]string{"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "focus": "text/csv"} {
		for _, period := range []string{"hourly", "daily"} {
			var exports [2]*comparedAnswer
			args := []string{"history", "export", "--format=" + format, "--period=" + period, "--timezone=" + compareZone}
			for program := range 2 {
				text := c.run(t, program, append(args, "--storage.path="+c.history(program))...)
				exports[program] = &comparedAnswer{http.StatusOK, http.Header{"Content-Type": {kind}}, []byte(text)}
			}
			list, rows := answerDifferences("", exports[0], exports[1], c.tolerance)
			if !rows {
				t.Errorf("the export of %s as %s is empty", period, format)
			}
			c.note(list, "promcost "+strings.Join(append(args, "--storage.path="+c.history(0)), " "))
		}
	}
}

// serve has both programs serve the blocks and a copy of the history that the first has filled, and, without a history, a Prometheus.
func (c *comparison) serve(t *testing.T, blocks, config string) {
	t.Helper()
	prometheus := promtest.Start(t, blocks, promtest.Config{})
	c.sources = make([][2]*daemon, 2)
	for program := range 2 {
		served := filepath.Join(c.dir, fmt.Sprint("served-", program))
		if err := os.CopyFS(served, os.DirFS(c.history(0))); err != nil {
			t.Fatal(err)
		}
		common := []string{"serve", "--config.file=" + config, "--collector.pod", "--collector.container", "--collector.label", "--collector.label.names=team", "--collector.opencost", "--collector.opencost-kube"}
		for i, source := range [][]string{
			{"--source=blocks", "--tsdb.path=" + blocks, "--storage.path=" + served},
			{"--prometheus.url=" + prometheus, "--promql.passthrough", "--storage.path="},
		} {
			args := append(slices.Clone(common), source...)
			c.sources[i][program] = startDaemon(t, c.programs[program], args...)
			t.Logf("%s %s --web.listen-address=%s", c.programs[program], strings.Join(args, " "), strings.TrimPrefix(c.sources[i][program].url, "http://"))
		}
	}
	for _, p := range c.sources[0] {
		eventually(t, "it is not ready", func() bool { code, _ := get(t, p.url+"/-/ready"); return code == http.StatusOK })
	}
}

// ask sends the requests to both servers of their source.
func (c *comparison) ask(t *testing.T, requests []comparedRequest) {
	t.Helper()
	queue := make(chan *comparedRequest)
	var group sync.WaitGroup
	for range compareAtOnce {
		group.Go(func() {
			for r := range queue {
				list, rows, status, err := c.compare(r)
				if err == nil && len(list) > 0 && r.query.Get("window") == relativeHours {
					list, rows, status, err = c.compare(r) // an hour may have ended between the two answers
				}
				curl := r.curl(c.sources[r.source][0].url, c.end)
				if err != nil {
					t.Errorf("%s: %v", curl, err)
					continue
				}
				if n := c.count(r, status, rows); n%reportEach == 0 {
					t.Logf("%d of %d requests are compared", n, len(requests))
				}
				if status == http.StatusInternalServerError {
					t.Errorf("%s: it is a bug to answer with %d", curl, status)
				}
				c.note(list, curl)
			}
		})
	}
	for i := range requests {
		queue <- &requests[i]
	}
	close(queue)
	group.Wait()
}

// compare sends a request to both servers and compares the answers.
func (c *comparison) compare(r *comparedRequest) (list []difference, rows bool, status int, err error) {
	var answers [2]*comparedAnswer
	var errs [2]error
	var both sync.WaitGroup
	for program, p := range c.sources[r.source] {
		both.Go(func() { answers[program], errs[program] = r.send(p.url, c.end) })
	}
	both.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, false, 0, err
		}
	}
	list, rows = answerDifferences(r.path, answers[0], answers[1], c.tolerance)
	return list, rows, answers[0].status, nil
}

// send sends the request to a server.
func (r *comparedRequest) send(base string, end time.Time) (*comparedAnswer, error) {
	req, err := r.http(base, end)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &comparedAnswer{resp.StatusCode, resp.Header, body}, err
}

// count counts an answer of the first program, and returns how many there were.
func (c *comparison) count(r *comparedRequest, status int, rows bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	outcome := fmt.Sprintf("%s %d", compareClass(r.path), status)
	if rows {
		c.rows++
		outcome += " with rows"
	}
	c.statuses[outcome]++
	for _, name := range r.used {
		c.used[name] = true
	}
	return c.sent
}

// note records the differences of a request.
func (c *comparison) note(list []difference, request string) {
	if len(list) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", request)
	rounded := true
	for i, d := range list {
		c.kinds[d.kind]++
		rounded = rounded && d.kind == roundingKind
		if i < mostOfOne {
			fmt.Fprintf(&b, "    %s\n", d)
		}
	}
	if more := len(list) - mostOfOne; more > 0 {
		fmt.Fprintf(&b, "    and %d more\n", more)
	}
	if rounded {
		c.rounded++
	} else {
		c.differ++
	}
	c.listed = append(c.listed, b.String())
}

// report prints what was compared. It fails if anything differs, if requests find too little, or if a parameter was not used.
func (c *comparison) report(t *testing.T, g *compareGenerator) {
	t.Helper()
	for _, outcome := range slices.Sorted(maps.Keys(c.statuses)) {
		t.Logf("%6d %s", c.statuses[outcome], outcome)
	}
	billed := 0 // answers without rows, as there are no bills
	for outcome, n := range c.statuses {
		if strings.HasPrefix(outcome, "cloud costs") && !strings.HasSuffix(outcome, "with rows") {
			billed += n
		}
	}
	share := float64(c.rows) / float64(c.sent-billed)
	t.Logf("%d requests, %.0f %% answered with rows; %d differ, %d more within the tolerance of %g; differences: %v", c.sent, 100*share, c.differ, c.rounded, c.tolerance, c.kinds)
	slices.Sort(c.listed)
	for _, text := range c.listed[:min(len(c.listed), mostListed)] {
		t.Log(text)
	}
	if *compareDir != "" {
		if err := os.WriteFile(filepath.Join(c.dir, "differences.txt"), []byte(strings.Join(c.listed, "\n")), 0o600); err != nil {
			t.Error(err)
		}
	}
	if c.differ > 0 {
		t.Errorf("%d of %d requests are answered in another way", c.differ, c.sent)
	}
	if share < leastWithRows {
		t.Errorf("%.0f %% of the requests have an answer with rows, at least %.0f %% should", 100*share, 100*leastWithRows)
	}
	for path, parameters := range g.parameters {
		for _, p := range parameters {
			if !c.used[p.name] {
				t.Errorf("parameter %s of %s was not used", p.name, path)
			}
		}
	}
}
