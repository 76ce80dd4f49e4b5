package kubeapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// pod is what the fake promcost knows of the pods of a name.
type pod struct {
	namespace, name, node, kind, controller string
	uids                                    []string
	labels                                  map[string]string
	cost                                    float64
	team, owner                             string
}

// pods are those that it has first.
func pods() []pod {
	return []pod{
		{"shop", "web-1", "n1", "deployment", "web", []string{"u1"}, map[string]string{"app_kubernetes_io_name": "web", "tier": "front"}, 1.5, "red", "ann"},
		{"shop", "web-2", "n2", "deployment", "web", []string{"u2"}, map[string]string{"app_kubernetes_io_name": "web", "tier": "front"}, 2, "red", ""},
		{"shop", "db-0", "", "statefulset", "db", []string{"u4", "u3"}, map[string]string{"app_kubernetes_io_name": "db", "tier": "back"}, 8, "", "bob"},
		{"search", "index-0", "n1", "statefulset", "index", []string{"u5"}, map[string]string{"tier": "back"}, 4, "", ""},
		{"search", "web-1", "n1", "job", "web", []string{"u6"}, nil, .25, "", ""},
		{"__unmounted__", "__unmounted__", "", "", "", nil, nil, 3, "", ""},
	}
}

// fake is a promcost.
type fake struct {
	mu      sync.Mutex
	closed  time.Time
	info    map[string]string // more of /model/clusterInfo
	pods    []pod
	podsEnd time.Time     // when they end; zero: with the newest closed hour
	odd     string        // the name of assets and rows; "" for proper ones
	before  []pod         // in windows that end earlier; nil: the same
	refuses bool          // to answer about a time without data
	alien   bool          // its data are of another cluster
	begins  time.Time     // when its data begin; zero: before everything
	ends    time.Time     // when they end; zero: after everything
	asked   []url.Values  // of rows
	status  int           // of all answers; 0 is 200
	body    string        // of all answers, "" for proper ones
	broken  bool          // does not answer with rows
	release chan struct{} // rows wait for it; nil does not wait
	old     chan struct{} // rows of windows that end earlier wait for it
}

// hour is the end of the newest closed hour at first.
var hour = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

func newFake() *fake { return &fake{closed: hour, pods: pods()} }

// do changes the fake.
func (f *fake) do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// questions is how often rows were asked for.
func (f *fake) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = r.ParseForm()
	if f.release != nil && strings.HasPrefix(r.URL.Path, "/model/al") {
		f.mu.Unlock()
		<-f.release
		f.mu.Lock()
	}
	if f.body != "" {
		w.WriteHeader(cmp.Or(f.status, http.StatusOK))
		_, _ = w.Write([]byte(f.body))
		return
	}
	var data any
	switch r.URL.Path {
	case "/model/clusterInfo":
		info := map[string]string{"id": "one", "closedUntil": f.closed.Format(time.RFC3339), "nextClosed": f.closed.Add(70 * time.Minute).Format(time.RFC3339)}
		maps.Copy(info, f.info)
		data = info
	case "/model/getConfigs":
		data = map[string]string{"currencyCode": "EUR"}
	case "/model/questions":
		data = []map[string]string{{"name": "by-team", "query": "window=month&aggregate=label:team"}, {"name": "wrong" + f.odd, "query": "window=1d&wrong=1" + f.odd}}
	default:
		f.asked = append(f.asked, r.Form)
		if f.broken {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.Form.Get("wrong") != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"code":400,"data":null,"message":"unknown parameter \"wrong\""}`))
			return
		}
		f.answer(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"code": 200, "data": data})
}

// answer answers with rows, and says how much of the window has data.
func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	from, to, zero := f.closed.Add(-24*time.Hour), f.closed, time.Time{}
	if a, b, ok := strings.Cut(r.Form.Get("window"), ","); ok {
		from, to = unix(a), unix(b)
	}
	begin, end := from, to
	if f.begins.After(begin) {
		begin = f.begins
	}
	if f.ends != zero && f.ends.Before(end) {
		end = f.ends
	}
	hours := max(0, end.Sub(begin).Hours())
	if f.old != nil && to.Before(f.closed) {
		f.mu.Unlock()
		select {
		case <-f.old:
		case <-r.Context().Done():
		}
		f.mu.Lock()
	}
	if hours == 0 && f.refuses {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"code":422,"data":null,"message":"compute the window: no data: nothing is computed with --source=none"}`))
		return
	}
	var data any = map[string]any{}
	if hours > 0 && !f.alien {
		data = f.rows(r, begin, end)
	}
	answer := map[string]any{
		"code": 200, "more": []int{1}, "coveredHours": hours, "windowHours": to.Sub(from).Hours(), "data": []any{data},
		"warnings": []string{"the price of web-1 is a guess"},
	}
	if r.URL.Path == "/model/allocation/change" {
		relative := .5
		answer["data"] = map[string]any{"total": map[string]any{"baseline": 2, "relative": &relative}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// unix is a time of Unix seconds.
func unix(text string) time.Time {
	seconds, _ := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC()
}

// rows are those of an answer about the time that has data.
func (f *fake) rows(r *http.Request, begin, end time.Time) map[string]any {
	selector := fields.ParseSelectorOrDie(cmp.Or(r.Form.Get("fieldSelector"), "spec.cluster=one"))
	rows := map[string]any{}
	if r.URL.Path == "/model/allocation" {
		for i, name := range []string{"red", "blue"} {
			rows[name] = map[string]any{
				"name": name, "window": map[string]any{"start": hour.Add(-time.Hour), "end": hour}, "totalCost": 1 + i, "cpuCost": 1 + i, "cpuCostAdjustment": .5,
			}
		}
		return rows
	}
	if r.URL.Path == "/model/assets" {
		for _, a := range [][3]string{{"Node", "n1", "id-1"}, {"Node", "n1", "id-2"}, {"Disk", "shop/data", "id-3"}} {
			rows[a[2]] = map[string]any{
				"type": a[0], "properties": map[string]any{"name": a[1] + f.odd, "providerID": a[2], "category": "Compute", "provider": "AWS" + f.odd},
				"start": hour.Add(-time.Hour), "end": hour, "totalCost": 2, "nodeType": "t-" + a[2] + f.odd,
			}
		}
		return rows
	}
	if r.Form.Get("aggregate") == "cluster" {
		return map[string]any{"one": map[string]any{"start": begin, "end": end}, "__idle__": map[string]any{"start": begin, "end": end}}
	}
	pods := f.pods
	if end.Before(f.closed) && f.before != nil {
		pods = f.before
	}
	for _, p := range pods {
		if !selector.Matches(fields.Set{"metadata.namespace": p.namespace, "spec.cluster": "one"}) {
			continue
		}
		if r.Form.Get("aggregate") == "namespace,pod,uid,team,all,owner" {
			const none = "__unallocated__"
			for _, uid := range append(p.uids, none) {
				rows[strings.Join([]string{p.namespace, p.name, uid, cmp.Or(p.team, none), "", cmp.Or(p.owner, none)}, "/")] = map[string]any{}
			}
			continue
		}
		rows[p.namespace+"/"+p.name] = map[string]any{
			"properties": map[string]any{
				"namespace": p.namespace, "pod": p.name, "node": p.node, "controllerKind": p.kind, "controller": p.controller, "labels": p.labels,
			},
			"start": hour.Add(-2 * time.Hour), "end": cmp.Or(f.podsEnd, f.closed), "totalCost": p.cost, "cpuCost": p.cost / 2, "ramCost": p.cost / 4, "ramCostAdjustment": .125,
			"cpuCores": 1.5, "ramBytes": 1 << 30, "cpuCoreUsageAverage": nil, "totalEfficiency": .5, "errorBounds": map[string]any{"lower": .9, "upper": nil},
		}
	}
	return rows
}

// inNamespace is the key of a context's namespace.
type inNamespace struct{}

// in is a context of a request in a namespace.
func in(t testing.TB, namespace string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), inNamespace{}, namespace))
	t.Cleanup(cancel)
	return ctx
}

// api is the resources over a fake, and the warnings that they showed.
type api struct {
	*kubeapi.Server
	resources map[string]*kubeapi.Resource

	mu       sync.Mutex
	warnings []string
}

// newAPI is an API over a promcost. Without a period, the promcost is asked only once what is closed.
func newAPI(t testing.TB, promcost http.Handler, cfg kubeapi.Config) *api {
	t.Helper()
	return newClusterAPI(t, promcost, "", cfg)
}

// newClusterAPI is an API over a promcost, of one of the clusters that it knows.
func newClusterAPI(t testing.TB, promcost http.Handler, cluster string, cfg kubeapi.Config) *api {
	t.Helper()
	server := httptest.NewServer(promcost)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Poll = cmp.Or(cfg.Poll, time.Hour)
	a := &api{Server: kubeapi.NewServer(kubeapi.NewClient(server.Client(), u, cluster), cfg)}
	a.resources = kubeapi.Resources(a.Server, kubeapi.Request{
		Namespace: func(ctx context.Context) string { return ctx.Value(inNamespace{}).(string) },
		Warn: func(_ context.Context, text string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.warnings = append(a.warnings, text)
		},
	})
	return a
}

// options are those of a list with selectors.
func options(t testing.TB, field, label string) *internalversion.ListOptions {
	t.Helper()
	o := &internalversion.ListOptions{}
	var err error
	if o.FieldSelector, err = fields.ParseSelector(field); err != nil {
		t.Fatal(err)
	}
	if o.LabelSelector, err = labels.Parse(label); err != nil {
		t.Fatal(err)
	}
	return o
}

// names are the names of the objects of a list, with their namespaces.
func names(t testing.TB, list runtime.Object) string {
	t.Helper()
	var all []string
	err := meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, nameOf(t, o))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// nameOf is the name of an object, with its namespace.
func nameOf(t testing.TB, o runtime.Object) string {
	t.Helper()
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/")
}

// reason is the reason and the message of an error, "" for none.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s: %v", apierrors.ReasonForError(err), err)
}
