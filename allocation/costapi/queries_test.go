package costapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

func TestQueries(t *testing.T) {
	for _, tc := range []struct {
		name, path string
		params     []string
		asked      string // of the ledger: start, end, sets, resolution
		windows    string // of the answer's sets
	}{
		{
			"a duration is moved back to a minute", "/model/allocation/compute",
			[]string{"window=1h"},
			"03:13:00 04:13:00 1 auto", "03:13:00 04:13:00",
		},
		{
			"in exact mode, too", "/model/allocation/compute",
			[]string{"window=1h", "resolution=exact"},
			"03:13:00 04:13:00 1 exact", "03:13:00 04:13:00",
		},
		{
			"it keeps its length", "/model/allocation/compute",
			[]string{"window=90m", "resolution=1h"},
			"02:30:00 04:00:00 1 1h", "02:30:00 04:00:00",
		},
		{
			"instants are kept", "/model/allocation/compute",
			[]string{"window=2026-11-21T01:02:03Z,2026-11-21T02:03:04Z", "resolution=5m"},
			"01:02:03 02:03:04 1 5m", "01:02:03 02:03:04",
		},
		{
			"sets that have ended", "/model/allocation/compute",
			[]string{"window=2026-11-21T01:00:00Z,2026-11-21T03:00:00Z", "step=1h30m"},
			"01:00:00 03:00:00 2 auto", "01:00:00 01:30:00 01:30:00 03:00:00",
		},
		{
			"data end at now", "/model/allocation/compute",
			[]string{"window=today", "resolution=5m"},
			"00:00:00 04:13:46 1 5m", "00:00:00 00:00:00",
		},
		{
			"OpenCost rounds up", "/allocation",
			[]string{"window=2h"},
			"03:00:00 04:13:46 1 auto", "03:00:00 05:00:00",
		},
		{
			"one grid for all sets, those in the future are empty", "/allocation",
			[]string{"window=2026-11-21T03:00:00Z,2026-11-21T07:00:00Z", "step=1h30m"},
			"03:00:00 04:13:46 2 auto", "03:00:00 04:00:00 04:00:00 05:30:00 empty",
		},
		{
			"a running set shorter than the resolution", "/allocation",
			[]string{"window=2026-11-21T03:13:30Z,2026-11-21T05:13:30Z", "step=1h", "resolution=1h"},
			"03:13:30 04:13:46 2 1h", "03:13:30 04:13:30 04:13:30 05:13:30",
		},
		{
			"accumulated sets", "/allocation",
			[]string{"window=2026-11-21T03:00:00Z,2026-11-21T07:00:00Z", "step=1h30m", "accumulate=true"},
			"03:00:00 04:13:46 2 auto", "03:00:00 07:00:00",
		},
		{
			"stored days, the last one ending now", "/model/allocation",
			[]string{"window=3d"},
			"00:00:00 00:00:00 3 auto, 00:00:00 04:13:00 1 auto", "00:00:00 00:00:00 00:00:00 00:00:00 00:00:00 00:00:00 00:00:00 04:13:00",
		},
		{
			"stored hours of a short duration", "/model/allocation",
			[]string{"window=2h"},
			"02:00:00 04:00:00 2 auto, 04:00:00 04:13:00 1 auto", "02:00:00 03:00:00 03:00:00 04:00:00 04:00:00 04:13:00",
		},
		{
			"today is a whole day", "/model/allocation",
			[]string{"window=today"},
			"00:00:00 04:13:46 1 auto", "00:00:00 00:00:00",
		},
		{
			"stored days are cut at instants", "/model/allocation",
			[]string{"window=2026-11-19T10:00:00Z,2026-11-20T10:00:00Z"},
			"10:00:00 00:00:00 1 auto, 00:00:00 10:00:00 1 auto", "10:00:00 00:00:00 00:00:00 10:00:00",
		},
		{
			"and at the hours around them", "/model/allocation",
			[]string{"window=2026-11-20T10:20:00Z,2026-11-20T11:40:00Z"},
			"10:00:00 12:00:00 1 auto", "10:00:00 12:00:00",
		},
		{
			"a resolution that is given is of all sets", "/model/allocation",
			[]string{"window=3d", "resolution=1h"},
			"00:00:00 04:00:00 4 1h", "00:00:00 00:00:00 00:00:00 00:00:00 00:00:00 00:00:00 00:00:00 04:00:00",
		},
		{
			"nothing is stored of times to come", "/model/allocation",
			[]string{"window=today", "step=1h", "aggregate=cluster"},
			"00:00:00 04:00:00 4 auto, 04:00:00 04:13:46 1 auto",
			"00:00:00 01:00:00 01:00:00 02:00:00 02:00:00 03:00:00 03:00:00 04:00:00 04:00:00 05:00:00",
		},
		{
			"stored hours where that is asked", "/model/allocation",
			[]string{"window=yesterday", "step=1h", "accumulate=true"},
			"00:00:00 00:00:00 24 auto", "00:00:00 00:00:00",
		},
		{
			"the window is cut where days begin", "/model/allocation/compute",
			[]string{"window=36h", "accumulate=day"},
			"16:13:00 04:13:00 3 auto", "",
		},
		{
			"OpenCost's assets are one map", "/assets",
			[]string{"window=3h", "step=1h"},
			"02:00:00 04:13:46 1 auto", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{}
			w := get(newHandler(f, costapi.Config{}), tc.path, append(tc.params, "aggregate=")...)
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			var asked []string
			for _, q := range f.asked {
				windows, err := q.Windows()
				if err != nil {
					t.Fatal(err)
				}
				asked = append(asked, fmt.Sprint(q.Window.Start.Format(time.TimeOnly), " ", q.Window.End.Format(time.TimeOnly), " ", len(windows), " ", allocation.ResolutionText(q.Resolution)))
			}
			if got := strings.Join(asked, ", "); got != tc.asked {
				t.Errorf("asked for %s, want %s", got, tc.asked)
			}
			if tc.windows == "" {
				return
			}
			if got := answeredWindows(t, w.Body.Bytes()); got != tc.windows {
				t.Errorf("windows %s, want %s", got, tc.windows)
			}
		})
	}
}

// answeredWindows are the clocks at the ends of the windows of the sets, or the word empty.
func answeredWindows(t *testing.T, body []byte) string {
	t.Helper()
	var answer struct {
		Data []map[string]struct {
			Window struct{ Start, End time.Time }
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var clocks []string
	for _, set := range answer.Data {
		if len(set) == 0 {
			clocks = append(clocks, "empty")
		}
		for _, row := range set {
			clocks = append(clocks, row.Window.Start.Format(time.TimeOnly), row.Window.End.Format(time.TimeOnly))
			break
		}
	}
	return strings.Join(clocks, " ")
}

// TestPartWithoutData checks that the other sets are answered with a warning if the history has no data of the running one.
func TestPartWithoutData(t *testing.T) {
	f := &fake{noData: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)}
	h := newHandler(f, costapi.Config{})
	w := get(h, "/model/allocation", "window=1h")
	if got := answeredWindows(t, w.Body.Bytes()); got != "03:00:00 04:00:00 empty" || !strings.Contains(w.Body.String(), `"no data from 2026-11-21T04:00:00Z to 2026-11-21T04:13:00Z: no data"]`) {
		t.Errorf("windows %s: %s", got, w.Body)
	}
	f.noData = f.noData.Add(-time.Hour)
	w = get(h, "/model/allocation", "window=1h")
	if !strings.Contains(w.Body.String(), `"data":[{},{}]`) || !strings.Contains(w.Body.String(), `"warnings":["no data from 2026-11-21T03:00:00Z to 2026-11-21T04:13:00Z: no data"]`) {
		t.Errorf("without any data: %s", w.Body)
	}
}

func TestNothingToComputeYet(t *testing.T) {
	f := &fake{}
	midnight := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	w := get(newHandler(f, costapi.Config{Now: func() time.Time { return midnight }}), "/allocation", "window=today")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"data":[{}]`) || len(f.asked) != 0 {
		t.Errorf("status %d, asked %d times: %s", w.Code, len(f.asked), w.Body)
	}
}
