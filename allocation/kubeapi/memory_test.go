package kubeapi_test

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// many are pods of one namespace.
func many(n int) (list []pod) {
	for i := range n {
		list = append(list, pod{namespace: "shop", name: fmt.Sprintf("web-%06d", i), node: fmt.Sprint("n", i%50), kind: "deployment", controller: "web", uids: []string{fmt.Sprint("u", i)}, labels: map[string]string{"app": fmt.Sprint("app-", i%20), "tier": "front"}})
	}
	return list
}

// TestMemoryOfAnswers refuses an answer that is larger than all that may be kept.
func TestMemoryOfAnswers(t *testing.T) {
	f := newFake()
	f.pods = many(100)
	a := newAPI(t, f, kubeapi.Config{MaxMemory: 50 << 10})
	_, err := a.resources["allocations"].List(in(t, ""), nil)
	if !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("error %v", err)
	}
	if _, err = a.resources["allocations"].List(in(t, "search"), nil); err != nil { // a smaller one is answered
		t.Error(err)
	}
}

// TestMemoryOfSnapshots asks for more windows than can be kept: those that were used longest ago are read again.
func TestMemoryOfSnapshots(t *testing.T) {
	f := newFake()
	f.pods = many(20)
	a := newAPI(t, f, kubeapi.Config{MaxMemory: 100 << 10}) // room for a few
	get := func(window string) int {
		before := f.questions()
		if _, err := a.resources["allocations"].Get(in(t, "shop"), "web-000001:"+window, nil); err != nil {
			t.Fatal(err)
		}
		return f.questions() - before
	}
	for _, step := range []struct {
		window string
		want   int // requests
	}{{"1h", 3}, {"1h", 0}, {"2h", 3}, {"3h", 3}, {"4h", 3}, {"1h", 0}, {"5h", 3}, {"6h", 3}, {"7h", 3}, {"8h", 3}, {"9h", 3}, {"1h", 3}} {
		if got := get(step.window); got != step.want {
			t.Errorf("%s: %d requests, want %d", step.window, got, step.want)
		}
	}
}

// TestMemoryOfLists has lists being sent that take all memory: the next is asked to come again, until one is sent.
func TestMemoryOfLists(t *testing.T) {
	f := newFake()
	f.pods = many(20)
	a := newAPI(t, f, kubeapi.Config{MaxMemory: 200 << 10})
	r := a.resources["allocations"]
	first, sent := context.WithCancel(in(t, ""))
	if _, err := r.List(first, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.List(in(t, ""), nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("error %v", err)
	}
	o := options(t, "", "")
	o.Limit = 5
	if _, err := r.List(in(t, ""), o); err != nil {
		t.Errorf("a page: %v", err)
	}
	sent()
	for {
		_, err := r.List(in(t, ""), nil)
		if err == nil {
			break
		}
		if !apierrors.IsTooManyRequests(err) {
			t.Fatal(err)
		}
	}
}

// TestMemoryOfWatches refuses watches of further windows once those that are watched take all memory.
func TestMemoryOfWatches(t *testing.T) {
	f := newFake()
	f.pods = many(20)
	a := newAPI(t, f, kubeapi.Config{MaxMemory: 100 << 10})
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = a.resources["allocations"].Watch(in(t, ""), options(t, fmt.Sprintf("spec.pod=none,spec.window=%dh", i+1), ""))
	}
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("error %v", err)
	}
}

// TestMemoryOfWaiting has requests for many windows wait for promcost: there is an end to them.
func TestMemoryOfWaiting(t *testing.T) {
	f := newFake()
	f.release = make(chan struct{})
	a := newAPI(t, f, kubeapi.Config{})
	if _, err := a.resources["assets"].List(in(t, ""), nil); err != nil { // it knows which hour is closed
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(in(t, "shop"))
	cancel() // they need not wait
	var err error
	for i := 0; i < 1000 && !apierrors.IsTooManyRequests(err); i++ {
		_, err = a.resources["allocations"].Get(ctx, fmt.Sprintf("web-1:%dh", i+1), nil)
	}
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("error %v", err)
	}
	close(f.release)
}

// TestSharedReading has many ask for one window at once: promcost is asked once.
func TestSharedReading(t *testing.T) {
	f := newFake()
	f.release = make(chan struct{})
	a := newAPI(t, f, kubeapi.Config{})
	failed := make(chan error)
	for range 10 {
		go func() {
			_, err := a.resources["allocations"].List(in(t, ""), nil)
			failed <- err
		}()
	}
	close(f.release)
	for range 10 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if f.questions() != 3 {
		t.Errorf("promcost was asked %d times, want 3", f.questions())
	}
}

// TestSlow has requests end before promcost has answered: the next finds the answer that was read meanwhile.
func TestSlow(t *testing.T) {
	f := newFake()
	f.release = make(chan struct{})
	a := newAPI(t, f, kubeapi.Config{})
	if _, err := a.resources["assets"].List(in(t, ""), nil); err != nil { // it knows which hour is closed
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(in(t, "shop"))
	cancel()
	if _, err := a.resources["allocations"].List(ctx, nil); !apierrors.IsTimeout(err) {
		t.Errorf("error %v", err)
	}
	before := f.questions()
	close(f.release)
	list, err := a.resources["allocations"].List(in(t, "shop"), nil)
	if err != nil || names(t, list) != "shop/db-0 shop/web-1 shop/web-2" {
		t.Errorf("%v: %v", list, err)
	}
	if asked := f.questions() - before; asked != 3 {
		t.Errorf("promcost was asked %d times, want 3", asked)
	}
}
