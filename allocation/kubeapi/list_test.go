package kubeapi_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/promcost/promcost/allocation/kubeapi"
)

func TestGet(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	for _, tc := range []struct{ resource, namespace, name, want string }{
		{"allocations", "shop", "web-1", "shop/web-1"},
		{"allocations", "shop", "web-1:7d", "shop/web-1:7d"},
		{"allocations", "shop", "web-1:24h", "shop/web-1:24h"},
		{"allocations", "shop", "index-0", `NotFound: allocations.cost.promcost.io "index-0" not found`},
		{"allocations", "nowhere", "web-1", `NotFound: allocations.cost.promcost.io "web-1" not found`},
		{"allocations", "shop", "web-1:", `BadRequest: window "" is no whole number of hours: give one such as 24h, 7d or 2w`},
		{"allocations", "shop", "web-1:90m", `BadRequest: window "90m" is no whole number of hours: give one such as 24h, 7d or 2w`},
		{"allocations", "shop", "web-1:-1h", `BadRequest: window "-1h" is no whole number of hours: give one such as 24h, 7d or 2w`},
		{"allocations", "shop", "web-1:9999d", `BadRequest: window "9999d" is too long: give at most 400d`},
		{"allocations", "shop", "web-1:" + strings.Repeat("0", 1000) + "24h", `BadRequest: window "00000000000000000000" is no whole number of hours: give one such as 24h, 7d or 2w`},
		{"clusterallocations", "", "by-team", "by-team"},
		{"clusterallocations", "", "by-team:7d", `NotFound: clusterallocations.cost.promcost.io "by-team:7d" not found`},
		{"assets", "", "node.n1", "node.n1"},
		{"assets", "", "disk.shop.data:48h", "disk.shop.data:48h"},
	} {
		t.Run(tc.resource+" "+tc.name, func(t *testing.T) {
			got, err := a.resources[tc.resource].Get(in(t, tc.namespace), tc.name, nil)
			if err != nil {
				if diff := cmp.Diff(tc.want, reason(err)); diff != "" {
					t.Error(diff)
				}
				return
			}
			if diff := cmp.Diff(tc.want, nameOf(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestObjects holds what objects are made of.
func TestObjects(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	get := func(resource, namespace, name string) any {
		o, err := a.resources[resource].Get(in(t, namespace), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	at := func(before time.Duration) metav1.Time { return metav1.NewTime(hour.Add(-before)) }
	half, lower, same := .5, .9, 0.
	unchanged := kubeapi.Comparison{Change: &same}
	version := strconv.FormatInt(hour.Unix(), 10)
	want := []any{
		&kubeapi.Allocation{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0:7d", ResourceVersion: version, Labels: map[string]string{"app_kubernetes_io_name": "db", "tier": "back"}},
			Spec:       kubeapi.AllocationSpec{Window: "7d", Pod: "db-0", UIDs: []string{"u3", "u4"}, ControllerKind: "statefulset", Controller: "db", Owner: "bob"},
			Status: kubeapi.AllocationStatus{
				Start: at(2 * time.Hour), End: at(0), Costs: kubeapi.Costs{Currency: "EUR", TotalCost: 8, CPUCost: 4, RAMCost: 2.125}, Comparison: unchanged,
				CPUCores: 1.5, RAMBytes: 1 << 30, Efficiency: &half, ErrorBounds: &kubeapi.Bounds{Lower: &lower},
			},
		},
		&kubeapi.ClusterAllocation{
			ObjectMeta: metav1.ObjectMeta{Name: "by-team", ResourceVersion: version},
			Spec:       kubeapi.ClusterAllocationSpec{Query: "window=month&aggregate=label:team"},
			Status: kubeapi.ClusterAllocationStatus{
				Start: new(at(time.Hour)), End: new(at(0)), Costs: kubeapi.Costs{Currency: "EUR", TotalCost: 3, CPUCost: 4}, Comparison: kubeapi.Comparison{Change: &half}, Warnings: []string{"the price of web-1 is a guess"},
				Rows: []kubeapi.ClusterAllocationRow{{Name: "blue", Costs: kubeapi.Costs{Currency: "EUR", TotalCost: 2, CPUCost: 2.5}}, {Name: "red", Costs: kubeapi.Costs{Currency: "EUR", TotalCost: 1, CPUCost: 1.5}}},
			},
		},
		&kubeapi.ClusterAllocation{
			ObjectMeta: metav1.ObjectMeta{Name: "wrong", ResourceVersion: version},
			Spec:       kubeapi.ClusterAllocationSpec{Query: "window=1d&wrong=1"},
			Status:     kubeapi.ClusterAllocationStatus{Costs: kubeapi.Costs{Currency: "EUR"}, Error: `promcost: unknown parameter "wrong"`},
		},
		&kubeapi.Asset{ // two nodes of one name are added up
			ObjectMeta: metav1.ObjectMeta{Name: "node.n1", ResourceVersion: version},
			Spec:       kubeapi.AssetSpec{Window: "24h", Type: "Node", Name: "n1", Category: "Compute", Provider: "AWS", ProviderIDs: []string{"id-1", "id-2"}},
			Status:     kubeapi.AssetStatus{Start: at(time.Hour), End: at(0), Currency: "EUR", TotalCost: 4, Comparison: unchanged},
		},
	}
	got := []any{get("allocations", "shop", "db-0:7d"), get("clusterallocations", "", "by-team"), get("clusterallocations", "", "wrong"), get("assets", "", "node.n1")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestAsked holds what promcost is asked: a window that ends where the newest closed hour does, and the one before, of one cluster and one
// namespace.
func TestAsked(t *testing.T) {
	f := newFake()
	a := newAPI(t, f, kubeapi.Config{})
	if _, err := a.resources["allocations"].List(in(t, "shop"), options(t, "spec.window=2d", "")); err != nil {
		t.Fatal(err)
	}
	end := hour.Unix()
	for i, asked := range f.asked {
		want := fmt.Sprintf("%d,%d", end-2*86400, end)
		if i == 2 {
			want = fmt.Sprintf("%d,%d", end-4*86400, end-2*86400)
		}
		if got := asked.Get("window"); got != want {
			t.Errorf("window %s, want %s", got, want)
		}
		if got := asked.Get("fieldSelector"); got != "metadata.namespace=shop,spec.cluster=one" {
			t.Errorf("fieldSelector %s", got)
		}
	}
	for range 3 { // the answer is kept, for objects too
		if _, err := a.resources["allocations"].Get(in(t, "shop"), "web-1:2d", nil); err != nil {
			t.Error(err)
		}
	}
	if f.questions() != 3 {
		t.Errorf("promcost was asked %d times, want 3: uids and owners, costs, costs before", f.questions())
	}
	if _, err := a.resources["allocations"].List(in(t, "a=b,c\\"), nil); err != nil { // no namespace is named so, but nothing may come of it
		t.Error(err)
	}
	if got := f.asked[3].Get("fieldSelector"); got != `metadata.namespace=a\=b\,c\\,spec.cluster=one` {
		t.Errorf("fieldSelector %s", got)
	}
}

func TestSelectors(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	const all = "search/index-0 search/web-1 shop/db-0 shop/web-1 shop/web-2"
	for _, tc := range []struct{ namespace, field, label, want string }{
		{"", "", "", all},
		{"shop", "", "", "shop/db-0 shop/web-1 shop/web-2"},
		{"sho", "", "", ""},
		{"", "spec.node=n1", "", "search/index-0 search/web-1 shop/web-1"},
		{"", "spec.node==n1,spec.controllerKind=deployment", "", "shop/web-1"},
		{"", "spec.node!=n1", "", "shop/db-0 shop/web-2"},
		{"", "spec.node=", "", "shop/db-0"},
		{"", "spec.node=n1,spec.node=n2", "", ""},
		{"", "spec.node!=n1,spec.node!=n2", "", "shop/db-0"},
		{"", "metadata.namespace=search", "", "search/index-0 search/web-1"},
		{"shop", "metadata.namespace=search", "", ""},
		{"", "metadata.name=web-1", "", "search/web-1 shop/web-1"},
		{"", "metadata.name!=web-1", "", "search/index-0 shop/db-0 shop/web-2"},
		{"", "metadata.name=web-1:7d", "", "search/web-1:7d shop/web-1:7d"},
		{"", "metadata.name=web-1:24h", "", "search/web-1:24h shop/web-1:24h"},
		{"", "metadata.name=web-1:7d,spec.window=7d", "", "search/web-1:7d shop/web-1:7d"},
		{"", "metadata.name=web-1:7d,spec.window=8d", "", ""},
		{"", "metadata.name=web-1,spec.window=7d", "", ""},
		{"", "metadata.name!=web-1:7d", "", all},
		{"", "metadata.name!=web-1:7d,spec.window=7d", "", "search/index-0:7d shop/db-0:7d shop/web-2:7d"},
		{"", "metadata.name=a,metadata.name=b", "", ""},
		{"", "spec.window=24h", "", all},
		{"", "spec.window=1d", "", strings.ReplaceAll(all+" ", " ", ":1d ")},
		{"", "spec.window=7d,spec.window=1d", "", ""},
		{"", "spec.window!=24h", "", ""},
		{"", "spec.window!=7d", "", all},
		{"", "spec.window=7d,spec.window!=7d", "", ""},
		{"", "", "tier=back", "search/index-0 shop/db-0"},
		{"", "", "app.kubernetes.io/name=web", "shop/web-1 shop/web-2"},
		{"", "", "app_kubernetes_io_name=web", "shop/web-1 shop/web-2"},
		{"", "", "app.kubernetes.io/name in (db,web),tier!=front", "shop/db-0"},
		{"", "", "!app.kubernetes.io/name", "search/index-0 search/web-1"},
		{"", "", "app.kubernetes.io/name", "shop/db-0 shop/web-1 shop/web-2"},
		{"", "spec.node=n1", "tier", "search/index-0 shop/web-1"},
	} {
		t.Run(tc.namespace+" "+tc.field+" "+tc.label, func(t *testing.T) {
			list, err := a.resources["allocations"].List(in(t, tc.namespace), options(t, tc.field, tc.label))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(tc.want), names(t, list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadSelectors(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	for _, tc := range []struct{ resource, field, label, want string }{
		{"allocations", "spec.window=month", "", `BadRequest: window "month" is no whole number of hours: give one such as 24h, 7d or 2w`},
		{"allocations", "metadata.name=a:b", "", `BadRequest: window "b" is no whole number of hours: give one such as 24h, 7d or 2w`},
		{"allocations", "spec.color=blue", "", "BadRequest: field label not supported: spec.color"},
		{"assets", "spec.node=n1", "", "BadRequest: field label not supported: spec.node"},
		{"clusterallocations", "spec.window=24h", "", "BadRequest: field label not supported: spec.window"},
		{"allocations", strings.Repeat("spec.node!=a,", 100) + "spec.node!=b", "", "BadRequest: the field selector has 101 conditions, at most 100 are allowed"},
		{"allocations", "", strings.Repeat("a!=b,", 100) + "a!=c", "BadRequest: the label selector has 101 conditions, at most 100 are allowed"},
	} {
		_, err := a.resources[tc.resource].List(in(t, ""), options(t, tc.field, tc.label))
		if diff := cmp.Diff(tc.want, reason(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPages walks over all pages of every length: together they are the list.
func TestPages(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	r := a.resources["allocations"]
	for _, field := range []string{"", "spec.node=n1", "metadata.namespace=shop"} {
		whole, err := r.List(in(t, ""), options(t, field, ""))
		if err != nil {
			t.Fatal(err)
		}
		for limit := int64(1); limit < 7; limit++ {
			o, seen := options(t, field, ""), []string(nil)
			o.Limit = limit
			for {
				page, err := r.List(in(t, ""), o)
				if err != nil {
					t.Fatal(err)
				}
				m, _ := meta.ListAccessor(page)
				seen = append(seen, names(t, page))
				if rest := m.GetRemainingItemCount(); field == "" && rest != nil && int64(len(seen))*limit+*rest != 5 {
					t.Errorf("%d remain after %d pages of %d", *rest, len(seen), limit)
				}
				if o.Continue = m.GetContinue(); o.Continue == "" {
					break
				}
			}
			if diff := cmp.Diff(names(t, whole), strings.Join(seen, " ")); diff != "" {
				t.Errorf("pages of %d: %s", limit, diff)
			}
		}
	}
}

// TestVersions lists at the hour that is closed, at older ones and at newer ones.
func TestVersions(t *testing.T) {
	f := newFake()
	a := newAPI(t, f, kubeapi.Config{Poll: time.Nanosecond})
	r := a.resources["allocations"]
	o := options(t, "", "")
	o.Limit = 2
	first, err := r.List(in(t, ""), o)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := meta.ListAccessor(first)
	f.do(func() { f.closed = f.closed.Add(time.Hour) })
	o.Continue = m.GetContinue()
	if _, err := r.List(in(t, ""), o); !apierrors.IsResourceExpired(err) {
		t.Errorf("continued in a newer hour: %v", err)
	}
	const exact, notOlder = metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan
	now := hour.Add(time.Hour).Unix()
	for _, tc := range []struct {
		version string
		match   metav1.ResourceVersionMatch
		want    string
	}{
		{"", "", ""},
		{"0", "", ""},
		{strconv.FormatInt(now, 10), exact, ""},
		{strconv.FormatInt(now-3600, 10), exact, "Expired: too old resource version: 1772712000 (1772715600): list again"},
		{strconv.FormatInt(now-3600, 10), notOlder, ""},
		{strconv.FormatInt(now+3600, 10), notOlder, "Timeout: Timeout: Too large resource version: 1772719200, current: 1772715600"},
		{"now", "", `BadRequest: resourceVersion "now" is not valid: give that of a list`},
		{"-1", "", `BadRequest: resourceVersion "-1" is not valid: give that of a list`},
	} {
		o := options(t, "", "")
		o.ResourceVersion, o.ResourceVersionMatch = tc.version, tc.match
		list, err := r.List(in(t, ""), o)
		if diff := cmp.Diff(tc.want, reason(err)); diff != "" {
			t.Errorf("%s %s: %s", tc.version, tc.match, diff)
		}
		if err == nil {
			if m, _ := meta.ListAccessor(list); m.GetResourceVersion() != strconv.FormatInt(now, 10) {
				t.Errorf("%s %s: resourceVersion %s", tc.version, tc.match, m.GetResourceVersion())
			}
		}
	}
	f.do(func() { f.closed = hour }) // a promcost that is behind changes nothing
	list, err := r.List(in(t, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := meta.ListAccessor(list); m.GetResourceVersion() != strconv.FormatInt(now, 10) {
		t.Errorf("resourceVersion went back to %s", m.GetResourceVersion())
	}
}

// TestWarnings shows promcost's warnings, which name things of all namespaces, to those only who may list all of them.
func TestWarnings(t *testing.T) {
	for namespace, want := range map[string]int{"": 1, "shop": 0} {
		a := newAPI(t, newFake(), kubeapi.Config{})
		if _, err := a.resources["allocations"].List(in(t, namespace), nil); err != nil {
			t.Fatal(err)
		}
		if len(a.warnings) != want {
			t.Errorf("in namespace %q: %q", namespace, a.warnings)
		}
	}
}

// TestFailures holds what users get when promcost does not answer as it should.
func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(*fake)
		want string
	}{
		{"refused", func(f *fake) { f.status, f.body = http.StatusUnprocessableEntity, `{"message":"too much"}` }, "BadRequest: promcost: too much"},
		{"down", func(f *fake) { f.status, f.body = http.StatusBadGateway, `{"message":"Prometheus is down"}` }, "ServiceUnavailable: promcost: Prometheus is down"},
		{"another server", func(f *fake) { f.status, f.body = http.StatusNotFound, "<html>" }, "ServiceUnavailable: promcost answers /model/clusterInfo with status 404: is --promcost.url the URL of a promcost?"},
		{"no JSON", func(f *fake) { f.body = "<html>" }, "ServiceUnavailable: read answer of promcost to /model/clusterInfo: invalid character '<' looking for beginning of value: is --promcost.url the URL of a promcost?"},
		{"several clusters", func(f *fake) { f.info = map[string]string{"clusters": "one,two"} }, "ServiceUnavailable: promcost knows the clusters one,two: name this one by --cluster.id"},
		{"a shard", func(f *fake) { f.info = map[string]string{"closedUntil": ""} }, "ServiceUnavailable: promcost does not say which hour is closed: use a newer promcost, or one that is no shard"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			tc.make(f)
			a := newAPI(t, f, kubeapi.Config{})
			_, err := a.resources["allocations"].List(in(t, "shop"), nil)
			if diff := cmp.Diff(tc.want, reason(err)); diff != "" {
				t.Error(diff)
			}
			f.do(func() { f.status, f.body, f.info = 0, "", nil }) // a failure is not kept
			if _, err := a.resources["allocations"].List(in(t, "shop"), nil); err != nil {
				t.Error(err)
			}
		})
	}
	a := newAPI(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), kubeapi.Config{})
	_, err := a.resources["assets"].List(in(t, ""), nil)
	if !apierrors.IsServiceUnavailable(err) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("of a connection that is closed: %v", err)
	}
}
