package remote_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// valuesAt are samples with value 1 at these seconds.
func valuesAt(seconds ...int64) string {
	list := make([]string, len(seconds))
	for i, s := range seconds {
		list[i] = fmt.Sprintf(`[%d,"1"]`, s)
	}
	return strings.Join(list, ",")
}

// every are the seconds from first to last, step apart.
func every(step, first, last int64) (list []int64) {
	for at := first; at <= last; at += step {
		list = append(list, at)
	}
	return list
}

// scrapedSeries is a series of an answer, of a target.
func scrapedSeries(metric, labels string, seconds ...int64) string {
	return fmt.Sprintf(`{"metric":{"__name__":%q,"job":"j","instance":"i"%s},"values":[%s]}`, metric, labels, valuesAt(seconds...))
}

// scrapedBeside is the series of scrapes of another target.
func scrapedBeside(labels string, seconds ...int64) string {
	return fmt.Sprintf(`{"metric":{"__name__":"up","job":"j","instance":"beside"%s},"values":[%s]}`, labels, valuesAt(seconds...))
}

// TestMarkers puts staleness markers back where raw samples lack them.
func TestMarkers(t *testing.T) {
	minutes := every(60, 60, 7200)
	for _, tc := range []struct {
		name    string
		up      []string // series
		samples []int64
		want    string // the last samples
	}{
		{"goes on", []string{scrapedSeries("up", "", minutes...)}, minutes, "7080=1 7140=1 7200=1"},
		{"ended", []string{scrapedSeries("up", "", minutes...)}, every(60, 60, 600), "540=1 600=1 660=NaN"},
		{"missed once", []string{scrapedSeries("up", "", minutes...)}, []int64{60, 120, 240, 300, 7200}, "120=1 180=NaN 240=1 300=1 360=NaN 7200=1"},
		{"a scrape that was late", []string{scrapedSeries("up", "", 60, 120, 183, 240, 300)}, []int64{60, 120, 240, 300}, "60=1 120=1 183=NaN 240=1 300=1"},
		{"a scrape that came since", []string{scrapedSeries("up", "", every(60, 60, 7140)...)}, []int64{60, 120, 240, 7200}, "120=1 180=NaN 240=1 300=NaN 7200=1"},
		{"an outage", []string{scrapedSeries("up", "", append(every(60, 60, 600), 901)...)}, every(60, 60, 600), "480=1 540=1 600=1"},
		{"scraped within the lookback", []string{scrapedSeries("up", "", append(every(60, 60, 600), 900)...)}, every(60, 60, 600), "540=1 600=1 900=NaN"},
		{"times of its own", []string{scrapedSeries("up", "", minutes...)}, []int64{61, 121, 181}, "61=1 121=1 181=1"},
		{"after samples of others", []string{scrapedSeries("up", "", minutes...)}, append(every(60, 60, 600), 670, 730, 790, 840), "540=1 600=1 660=NaN 670=1 730=1 790=1 840=1 900=NaN"},
		{"two endpoints", []string{scrapedSeries("up", `,"path":"/a"`, every(60, 75, 7200)...), scrapedSeries("up", `,"path":"/b"`, minutes...)}, []int64{60, 120}, "60=1 120=1 180=NaN"},
		{"another target", []string{`{"metric":{"__name__":"up","job":"j","instance":"other"},"values":[` + valuesAt(minutes...) + `]}`}, []int64{60, 120}, "60=1 120=1"},
		{"a target that was removed", []string{scrapedSeries("up", "", every(60, 60, 600)...), scrapedBeside("", minutes...)}, every(60, 60, 600), "540=1 600=1 660=NaN"},
		{"one that came back", []string{scrapedSeries("up", "", append(every(60, 60, 600), every(60, 1200, 7200)...)...), scrapedBeside("", minutes...)}, append(every(60, 60, 600), 1200, 1260), "600=1 660=NaN 1200=1 1260=1 1320=NaN"},
		{"removed, of another Prometheus", []string{scrapedSeries("up", `,"cluster":"a"`, every(60, 60, 600)...), scrapedBeside(`,"cluster":"b"`, minutes...)}, every(60, 60, 600), "540=1 600=1"},
		{"an outage of all", []string{scrapedSeries("up", "", append(every(60, 60, 600), 1200, 1260)...), scrapedBeside("", append(every(60, 85, 625), every(60, 1225, 7200)...)...)}, append(every(60, 60, 600), 1200, 1260), "600=1 1200=1 1260=1 1320=NaN"},
		{"out of order and twice", []string{scrapedSeries("up", "", 180, 60, 120, 120)}, []int64{60, 120}, "60=1 120=1 180=NaN"},
		{"not known", nil, []int64{60, 120}, "60=1 120=1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
				if query := r.FormValue("query"); ofScrapes(query) {
					matrix(strings.Join(tc.up, ","))(w, r)
				} else {
					matrix(scrapedSeries("m", "", tc.samples...))(w, r)
				}
			})
			got, _, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), promquery.Request{Metric: "m", Keep: promquery.Labels("job"), Start: 60_000, End: 7_200_000})
			list := got["0:j"]
			want := strings.Split(strings.ReplaceAll(tc.want, "=", "000="), " ")
			if diff := cmp.Diff(want, list[max(0, len(list)-len(want)):]); diff != "" || err != nil {
				t.Errorf("samples (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestScrapesUnknown asks for a grid where the server does not say when targets were scraped, or says too much: it knows the markers.
func TestScrapesUnknown(t *testing.T) {
	crowd := make([]string, 2100)
	for i := range crowd {
		list := make([]int64, 1000)
		for k := range list {
			list[k] = int64(3*k + k%2)
		}
		crowd[i] = scrapedSeries("up", fmt.Sprintf(`,"n":"%d"`, i), list...)
	}
	for _, tc := range []struct {
		name string
		up   http.HandlerFunc
	}{
		{"refused", status(403, "text/plain", "no")},
		{"none", matrix("")},
		{"cut", text("application/json", `{"status":"success","data":{"resultType":"matrix","result":[`+scrapedSeries("up", "", 60, 120)+`,{"met`)},
		{"irregular without end", matrix(strings.Join(crowd, ","))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
				switch query := r.FormValue("query"); {
				case ofScrapes(query):
					tc.up(w, r)
				case strings.HasPrefix(query, "{"):
					t.Errorf("it asks for raw samples: %s", query)
				default:
					matrix("")(w, r)
				}
			})
			f.handle(rangePath, matrix(scrapedSeries("m", "", 3600)))
			sel := promquery.Request{Metric: "m", Keep: promquery.Labels("job"), Start: 60_000, End: 3_660_000, Grid: promquery.Grid{Step: minuteMs, Interval: minuteMs}}
			got, _, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeQuery}), sel)
			if diff := cmp.Diff(map[string][]string{"0:j": {"3600000=1"}}, got); diff != "" || err != nil {
				t.Errorf("points (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestMarkersOnGrid compares points that are made here of raw samples, with markers put back, with what a real server makes of the grid.
func TestMarkersOnGrid(t *testing.T) {
	dir := t.TempDir()
	sel := unmarked
	sel.Grid.Lookback = 0
	of := []string{"job", "j", "instance", "i"}
	up := promtest.Series{Labels: append([]string{"__name__", "up"}, of...), Samples: promtest.Regular(sel.Start-hourMs, sel.End+hourMs, minuteMs, func(int64) float64 { return 1 })}
	list := []promtest.Series{up}
	for i, s := range scraped(true) {
		if i%2 == 0 { // at the times of scrapes
			list = append(list, promtest.Series{Labels: append(s.Labels, of...), Samples: markedBy(up.Samples, s.Samples)})
		}
	}
	removed := append(promtest.Regular(sel.Start, sel.Start+hourMs, minuteMs, func(int64) float64 { return 1 }), promtest.Stale(sel.Start+hourMs+minuteMs))
	for _, name := range []string{"up", sel.Metric} {
		list = append(list, promtest.Series{Labels: []string{"__name__", name, "pod", "removed", "job", "j", "instance", "removed"}, Samples: removed})
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
	server := promtest.Start(t, dir, promtest.Config{})
	var count ranges
	src, err := remote.New(remote.Config{URL: server, Mode: remote.ModeQuery, Client: &http.Client{Transport: &count}})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := collect(t, src, sel)
	if err != nil {
		t.Fatal(err)
	}
	want := pointsOf(t, server, sel.Metric, sel)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 20 || count.grids.Load() > 0 {
		t.Errorf("%d grids, points (-server +raw):\n%s", count.grids.Load(), diff)
	}
}

// markedBy are samples of a series with the staleness markers that a Prometheus writes: where a scrape lacks it that the one before had.
func markedBy(scrapes, samples []promtest.Sample) (out []promtest.Sample) {
	at := map[int64]promtest.Sample{}
	for _, s := range samples {
		at[s.T] = s
	}
	had := false
	for _, x := range scrapes {
		s, has := at[x.T]
		switch has = has && s.V == s.V; {
		case has:
			out = append(out, s)
		case had:
			out = append(out, promtest.Stale(x.T))
		}
		had = has
	}
	return out
}
