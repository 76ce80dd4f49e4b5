package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// TestNothingMeasuresUsage asks every interface for the costs of a cluster without cAdvisor, so that nobody measures usage. Its
// usage is unknown, which is not 0.
func TestNothingMeasuresUsage(t *testing.T) {
	end := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	dir := oldDemo(t)
	without := []string{"--tsdb.path=" + dir, `--prometheus.exclude=job=~"kubelet|dcgm-exporter"`}
	p := start(t, append([]string{"serve", "--storage.path=", "--web.listen-address=127.0.0.1:0"}, without...)...)
	base, window := p.url(t), fmt.Sprintf("window=%d,%d", end.Unix()-3*3600, end.Unix())
	for _, tt := range []struct {
		path    string
		unknown bool // is null, else 0
	}{
		{"/model/allocation/compute?aggregate=namespace&nulls=true&" + window, true},
		{"/model/allocation/compute?accumulate=true&nulls=true&" + window, true},
		{"/model/allocation/summary?aggregate=namespace&nulls=true&" + window, true},
		{"/model/allocation/summary/topline?nulls=true&" + window, true},
		{"/model/allocation/compute?aggregate=pod&fields=totalEfficiency,rawAllocationOnly,gpuAllocation&sortBy=totalEfficiency&nulls=true&" + window, true},
		{"/allocation/compute?aggregate=namespace&nulls=true&" + window, true},
		{"/model/allocation?aggregate=namespace&" + window, false},
		{"/model/allocation/compute?aggregate=pod&" + window, false},
		{"/model/allocation/summary?aggregate=namespace&" + window, false},
		{"/model/allocation/summary/topline?" + window, false},
		{"/allocation/compute?aggregate=namespace&" + window, false},
		{"/allocation/compute/summary?aggregate=namespace&" + window, false},
	} {
		code, body := get(t, base+tt.path)
		var answer any
		if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 {
			t.Fatalf("%s: %d %v %.300s", tt.path, code, err, body)
		}
		found := 0
		eachUsage(answer, func(name string, value any) {
			found++
			if known := value != nil; known == tt.unknown && !strings.HasPrefix(name, "gpu") || known && value != 0.0 {
				t.Errorf("%s: %s is %v", tt.path, name, value)
			}
		})
		if found == 0 {
			t.Errorf("%s: no usage: %.300s", tt.path, body)
		}
	}
	for nulls, want := range map[string]string{"true": "", "false": "0.000"} {
		_, csv := get(t, base+"/model/allocation/compute?aggregate=namespace&accumulate=true&format=csv&nulls="+nulls+"&"+window)
		for _, line := range strings.Split(strings.TrimSpace(csv), "\n")[1:] {
			if cells := strings.Split(line, ","); cells[len(cells)-2] != want {
				t.Errorf("nulls=%s: efficiency in CSV is %q: %s", nulls, cells[len(cells)-2], line)
			}
		}
	}
	query := func(text string) []sample {
		return answerOf(t, base+"/api/v1/query", url.Values{"query": {text}, "time": {model.TimeFromUnix(end.Unix()).String()}})
	}
	if got := query(`{__name__=~"promcost_.*_efficiency_ratio"}`); len(got) > 0 {
		t.Errorf("there are efficiencies: %v", got)
	}
	if got := query(`count(promcost_namespace_hourly_cost)`); len(got) != 1 {
		t.Errorf("there are no costs: %v", got)
	}
	p.end(t)
	table := start(t, append([]string{"query", "allocation", fmt.Sprintf("--window=%d,%d", end.Unix()-3*3600, end.Unix())}, without...)...)
	if code := <-table.code; code != exitOK {
		t.Fatalf("exit %d: %s", code, table.err.String())
	}
	if text := table.out.String(); strings.Contains(text, "%") || strings.Count(text, "–\n") < 3 {
		t.Errorf("the table shows efficiencies:\n%s", text)
	}
}

// eachUsage calls do for every member of an answer about usage.
func eachUsage(answer any, do func(name string, value any)) {
	switch x := answer.(type) {
	case []any:
		for _, v := range x {
			eachUsage(v, do)
		}
	case map[string]any:
		for name, v := range x {
			if strings.Contains(name, "Usage") && !strings.Contains(name, "Cost") || strings.HasSuffix(name, "Efficiency") {
				do(name, v)
				continue
			}
			eachUsage(v, do)
		}
	}
}
