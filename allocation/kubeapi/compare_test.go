package kubeapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// column is what the rows of a list show in a column, by name.
func column(t *testing.T, a *api, resource, namespace, name string) map[string]string {
	t.Helper()
	r := a.resources[resource]
	list, err := r.List(in(t, namespace), nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.ConvertToTable(context.Background(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == name })
	cells := map[string]string{}
	for _, row := range table.Rows {
		cells[row.Cells[0].(string)] = row.Cells[i].(string)
	}
	return cells
}

// TestChange compares pods with what they cost in the window before. Rates are compared: a window with half of the data costs half as much.
func TestChange(t *testing.T) {
	before := func(costs map[string]float64) (list []pod) {
		for name, cost := range costs {
			list = append(list, pod{namespace: "shop", name: name, cost: cost})
		}
		return list
	}
	for _, tc := range []struct {
		name           string
		before         []pod
		begins         time.Time
		db, web1, web2 string
	}{
		{"dearer, cheaper, new", before(map[string]float64{"db-0": 4, "web-1": 2}), time.Time{}, "+100%", "-25%", "new"},
		{"less than a tenth", before(map[string]float64{"db-0": 8.08, "web-1": 1.46, "web-2": 2.0000001}), time.Time{}, "-1.0%", "+2.7%", "0%"},
		{"nothing before", []pod{}, time.Time{}, "new", "new", "new"},
		{"costs of nothing and below", before(map[string]float64{"db-0": 0, "web-1": -1, "web-2": 1e-320}), time.Time{}, "<unknown>", "<unknown>", "<unknown>"},
		{"half of the hours", before(map[string]float64{"db-0": 4, "web-1": 1.5}), hour.Add(-36 * time.Hour), "0%", "-50%", "new"},
		{"more than a fifth of the hours", before(map[string]float64{"db-0": 8. * 5 / 24}), hour.Add(-29 * time.Hour), "0%", "new", "new"},
		{"less than a fifth of the hours", before(map[string]float64{"db-0": 1}), hour.Add(-28 * time.Hour), "<unknown>", "<unknown>", "<unknown>"},
		{"no hours before", before(nil), hour.Add(-24 * time.Hour), "<unknown>", "<unknown>", "<unknown>"},
		{"few hours now", before(nil), hour.Add(-4 * time.Hour), "<unknown>", "<unknown>", "<unknown>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.before, f.begins = tc.before, tc.begins
			got := column(t, newAPI(t, f, kubeapi.Config{}), "allocations", "shop", "Change")
			if diff := cmp.Diff(map[string]string{"db-0": tc.db, "web-1": tc.web1, "web-2": tc.web2}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestChangeOfOthers compares assets, of which two may have one name, and the answers to saved questions.
func TestChangeOfOthers(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	if diff := cmp.Diff(map[string]string{"node.n1": "0%", "disk.shop.data": "0%"}, column(t, a, "assets", "", "Change")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"by-team": "+50%", "wrong": "<unknown>"}, column(t, a, "clusterallocations", "", "Change")); diff != "" {
		t.Error(diff)
	}
}

// TestChangeIsNotWaitedFor has promcost compute the window before for long: the list comes without, and the window is asked for once an hour.
func TestChangeIsNotWaitedFor(t *testing.T) {
	f := newFake()
	f.old = make(chan struct{})
	defer close(f.old)
	a := newAPI(t, f, kubeapi.Config{Patience: time.Millisecond})
	for range 3 {
		if got := column(t, a, "allocations", "search", "Change"); got["web-1"] != "<unknown>" {
			t.Error(got)
		}
	}
	if f.questions() != 3 {
		t.Errorf("promcost was asked %d times, want 3", f.questions())
	}
}

// TestChangeIsWatched closes an hour in which nothing changes but what an object is compared with: it is modified.
func TestChangeIsWatched(t *testing.T) {
	f := newFake()
	end := f.closed
	a := running(t, f, kubeapi.Config{Bookmarks: time.Hour})
	o := options(t, "spec.pod=index-0", "")
	o.AllowWatchBookmarks, o.ResourceVersion = true, "1772712000"
	w := a.follow(t, "search", o)
	f.do(func() {
		f.closed, f.podsEnd, f.before = end.Add(time.Hour), end, []pod{{namespace: "search", name: "index-0", cost: 2}}
	})
	if diff := cmp.Diff("MODIFIED search/index-0, BOOKMARK", w.until(end.Add(time.Hour).Unix())); diff != "" {
		t.Error(diff)
	}
	if got := column(t, a, "allocations", "search", "Change"); got["index-0"] != "+100%" {
		t.Error(got)
	}
}

// TestOwner finds the team of pods, else the owner, in what promcost names rows by.
func TestOwner(t *testing.T) {
	const none = "__unallocated__"
	for _, tc := range []struct{ team, owner, want string }{
		{"red", "ann", "red"},
		{"red", "", "red"},
		{"", "ann", "ann"},
		{"", "", "<none>"},
		{"", "ann@example.com", "ann@example.com"},
		{"", "https://example.com/ann//x", "https://example.com/ann//x"},
		{"https://example.com/red", "ann", "https://example.com/red"},
		{"red/blue", "ann", "red/blue"},
		{"red/" + none, "ann", "red"}, // the alias stands for two labels
		{none + "/blue", "ann", "blue"},
		{none + "/" + none, none + "/ann", "ann"},
		{"", `\__unallocated__`, `\__unallocated__`}, // someone named so
		{"a,b", "", "a,b"},
	} {
		f := newFake()
		f.pods[0].team, f.pods[0].owner = tc.team, tc.owner
		if got := column(t, newAPI(t, f, kubeapi.Config{}), "allocations", "shop", "Owner")["web-1"]; got != tc.want {
			t.Errorf("team %q and owner %q: %q, want %q", tc.team, tc.owner, got, tc.want)
		}
	}
	f := newFake()
	f.pods = append(f.pods, f.pods[0]) // another pod of the name
	f.pods[0].uids, f.pods[0].team = []string{"u9"}, "blue"
	if got := column(t, newAPI(t, f, kubeapi.Config{}), "allocations", "shop", "Owner")["web-1"]; got != "blue,red" {
		t.Errorf("of two pods: %q", got)
	}
}

// odd is a text that terminals obey, or that breaks tables.
const odd = "a\x1b[31mb\x1b]0;title\x07\tc\nd\re\u202ef\u009bg%s"

// TestOddNames shows names of every column without anything that a terminal obeys, in one line and in one cell. What objects have stays as it is.
func TestOddNames(t *testing.T) {
	f := newFake()
	f.info = map[string]string{"currencyCode": odd}
	f.pods = []pod{{namespace: "shop", name: odd, node: odd, kind: odd, controller: odd, team: odd, owner: odd, cost: 1}}
	f.odd = odd
	a := newAPI(t, f, kubeapi.Config{})
	for resource, namespace := range map[string]string{"allocations": "shop", "assets": "", "clusterallocations": ""} {
		r := a.resources[resource]
		list, err := r.List(in(t, namespace), nil)
		if err != nil {
			t.Fatal(err)
		}
		table, err := r.ConvertToTable(context.Background(), list, nil)
		if err != nil || len(table.Rows) == 0 {
			t.Fatal(err, table)
		}
		for _, row := range table.Rows {
			for i, cell := range row.Cells {
				if strings.ContainsAny(cell.(string), "\x1b\x07\t\n\r\u202e\u009b") {
					t.Errorf("%s: %s is %q", resource, table.ColumnDefinitions[i].Name, cell)
				}
			}
		}
	}
	if got := column(t, a, "allocations", "shop", "Owner"); len(got) != 1 {
		t.Error(got)
	}
}
