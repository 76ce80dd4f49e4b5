package kubeapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Watch implements rest.Watcher. When an hour closes, the watch gets what differs from the hour before, then a bookmark if it takes
// them. The window of all objects moves then, so nearly all are modified.
func (r *Resource) Watch(ctx context.Context, o *internalversion.ListOptions) (watch.Interface, error) {
	if o == nil {
		o = &internalversion.ListOptions{}
	}
	sel, err := r.selects(o)
	if err != nil {
		return nil, err
	}
	_, changed, err := r.server.now(ctx) // before the snapshot: an hour that closes meanwhile is noticed
	if err != nil {
		return nil, err
	}
	e, err := r.snapshot(ctx, sel.window)
	if err != nil {
		return nil, err
	}
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	whole := initial || o.SendInitialEvents == nil && (o.ResourceVersion == "" || o.ResourceVersion == "0")
	if !whole && o.ResourceVersion != "" && o.ResourceVersion != "0" {
		asked, err := parseVersion(o.ResourceVersion)
		switch {
		case err != nil:
			return nil, err
		case asked < e.version:
			return nil, tooOld(asked, e.version)
		case asked > e.version:
			return nil, tooNew(asked, e.version)
		}
	} else if err := r.checkVersion(o, e.version); err != nil {
		return nil, err
	}
	if err := r.server.watched(e, 1); err != nil {
		return nil, err
	}
	if whole {
		r.notify(ctx, e.snapshot)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watching{
		resource: r, sel: sel, entry: e, changed: changed, ctx: ctx, cancel: cancel, events: make(chan watch.Event),
		bookmarks: o.AllowWatchBookmarks,
	}
	go w.run(whole, initial)
	return w, nil
}

// watching is a watch. It implements watch.Interface.
type watching struct {
	resource  *Resource
	sel       *selected
	entry     *entry // what the client has
	changed   <-chan struct{}
	ctx       context.Context //nolint:containedctx // of the request, which is what a watch is
	cancel    context.CancelFunc
	events    chan watch.Event
	bookmarks bool
}

// Stop implements watch.Interface.
func (w *watching) Stop() { w.cancel() }

// ResultChan implements watch.Interface.
func (w *watching) ResultChan() <-chan watch.Event { return w.events }

// run sends events until the watch is stopped. whole sends what there is first, marked says when that is done.
func (w *watching) run(whole, marked bool) {
	defer close(w.events)
	defer w.cancel()
	defer func() { _ = w.resource.server.watched(w.entry, -1) }() // releasing never fails
	if whole {
		w.difference(nil, w.entry.snapshot)
		if marked && !w.bookmark(metav1.InitialEventsAnnotationKey) {
			return
		}
	}
	tick := time.NewTicker(w.resource.server.cfg.Bookmarks)
	defer tick.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.changed:
			if err := w.advance(); err != nil {
				w.send(watch.Error, statusOf(err))
				return
			}
		case <-tick.C:
		}
		if !w.bookmark("") {
			return
		}
	}
}

// statusOf is an error as clients of a watch get it.
func statusOf(err error) *metav1.Status {
	known, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		known = apierrors.NewInternalError(err)
	}
	return &known.ErrStatus
}

// advance sends what differs in the newest closed hour.
func (w *watching) advance() (err error) {
	var newer *entry
	for {
		if _, w.changed, err = w.resource.server.now(w.ctx); err == nil {
			newer, err = w.resource.snapshot(w.ctx, w.sel.window)
		}
		if err == nil || w.ctx.Err() != nil {
			break
		}
		select { // promcost may be down for a while: the client need not know
		case <-w.ctx.Done():
		case <-time.After(w.resource.server.cfg.Poll):
		}
	}
	if err != nil {
		return err
	}
	if newer == w.entry {
		return nil
	}
	if err := w.resource.server.watched(newer, 1); err != nil {
		return err
	}
	old := w.entry
	w.entry = newer
	w.difference(old.snapshot, newer.snapshot)
	return w.resource.server.watched(old, -1)
}

// difference sends the events that lead from a snapshot to another.
func (w *watching) difference(old, now *snapshot) {
	var none snapshot
	if old == nil {
		old = &none
	}
	a, b := w.resource.bounds(w.ctx, old), w.resource.bounds(w.ctx, now)
	i, j := a[0], b[0]
	for (i < a[1] || j < b[1]) && w.ctx.Err() == nil {
		order := 0
		switch {
		case i == a[1]:
			order = 1
		case j == b[1]:
			order = -1
		default:
			order = compareItems(old.items[i], now.items[j])
		}
		var before, after *item
		if order <= 0 {
			before = &old.items[i]
			i++
		}
		if order >= 0 {
			after = &now.items[j]
			j++
		}
		w.event(now, before, after)
	}
}

// event sends what became of an item. What is no longer selected is deleted for the client.
func (w *watching) event(now *snapshot, before, after *item) {
	was, is := before != nil && w.sel.matches(before), after != nil && w.sel.matches(after)
	kind, it := watch.Modified, after
	switch {
	case was && !is:
		kind, it = watch.Deleted, before
	case is && !was:
		kind = watch.Added
	case !was || reflect.DeepEqual(before.body, after.body) && reflect.DeepEqual(before.labels, after.labels):
		return
	}
	w.send(kind, w.resource.object(now, it, w.sel.window, w.sel.suffix))
}

// bookmark sends a bookmark, with an annotation if there is one, to a client that takes them. It reports whether the watch goes on.
func (w *watching) bookmark(annotation string) bool {
	if !w.bookmarks {
		return w.ctx.Err() == nil
	}
	o := w.resource.newObject()
	m, err := meta.Accessor(o)
	if err != nil {
		panic(fmt.Sprintf("BUG: %T without metadata: %v", o, err))
	}
	m.SetResourceVersion(versionText(w.entry.version))
	if annotation != "" {
		m.SetAnnotations(map[string]string{annotation: "true"})
	}
	return w.send(watch.Bookmark, o)
}

// send sends an event and reports whether the watch goes on.
func (w *watching) send(kind watch.EventType, o runtime.Object) bool {
	select {
	case w.events <- watch.Event{Type: kind, Object: o}:
		return true
	case <-w.ctx.Done():
		return false
	}
}
