package costapi_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/labelnames"
)

// exported is a ledger whose containers have labels as kube-state-metrics exports them.
type exported struct{}

func (exported) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		dict := allocation.NewDict()
		for _, w := range windows {
			s := allocation.NewSet(w, dict)
			for i, labels := range []map[string]string{
				{"cost_center": "7", "team": "red"}, {"team_conflict1": "big", "team_conflict2": "small"},
			} {
				r := allocation.Row{Labels: labels, Start: w.Start, End: w.End}
				r.Text[allocation.Namespace], r.Text[allocation.Pod] = "web", []string{"front", "back"}[i]
				r.Values[allocation.Cost.Of(allocation.CPU)] = float64(i + 1)
				s.Append(&r)
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// TestLabelSpellings asks for labels as they are in Kubernetes, wherever a request may name one.
func TestLabelSpellings(t *testing.T) {
	const nobody, collides = "no allocation of the window has one of that name", "its name collides with others, which are exported as team_conflict1 and team_conflict2; 1 allocation has"
	for _, tt := range []struct {
		name       string
		params     []string
		configured []string
		want       []string // parts of the body
		not        []string
	}{
		{name: "aggregation", params: []string{"aggregate=label:costCenter"}, want: []string{`"costCenter=7":`}, not: []string{"warning"}},
		{name: "the exported key is in the properties", params: []string{"filter=label[costCenter]:\"7\""}, want: []string{`"labels":{"cost_center":"7","team":"red"}`, "front"}, not: []string{"back", "warning"}},
		{name: "filter by key", params: []string{"aggregate=pod", `filter=label:"costCenter"`}, want: []string{"front"}, not: []string{"back", "warning"}},
		{name: "filter by a key that collides", params: []string{"aggregate=pod", `filter=label:"Team"`}, want: []string{"front", "back"}, not: []string{"warning"}},
		{name: "first filters", params: []string{"aggregate=pod", "filterLabels=costCenter:7"}, want: []string{"front"}, not: []string{"back", "warning"}},
		{name: "label selector", params: []string{"aggregate=pod", "labelSelector=costCenter in (7)"}, want: []string{"front"}, not: []string{"back", "warning"}},
		{name: "what is shared", params: []string{"aggregate=pod", "shareLabels=costCenter:7", "shareTenancyCosts=false"}, want: []string{"back", `"sharedCost":1`}, not: []string{"front", "warning"}},
		{name: "aggregation by what nothing has", params: []string{"aggregate=label:costCentre"}, want: []string{"label costCentre: " + nobody}},
		{name: "a filter that takes nothing away", params: []string{"aggregate=pod", `filter=label[costCentre]!:"7"`}, want: []string{"front", "back", "label costCentre: " + nobody}},
		{name: "an alias", params: []string{"aggregate=owner"}, want: []string{"label or annotation owner: " + nobody, "--metric-annotations-allowlist=pods=[owner]"}},
		{name: "an annotation", params: []string{"aggregate=annotation:team"}, want: []string{"annotation team: " + nobody}},
		{name: "one of colliding names", params: []string{"aggregate=label:team"}, want: []string{"team=red", "__unallocated__", collides}},
		{name: "all colliding names", params: []string{"aggregate=label:team,label:Team"}, want: []string{"team=small/Team=big"}, not: []string{"warning"}},
		{name: "colliding names in filter and aggregation", params: []string{"aggregate=label:team", `filter=label[Team]:"big"`}, want: []string{"team=small"}, not: []string{`"team":"red"`, "warning"}},
		{name: "colliding names, one configured", params: []string{"aggregate=label:team"}, configured: []string{"Team"}, want: []string{"team=small"}, not: []string{"warning"}},
		{name: "colliding names in a selector and what is shared", params: []string{"aggregate=pod", "labelSelector=team=small", `share=label[Team]:"x"`}, want: []string{"back"}, not: []string{"front"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for path, window := range map[string]string{"/allocation": "2h", "/model/allocation": "3d"} {
				params := slices.Concat([]string{"window=" + window, "idle=false"}, tt.params)
				if path == "/model/allocation" {
					params = append(params, "accumulate=true", "labelNames=pair")
				} else {
					params = append(params, "labelNames=pair", "step=2h")
				}
				w := get(costapi.New(exported{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }, LabelNames: labelnames.NewNames(tt.configured...)}), path, params...)
				for _, want := range tt.want {
					if path == "/model/allocation" && (strings.Contains(want, "sharedCost") || strings.Contains(want, "1 allocation has")) {
						continue // there are three or four days
					}
					if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
						t.Errorf("%s: %d %s lacks %s", path, w.Code, w.Body, want)
					}
				}
				for _, not := range tt.not {
					if strings.Contains(w.Body.String(), not) {
						t.Errorf("%s: %s has %s", path, w.Body, not)
					}
				}
			}
		})
	}
}

// TestAssetLabelsThatNothingHas checks that aggregating assets by a label that none has is warned of.
func TestAssetLabelsThatNothingHas(t *testing.T) {
	const nobody = "no asset of the window has one of that name"
	for _, tt := range []struct {
		name, aggregate, want string // of the warning; "" is none
	}{
		{"a label that nodes have", "label:rack", ""},
		{"in another spelling", "label:Rack", ""},
		{"a label that nothing has", "type,label:costCentre", "label costCentre: " + nobody},
		{"an alias", "department", ""},
		{"no label", "type", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := get(newHandler(&fake{}, costapi.Config{}), "/model/assets", "window=1d", "aggregate="+tt.aggregate).Body.String()
			if strings.Contains(body, nobody) != (tt.want != "") || !strings.Contains(body, tt.want) {
				t.Errorf("%s, want %q", body, tt.want)
			}
		})
	}
}

// TestSearchForNamesOfLabels searches names in other spellings than they are exported in. Values are searched as they are.
func TestSearchForNamesOfLabels(t *testing.T) {
	h := costapi.New(exported{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
	for _, tt := range []struct{ field, search, want string }{
		{"label", "costC", `["cost_center"]`},
		{"label", "COST", `["cost_center"]`},
		{"label", "cost-c", `["cost_center"]`},
		{"label", "stC_enter", "[]"},
		{"label", "", `["cost_center","team","team_conflict1","team_conflict2"]`},
		{"label:team", "rE", `["red"]`},
		{"label:team", "r-e", "[]"},
	} {
		for _, path := range []string{"/allocation/autocomplete", "/model/allocation/autocomplete"} {
			w := get(h, path, "window=2h", "field="+tt.field, "search="+tt.search)
			if !strings.Contains(w.Body.String(), `{"data":`+tt.want+"}") {
				t.Errorf("%s: field=%s search=%s: %s, want %s", path, tt.field, tt.search, w.Body, tt.want)
			}
		}
	}
}
