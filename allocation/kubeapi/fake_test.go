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
}

// pods are those that it has first.
func pods() []pod {
	return []pod{
		{"shop", "web-1", "n1", "deployment", "web", []string{"u1"}, map[string]string{"app_kubernetes_io_name": "web", "tier": "front"}, 1.5},
		{"shop", "web-2", "n2", "deployment", "web", []string{"u2"}, map[string]string{"app_kubernetes_io_name": "web", "tier": "front"}, 2},
		{"shop", "db-0", "", "statefulset", "db", []string{"u4", "u3"}, map[string]string{"app_kubernetes_io_name": "db", "tier": "back"}, 8},
		{"search", "index-0", "n1", "statefulset", "index", []string{"u5"}, map[string]string{"tier": "back"}, 4},
		{"search", "web-1", "n1", "job", "web", []string{"u6"}, nil, .25},
		{"__unmounted__", "__unmounted__", "", "", "", nil, nil, 3},
	}
}

// fake is a promcost.
type fake struct {
	mu      sync.Mutex
	closed  time.Time
	info    map[string]string // more of /model/clusterInfo
	pods    []pod
	asked   []url.Values  // of rows
	status  int           // of all answers; 0 is 200
	body    string        // of all answers, "" for proper ones
	broken  bool          // does not answer with rows
	release chan struct{} // rows wait for it; nil does not wait
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
		info := map[string]string{"id": "one", "closedUntil": f.closed.Format(time.RFC3339)}
		maps.Copy(info, f.info)
		data = info
	case "/model/getConfigs":
		data = map[string]string{"currencyCode": "EUR"}
	case "/model/questions":
		data = []map[string]string{{"name": "by-team", "query": "window=month&aggregate=label:team"}, {"name": "wrong", "query": "window=1d&wrong=1"}}
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
		data = []any{f.rows(r)}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"code": 200, "more": []int{1}, "data": data, "warnings": []string{"the price of web-1 is a guess"}})
}

// rows are those of an answer.
func (f *fake) rows(r *http.Request) map[string]any {
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
				"type": a[0], "properties": map[string]any{"name": a[1], "providerID": a[2], "category": "Compute", "provider": "AWS"},
				"start": hour.Add(-time.Hour), "end": hour, "totalCost": 2, "nodeType": "t-" + a[2],
			}
		}
		return rows
	}
	for _, p := range f.pods {
		if !selector.Matches(fields.Set{"metadata.namespace": p.namespace, "spec.cluster": "one"}) {
			continue
		}
		if r.Form.Get("aggregate") == "namespace,pod,uid" {
			for _, uid := range append(p.uids, "__unallocated__") {
				rows[p.namespace+"/"+p.name+"/"+uid] = map[string]any{}
			}
			continue
		}
		rows[p.namespace+"/"+p.name] = map[string]any{
			"properties": map[string]any{
				"namespace": p.namespace, "pod": p.name, "node": p.node, "controllerKind": p.kind, "controller": p.controller, "labels": p.labels,
			},
			"start": hour.Add(-2 * time.Hour), "end": f.closed, "totalCost": p.cost, "cpuCost": p.cost / 2, "ramCost": p.cost / 4, "ramCostAdjustment": .125,
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
	server := httptest.NewServer(promcost)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Poll = cmp.Or(cfg.Poll, time.Hour)
	a := &api{Server: kubeapi.NewServer(kubeapi.NewClient(server.Client(), u, ""), cfg)}
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
