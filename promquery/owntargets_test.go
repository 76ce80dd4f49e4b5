package promquery_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// scraped is two hours of a series of value v; labels are alternating names and values.
func scraped(v float64, name string, labels ...string) promtest.Series {
	end := ownWindow.End.UnixMilli()
	return promtest.Series{
		Labels:  append([]string{"__name__", name}, labels...),
		Samples: promtest.Regular(end-2*3600_000, end, 60_000, func(int64) float64 { return v }),
	}
}

var ownWindow = allocation.Window{Start: time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}

// pricedNode is a node n1 of one core, and what says its price.
func pricedNode(prices ...promtest.Series) []promtest.Series {
	return append([]promtest.Series{
		scraped(1, "kube_node_info", "node", "n1", "job", "ksm", "instance", "ksm:8080"),
		scraped(1, "kube_node_status_capacity", "node", "n1", "resource", "cpu", "job", "ksm", "instance", "ksm:8080"),
	}, prices...)
}

// price is what a core-hour of the only node costs: of the hour by itself, and of it computed together with the one before.
func price(t *testing.T, src promquery.Source, cfg promquery.Config) float64 {
	t.Helper()
	alone := pricedSets(t, src, cfg, allocation.Query{Window: ownWindow, Resolution: time.Minute, Alone: true})[0]
	both := allocation.Window{Start: ownWindow.Start.Add(-time.Hour), End: ownWindow.End}
	together := pricedSets(t, src, cfg, allocation.Query{Window: both, Resolution: time.Minute, Step: time.Hour, Alone: true})[1]
	if got, want := together.Nodes[0].TotalCost(), alone.Nodes[0].TotalCost(); got != want {
		t.Errorf("the node costs %v where hours are computed together, %v alone", got, want)
	}
	if diff := cmp.Diff(alone.Warnings, together.Warnings); diff != "" {
		t.Errorf("warnings (-alone +together):\n%s", diff)
	}
	return math.Round(alone.Nodes[0].TotalCost()*1e6) / 1e6
}

// pricedSets are the sets of a query, each with one node.
func pricedSets(t *testing.T, src promquery.Source, cfg promquery.Config, q allocation.Query) []*allocation.Set {
	t.Helper()
	sets, err := promquery.NewEngine(src, cfg).Compute(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		if len(s.Nodes) != 1 {
			t.Fatalf("%d nodes, want 1", len(s.Nodes))
		}
	}
	return sets
}

const cpuPrice = "node_cpu_hourly_cost"

// opencostPrice is 2, from an OpenCost in a job.
func opencostPrice(job string) promtest.Series {
	return scraped(2, cpuPrice, "node", "n1", "job", job, "instance", "opencost:9003", "exported_instance", "n1")
}

func buildInfo(job string) promtest.Series {
	return scraped(1, "promcost_build_info", "job", job, "instance", "promcost:9004", "version", "1")
}

// TestUnlabeled checks which sets say that no series has the label cluster: those of which only what promcost exposed does, and those of which
// another label names the cluster, too.
func TestUnlabeled(t *testing.T) {
	t.Parallel()
	label := []string{"cluster", config.Clusters.Default}
	own := []string{"cluster", config.Clusters.Default, "node", "n1", "job", "promcost", "instance", "promcost:9004", "exported_instance", "n1"}
	for _, tt := range []struct {
		name  string
		more  []promtest.Series
		named bool
	}{
		{"no series", []promtest.Series{opencostPrice("opencost")}, false},
		{"promcost's own series", []promtest.Series{scraped(9, cpuPrice, own...), buildInfo("promcost")}, false},
		{"a pod's", []promtest.Series{scraped(1, "kube_pod_info", append(label, "namespace", "a", "pod", "p", "uid", "u", "node", "n1")...)}, true},
		{"a pod's, by another label", []promtest.Series{scraped(1, "kube_pod_info", "cluster_id", config.Clusters.Default, "namespace", "a", "pod", "p", "uid", "u", "node", "n1")}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(tt.more...)...)
			cfg := config
			cfg.Clusters.Labels = []string{"cluster", "cluster_id"}
			sets := pricedSets(t, openBlocks(t, dir), cfg, allocation.Query{Window: ownWindow, Resolution: time.Minute})
			if sets[0].Unlabeled == tt.named {
				t.Errorf("the set is unlabeled: %v", sets[0].Unlabeled)
			}
		})
	}
}

// TestOwnSeries checks that promcost does not read back what a promcost exposes, and does read what others expose.
func TestOwnSeries(t *testing.T) {
	t.Parallel()
	const sheet = 0.031611
	dull := scraped(9, cpuPrice, "node", "n1", "job", "promcost", "instance", "promcost:9004", "exported_instance", "n1")
	honored := scraped(9, cpuPrice, "node", "n1", "job", "promcost", "instance", "n1")
	up := func(job, instance string) promtest.Series { return scraped(1, "up", "job", job, "instance", instance) }
	named := []string{"cluster", config.Clusters.Default, "node", "n1", "job", "promcost", "instance", "promcost:9004", "exported_instance", "n1"}
	for _, tt := range []struct {
		name   string
		prices []promtest.Series
		want   float64
	}{
		{"no promcost", []promtest.Series{opencostPrice("opencost")}, 2},
		{"no promcost, but a job of that name", []promtest.Series{dull}, 9},
		{"promcost alone", []promtest.Series{dull, buildInfo("promcost")}, sheet},
		{"and OpenCost", []promtest.Series{dull, buildInfo("promcost"), opencostPrice("opencost")}, 2},
		{"honor_labels", []promtest.Series{honored, buildInfo("promcost"), up("promcost", "promcost:9004"), opencostPrice("opencost")}, 2},
		{"honor_labels, a job of both", []promtest.Series{
			scraped(2, cpuPrice, "node", "n1", "job", "pods", "instance", "n1"),
			buildInfo("pods"), up("pods", "promcost:9004"), up("pods", "opencost:9003"),
		}, 2},
		{"honor_labels, unknown targets", []promtest.Series{honored, buildInfo("promcost")}, 9},
		{"a cluster named by the prices only", []promtest.Series{scraped(9, cpuPrice, named...), buildInfo("promcost")}, sheet},
		{"one job of both", []promtest.Series{
			scraped(9, cpuPrice, "node", "n1", "job", "pods", "instance", "promcost:9004", "exported_instance", "n1"),
			buildInfo("pods"), opencostPrice("pods"),
		}, 2},
		{"OpenCost with honor_labels", []promtest.Series{
			dull, buildInfo("promcost"), scraped(2, cpuPrice, "node", "n1", "job", "opencost", "instance", "n1"),
		}, 2},
		{"spot by promcost", []promtest.Series{
			scraped(1, "kubecost_node_is_spot", "node", "n1", "job", "promcost", "instance", "promcost:9004"), buildInfo("promcost"),
		}, sheet},
		{"a promcost of another cluster", []promtest.Series{
			scraped(1, "promcost_build_info", "job", "promcost", "instance", "promcost:9004", "cluster", "other"), scraped(9, cpuPrice, named...),
		}, 9},
		{"a build info of no target", []promtest.Series{scraped(1, "promcost_build_info"), scraped(3, cpuPrice, "node", "n1")}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(tt.prices...)...)
			src := openBlocks(t, dir)
			if got := price(t, src, config); got != tt.want {
				t.Errorf("price %v, want %v", got, tt.want)
			}
			d, err := promquery.NewEngine(src, config).Diagnose(t.Context(), ownWindow)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range d.Clusters[0].Inputs {
				if found := in.State == diagnosis.Found; in.Name == "node cpu price" && found != (tt.want != sheet) {
					t.Errorf("%s is %s", in.Name, in.State)
				}
			}
		})
	}
}

// exposed is what a promcost exposes about the node around the window; source is where it had the price from.
func exposed(price float64, source string) metering.Exposure {
	set := allocation.NewSet(allocation.Window{Start: ownWindow.Start.Add(-3 * time.Hour), End: ownWindow.Start.Add(-2 * time.Hour)}, allocation.NewDict())
	node := allocation.Node{Cluster: config.Clusters.Default, Name: "n1"}
	node.Hours[allocation.CPU], node.Cost[allocation.CPU], node.PriceSource[allocation.CPU] = 1, price, source
	set.Nodes = []allocation.Node{node}
	return metering.Exposure{Set: set, From: ownWindow.Start.Add(-2 * time.Hour), Next: ownWindow.End.Add(time.Hour), To: ownWindow.End.Add(time.Hour)}
}

// TestPricedPromcost checks which prices a promcost takes that exposes prices itself.
func TestPricedPromcost(t *testing.T) {
	t.Parallel()
	const sheet = 0.031611
	honored := scraped(9, cpuPrice, "node", "n1", "job", "pods", "instance", "n1")
	bare := scraped(9, cpuPrice, "node", "n1")
	other := scraped(2, cpuPrice, "node", "n1", "job", "b")
	up := func(job, instance string) promtest.Series { return scraped(1, "up", "job", job, "instance", instance) }
	// falls are prices that fall from 9 to 2 so long after the window began, or before.
	falls := func(after time.Duration, job string) promtest.Series {
		s, at := scraped(0, cpuPrice, "node", "n1", "job", job), ownWindow.Start.Add(after).UnixMilli()
		for i := range s.Samples {
			s.Samples[i].V = 9
			if s.Samples[i].T > at {
				s.Samples[i].V = 2
			}
		}
		return s
	}
	hourAgo, now := exposed(9, cpuPrice), exposed(2, cpuPrice)
	hourAgo.Next, hourAgo.To, now.From = ownWindow.Start.Add(10*time.Minute), ownWindow.Start.Add(25*time.Minute), ownWindow.Start.Add(10*time.Minute)
	bySheet, byMetric := []metering.Exposure{exposed(9, "sheet.yaml")}, []metering.Exposure{exposed(9, cpuPrice)}
	for _, tt := range []struct {
		name    string
		prices  []promtest.Series
		exclude string
		exposed []metering.Exposure
		want    float64
		warns   bool
	}{
		{"nothing says what is promcost's", []promtest.Series{opencostPrice("opencost")}, "", nil, 2, true},
		{"a flag says it", []promtest.Series{opencostPrice("opencost"), bare}, `job=""`, bySheet, 2, false},
		{"known targets", []promtest.Series{opencostPrice("opencost"), buildInfo("promcost")}, "", bySheet, 2, false},
		{"honor_labels, a job of both", []promtest.Series{honored, buildInfo("pods"), up("pods", "promcost:9004"), up("pods", "opencost:9003")}, "", bySheet, sheet, true},
		{"honor_labels, unknown targets", []promtest.Series{honored, buildInfo("pods")}, "", bySheet, sheet, true},
		{"no labels of targets", []promtest.Series{bare, buildInfo("pods")}, "", bySheet, sheet, true},
		{"another job with honor_labels", []promtest.Series{
			scraped(2, cpuPrice, "node", "n1", "job", "opencost", "instance", "n1"), buildInfo("promcost"),
		}, "", bySheet, 2, false},
		{"federation", []promtest.Series{
			scraped(9, cpuPrice, "node", "n1", "job", "federate", "instance", "prometheus:9090", "exported_job", "promcost", "exported_instance", "promcost:9004"),
			scraped(2, cpuPrice, "node", "n1", "job", "federate", "instance", "prometheus:9090", "exported_job", "opencost", "exported_instance", "opencost:9003"),
			scraped(1, "promcost_build_info", "job", "federate", "instance", "prometheus:9090", "exported_job", "promcost", "exported_instance", "promcost:9004"),
		}, "", nil, 2, false},
		{"both without targets", []promtest.Series{bare, other}, "", bySheet, 2, true},
		{"both without targets, of a price that another told", []promtest.Series{bare, other}, "", byMetric, 2, true},
		{"a repeated price alone", []promtest.Series{bare}, "", byMetric, 9, true},
		{"a price of the sheet alone", []promtest.Series{bare}, "", bySheet, sheet, true},
		{"the price of another time", []promtest.Series{bare}, "", []metering.Exposure{exposed(8, "sheet.yaml")}, 9, true},
		{"a price that fell as the hour before began", []promtest.Series{falls(-time.Hour, "a"), falls(11*time.Minute, "b")}, "", []metering.Exposure{hourAgo, now}, 2, true},
		{"a price that fell before the hour was kept", []promtest.Series{falls(-time.Hour, "a"), falls(11*time.Minute, "b")}, "", []metering.Exposure{hourAgo}, 2, true},
		{"other labels", []promtest.Series{scraped(9, cpuPrice, "node", "n1", "region", "elsewhere")}, "", bySheet, 9, true},
		{"one job of both, without instances", []promtest.Series{
			scraped(9, cpuPrice, "node", "n1", "job", "pods"), scraped(2, cpuPrice, "node", "n1", "job", "pods", "pod", "opencost-1"), buildInfo("pods"),
		}, "", bySheet, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(tt.prices...)...)
			cfg := config
			cfg.Priced = true
			cfg.Exposed = func(context.Context, allocation.Window) ([]metering.Exposure, error) { return tt.exposed, nil }
			if tt.exclude != "" {
				m, err := promquery.ParseMatcher(tt.exclude)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Exclude = []promquery.Matcher{m}
			}
			src := openBlocks(t, dir)
			if got := price(t, src, cfg); got != tt.want {
				t.Errorf("price %v, want %v", got, tt.want)
			}
			s := pricedSets(t, src, cfg, allocation.Query{Window: ownWindow, Resolution: time.Minute})[0]
			if warns := slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.HasPrefix(w, "nothing says which prices this promcost exposed") }); warns != tt.warns {
				t.Errorf("it warns: %t, want %t: %q", warns, tt.warns, s.Warnings)
			}
		})
	}
}

// TestFederatedPrices asks, without a history, a Prometheus that has promcost's prices and OpenCost's by federation, which keeps
// no target. Nothing distinguishes them, and the answer warns about that.
func TestFederatedPrices(t *testing.T) {
	own, other := scraped(1.1654, cpuPrice, "node", "n1"), scraped(0.336, cpuPrice, "node", "n1", "container", "opencost")
	const differ, unknown = "differ between series of node_cpu_hourly_cost at the same time (n1)", "what it exposed is not known here, so all were used"
	for _, tt := range []struct {
		name   string
		prices []promtest.Series
		want   []string // warnings of it
	}{
		{"both", []promtest.Series{own, other}, []string{differ}},
		{"both, and a promcost somewhere", []promtest.Series{own, other, scraped(1, "promcost_build_info", "version", "1")}, []string{differ, unknown}},
		{"its own, and a promcost somewhere", []promtest.Series{own, scraped(1, "promcost_build_info", "version", "1")}, []string{unknown}},
		{"both, of known targets", []promtest.Series{scraped(1.1654, cpuPrice, "node", "n1", "job", "promcost", "instance", "promcost:9004"), buildInfo("promcost"), opencostPrice("opencost")}, nil},
		{"another's alone", []promtest.Series{other}, nil},
		{"a pair of another's", []promtest.Series{other, scraped(0.336, cpuPrice, "node", "n1", "container", "b")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(tt.prices...)...)
			s := pricedSets(t, openBlocks(t, dir), config, allocation.Query{Window: ownWindow})[0]
			warned := strings.Join(s.Warnings, "\n")
			for _, text := range []string{differ, unknown} {
				if want := slices.Contains(tt.want, text); strings.Contains(warned, text) != want {
					t.Errorf("it warns of %q: %t, want %t:\n%s", text, !want, want, warned)
				}
			}
		})
	}
}

// TestExposedPricesFail checks that a computation fails if its prices cannot be distinguished from promcost's because the history
// cannot be read.
func TestExposedPricesFail(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(opencostPrice("opencost"))...)
	cfg := config
	cfg.Priced = true
	cfg.Exposed = func(context.Context, allocation.Window) ([]metering.Exposure, error) {
		return nil, errors.New("no history")
	}
	_, err := promquery.NewEngine(openBlocks(t, dir), cfg).Compute(t.Context(), allocation.Query{Window: ownWindow})
	if !errors.Is(err, allocation.ErrUpstream) || !strings.Contains(err.Error(), "find the prices that promcost exposed: no history") {
		t.Errorf("got %v", err)
	}
}

// TestOwnKubeSeries leaves out what promcost exposes in the place of kube-state-metrics.
func TestOwnKubeSeries(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(
		buildInfo("promcost"), scraped(64, "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core", "job", "promcost", "instance", "promcost:9004"),
	)...)
	if got := price(t, openBlocks(t, dir), config); got != 0.031611 {
		t.Errorf("the node costs %v, want what one core does", got)
	}
}

// TestExclude leaves series out by their labels.
func TestExclude(t *testing.T) {
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, pricedNode(opencostPrice("opencost"), scraped(1, cpuPrice, "node", "n1", "job", "old"))...)
	src := openBlocks(t, dir)
	for _, tt := range []struct {
		name    string
		exclude []string
		want    float64
	}{
		{"nothing", nil, 2},
		{"equal", []string{`job="opencost"`}, 1},
		{"regular expression", []string{`job=~"open.*"`}, 1},
		{"not equal", []string{`exported_instance!=""`}, 1},
		{"not matching", []string{`job!~"ksm|old"`}, 1},
		{"one of two", []string{`job="none"`, `instance=~".*:9003"`}, 1},
		{"both", []string{`job="opencost"`, `job="old"`}, 0.031611},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config
			for _, text := range tt.exclude {
				m, err := promquery.ParseMatcher(text)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Exclude = append(cfg.Exclude, m)
			}
			if got := price(t, src, cfg); got != tt.want {
				t.Errorf("price %v, want %v", got, tt.want)
			}
		})
	}
}

func TestParseMatcher(t *testing.T) {
	for _, tt := range []struct {
		text string
		want promquery.Matcher
		err  string
	}{
		{text: `job="promcost"`, want: promquery.Matcher{Name: "job", Type: promquery.MatchEqual, Value: "promcost"}},
		{text: ` job != 'a"b' `, want: promquery.Matcher{Name: "job", Type: promquery.MatchNotEqual, Value: `a"b`}},
		{text: "job=~`pc-\\d+`", want: promquery.Matcher{Name: "job", Type: promquery.MatchRegexp, Value: `pc-\d+`}},
		{text: `_x1!~"a\\.b|é"`, want: promquery.Matcher{Name: "_x1", Type: promquery.MatchNotRegexp, Value: `a\.b|é`}},
		{text: `job=""`, want: promquery.Matcher{Name: "job", Type: promquery.MatchEqual}},
		{text: "", err: `it is no label matcher: give one such as job="promcost"`},
		{text: "promcost", err: "no label matcher"},
		{text: `{job="a"}`, err: "no label matcher"},
		{text: "job=promcost", err: `promcost is no quoted string: write job="promcost"`},
		{text: `job="a",pod="b"`, err: "no quoted string"},
		{text: `job=~"("`, err: "missing closing )"},
		{text: `__name__="up"`, err: "the name of metrics"},
	} {
		got, err := promquery.ParseMatcher(tt.text)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %s", tt.text, err, tt.err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.text, err)
		default:
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.text, diff)
			}
		}
	}
}

// FuzzParseMatcher checks that whatever is taken for a matcher is one to Prometheus, too, and the same.
func FuzzParseMatcher(f *testing.F) {
	for _, text := range []string{`job="promcost"`, ` job != 'a"b' `, "job=~`pc-\\d+`", `x!~"a\\.b"`, `job='it\'s'`, `a="\x41\u00e9"`, "job=", `="a"`} {
		f.Add(text)
	}
	types := map[labels.MatchType]promquery.MatchType{
		labels.MatchEqual: promquery.MatchEqual, labels.MatchNotEqual: promquery.MatchNotEqual,
		labels.MatchRegexp: promquery.MatchRegexp, labels.MatchNotRegexp: promquery.MatchNotRegexp,
	}
	p := parser.NewParser(parser.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		m, err := promquery.ParseMatcher(text)
		if err != nil || strings.ContainsAny(text, "\n\r\\") || !utf8.ValidString(text) {
			return // escapes are Go's in one and PromQL's in the other, which differ in rare ones
		}
		got, err := p.ParseMetricSelector(`{__name__="m",` + text + `}`)
		if err != nil || len(got) != 2 {
			t.Fatalf("%q: Prometheus says %v, %v", text, got, err)
		}
		if x := got[1]; x.Name != m.Name || x.Value != m.Value || types[x.Type] != m.Type {
			t.Errorf("%q: got %+v, Prometheus has %v", text, m, x)
		}
	})
}
