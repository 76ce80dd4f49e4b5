package metering_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// TestLabelProblems checks the problems of exported labels: labels that no workload has, and derived properties that fail.
func TestLabelProblems(t *testing.T) {
	bad, err := allocation.NewDerived("bad", []allocation.Property{allocation.Labels}, func(map[string]any) (string, error) {
		return "", errors.New("it is a list")
	})
	if err != nil {
		t.Fatal(err)
	}
	set := newFamilySet()
	for _, labels := range []map[string]string{{"app_kubernetes_io_name": "cart", "squad": "a"}, nil} {
		row := familyRow("c", "a", "", "", nil)
		row.Labels = labels
		set.Append(row)
	}
	for _, tt := range []struct {
		name  string
		names []string
		on    []string
		set   *allocation.Set
		want  []string
	}{
		{"all are there", []string{"squad", "app.kubernetes.io/name", "team"}, []string{"label"}, set, nil},
		{
			"misspelled, and a property that fails",
			[]string{"sqad", "bad", "owner"},
			[]string{"label"},
			set,
			[]string{
				"label sqad: no workload has a label of that name, and it is no property of the configuration",
				"property bad is missing everywhere: it is a list",
				"label owner: no workload has a label of that name, and it is no property of the configuration",
			},
		},
		{
			"no pools",
			[]string{"nodePool"},
			[]string{"label"},
			set,
			[]string{"label nodePool: no node has a label that names its pool, or kube-state-metrics does not export it (see its --metric-labels-allowlist=nodes=[*])"},
		},
		{"switched off", []string{"sqad"}, []string{}, set, nil},
		{"nothing to have labels", []string{"sqad"}, []string{"label"}, newFamilySet(), nil},
	} {
		m, err := metering.New(metering.Options{
			Enabled: tt.on, LabelNames: tt.names, Derived: []*allocation.Derived{bad}, Mapping: allocation.LabelMapping{"team": {"squad"}, "owner": {"owner"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, m.LabelProblems(tt.set)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}
