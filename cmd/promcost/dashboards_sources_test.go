package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/promcost/promcost/dashboards"
)

// aboutItself is the board on which instants differ: a Prometheus scrapes promcost at others than promcost itself does.
const aboutItself = "promcost / promcost itself"

// ofPromcost asks promcost itself at the instant that everything is asked for.
func (w *watched) ofPromcost(t *testing.T, text string) []sample {
	t.Helper()
	return answerOf(t, w.promcost+"/api/v1/query", w.instant(text))
}

// instant asks for an expression now.
func (w *watched) instant(text string) url.Values {
	return url.Values{"query": {text}, "time": {model.TimeFromUnixNano(w.now.UnixNano()).String()}}
}

// agree reports whether the last scrapes got the hour that is the last for promcost, and the bills that it knows: not in the moment
// that a new one is shown.
func (w *watched) agree(t *testing.T) bool {
	t.Helper()
	for _, text := range []string{
		"max(promcost_last_complete_set_timestamp_seconds)", "max(promcost_last_complete_set_timestamp_seconds offset 10s)", "sum(promcost_budget_spent)",
		"sum(promcost_node_cost_total)", "count(promcost_bill_matched_ratio)", "sum(promcost_cloud_cost)",
	} {
		own, err := tryAnswerOf(t, w.promcost+"/api/v1/query", w.instant(text))
		scraped := w.query(t, text)
		if err != nil || len(own) != 1 || len(scraped) != 1 || math.Abs(float64(own[0].Value.Value-scraped[0].Value.Value)) > 1e-9 {
			return false
		}
	}
	return true
}

// testSame wants a Prometheus that scraped promcost and promcost itself to show the same.
func (w *watched) testSame(t *testing.T) {
	for _, e := range expressions(t) {
		if e.board == aboutItself || e.ofPromcost() {
			continue
		}
		t.Run(strings.Join([]string{e.board, e.panel, e.ref}, "/"), func(t *testing.T) {
			own := map[string]float64{}
			for _, s := range w.ofPromcost(t, e.text) {
				own[fmt.Sprint(s.Metric)] = float64(s.Value.Value)
			}
			shown := w.query(t, e.text)
			least := leastOf(e.text, shown)
			same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(b), 1) }
			for _, s := range shown {
				key := fmt.Sprint(s.Metric)
				want, ok := own[key]
				got := float64(s.Value.Value)
				if tied := !ok && same(got, least); !tied && (!ok || !same(got, want)) {
					t.Errorf("%s: Prometheus shows %v, promcost %v: %s", key, got, want, e.text)
				}
				delete(own, key)
			}
			maps.DeleteFunc(own, func(_ string, v float64) bool { return same(v, least) })
			if len(own) > 0 {
				t.Errorf("Prometheus does not show %v: %s", own, e.text)
			}
		})
	}
}

// leastOf is the least value that a topk shows, NaN for other expressions. Of several series with that value, a topk shows any.
func leastOf(expression string, shown []sample) float64 {
	if !strings.HasPrefix(expression, "topk(") || len(shown) == 0 {
		return math.NaN()
	}
	return float64(slices.MinFunc(shown, func(a, b sample) int { return cmp.Compare(a.Value.Value, b.Value.Value) }).Value.Value)
}

// testVariables asks both for what the variables offer, as Grafana does: values of a label with match[].
func (w *watched) testVariables(t *testing.T) {
	query := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, f := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
		var board struct {
			Title      string
			Templating struct {
				List []struct {
					Name, Type string
					Query      any
				}
			}
		}
		if err := json.Unmarshal(f.Text, &board); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for _, v := range board.Templating.List {
			m := query.FindStringSubmatch(grafanaFills.Replace(fmt.Sprint(v.Query)))
			if v.Type != "query" {
				continue
			}
			t.Run(board.Title+"/"+v.Name, func(t *testing.T) {
				values := func(base string) (list []string) {
					_, body := get(t, base+"/api/v1/label/"+m[2]+"/values?"+url.Values{
						"match[]": {m[1]}, "start": {strconv.FormatInt(w.now.Unix()-6*3600, 10)}, "end": {strconv.FormatInt(w.now.Unix(), 10)},
					}.Encode())
					var answer struct{ Data []string }
					if err := json.Unmarshal([]byte(body), &answer); err != nil {
						t.Errorf("%v: %s", err, body)
					}
					return answer.Data
				}
				scraped, own := values(w.url), values(w.promcost)
				if len(scraped) == 0 {
					t.Errorf("Prometheus has no values of %s", m[2])
				}
				for _, value := range scraped { // promcost has hours before these, too
					if v.Name != "instance" && !slices.Contains(own, value) {
						t.Errorf("promcost does not know the %s %q, only %q", m[2], value, own)
					}
				}
			})
		}
	}
}
