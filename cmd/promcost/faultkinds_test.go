package main

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// troubledQuestion is what is asked of the demo of troubledDemo.
const troubledQuestion = "/model/allocation/compute?" + faultyWindow

// troubledDemo writes a demo's blocks, and says what a promcost that keeps its history in storage answers to a question.
func troubledDemo(t *testing.T, storage, question string) (blocks string, want rightAnswer) {
	t.Helper()
	blocks, _ = writeTruth(t, "--demo.end=2026-03-02T03:20:00Z", "--demo.duration=5h", "--demo.nodes=4", "--demo.pods=40", "--demo.scrape-interval="+soak.Of("2m", "30s"))
	sound := runDaemon(t, "serve", "--storage.path="+storage, "--source=blocks", "--tsdb.path="+blocks)
	want = right(t, sound.url+question)
	if err := sound.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	return blocks, want
}

// troubledStore keeps the history in an object store that fails in a way.
func troubledStore(t *testing.T, trouble func(*objectStore)) *troubled {
	t.Helper()
	const stored = "/model/allocation?" + faultyWindow
	blocks, want := troubledDemo(t, t.TempDir(), stored)
	store, config := openStore(t, t.TempDir())
	x := &troubled{question: stored, want: want}
	x.daemon = runDaemon(t, "serve", "--source=blocks", "--tsdb.path="+blocks, "--storage.config="+config)
	x.disturb = func(int) { trouble(store) }
	x.mend = func() {
		store.trouble.Store(nil)
		store.late.Store(0)
	}
	x.after = func() {
		eventually(t, "its loop does not keep the hours", func() bool {
			_, body := get(t, x.url+"/-/ready")
			return body == "promcost is ready.\n" && metric(t, x.url, `promcost_store_sets\{length="hour"\}`) == "5"
		})
		if out := mustRun(t, "history", "verify", "--storage.config="+config); strings.Contains(out, "0 sets") {
			t.Errorf("it has kept nothing: %s", out)
		}
	}
	return x
}

// halfWay breaks one of four requests: a read in its middle, a write before or after the object is stored.
func (o *objectStore) halfWay() {
	var n atomic.Int64
	trouble := func(w http.ResponseWriter, r *http.Request, key string) bool {
		if n.Add(1)%4 != 0 {
			return false
		}
		switch {
		case key == "":
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		case r.Method == http.MethodPut && n.Load()%8 == 0:
			o.change(w, r, filepath.Join(o.dir, filepath.FromSlash(key)))
		case r.Method == http.MethodGet:
			if data, err := os.ReadFile(filepath.Join(o.dir, filepath.FromSlash(key))); err == nil {
				w.Header().Set("Content-Length", strconv.Itoa(len(data)))
				w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
				w.Header().Set("ETag", `"x"`)
				_, _ = w.Write(data[:len(data)/2])
				_ = http.NewResponseController(w).Flush()
			}
		}
		panic(http.ErrAbortHandler)
	}
	o.trouble.Store(&trouble)
}

// slowly answers late.
func (o *objectStore) slowly() {
	trouble := func(http.ResponseWriter, *http.Request, string) bool {
		time.Sleep(soak.Of(time.Millisecond, 100*time.Millisecond))
		return false
	}
	o.trouble.Store(&trouble)
}

// listLate lists what is written some listings later.
func (o *objectStore) listLate() { o.late.Store(7) }

// copyBlocks is a copy of blocks that a test may change.
func copyBlocks(t *testing.T, blocks string) (dir string, names []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "tsdb")
	if err := os.CopyFS(dir, os.DirFS(blocks)); err != nil {
		t.Fatal(err)
	}
	return dir, blocksIn(t, dir)
}

// blocksIn are the directories of the blocks in one.
func blocksIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for i := range names {
		names[i] = filepath.Dir(names[i])
	}
	return names
}

// compact makes one block of several and returns its name; the several stay.
func compact(t *testing.T, dir string, names []string) (made string) {
	t.Helper()
	c, err := tsdb.NewLeveledCompactor(t.Context(), nil, promslog.NewNopLogger(), []int64{(24 * time.Hour).Milliseconds()}, nil, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	ids, err := c.Compact(dir, names, nil)
	if err != nil || len(ids) != 1 {
		t.Errorf("compact: %v, %v", ids, err)
		return ""
	}
	return ids[0].String()
}

// damagedBlocks flips bytes of chunks, indices and metadata, one after the other, and puts them right again.
func damagedBlocks(t *testing.T) *troubled {
	t.Helper()
	blocks, want := troubledDemo(t, "", troubledQuestion)
	dir, names := copyBlocks(t, blocks)
	x := &troubled{question: troubledQuestion, want: want, daemon: runDaemon(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir)}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same damage each time
	replace := func(name string, data []byte) {
		if err := os.WriteFile(name+".new", data, 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Error(err)
		}
	}
	x.disturb = func(round int) {
		file := filepath.Join(names[round%len(names)], []string{"chunks/000001", "index", "meta.json"}[round%3])
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			return
		}
		damaged := append([]byte(nil), data...)
		for range 50 {
			damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
		}
		replace(file, damaged)
		_ = x.ask(t, x.question)
		replace(file, data)
	}
	return x
}

// compactedBlocks compacts blocks and deletes those that went into it, while they are read, and puts them back in one step.
func compactedBlocks(t *testing.T) *troubled {
	t.Helper()
	blocks, want := troubledDemo(t, "", troubledQuestion)
	dir, names := copyBlocks(t, blocks)
	kept, _ := copyBlocks(t, blocks)
	x := &troubled{question: troubledQuestion, want: want, daemon: runDaemon(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir)}
	x.disturb = func(int) {
		made := compact(t, dir, names)
		if made == "" {
			return
		}
		for _, name := range names {
			if err := os.RemoveAll(name); err != nil {
				t.Error(err)
			}
		}
		_ = x.ask(t, x.question)
		for _, name := range names { // as they were before
			temporary := name + ".tmp-for-creation"
			err := os.CopyFS(temporary, os.DirFS(filepath.Join(kept, filepath.Base(name))))
			if err == nil {
				err = os.Rename(temporary, name)
			}
			if err != nil {
				t.Error(err)
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, made)); err != nil {
			t.Error(err)
		}
	}
	return x
}

// oddSamples reads what a Prometheus may have and nobody counts on: native histograms under names that are read, labels that
// are no UTF-8, and the same samples again, out of order.
func oddSamples(t *testing.T, source string) *troubled {
	t.Helper()
	blocks, want := troubledDemo(t, "", troubledQuestion)
	dir, names := copyBlocks(t, blocks)
	writeOddBlock(t, dir)
	repeatBlock(t, blocks, dir, filepath.Base(names[0]))
	x := &troubled{question: troubledQuestion, want: want, warning: "native histograms"}
	if source == sourceBlocks {
		x.daemon = runDaemon(t, "serve", "--storage.path=", "--source=blocks", "--tsdb.path="+dir)
		return x
	}
	if source == sourceQuery { // a source that answers on a grid
		sound := runDaemon(t, "serve", "--storage.path=", "--source=query", "--prometheus.url="+promtest.Start(t, blocks, promtest.Config{}))
		x.want = right(t, sound.url+troubledQuestion)
	}
	x.daemon = runDaemon(t, "serve", "--storage.path=", "--source="+source, "--prometheus.url="+promtest.Start(t, dir, promtest.Config{}))
	return x
}

// writeOddBlock writes a block of native histograms, and of series whose labels are no UTF-8.
func writeOddBlock(t *testing.T, dir string) {
	t.Helper()
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	w, err := tsdb.NewBlockWriter(promslog.NewNopLogger(), dir, 4*time.Hour.Milliseconds())
	if err != nil {
		t.Fatal(err)
	}
	app := w.Appender(t.Context())
	h := &histogram.Histogram{Schema: 1, ZeroThreshold: 0.001, Count: 3, Sum: 5, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []int64{3}}
	odd := labels.FromStrings("__name__", "kube_pod_labels", "namespace", "shop", "pod", "p\xff\xfe", "uid", "u\xff", "label_app", "\xc3\x28", "label_a\xffb", "x")
	for i := range int64(60) {
		at := start + i*time.Minute.Milliseconds()
		for _, metric := range []string{"container_cpu_usage_seconds_total", "kube_pod_container_status_running", "kube_node_info", "pv_hourly_cost"} {
			lset := labels.FromStrings("__name__", metric, "namespace", "shop", "pod", "native", "container", "app", "node", "n", "uid", "u", "persistentvolume", "v")
			if _, err := app.AppendHistogram(0, lset, at, h, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := app.Append(0, odd, at, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// repeatBlock adds a block once more, as one of samples that came out of order.
func repeatBlock(t *testing.T, from, dir, name string) {
	t.Helper()
	const again = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	if err := os.CopyFS(filepath.Join(dir, again), os.DirFS(filepath.Join(from, name))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, again, "meta.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer(name, again, `"level": 1`, `"level": 1, "hints": ["from-out-of-order"]`).Replace(string(text)))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// dyingPrometheus reads a Prometheus whose connections break after some bytes.
func dyingPrometheus(t *testing.T) *troubled {
	t.Helper()
	blocks, want := troubledDemo(t, "", troubledQuestion)
	upstream := strings.TrimPrefix(promtest.Start(t, blocks, promtest.Config{}), "http://")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var most atomic.Int64 // that an answer may have; 0 for any
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(c, upstream, most.Load())
		}
	}()
	x := &troubled{question: troubledQuestion, want: want}
	x.daemon = runDaemon(t, "serve", "--storage.path=", "--source=remote-read", "--prometheus.url=http://"+listener.Addr().String())
	rng := rand.New(rand.NewPCG(1, 3)) //nolint:gosec // the same deaths each time
	x.disturb = func(int) {
		for range soak.Of(3, 10) {
			most.Store(1 + rng.Int64N(200_000))
			_ = x.ask(t, x.question)
		}
		most.Store(0)
	}
	return x
}

// relay passes a connection on, and breaks it after so many bytes of answers unless that is 0.
func relay(c net.Conn, to string, most int64) {
	defer c.Close()
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		_, _ = io.Copy(up, c)
		_ = up.Close()
	}()
	if most == 0 {
		_, _ = io.Copy(c, up)
		return
	}
	_, _ = io.CopyN(c, up, most)
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset, as of a process that was killed
	}
}
