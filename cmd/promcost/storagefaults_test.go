package main

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
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

	"github.com/promcost/promcost/promquery/promtest/soak"
)

// mostFileBytes names the variable that bounds the size of files which the program may write. The kernel refuses longer ones, as
// it does if a disk is full.
const mostFileBytes = "PROMCOST_TEST_MOST_FILE_BYTES"

// limitFiles keeps to what the variable says.
func limitFiles() {
	most, err := strconv.ParseUint(os.Getenv(mostFileBytes), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		panic(err)
	}
}

// sameTotals compares the figures of answers.
func sameTotals(t *testing.T, want map[string]map[string]float64, url string) {
	t.Helper()
	got := totals(t, url)
	if len(got) != len(want) || len(got) < 4 {
		t.Errorf("%s: %d results, want %d", url, len(got), len(want))
	}
	for name, fields := range want {
		for field, v := range fields {
			if diff := math.Abs(got[name][field] - v); diff > 1e-9*math.Abs(v) {
				t.Errorf("%s: %s of %s is %v, want %v", url, field, name, got[name][field], v)
			}
		}
	}
}

// metric is the value of a metric without labels, "" if there is none.
func metric(t *testing.T, base, name string) string {
	t.Helper()
	_, body := get(t, base+"/metrics")
	if found := regexp.MustCompile("(?m)^" + name + " (.*)$").FindStringSubmatch(body); found != nil {
		return found[1]
	}
	return ""
}

const faultyWindow = "window=2026-03-02T00:00:00Z,2026-03-02T03:00:00Z&step=1h&aggregate=namespace&shareTenancyCosts=false&accumulate=true"

// TestCannotKeep serves while the disk is full or a folder cannot be made. Computed answers are sent all the same, what cannot be
// stored is reported, and no half-written file is left. Once there is room, it stores them.
func TestCannotKeep(t *testing.T) {
	samples, _ := writeTruth(t, "--demo.end=2026-03-02T03:20:00Z", "--demo.duration=5h", "--demo.nodes=4", "--demo.pods=40")
	want := totals(t, spawn(t, "serve", "--storage.path="+t.TempDir(), "--source=blocks", "--tsdb.path="+samples)+"/model/allocation?"+faultyWindow)
	for _, tt := range []struct {
		name        string
		spoil, mend func(t *testing.T, dir string)
		most        string
	}{
		{
			name: "full disk", most: "2000",
			spoil: func(*testing.T, string) {}, mend: func(*testing.T, string) {},
		},
		{
			name: "folder that cannot be made", // a directory that cannot be written to at all is refused at the start
			spoil: func(t *testing.T, dir string) {
				t.Helper()
				mustWrite(t, filepath.Join(dir, "allocations_hourly"))
			},
			mend: func(t *testing.T, dir string) {
				t.Helper()
				if err := os.Remove(filepath.Join(dir, "allocations_hourly")); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.spoil(t, dir)
			t.Setenv(mostFileBytes, tt.most)
			base := spawn(t, "serve", "--storage.path="+dir, "--source=blocks", "--tsdb.path="+samples)
			eventually(t, "it does not say that it cannot write", func() bool { return metric(t, base, "promcost_store_failing") == "1" })
			for range 2 {
				sameTotals(t, want, base+"/model/allocation?"+faultyWindow)
			}
			if code, body := get(t, base+"/-/healthy"); code != http.StatusOK {
				t.Errorf("healthy: %d %s", code, body)
			}
			if out := mustRun(t, "history", "ls", "--storage.path="+dir); !strings.Contains(out, "0 sets, 0 bytes") {
				t.Errorf("there is something:\n%s", out)
			}
			tt.mend(t, dir)
			t.Setenv(mostFileBytes, "")
			base = spawn(t, "serve", "--storage.path="+dir, "--source=blocks", "--tsdb.path="+samples)
			eventually(t, "it does not keep its hours", func() bool {
				return metric(t, base, "promcost_store_missing_sets") == "0" && metric(t, base, "promcost_store_failing") == "0" && metric(t, base, `promcost_store_sets{length="hour"}`) != ""
			})
			sameTotals(t, want, base+"/model/allocation?"+faultyWindow)
			mustRun(t, "history", "verify", "--storage.path="+dir)
		})
	}
}

func mustWrite(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// objectStore is a server that speaks as much of S3 as promcost takes, over a directory.
type objectStore struct {
	dir    string
	status atomic.Int32 // that all requests fail with; 0 for none, noAnswer where they are not answered
	asked  atomic.Int32
	// trouble, if not nil, gets each request and answers it, or returns false.
	trouble atomic.Pointer[func(w http.ResponseWriter, r *http.Request, key string) bool]
	late    atomic.Int32 // how many listings pass before an object that was written is listed
	lists   atomic.Int32
	written sync.Map // by key, the listing before which an object was written
}

const noAnswer = -1

// openStore starts an object store over a directory and returns it, and the name of its config file.
func openStore(t *testing.T, dir string) (store *objectStore, config string) {
	t.Helper()
	store = &objectStore{dir: dir}
	server := httptest.NewServer(store)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config = filepath.Join(t.TempDir(), "bucket.yaml")
	text := fmt.Sprintf(`type: S3
config:
  bucket: history
  endpoint: %s
  region: x
  insecure: true
  access_key: a
  secret_key: b
  bucket_lookup_type: path
  max_retries: 1
  http_config: {response_header_timeout: %s}
`, strings.TrimPrefix(server.URL, "http://"), soak.Of("10m", "300ms"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return store, config
}

// listing is what S3 answers a request for the names of objects with.
type listing struct {
	XMLName     xml.Name `xml:"ListBucketResult"`
	Name        string
	Prefix      string
	KeyCount    int
	MaxKeys     int
	IsTruncated bool
	Contents    []object
}

type object struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
}

func (o *objectStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.asked.Add(1)
	status := int(o.status.Load())
	if status == noAnswer && soak.On() {
		<-r.Context().Done()
		return
	}
	if status == noAnswer { // the connection breaks: only a timeout shows that it hangs
		panic(http.ErrAbortHandler)
	}
	if status != 0 {
		w.WriteHeader(status)
		fmt.Fprint(w, "<Error><Code>ServiceUnavailable</Code><Message>out of order</Message></Error>")
		return
	}
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/history"), "/")
	if trouble := o.trouble.Load(); trouble != nil && (*trouble)(w, r, key) {
		return
	}
	if key != "" && (r.Method == http.MethodPut || r.Method == http.MethodDelete) {
		o.change(w, r, filepath.Join(o.dir, filepath.FromSlash(key)))
		return
	}
	if key != "" {
		w.Header().Set("ETag", `"x"`)
		http.ServeFile(w, r, filepath.Join(o.dir, filepath.FromSlash(key)))
		return
	}
	if r.URL.Query().Has("location") {
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
		return
	}
	lists := o.lists.Add(1)
	list := listing{Name: "history", Prefix: r.URL.Query().Get("prefix"), MaxKeys: 1000}
	err := filepath.WalkDir(o.dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(o.dir, path)
		if err != nil || entry.IsDir() || !strings.HasPrefix(filepath.ToSlash(name), list.Prefix) {
			return err
		}
		if since, ok := o.written.Load(filepath.ToSlash(name)); ok && lists-since.(int32) <= o.late.Load() {
			return nil
		}
		info, err := entry.Info()
		if err == nil {
			list.Contents = append(list.Contents, object{filepath.ToSlash(name), info.ModTime().UTC().Format(time.RFC3339), `"x"`, info.Size()})
		}
		return err
	})
	if list.KeyCount = len(list.Contents); err == nil {
		err = xml.NewEncoder(w).Encode(list)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// change writes or deletes an object.
func (o *objectStore) change(w http.ResponseWriter, r *http.Request, path string) {
	data, err := io.ReadAll(unchunked(r))
	if r.Method == http.MethodDelete {
		_ = os.Remove(path) // to delete a missing file is no error
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if name, relErr := filepath.Rel(o.dir, path); relErr == nil {
		o.written.Store(filepath.ToSlash(name), o.lists.Load())
	}
	w.Header().Set("ETag", `"x"`)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// unchunked is the body of a request, which S3 has sent in chunks with signatures of their own, each after a line with its
// length in hexadecimal.
func unchunked(r *http.Request) io.Reader {
	if r.Header.Get("X-Amz-Decoded-Content-Length") == "" {
		return r.Body
	}
	in, out := bufio.NewReader(r.Body), &bytes.Buffer{}
	for {
		line, err := in.ReadString('\n')
		head, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, lengthErr := strconv.ParseInt(head, 16, 64)
		if err != nil || lengthErr != nil || n == 0 {
			return out
		}
		if _, err := io.CopyN(out, in, n); err != nil {
			return out
		}
		_, _ = in.ReadString('\n') // ends the chunk
	}
}

// TestBucketFails reads a history in an object store that fails and recovers: requests are made again, and what was answered
// before is answered again, with a warning.
func TestBucketFails(t *testing.T) {
	t.Parallel()
	blocks, dir := filepath.Join(t.TempDir(), "blocks"), t.TempDir()
	mustRun(t, "demo", "--write="+blocks, "--demo.end=2026-03-02T03:00:00Z", "--demo.nodes=4", "--demo.pods=40", "--demo.duration=5h", "--demo.scrape-interval=1m")
	mustRun(t, backfillArgs(blocks, dir, "--from=2026-03-01")...)
	store, config := openStore(t, dir)
	base := spawn(t, "serve", "--source=none", "--storage.config="+config)
	url := base + "/model/allocation?" + faultyWindow
	want := totals(t, url)
	for _, status := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable, noAnswer} {
		store.status.Store(int32(status))
		before := store.asked.Load()
		sameTotals(t, want, url)
		if n := store.asked.Load() - before; n < 3 {
			t.Errorf("status %d: it was asked %d times", status, n)
		}
		if _, body := get(t, url); !strings.Contains(body, "the history fails, so this is what it had when it was last asked") {
			t.Errorf("status %d: the answer does not warn: %.500s", status, body)
		}
		if code, body := get(t, base+"/model/allocation?window=2026-03-01T22:00:00Z,2026-03-02T00:00:00Z"); code != http.StatusBadGateway || !strings.Contains(body, "object store") {
			t.Errorf("status %d: what was not asked before is answered with %d: %s", status, code, body)
		}
		store.status.Store(0)
		if _, body := get(t, url); strings.Contains(body, "the history fails") {
			t.Errorf("after status %d it still fails: %.500s", status, body)
		}
		sameTotals(t, want, url)
	}
}

// TestBucketRecovers has promcost keep its hours in an object store that fails for its first minute: it answers all the same,
// says why it is behind, and its loop keeps all hours once the store works.
func TestBucketRecovers(t *testing.T) {
	t.Parallel()
	samples, _ := writeTruth(t, "--demo.end=2026-03-02T03:20:00Z", "--demo.duration=5h", "--demo.nodes=4", "--demo.pods=40")
	want := totals(t, spawn(t, "serve", "--storage.path="+t.TempDir(), "--source=blocks", "--tsdb.path="+samples)+"/model/allocation?"+faultyWindow)
	dir := t.TempDir()
	store, config := openStore(t, dir)
	store.status.Store(http.StatusServiceUnavailable)
	base := spawn(t, "serve", "--source=blocks", "--tsdb.path="+samples, "--storage.config="+config)
	url := base + "/model/allocation?" + faultyWindow
	for _, status := range []int{http.StatusServiceUnavailable, noAnswer} {
		store.status.Store(int32(status))
		sameTotals(t, want, url)
		if _, body := get(t, url); !strings.Contains(body, "the history fails") {
			t.Errorf("status %d: the answer does not warn: %.500s", status, body)
		}
	}
	if code, body := get(t, base+"/-/healthy"); code != http.StatusOK {
		t.Errorf("healthy: %d %s", code, body)
	}
	eventually(t, "it does not say why it is behind", func() bool {
		code, body := get(t, base+"/-/ready")
		return code == http.StatusOK && strings.Contains(body, "the history fails: list of bucket history")
	})
	store.status.Store(0)
	eventually(t, "its loop does not keep the hours", func() bool {
		_, body := get(t, base+"/-/ready")
		return body == "promcost is ready.\n" && metric(t, base, `promcost_store_sets\{length="hour"\}`) == "5"
	})
	sameTotals(t, want, url)
	mustRun(t, "history", "verify", "--storage.config="+config)
}

// TestStorageInAnImage serves where the default directory cannot be made, as in a container whose root is read only.
func TestStorageInAnImage(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("data", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"--storage.path=data":                          "it is below " + dir + ": in a container, mount a volume and name its directory, such as --storage.path=/data",
		"--storage.path=" + filepath.Join(dir, "data"): "give a directory that this user may write to",
	} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), []string{"serve", "--prometheus.url=http://127.0.0.1:1", flag}, &out, &stderr); code != exitError || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit %d: %s, want %q", flag, code, stderr.String(), want)
		}
	}
}

// readOnlyMount runs a command, its second argument, where a directory, its first one, is on a read-only file system.
const readOnlyMount = `dir=$1 && shift && mount --bind "$dir" "$dir" && mount -o remount,bind,ro "$dir" && exec "$@"`

// onReadOnly is promcost where a directory is on a read-only file system.
func onReadOnly(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	namespace := []string{"--user", "--map-root-user", "--mount", "sh", "-c"}
	if out, err := exec.CommandContext(t.Context(), "unshare", append(namespace, readOnlyMount, "sh", t.TempDir(), "true")...).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", slices.Concat(namespace, []string{readOnlyMount, "sh", dir, os.Args[0]}, args)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// TestReadOnlyMount serves a history of some hours on a read-only file system, with a source that has more. What it has is read, the rest is
// computed, nothing is written, and it says so. An empty directory is no history, and refused.
func TestReadOnlyMount(t *testing.T) {
	t.Parallel()
	samples, _ := writeTruth(t, "--demo.end=2026-03-02T03:20:00Z", "--demo.duration=5h", "--demo.nodes=4", "--demo.pods=40")
	over := func(dir, command string, more ...string) []string {
		return append([]string{command, "--source=blocks", "--tsdb.path=" + samples, "--storage.path=" + dir}, more...)
	}
	want := totals(t, spawn(t, over(t.TempDir(), "serve")...)+"/model/allocation?"+faultyWindow)
	dir := t.TempDir()
	mustRun(t, over(dir, "backfill", "--from=2026-03-01T22:00:00Z", "--to=2026-03-02T01:00:00Z")...)
	before := mustRun(t, "history", "ls", "--storage.path="+dir)
	if !strings.Contains(before, "2026-03-02T00:00:00Z") || strings.Contains(before, "2026-03-02T01:00:00Z  2026-03-02T02:00:00Z") {
		t.Fatalf("it has not the hour that it is to have and no later one:\n%s", before)
	}
	base := spawnCommand(t, onReadOnly(t, dir, append(over(dir, "serve"), "--web.listen-address=127.0.0.1:0")...))
	eventually(t, "it does not get ready", func() bool {
		code, body := get(t, base+"/-/ready")
		return code == http.StatusOK && strings.Contains(body, dir+": read-only file system: nothing is stored there") && strings.Contains(body, "mount it writable")
	})
	for range 2 {
		sameTotals(t, want, base+"/model/allocation?"+faultyWindow)
	}
	if _, body := get(t, base+"/model/allocation?"+faultyWindow); strings.Contains(body, "no costs from") || strings.Contains(body, "the history fails") {
		t.Errorf("an answer that is whole warns: %.500s", body)
	}
	if got := metric(t, base, "promcost_store_failing"); got != "1" {
		t.Errorf("promcost_store_failing is %q", got)
	}
	if got := metric(t, base, `promcost_namespace_hourly_cost\{[^}]*\}`); got == "" {
		t.Error("there are no costs of the last hour among the metrics")
	}
	if after := mustRun(t, "history", "ls", "--storage.path="+dir); after != before {
		t.Errorf("it was written to:\n%s", after)
	}
	empty := t.TempDir()
	for _, args := range [][]string{over(empty, "serve"), over(dir, "serve", "--shard=1/2"), over(dir, "backfill", "--from=2026-03-02T01:00:00Z")} {
		refused := onReadOnly(t, strings.TrimPrefix(args[3], "--storage.path="), args...)
		if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "read-only file system: give a directory that this user may write to") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

// TestHistoryGone takes the directory of the history away while it is served. It goes on to answer, with a warning, and /-/ready says what is
// wrong. Nothing is written, also once another directory is in its place: a history that begins anew would be taken for the whole.
func TestHistoryGone(t *testing.T) {
	t.Parallel()
	samples, _ := writeTruth(t, "--demo.end=2026-03-02T03:20:00Z", "--demo.duration=5h", "--demo.nodes=4", "--demo.pods=40")
	dir := filepath.Join(t.TempDir(), "history")
	base := spawn(t, "serve", "--storage.path="+dir, "--source=blocks", "--tsdb.path="+samples, "--web.enable-lifecycle")
	says := func(what string) bool {
		code, body := get(t, base+"/-/ready")
		return code == http.StatusOK && strings.Contains(body, what)
	}
	eventually(t, "it does not get ready", func() bool { return says("promcost is ready.") })
	url := base + "/model/allocation?" + faultyWindow
	want := totals(t, url)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, body := get(t, base+"/-/ready"); !says("the history is gone") || !says(dir) {
			t.Errorf("/-/ready says %q", body)
		}
		reread(t, base)
		eventually(t, "it does not say that it fails", func() bool { return metric(t, base, "promcost_store_failing") == "1" })
		sameTotals(t, want, url)
		if _, body := get(t, url); !strings.Contains(body, "the history fails") || !strings.Contains(body, "the history is gone") {
			t.Errorf("the answer does not warn: %.500s", body)
		}
		if made, err := os.ReadDir(dir); len(made) > 0 {
			t.Errorf("%d files were made in its place: %v", len(made), err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".old", dir)); err != nil {
		t.Fatal(err)
	}
	sameTotals(t, want, url)
	reread(t, base)
	eventually(t, "it does not see that it is there again", func() bool { return says("promcost is ready.") && metric(t, base, "promcost_store_failing") == "0" })
	mustRun(t, "history", "verify", "--storage.path="+dir)
}

// reread makes promcost read its configuration again, after which it computes the last hour again.
func reread(t *testing.T, base string) {
	t.Helper()
	resp, err := http.Post(base+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("reload: %s", resp.Status)
	}
}
