package costapi_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation/costapi"
)

// berlin sets its clocks back on 2026-10-25, a day of 25 hours, and forward on 2026-03-29, one of 23.
func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestDaysOfClockChanges cuts stored sets where the days of the time zone begin, and asks for days of one length at once.
func TestDaysOfClockChanges(t *testing.T) {
	zone := berlin(t)
	for _, tc := range []struct {
		name, at, window, lengths, asked string
	}{
		{"25 hours", "2026-10-27T12:00:00+01:00", "4d", "24h0m0s 24h0m0s 25h0m0s 24h0m0s 12h0m0s", "0s 25h0m0s 0s 0s"},
		{"23 hours", "2026-03-31T12:00:00+02:00", "4d", "24h0m0s 24h0m0s 23h0m0s 24h0m0s 12h0m0s", "24h0m0s 24h0m0s 0s"},
		{"yesterday", "2026-03-30T12:00:00+02:00", "yesterday", "23h0m0s", "0s"},
		{"that day as a pair", "2026-03-30T12:00:00+02:00", "2026-03-29T00:00:00+01:00,2026-03-30T00:00:00+02:00", "23h0m0s", "0s"},
		{"lastweek", "2026-03-30T12:00:00+02:00", "lastweek", "24h0m0s 24h0m0s 24h0m0s 24h0m0s 24h0m0s 24h0m0s 24h0m0s", "24h0m0s"},
		{"week", "2026-03-31T00:00:00+02:00", "week", "23h0m0s 24h0m0s", "24h0m0s"},
		{"hours in which the clock is set back", "2026-10-25T04:30:00+01:00", "4h", "1h0m0s 1h0m0s 1h0m0s 1h0m0s 30m0s", "1h0m0s 0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, tc.at)
			if err != nil {
				t.Fatal(err)
			}
			f := &fake{}
			h := costapi.New(f, log.NewNopLogger(), costapi.Config{Zone: zone, Now: func() time.Time { return at }})
			w := get(h, "/model/allocation", "window="+tc.window, "aggregate=cluster")
			var answer struct {
				Data []map[string]struct {
					Window struct{ Start, End time.Time }
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
			}
			var lengths, asked []string
			for _, set := range answer.Data {
				lengths = append(lengths, set["one"].Window.End.Sub(set["one"].Window.Start).String())
			}
			for _, q := range f.asked {
				asked = append(asked, q.Step.String())
			}
			if got := strings.Join(lengths, " "); got != tc.lengths {
				t.Errorf("sets of %s, want %s", got, tc.lengths)
			}
			if got := strings.Join(asked, " "); got != tc.asked {
				t.Errorf("asked by %s, want %s", got, tc.asked)
			}
		})
	}
}

// TestPeriods sums stored days by weeks and months of the time zone.
func TestPeriods(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 13, 46, 0, time.UTC) // a Saturday
	for period, want := range map[string]string{
		"week": "11-08 11-15,11-15 11-22", "month": "11-01 12-01", "quarter": "10-01 01-01", "all": "11-12 11-21", "true": "11-12 11-21",
	} {
		h := costapi.New(&fake{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return at }})
		w := get(h, "/model/allocation", "window=9d", "aggregate=cluster", "accumulate="+period)
		var answer struct {
			Data []map[string]struct {
				Window struct{ Start, End time.Time }
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, set := range answer.Data {
			got = append(got, set["one"].Window.Start.Format("01-02")+" "+set["one"].Window.End.Format("01-02"))
		}
		if text := strings.Join(got, ","); text != want {
			t.Errorf("%s: %s, want %s", period, text, want)
		}
	}
}

// TestACK holds that the parts of a bill are one whole per cluster, in the configured time zone, and what windows are taken.
func TestACK(t *testing.T) {
	zone := time.FixedZone("", 8*3600)
	for _, params := range []string{"", "aggregate=namespace", "aggregate=controller", "aggregate=controllerKind", "aggregate=pod step=1d", "window=today", "window=week", "window=1d"} {
		t.Run(params, func(t *testing.T) {
			given := strings.Fields(params)
			if !strings.Contains(params, "window") {
				given = append(given, "window=lastweek")
			}
			w := get(richHandler(costapi.Config{Zone: zone}), "/v2/allocation", given...)
			var answer struct {
				Data []map[string]struct {
					Name                        string
					Start, End                  string
					Cost, CostRatio, CustomCost float64
					CPUCoreRequestAverage       *float64
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
			}
			for _, set := range answer.Data {
				sums := map[string]float64{}
				for name, r := range set {
					cluster, _, _ := strings.Cut(name, "/")
					sums[cluster] += r.CostRatio
					if !strings.HasSuffix(r.Start, "+08:00") || !strings.HasSuffix(r.End, "+08:00") || r.Name != name || r.CPUCoreRequestAverage == nil {
						t.Errorf("%s: %+v", name, r)
					}
					if end, err := time.Parse(time.RFC3339, r.End); err != nil || end.After(now) {
						t.Errorf("%s ends %s, %v", name, r.End, err)
					}
				}
				for cluster, sum := range sums {
					if math.Abs(sum-1) > 1e-9 {
						t.Errorf("the parts of %s are %v of it", cluster, sum)
					}
				}
			}
		})
	}
}

// TestACKOfOneCluster names rows as ACK does if there is one cluster, and warns that custom prices are missing.
func TestACKOfOneCluster(t *testing.T) {
	w := get(newHandler(&fake{}, costapi.Config{}), "/v2/allocation", "window=yesterday", "aggregate=controller")
	var answer struct {
		Data     []map[string]struct{ Properties map[string]string }
		Warnings []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	row, ok := answer.Data[0]["batch/Job:sum"]
	if !ok || row.Properties["controllerKind"] != "Job" || row.Properties["controller"] != "sum" {
		t.Errorf("got %v", answer.Data)
	}
	if len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "customCost is 0") {
		t.Errorf("warnings %v", answer.Warnings)
	}
}

// TestReplicaSetsByDoor finds what Deployments run by the kind of their pods' owners on ACK's path alone, whose document says so.
func TestReplicaSetsByDoor(t *testing.T) {
	for _, tt := range []struct {
		path, filter string
		deployments  bool
	}{
		{"/v2/allocation", `controllerKind:"replicaset"`, true},
		{"/v2/allocation", `controllerKind!:"replicaset"`, false},
		{"/v2/allocation", `controllerKind:"Job"`, false},
		{"/model/allocation", `controllerKind:"replicaset"`, false},
		{"/model/allocation", `controllerKind!:"replicaset"`, true},
		{"/allocation", `controllerKind:"replicaset"`, false},
	} {
		body := get(richHandler(costapi.Config{}), tt.path, "window=yesterday", "idle=false", "aggregate=controllerKind", "filter="+tt.filter).Body.String()
		if got := strings.Contains(strings.ToLower(body), `"controllerkind":"deployment"`); got != tt.deployments {
			t.Errorf("%s?filter=%s: deployments are selected: %v", tt.path, tt.filter, got)
		}
	}
}

// TestTrends compares with the window before, as much of it as has passed of one that has not ended.
func TestTrends(t *testing.T) {
	for _, tc := range []struct{ window, asked, value string }{
		{"yesterday", "11-19 00:00-11-20 00:00 11-20 00:00-11-21 00:00", `"value":0}`},
		{"today", "11-20 00:00-11-20 04:13 11-21 00:00-11-21 04:13", `"value":0}`},
		{"2h", "11-21 00:13-11-21 02:13 11-21 02:13-11-21 04:13", `"value":0}`},
	} {
		f := &fake{}
		w := get(newHandler(f, costapi.Config{}), "/model/allocation/trends", "window="+tc.window, "aggregate=namespace", "names=web")
		var asked []string
		for _, q := range f.asked {
			asked = append(asked, q.Window.Start.Format("01-02 15:04")+"-"+q.Window.End.Format("01-02 15:04"))
		}
		if got := strings.Join(asked, " "); got != tc.asked || !strings.Contains(w.Body.String(), tc.value) {
			t.Errorf("%s: asked %s, want %s: %s", tc.window, got, tc.asked, w.Body)
		}
	}
	early := &history{since: now.Add(-24 * time.Hour)}
	w := get(costapi.New(early, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), "/model/allocation/trends", "window=1d", "names=web,x", "aggregate=namespace")
	if strings.Contains(w.Body.String(), `"isNaN":false`) || !strings.Contains(w.Body.String(), "not comparable: 0 of 24 h have data") || !strings.Contains(w.Body.String(), "no data from 2026-11-19T04:13:00Z to 2026-11-20T04:13:00Z: ") {
		t.Errorf("without a window before: %s", w.Body)
	}
}

// TestChecks fails an answer whose sets do not add up.
func TestChecks(t *testing.T) {
	h := costapi.New(&broken{}, log.NewNopLogger(), costapi.Config{Check: true, Now: func() time.Time { return now }})
	checkError(t, get(h, "/allocation", "window=1h"), http.StatusInternalServerError, "apply the parameters", "check")
	if w := get(costapi.New(&broken{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), "/allocation", "window=1h"); w.Code != http.StatusOK {
		t.Errorf("status %d: %.200s", w.Code, w.Body)
	}
}

// TestManyValues holds the order and the number of values.
func TestManyValues(t *testing.T) {
	w := get(richHandler(costapi.Config{}), "/allocation/autocomplete", richDay, "field=pod", "limit=3")
	if want := `"data":{"data":["front-1","front-9","proxy-1"]}`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %s, want %s", w.Body, want)
	}
	for _, field := range []string{"account", "label:nothing"} {
		if w := get(richHandler(costapi.Config{}), "/allocation/autocomplete", richDay, "field="+field); !strings.Contains(w.Body.String(), `{"data":[]}`) {
			t.Errorf("%s: %s", field, w.Body)
		}
	}
}

// TestCustomCost is the sum at prices of the sheet: 1 a core, 0.5 a GiB, 8 a device, 0.25 a GiB of volume, 0.125 a load
// balancer and 0.75 a GiB sent to where that costs.
func TestCustomCost(t *testing.T) {
	w := get(richHandler(costapi.Config{}), "/v2/allocation", richDay, "aggregate=namespace")
	var answer struct {
		Data []map[string]struct{ CustomCost float64 }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"one/ml": 24 * (4 + 4 + 8), "one/web": 24 * (1.5 + 2.5 + 16 + 0.125 + 2*0.75), "one/ops": 24 * 0.125} {
		if got := answer.Data[0][name].CustomCost; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
