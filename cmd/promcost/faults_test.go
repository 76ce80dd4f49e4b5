package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

// troubled is a promcost, as a process of its own, under a fault.
type troubled struct {
	*daemon
	question string // a question whose answer is known
	want     rightAnswer
	// disturb makes trouble while the questions of a round run, nil if the data are the only trouble. mend ends it for good.
	disturb func(round int)
	mend    func()
	// after checks what is left; it may be nil.
	after   func()
	warning string // a warning that answers have, "" where they may have any
	calm    bool   // every question of a round is answered
	budget  int64  // of --query.max-memory in bytes, 0 without the flag
}

// fault is something that promcost has to live with.
type fault struct {
	name  string
	begin func(t *testing.T) *troubled
	long  bool // it is tried with -soak only: the loop waits for half a minute before it tries again
	slow  bool // a round takes minutes with -soak and the race detector
}

// rounds is how many rounds it has at least.
func (f *fault) rounds() int {
	if f.slow {
		return 2
	}
	return soak.Of(2, 10)
}

// faults are all of them.
var faults = []fault{
	{name: "object store fails half-way", begin: func(t *testing.T) *troubled { return troubledStore(t, (*objectStore).halfWay) }},
	{name: "object store is slow", begin: func(t *testing.T) *troubled { return troubledStore(t, (*objectStore).slowly) }},
	{name: "object store lists late", begin: func(t *testing.T) *troubled { return troubledStore(t, (*objectStore).listLate) }, long: true},
	{name: "blocks are damaged and restored", begin: damagedBlocks},
	{name: "blocks are compacted away", begin: compactedBlocks},
	{name: "odd samples in blocks", begin: func(t *testing.T) *troubled { return oddSamples(t, sourceBlocks) }},
	{name: "odd samples by remote read", begin: func(t *testing.T) *troubled { return oddSamples(t, sourceRemoteRead) }},
	{name: "odd samples by the query API", begin: func(t *testing.T) *troubled { return oddSamples(t, sourceQuery) }},
	{name: "many series in a scrape", begin: func(t *testing.T) *troubled { return manySeries(t, sourceBlocks, 128<<20, oneScrape) }},
	{name: "many series in a scrape, by remote read", begin: func(t *testing.T) *troubled { return manySeries(t, sourceRemoteRead, 128<<20, oneScrape) }},
	{name: "many series of short-lived pods", begin: func(t *testing.T) *troubled { return manySeries(t, sourceBlocks, 128<<20, shortPods) }},
	{name: "many series of no use", begin: func(t *testing.T) *troubled { return manySeries(t, sourceBlocks, 32<<20, foreignSeries) }},
	{name: "10,000 files", begin: manyFiles, slow: true},
	{name: "Prometheus dies in mid-stream", begin: dyingPrometheus},
}

// TestFaults asks a promcost under each fault, from several clients at once. Every answer is right, has a warning, or is an
// error of 502 to 504 that says what to do; nothing panics or races; once the fault is over all is right again, and neither
// goroutines nor descriptors have become more. With -soak each goes on for its share of -soak.duration.
func TestFaults(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\trounds\trequests\terrors\tp50\tp99\tpeak memory\tgoroutines\tdescriptors\t")
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if f.long && !soak.On() {
				t.Skip("with -soak only")
			}
			x := f.begin(t)
			before := x.takes(t)
			peak := watchMemory(t, x.Process.Pid)
			var a asked
			until := time.Now().Add(soak.Duration() / time.Duration(len(faults)))
			rounds := 0
			for rounds < f.rounds() || time.Now().Before(until) {
				x.round(t, rounds, &a)
				rounds++
				if t.Failed() {
					break
				}
			}
			if x.mend != nil {
				x.mend()
			}
			eventually(t, "answers are not right once the fault is over", func() bool {
				r := x.ask(t, x.question)
				diff, _ := x.differs(r.body)
				return r.code == http.StatusOK && diff == ""
			})
			if x.after != nil {
				x.after()
			}
			http.DefaultClient.CloseIdleConnections()
			after := x.takes(t)
			if log := x.err.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
				t.Error("it races or panics")
			}
			if after.goroutines > before.goroutines+50 || after.descriptors > before.descriptors+50 {
				t.Errorf("goroutines and descriptors before %+v, after %+v", before, after)
			}
			if most := mostMemory(x.budget); soak.On() && x.budget > 0 && peak() > most {
				t.Errorf("RssAnon was %d MB, at most %d are allowed", peak()>>20, most>>20)
			}
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%d MB\t%d → %d\t%d → %d\t\n", f.name, rounds, len(a.took), a.errors, a.quantile(0.5), a.quantile(0.99),
				peak()>>20, before.goroutines, after.goroutines, before.descriptors, after.descriptors)
		})
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
}

// asked is what was asked and how it went.
type asked struct {
	mu     sync.Mutex
	took   []time.Duration
	errors int
}

// note adds a request.
func (a *asked) note(r replied) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took = append(a.took, r.took)
	if r.code != http.StatusOK {
		a.errors++
	}
}

// quantile is the time that a share of the requests took at most.
func (a *asked) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(a.took))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(time.Millisecond)
}

// replied is the answer to a request.
type replied struct {
	code int
	body string
	took time.Duration
}

// clients is how many ask at once.
const clients = 3

// round makes trouble and asks meanwhile.
func (x *troubled) round(t *testing.T, n int, a *asked) {
	t.Helper()
	var group sync.WaitGroup
	if x.disturb != nil {
		group.Go(func() { x.disturb(n) })
	}
	for range clients {
		group.Go(func() {
			path, query, _ := strings.Cut(x.question, "?")
			assets := "/assets?" // which are computed
			if path == "/model/allocation" {
				assets = "/model/assets?" // assets of stored sets
				query = strings.Replace(query, "aggregate=namespace&", "", 1)
			}
			for _, path := range []string{x.question, "/metrics", "/-/healthy", x.question + "&format=csv", assets + query} {
				r := x.ask(t, path)
				a.note(r)
				x.check(t, path, r)
			}
		})
	}
	group.Wait()
}

// ask sends a request.
func (x *troubled) ask(t *testing.T, path string) replied {
	begun := time.Now()
	resp, err := http.Get(x.url + path)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return replied{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return replied{resp.StatusCode, string(body), time.Since(begun)}
}

// check holds an answer to what every answer must be.
func (x *troubled) check(t *testing.T, path string, r replied) {
	switch {
	case r.code == http.StatusOK && path == x.question:
		if diff, warned := x.differs(r.body); diff != "" && !warned {
			t.Errorf("%s is wrong and has no warning: %s", path, diff)
		}
	case r.code == http.StatusOK:
	case x.calm, r.code < http.StatusBadGateway || r.code > http.StatusGatewayTimeout || strings.HasPrefix(path, "/-/") || path == "/metrics" || len(r.body) < 20:
		t.Errorf("%s: %d %.500s", path, r.code, r.body)
	}
}

// rightAnswer is what a promcost without trouble answers.
type rightAnswer struct {
	Data     []map[string]map[string]any
	Warnings []string
}

// differs says how an answer differs from what is right, "" if it does not, and whether it has a warning that the right one
// lacks.
func (x *troubled) differs(body string) (how string, warned bool) {
	var got rightAnswer
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Data) != 1 {
		return fmt.Sprintf("%v in %.300s", err, body), false
	}
	warned = slices.ContainsFunc(got.Warnings, func(w string) bool { return !slices.Contains(x.want.Warnings, w) })
	if x.warning != "" && !strings.Contains(strings.Join(got.Warnings, "\n"), x.warning) {
		return "it lacks the warning: " + x.warning, warned
	}
	rows, want := got.Data[0], x.want.Data[0]
	if len(rows) != len(want) {
		return fmt.Sprintf("%d rows, want %d", len(rows), len(want)), warned
	}
	for name, fields := range want {
		for field, v := range fields {
			want, number := v.(float64)
			if got, ok := rows[name][field].(float64); number && (!ok || max(got-want, want-got) > 1e-9*max(want, -want)) {
				return fmt.Sprintf("%s of %s is %v, want %v", field, name, rows[name][field], want), warned
			}
		}
	}
	return "", warned
}

// taken is what a process takes.
type taken struct{ goroutines, descriptors int }

// right asks a promcost without trouble.
func right(t *testing.T, url string) (want rightAnswer) {
	t.Helper()
	code, body := get(t, url)
	if err := json.Unmarshal([]byte(body), &want); code != http.StatusOK || err != nil || len(want.Data) != 1 || len(want.Data[0]) < 4 {
		t.Fatalf("%s: %d, %v: %.500s", url, code, err, body)
	}
	return want
}

// takes reads what the process takes.
func (x *troubled) takes(t *testing.T) (r taken) {
	t.Helper()
	for name, to := range map[string]*int{"go_goroutines": &r.goroutines, "process_open_fds": &r.descriptors} {
		*to, _ = strconv.Atoi(metric(t, x.url, name))
	}
	return r
}
