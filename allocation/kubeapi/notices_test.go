package kubeapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// lacking are promcosts whose windows lack data, and the notice for everyone.
var lacking = []struct {
	name, window string
	alter        func(*fake)
	want         string
}{
	{"nothing is missing", "24h", func(*fake) {}, ""},
	{"a scrape is missing", "24h", func(f *fake) { f.begins = hour.Add(-24*time.Hour + 30*time.Second) }, ""},
	{"before the first hour", "24h", func(f *fake) { f.begins = hour.Add(25 * time.Minute) }, "no hour of costs has closed yet: the first is there at 13:10 UTC"},
	{"before the first hour in another window", "7d", func(f *fake) { f.begins = hour.Add(25 * time.Minute) }, "no hour of costs has closed yet: the first is there at 13:10 UTC"},
	{"before the first hour of a history that is only read", "24h", func(f *fake) { f.begins, f.refuses = hour.Add(25*time.Minute), true }, "no hour of costs has closed yet: the first is there at 13:10 UTC"},
	{"the first hours", "24h", func(f *fake) { f.begins = hour.Add(-200 * time.Minute) }, "3.33 of 24 h have data: they begin at 2026-03-05 08:40 UTC"},
	{"the first hours in a long window", "28d", func(f *fake) { f.begins = hour.Add(-48 * time.Hour) }, "2 of 28 days have data: they begin at 2026-03-03 12:00 UTC"},
	{"the newest hours are missing", "24h", func(f *fake) { f.ends = hour.Add(-5 * time.Hour) }, "19 of 24 h have data: they end at 2026-03-05 07:00 UTC: does promcost still get samples?"},
	{"both ends are missing", "24h", func(f *fake) { f.begins, f.ends = hour.Add(-9*time.Hour), hour.Add(-5*time.Hour) }, "4 of 24 h have data: they begin at 2026-03-05 03:00 UTC, and they end at 2026-03-05 07:00 UTC: does promcost still get samples?"},
	{"the newest hour is older than the window", "24h", func(f *fake) { f.ends = hour.Add(-72 * time.Hour) }, "no costs from 2026-03-04 12:00 UTC to 2026-03-05 12:00 UTC: the newest are of 2026-03-02 12:00 UTC. Does promcost get samples? Its command check source says which are missing"},
	{"nothing at all", "1h", func(f *fake) { f.begins = hour.Add(1000 * time.Hour) }, "no costs from 2026-03-05 11:00 UTC to 2026-03-05 12:00 UTC. Does promcost get samples? Its command check source says which are missing"},
	{"data of another cluster alone", "24h", func(f *fake) { f.alien, f.info = true, map[string]string{"clusters": "one,two"} }, "no costs from 2026-03-04 12:00 UTC to 2026-03-05 12:00 UTC. Does promcost get samples? Its command check source says which are missing"},
	{"data of several clusters", "24h", func(f *fake) { f.info = map[string]string{"clusters": "one,two"} }, ""},
}

// TestNotices lists, gets and watches before there are costs, and where some are missing: who may see one namespace is told so, too, and nobody
// where all is well.
func TestNotices(t *testing.T) {
	for _, tc := range lacking {
		for resource, object := range map[string]string{"allocations": "web-1", "assets": "node.n1"} {
			for _, namespace := range []string{"", "shop"} {
				t.Run(tc.name+" "+resource+" "+namespace, func(t *testing.T) {
					f := newFake()
					tc.alter(f)
					a := newClusterAPI(t, f, "one", kubeapi.Config{})
					r := a.resources[resource]
					warned := func(what string, wanted bool) {
						t.Helper()
						want := ""
						if wanted {
							want = tc.want
						}
						got := strings.ReplaceAll(strings.Join(a.warnings, "|"), "|the price of web-1 is a guess", "")
						if got = strings.TrimPrefix(got, "the price of web-1 is a guess"); got != want {
							t.Errorf("%s warns %q, want %q", what, got, want)
						}
						a.warnings = nil
					}
					o := options(t, "spec.window="+tc.window, "")
					if _, err := r.List(in(t, namespace), o); err != nil {
						t.Fatal(err)
					}
					warned("a list", true)
					w, err := r.Watch(in(t, namespace), o)
					if err != nil {
						t.Fatal(err)
					}
					w.Stop()
					warned("a watch", true)
					if o.ResourceVersion = "1772712000"; tc.want != "" { // what kubectl does behind a list
						if w, err = r.Watch(in(t, namespace), o); err != nil {
							t.Fatal(err)
						}
						w.Stop()
						warned("a watch behind a list", false)
					}
					if namespace == "" && resource == "allocations" {
						return
					}
					name := "none:" + tc.window
					_, err = r.Get(in(t, namespace), name, nil)
					want := `NotFound: ` + resource + `.cost.promcost.io "` + name + `" not found`
					if tc.want != "" {
						want += ": " + tc.want
					}
					if diff := cmp.Diff(want, reason(err)); diff != "" {
						t.Error(diff)
					}
					warned("what is not found", false)
					if _, err = r.Get(in(t, namespace), object+":"+tc.window, nil); err == nil {
						warned("an object", true)
					}
				})
			}
		}
	}
}

// TestNoticesOfQuestions has saved questions whose windows lack data: their names say which.
func TestNoticesOfQuestions(t *testing.T) {
	f := newFake()
	f.begins = hour.Add(-6 * time.Hour)
	a := newAPI(t, f, kubeapi.Config{})
	if _, err := a.resources["clusterallocations"].List(in(t, ""), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"by-team: 6 of 24 h have data"}, a.warnings); diff != "" {
		t.Error(diff)
	}
}

// TestNoticesOfOldPromcosts asks a promcost that does not say how much of a window has data: nothing is said of it.
func TestNoticesOfOldPromcosts(t *testing.T) {
	rest := newFake()
	a := newAPI(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/model/a") {
			_, _ = w.Write([]byte(`{"data":[{"shop/web-1":{"properties":{"namespace":"shop","pod":"web-1"},"totalCost":1}}]}`))
			return
		}
		rest.ServeHTTP(w, r)
	}), kubeapi.Config{})
	list, err := a.resources["allocations"].List(in(t, "shop"), nil)
	if err != nil || names(t, list) != "shop/web-1" || len(a.warnings) > 0 {
		t.Errorf("%v, %v, warnings %q", list, err, a.warnings)
	}
}
