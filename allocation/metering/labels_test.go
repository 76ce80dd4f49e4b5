package metering_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
)

// TestLabelsAreResolvedAsInAggregations compares the subject label with what aggregations give, on random labels.
func TestLabelsAreResolvedAsInAggregations(t *testing.T) {
	tier, err := allocation.NewDerived("tier", []allocation.Property{allocation.Namespace, allocation.Labels}, func(p map[string]any) (string, error) {
		labels, _ := p["labels"].(map[string]any)
		if labels["app"] == "a1" {
			return "first", nil
		}
		return fmt.Sprint("of-", p["namespace"]), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mapping := allocation.LabelMapping{"team": {"squad"}, "product": {"app", "squad"}}
	for _, tt := range []struct{ name, aggregate string }{
		{"app", "label:app"},
		{"app.kubernetes.io/name", "label:app.kubernetes.io/name"},
		{"app_kubernetes_io_name", "label:app_kubernetes_io_name"},
		{"team", "team"},
		{"product", "product"}, // two labels
		{"tier", "tier"},
		{"namespace", "label:namespace"},
		{"nobody-has-it", "label:nobody-has-it"},
		{"nodepool", "nodePool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := randomLabels(rand.New(rand.NewPCG(1, 2)))
			keys, err := allocation.ParseKeys(tt.aggregate, mapping, tier)
			if err != nil {
				t.Fatal(err)
			}
			sums, err := passes.Apply([]*allocation.Set{set}, passes.Options{Aggregate: keys, LabelValue: true})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]float64{}
			for row := range sums[0].Len() {
				want[sums[0].Name(row)] = sums[0].TotalCost(row)
			}
			m, err := metering.New(metering.Options{
				Enabled: []string{"label"}, LabelNames: []string{tt.name}, Mapping: mapping, Derived: []*allocation.Derived{tier},
			})
			if err != nil {
				t.Fatal(err)
			}
			table := m.Table()
			if i := slices.IndexFunc(table, func(s metering.Subject) bool { return s.Name == "label" }); len(table) != len(metering.Subjects()) || table[i].Totals(set).Len() == 0 {
				t.Errorf("the table has %d subjects, or none of labels", len(table))
			}
			if got := m.LabelNames(); len(got) != 1 || got[0] != tt.name {
				t.Errorf("it is about the labels %q", got)
			}
			var texts []string
			for _, use := range allocation.LabelUses(keys) {
				texts = append(texts, use.Text)
			}
			if got := m.LabelTexts(); !cmp.Equal(got, texts) {
				t.Errorf("it looks for %q, want %q", got, texts)
			}
			totals := m.Subjects()[0].Totals(set)
			got := map[string]float64{}
			for i := range totals.Len() {
				if labels := totals.Labels(i); labels[0] != "c" || labels[1] != tt.name {
					t.Errorf("labels %q", labels)
				} else {
					got[labels[2]] = totals.Cost(i)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-aggregation +collector:\n%s", diff)
			}
		})
	}
}

// randomLabels are containers with random labels and annotations, raw and as Prometheus can hold them.
func randomLabels(rng *rand.Rand) *allocation.Set {
	set := newFamilySet()
	set.Nodes = []allocation.Node{{Cluster: "c", Name: "n", Pool: "general"}, {Cluster: "c", Name: "batch-1", Pool: "batch"}, {Cluster: "c", Name: "bare"}}
	for i := range 200 {
		row := familyRow("c", fmt.Sprint("ns", i%3), "", "", map[allocation.Column]float64{allocation.Cost.Of(allocation.CPU): float64(i)})
		row.Text[allocation.NodeName], row.Text[allocation.Pod], row.Text[allocation.Container] = []string{"n", "batch-1", "bare"}[i%3], fmt.Sprint("p", i), "main"
		row.Labels, row.Annotations = map[string]string{}, map[string]string{}
		for _, name := range []string{"app", "squad", "app.kubernetes.io/name", "app_kubernetes_io_name"} {
			switch rng.IntN(4) {
			case 0:
				row.Annotations[name] = fmt.Sprint("a", rng.IntN(3))
			case 1, 2:
				row.Labels[name] = fmt.Sprint("a", rng.IntN(3))
			}
		}
		set.Append(row)
	}
	return set
}

// BenchmarkAccrue counts an hour of 50,000 containers, a tenth of them new, in the middle of a month.
func BenchmarkAccrue(b *testing.B) {
	for _, subject := range []string{"namespace", "container"} {
		b.Run(subject, func(b *testing.B) {
			m := capped(b, subject, 50_000)
			a := metering.NewAccrued(monthStart(), m)
			hours := make([]*allocation.Set, 8)
			for h := range hours {
				hours[h] = newFamilySet()
				hours[h].Window.Start = monthStart().AddDate(0, 0, h)
				hours[h].Window.End = hours[h].Window.Start.AddDate(0, 0, 1)
				for i := range 50_000 {
					row := familyRow("c", fmt.Sprint("ns", i%500), "deployment", fmt.Sprint("app", i%5000), map[allocation.Column]float64{
						allocation.Cost.Of(allocation.CPU): float64(i), allocation.Cost.Of(allocation.RAM): 1,
					})
					row.Text[allocation.NodeName], row.Text[allocation.Container] = fmt.Sprint("node", i%200), "main"
					row.Text[allocation.Pod] = fmt.Sprint("pod", i+h*5000)
					hours[h].Append(row)
				}
			}
			a = a.Add(hours...)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				a.Add(hours[i%len(hours)])
			}
		})
	}
}

// TestLabelsBesideAliases: of two names that differ in case, the one of an alias stands for it, and the other is that of a label.
func TestLabelsBesideAliases(t *testing.T) {
	for _, tt := range []struct {
		names, want []string
	}{
		{[]string{"team"}, []string{"squad"}},
		{[]string{"Team"}, []string{"squad"}},
		{[]string{"Team", "team"}, []string{"Team", "squad"}},
		{[]string{"team", " Team"}, []string{"squad", "Team"}},
	} {
		m, err := metering.New(metering.Options{Enabled: []string{"label"}, LabelNames: tt.names, Mapping: allocation.LabelMapping{"team": {"squad"}}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, m.LabelTexts()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.names, diff)
		}
	}
}
