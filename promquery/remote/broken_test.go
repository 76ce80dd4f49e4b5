package remote_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// TestBrokenRemoteRead meets servers whose remote read fails for good while their query API is well, from the first
// question on, or from a later one: auto asks the query API and says so, remembers that for a while, and tries again after
// it.
func TestBrokenRemoteRead(t *testing.T) {
	const answer = `{"status":"success","data":{"result":[{"metric":{"__name__":"m","pod":"a"},"values":[[0.01,"1"],[0.02,"2"]]}]}}`
	streams := frames(frame(t, 0, "__name__=m,pod=a", chunk(t, chunkenc.EncXOR, 10, 2)), frame(t, 1, "__name__=m,pod=a", chunk(t, chunkenc.EncXOR, 10, 2)))
	want := map[string][]string{"0:a": {"10=1", "20=2"}, "1:a": {"10=1", "20=2"}}
	sel := promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: 1, End: 1000, Grid: promquery.Grid{Step: 10}}
	for _, code := range []int{500, 501, 502, 503, 504} {
		broken := status(code, "text/plain", "boom")
		for _, probe := range []bool{false, true} {
			if code == http.StatusNotImplemented && !probe {
				continue // says that there is none: not a failure
			}
			t.Run(fmt.Sprintf("%d, probe is well %t", code, probe), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFake()
					f.handle("/api/v1/read", broken)
					if probe {
						f.handle("/api/v1/read", probed(broken))
					}
					f.handle(rangePath, text("application/json", answer))
					src := f.source(t, remote.Config{MaxConcurrency: 1})
					asked := 0
					for range 3 {
						got, stats, err := collect(t, src, sel, sel)
						if diff := cmp.Diff(want, got); diff != "" || err != nil {
							t.Fatalf("series (-want +got):\n%s%v", diff, err)
						}
						if len(stats.Warnings) != 1 || !strings.Contains(stats.Warnings[0], "remote read failed") || !strings.Contains(stats.Warnings[0], strconv.Itoa(code)) {
							t.Errorf("warnings %q, want one that names the failure", stats.Warnings)
						}
						if now := f.count("/api/v1/read"); asked > 0 && now != asked {
							t.Errorf("remote read was asked %d times more while it is known to fail", now-asked)
						}
						asked = f.count("/api/v1/read")
						if mode, err := src.Mode(t.Context()); mode != remote.ModeQuery || err != nil {
							t.Errorf("mode %q, %v", mode, err)
						}
					}
					f.handle("/api/v1/read", sequence(frames(), streams))
					time.Sleep(11 * time.Minute)
					got, stats, err := collect(t, src, sel, sel)
					if diff := cmp.Diff(want, got); diff != "" || err != nil || len(stats.Warnings) > 0 || f.count("/api/v1/read") != asked+2 {
						t.Errorf("remote read is well again: warnings %q, %d requests (-want +got):\n%s%v", stats.Warnings, f.count("/api/v1/read")-asked, diff, err)
					}
				})
			})
		}
	}
}

// TestBrokenIsAnError checks that nothing replaces remote read if it was chosen, if the query API fails as well, or if a part of a
// selector's answer came already.
func TestBrokenIsAnError(t *testing.T) {
	broken := status(503, "text/plain", "boom")
	begun := frames(frame(t, 0, "__name__=m,pod=a", chunk(t, chunkenc.EncXOR, 10, 2)), frame(t, 0, "__name__=m,pod=b", chunk(t, chunkenc.EncXOR, 10, 2))[:9])
	well := matrix("")
	for _, tc := range []struct {
		name    string
		mode    remote.Mode
		read    http.HandlerFunc
		query   http.HandlerFunc
		want    string
		queries int
	}{
		{"chosen", remote.ModeRemoteRead, probed(broken), well, "(6 tries): 503", 0},
		{"query API fails as well", remote.ModeAuto, probed(broken), broken, "; nor by the query API: ", 6},
		{"begun", remote.ModeAuto, sequence(frames(), begun, broken), well, "503", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/read", tc.read)
			f.handle(rangePath, tc.query)
			src := f.source(t, remote.Config{Mode: tc.mode})
			_, _, err := collect(t, src, promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: 1, End: 1000, Grid: promquery.Grid{Step: 10}})
			if err == nil || !strings.Contains(err.Error(), tc.want) || f.count(rangePath) != tc.queries {
				t.Errorf("got %v after %d queries, want %q after %d", err, f.count(rangePath), tc.want, tc.queries)
			}
			if mode, err := src.Mode(t.Context()); mode != remote.ModeRemoteRead || err != nil {
				t.Errorf("mode %q, %v: what failed altogether says nothing about remote read", mode, err)
			}
		})
	}
}
