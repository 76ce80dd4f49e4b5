package kubeapi_test

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// running is an API that notices soon when an hour closes.
func running(t *testing.T, f *fake, cfg kubeapi.Config) *api {
	t.Helper()
	cfg.Poll = time.Millisecond
	a := newAPI(t, f, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx, func(error) {})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return a
}

// following is a watch of a test.
type following struct {
	t *testing.T
	watch.Interface
}

// follow begins a watch.
func (a *api) follow(t *testing.T, namespace string, o *internalversion.ListOptions) *following {
	t.Helper()
	w, err := a.resources["allocations"].Watch(in(t, namespace), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Stop()
		for range w.ResultChan() { // until it is closed
		}
	})
	return &following{t, w}
}

// until are the events up to the first bookmark whose version is at least that.
func (w *following) until(version int64) string {
	w.t.Helper()
	var seen []string
	for e := range w.ResultChan() {
		m, err := meta.Accessor(e.Object)
		if err != nil {
			w.t.Fatalf("%s: %+v", e.Type, e.Object)
		}
		text := string(e.Type)
		if e.Type != watch.Bookmark {
			text += " " + nameOf(w.t, e.Object)
		}
		if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			text += " initial"
		}
		seen = append(seen, text)
		if e.Type == watch.Bookmark && m.GetResourceVersion() >= strconv.FormatInt(version, 10) {
			return strings.Join(seen, ", ")
		}
	}
	w.t.Fatalf("the watch ended after %q", seen)
	return ""
}

// TestWatch follows pods over two hours. Its bookmarks are those of closed hours alone.
func TestWatch(t *testing.T) {
	yes, no := true, false
	next := func(p []pod) []pod { // web-1 moves to n2, web-2 ends, web-3 begins; all end later
		p[0].node = "n2"
		p[1].name = "web-3"
		return p
	}
	for _, tc := range []struct {
		name, namespace, field, version string
		initial                         *bool
		first, then                     string
	}{
		{"everything", "shop", "", "", nil, "", "ADDED shop/db-0, ADDED shop/web-1, ADDED shop/web-2, MODIFIED shop/db-0, MODIFIED shop/web-1, DELETED shop/web-2, ADDED shop/web-3, BOOKMARK"},
		{"from any version", "shop", "spec.pod=db-0", "0", nil, "", "ADDED shop/db-0, MODIFIED shop/db-0, BOOKMARK"},
		{"what a list had", "shop", "", "1772712000", nil, "", "MODIFIED shop/db-0, MODIFIED shop/web-1, DELETED shop/web-2, ADDED shop/web-3, BOOKMARK"},
		{"without what there is", "shop", "", "", &no, "", "MODIFIED shop/db-0, MODIFIED shop/web-1, DELETED shop/web-2, ADDED shop/web-3, BOOKMARK"},
		{"as a list", "shop", "spec.node=n1", "", &yes, "ADDED shop/web-1, BOOKMARK initial", "DELETED shop/web-1, BOOKMARK"},
		{"no longer selected", "shop", "spec.node=n1", "1772712000", nil, "", "DELETED shop/web-1, BOOKMARK"},
		{"selected at last", "shop", "spec.node=n2", "1772712000", nil, "", "ADDED shop/web-1, DELETED shop/web-2, ADDED shop/web-3, BOOKMARK"},
		{"one object in its window", "shop", "metadata.name=db-0:7d", "", nil, "", "ADDED shop/db-0:7d, MODIFIED shop/db-0:7d, BOOKMARK"},
		{"all namespaces", "", "spec.controllerKind=statefulset", "1772712000", nil, "", "MODIFIED search/index-0, MODIFIED shop/db-0, BOOKMARK"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			a := running(t, f, kubeapi.Config{Bookmarks: time.Hour})
			o := options(t, tc.field, "")
			o.AllowWatchBookmarks, o.ResourceVersion, o.SendInitialEvents = true, tc.version, tc.initial
			if tc.initial != nil && *tc.initial {
				o.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
			}
			w := a.follow(t, tc.namespace, o)
			if tc.first != "" {
				if diff := cmp.Diff(tc.first, w.until(hour.Unix())); diff != "" {
					t.Error(diff)
				}
			}
			f.do(func() { f.closed, f.pods = hour.Add(time.Hour), next(f.pods) })
			if diff := cmp.Diff(tc.then, w.until(hour.Add(time.Hour).Unix())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWatchBookmarks waits for bookmarks of an hour in which nothing happens.
func TestWatchBookmarks(t *testing.T) {
	a := running(t, newFake(), kubeapi.Config{Bookmarks: time.Millisecond})
	o := options(t, "spec.pod=none", "")
	o.AllowWatchBookmarks = true
	w := a.follow(t, "", o)
	for range 3 {
		if got := w.until(hour.Unix()); got != "BOOKMARK" {
			t.Error(got)
		}
	}
}

// TestWatchVersions begins watches where there is nothing to begin with.
func TestWatchVersions(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	for version, want := range map[string]string{
		"1772708400": "Expired: too old resource version: 1772708400 (1772712000): list again",
		"1772715600": "Timeout: Timeout: Too large resource version: 1772715600, current: 1772712000",
		"x":          `BadRequest: resourceVersion "x" is not valid: give that of a list`,
	} {
		o := options(t, "", "")
		o.ResourceVersion = version
		_, err := a.resources["allocations"].Watch(in(t, ""), o)
		if diff := cmp.Diff(want, reason(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWatchOutlivesFailures has promcost fail when an hour closes: the watch goes on once it answers again.
func TestWatchOutlivesFailures(t *testing.T) {
	f := newFake()
	a := running(t, f, kubeapi.Config{Bookmarks: time.Hour})
	o := options(t, "", "")
	o.AllowWatchBookmarks, o.ResourceVersion = true, strconv.FormatInt(hour.Unix(), 10)
	w := a.follow(t, "search", o)
	before := f.questions()
	f.do(func() { f.closed, f.broken = hour.Add(time.Hour), true })
	for f.questions() < before+3 { // it tries again and again
		runtime.Gosched()
	}
	f.do(func() { f.broken = false })
	if diff := cmp.Diff("MODIFIED search/index-0, MODIFIED search/web-1, BOOKMARK", w.until(hour.Add(time.Hour).Unix())); diff != "" {
		t.Error(diff)
	}
}
