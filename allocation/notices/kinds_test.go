package notices_test

import (
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation/notices"
)

// TestKindOf says what warnings are about, and that those that matter most come first.
func TestKindOf(t *testing.T) {
	warnings := []struct {
		kind string
		text string
	}{
		{"missing-data", "no costs from 2026-11-22T00:00:00Z to 2026-11-22T14:00:00Z: no data: the source has no samples for that time"},
		{"missing-data", "8 of 14 days have data: a rate, such as the cost of a month, is the cost divided by the hours that have data"},
		{"bills", "bill aws: no file of CSV or Parquet is in /bills: give the place that the provider exports to"},
		{"pods-without-nodes", notices.UnplacedPods.Text(2, []string{"a", "b"}, "defaults")},
		{"odd-prices", notices.Negative.Notice(notices.NodesPriced).Text(1, []string{"a"}, "", "")},
		{"missing-metrics", notices.LackingInput.Text(1, []string{"a"}, "one", "node_cpu_seconds_total", "from x to y", "node_memory_MemTotal_bytes", "nodes", "It is off")},
		{"default-prices", "2 % of this cost rests on default prices: see promcost check prices for what has them, and what would price it better"},
		{"default-prices", notices.UnpricedVolumes.Text(2, []string{"a", "b"}, "")},
		{"estimated-bills", "costs from 2026-11-30T00:00:00Z on that no bill charges are estimated from the last billed days"},
		{"gaps-in-samples", "cluster one: no sample of kube_pod_container_status_running from x to y: was kube-state-metrics down? What ran before and after is taken to have run on"},
		{"gaps-in-samples", notices.UnseenUsage.Text(2, []string{"a", "b"}, "from x to y")},
		{"short-init-containers", notices.UnseenInits.Text(1, []string{"a"})},
		{"labels", notices.AboutLabels.Warning("no pod has any")},
		{"question", `parameter "agg" is not known to /model/allocation and was ignored`},
	}
	var texts []string
	for _, w := range warnings {
		if got := notices.KindOf(w.text).Name; got != w.kind {
			t.Errorf("it is about %s, want %s: %s", got, w.kind, w.text)
		}
		texts = append(texts, w.text)
	}
	slices.Sort(texts)
	notices.ByLevel(texts)
	if !slices.IsSortedFunc(texts, func(a, b string) int { return int(notices.KindOf(a).Level) - int(notices.KindOf(b).Level) }) {
		t.Errorf("they are in the order %q", texts)
	}
	for _, k := range notices.All() {
		if text := k.Text(2, []string{"a", "b"}, "x", "x", "x", "x", "x", "x"); notices.KindOf(text) == notices.OtherKind {
			t.Errorf("it is about nothing known: %s", text)
		}
	}
}

// TestForemost takes one warning of each kind, and of prices the one that says how much of the cost has them.
func TestForemost(t *testing.T) {
	volumes, part := notices.UnpricedVolumes.Text(2, []string{"a", "b"}, ""), "2 % of this cost rests on default prices: see promcost check prices"
	inits, gap := notices.UnseenInits.Text(1, []string{"a"}), "cluster one: no sample of kube_pod_container_status_running from x to y"
	for _, c := range []struct {
		name string
		most int
		want []string
	}{
		{"all kinds", 9, []string{part, gap, inits, volumes}},
		{"the first two", 2, []string{part, gap}},
		{"none", 0, nil},
	} {
		if got := notices.Foremost([]string{inits, volumes, part, gap}, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
