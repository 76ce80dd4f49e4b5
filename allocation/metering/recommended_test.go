package metering_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/metering"
)

// TestRecommended leaves out what is unknown, and containers beyond the cap, which it counts.
func TestRecommended(t *testing.T) {
	of := func(controller string, cpu, ram float64) metering.RecommendedRequest {
		return metering.RecommendedRequest{Cluster: "one", Namespace: "web", ControllerKind: "deployment", Controller: controller, Container: "main", CPU: cpu, RAM: ram}
	}
	list := []metering.RecommendedRequest{of("b", 0.25, 1e9), of("a", math.NaN(), 2e9), of("c", 1, 1), of("d", math.NaN(), math.NaN())}
	m, err := metering.New(metering.Options{Enabled: []string{metering.RecommendedName}})
	if err != nil {
		t.Fatal(err)
	}
	subjects := m.Subjects()
	s := &subjects[slices.IndexFunc(subjects, func(s metering.Subject) bool { return s.Name == metering.RecommendedName })]
	family := s.Families()[0]
	for _, tt := range []struct {
		name    string
		of      *metering.Recommended
		want    []string
		dropped int
	}{
		{"all", metering.NewRecommended(list, 100), []string{"a ram 2e+09", "b cpu 0.25", "b ram 1e+09", "c cpu 1", "c ram 1"}, 0},
		{"capped", metering.NewRecommended(list, 3), []string{"a ram 2e+09", "b cpu 0.25", "b ram 1e+09"}, 2},
		{"none", nil, nil, 0},
	} {
		totals, dropped := tt.of.Totals()
		var got []string
		family.Emit(totals, func(_ int, labels []string, value float64) {
			got = append(got, fmt.Sprint(labels[3], " ", labels[5], " ", value))
		})
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" || dropped != tt.dropped {
			t.Errorf("%s: %d dropped, want %d (-want +got):\n%s", tt.name, dropped, tt.dropped, diff)
		}
	}
}
