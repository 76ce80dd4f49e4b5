package main

import (
	"bufio"
	"encoding/json"
	"math"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"

	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// asProgram makes the test binary be the program: how tests run promcost as a process of its own.
const asProgram = "PROMCOST_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	setKingpin()
	if os.Getenv(asProgram) != "" {
		limitFiles()
		main()
	}
	_ = os.Setenv("COLUMNS", "100")         // kingpin wraps help at the terminal's width
	debug.SetMemoryLimit(math.MaxInt64 - 1) // as GOMEMLIMIT would: programs that run within the tests leave it
	code := soak.Main(m)
	if threeDays != "" {
		_ = os.RemoveAll(threeDays) // it is a temporary directory
	}
	os.Exit(code)
}

// spawn starts promcost as a process, which listens on a port that the kernel chooses, and returns its URL once it does.
func spawn(t *testing.T, args ...string) string {
	t.Helper()
	return spawnCommand(t, exec.CommandContext(t.Context(), os.Args[0], append(args, "--web.listen-address=127.0.0.1:0")...))
}

// spawnCommand starts a command that becomes promcost, as spawn does.
func spawnCommand(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		<-drained
		cmd.Wait() //nolint:errcheck // it was killed
	})
	select {
	case found := <-address:
		return "http://" + found
	case <-drained:
		t.Fatal("promcost ended before it listened")
	case <-time.After(patience):
		t.Fatal("promcost does not listen")
	}
	return ""
}

// writeTruth writes a demo and reads its exact costs.
func writeTruth(t *testing.T, flags ...string) (dir string, truth *democluster.Truth) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "demo")
	p := start(t, append([]string{"demo", "--write=" + dir}, flags...)...)
	if code := <-p.code; code != exitOK {
		t.Fatalf("demo --write: exit %d: %s", code, p.err.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	truth = &democluster.Truth{}
	if err := json.Unmarshal(text, truth); err != nil {
		t.Fatal(err)
	}
	return dir, truth
}

// askFor asks promcost about a window and decodes what it answers.
func askFor(t *testing.T, url string, start, end time.Time, query string, reply any) {
	t.Helper()
	window := start.Format(time.RFC3339) + "," + end.Format(time.RFC3339)
	code, body := get(t, url+"?window="+neturl.QueryEscape(window)+"&"+query)
	if code != 200 {
		t.Fatalf("%s: %d %.500s", url, code, body)
	}
	if err := json.Unmarshal([]byte(body), reply); err != nil {
		t.Fatal(err)
	}
}

// TestTruth compares what promcost, a process beside a real Prometheus, answers with what the demo cluster costs exactly:
// by streamed remote read and by the query API, on the grid of 1m and with every sample.
func TestTruth(t *testing.T) {
	t.Parallel()
	dir, truth := writeTruth(t, "--demo.end=2026-03-03T12:00:00Z", "--demo.duration=26h", "--demo.seed=3")
	server := promtest.Start(t, dir, promtest.Config{})
	bases := map[string]string{
		"remote read": spawn(t, "serve", "--storage.path=", "--prometheus.url="+server, "--source=remote-read"),
		"query API":   spawn(t, "serve", "--storage.path=", "--prometheus.url="+server, "--source=query"),
		"blocks":      spawn(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir),
	}
	for resolution, apart := range truthGrids() {
		exact, query := resolution == "exact", unshared+resolution
		want, wantAssets := trueAllocations(truth, apart), trueAssets(truth)
		first, _ := allocations(t, bases["remote read"], truth.Start, truth.End, query)
		firstAssets := listedAssets(t, bases["remote read"], truth.Start, truth.End, query)
		t.Run("remote read/"+resolution, func(t *testing.T) {
			compareAllocations(t, first, want, exact)
			compareBounds(t, first, want, exact)
			compareAssets(t, firstAssets, wantAssets, exact)
			checkConserved(t, first, firstAssets)
		})
		t.Run("edges/"+resolution, func(t *testing.T) { checkEdges(t, bases["blocks"], first, truth, query) })
		for _, other := range []string{"query API", "blocks"} {
			t.Run(other+"/"+resolution, func(t *testing.T) {
				got, _ := allocations(t, bases[other], truth.Start, truth.End, query)
				gotAssets := listedAssets(t, bases[other], truth.Start, truth.End, query)
				compareAllocations(t, got, want, exact)
				compareBounds(t, got, want, exact)
				compareAssets(t, gotAssets, wantAssets, exact)
				checkConserved(t, got, gotAssets)
				switch {
				case other == "blocks":
					compareAnswers(t, got, first)
					compareAnswers(t, gotAssets, firstAssets)
				case !exact:
					// What was not seen for less than 5 minutes is not known of a server that samples: it shows what it saw last.
					compareAnswers(t, got.seen(want), first.seen(want), "errorBounds")
					ended := func(r rows) float64 { return r.sum("networkCost") - r.seen(want).sum("networkCost") }
					gotAssets["Network/network"].figures["totalCost"] += ended(first) - ended(got)
					compareAnswers(t, gotAssets, firstAssets)
				}
			})
		}
	}
}

// TestTruthSeeds compares other clusters with what they cost exactly, from their blocks.
func TestTruthSeeds(t *testing.T) {
	t.Parallel()
	for _, seed := range soak.Of([]string{"11"}, []string{"11", "29"}) {
		dir, truth := writeTruth(t, "--demo.end=2026-03-03T12:00:00Z", "--demo.duration=26h", "--demo.seed="+seed)
		base := spawn(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir)
		for resolution, apart := range truthGrids() {
			t.Run(seed+"/"+resolution, func(t *testing.T) {
				query := unshared + resolution
				got, _ := allocations(t, base, truth.Start, truth.End, query)
				gotAssets := listedAssets(t, base, truth.Start, truth.End, query)
				compareAllocations(t, got, trueAllocations(truth, apart), resolution == "exact")
				compareBounds(t, got, trueAllocations(truth, apart), resolution == "exact")
				compareAssets(t, gotAssets, trueAssets(truth), resolution == "exact")
				checkConserved(t, got, gotAssets)
				checkEdges(t, base, got, truth, query)
			})
		}
	}
}

// unshared asks for costs that are nobody's share of others, at a resolution that follows.
const unshared = "shareTenancyCosts=false&resolution="

// checkEdges asks for windows with edges where nothing was scraped: before the first sample, and before, in and after the outage
// of kube-state-metrics. Costs are conserved in all of them, nothing is charged for time without data, and a warning names the
// hours.
func checkEdges(t *testing.T, base string, whole rows, truth *democluster.Truth, query string) {
	t.Helper()
	outage := truth.Start.Add(truth.End.Sub(truth.Start) * 85 / 100)
	for _, w := range [][2]time.Time{
		{truth.Start.Add(-48 * time.Hour), truth.End},
		{outage.Add(-20 * time.Minute), outage.Add(6 * time.Minute)},
		{outage.Add(3 * time.Minute), outage.Add(10 * time.Minute)},
		{outage.Add(6 * time.Minute), outage.Add(30 * time.Minute)},
	} {
		got, warnings := allocations(t, base, w[0], w[1], query)
		checkConserved(t, got, listedAssets(t, base, w[0], w[1], query))
		if len(warnings) == 0 {
			t.Errorf("no warning about %v", w)
		}
		if w[0].Before(truth.Start) {
			for _, figure := range sums {
				if got, want := got.sum(figure), whole.sum(figure); math.Abs(got/want-1) > 0.002 {
					t.Errorf("%s: with 48 h without data before it, the window has %v, else %v", figure, got, want)
				}
			}
		}
	}
}
