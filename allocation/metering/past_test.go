package metering_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// spent is an hour in which a namespace cost so much, in clusters that have data.
func spent(start time.Time, cost float64, clusters ...string) *allocation.Set {
	w := allocation.Window{Start: start, End: start.Add(time.Hour)}
	set := allocation.NewSet(w, allocation.NewDict())
	for _, name := range clusters {
		set.Covered = append(set.Covered, allocation.Covered{Cluster: name, Start: w.Start, End: w.End})
	}
	r := &allocation.Row{Start: w.Start, End: w.End}
	r.Text[allocation.Cluster], r.Text[allocation.Namespace] = "c1", "web"
	r.Values[allocation.Cost.Of(allocation.RAM)] = cost
	set.Append(r)
	return set
}

// expectedOf is what a Past says of the first item.
func expectedOf(s *metering.Subject, p *metering.Past) string {
	text := "nothing"
	for i, f := range s.Families() {
		f.Emit(p.Expected(), func(_ int, _ []string, v float64) {
			if i == 0 {
				text = ""
			}
			text += fmt.Sprintf("%.4g ", v)
		})
	}
	return text
}

func TestPast(t *testing.T) {
	subjects := metering.Subjects()
	s := &subjects[slices.IndexFunc(subjects, func(s metering.Subject) bool { return s.Name == "expected namespace" })]
	if !s.Expects() || s.Collector() != "expected" {
		t.Fatalf("subject %+v", s)
	}
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name  string
		days  int
		hours int // of the last day
		cost  func(day, hour int) float64
		data  func(day, hour int) []string // clusters; c1 if it is nil
		want  string
	}{
		{name: "the same hours", days: 30, hours: 6, cost: func(_, hour int) float64 { return float64(hour) }, want: "15 0 "},
		{name: "a whole day", days: 30, hours: 24, cost: func(_, _ int) float64 { return 1 }, want: "24 0 "},
		{name: "a spike", days: 30, hours: 12, cost: func(day, _ int) float64 { return 1 + 9*float64(day/29) }, want: "12 180 "},
		{name: "a weekly rhythm", days: 36, hours: 12, cost: func(day, _ int) float64 { return 1 + float64(day%7) }, want: "12 0 "},
		{name: "days older than four weeks do not count", days: 60, hours: 24, cost: func(day, _ int) float64 { return float64(60-day) / 24 }, want: "18.5 -1.686 "},
		{name: "what is gone for long has no expected cost", days: 36, hours: 24, cost: func(day, _ int) float64 { return []float64{2: 1, 7: 0}[day/5] }, want: "nothing"},
		{name: "three days", days: 4, hours: 24, cost: func(_, _ int) float64 { return 1 }, want: "nothing"},
		{
			name: "days without data are not compared with", days: 8, hours: 24, cost: func(day, _ int) float64 { return float64(min(1, day%3)) },
			data: func(day, _ int) []string { return []string{"c1"}[:min(1, day%3)] }, want: "24 0 ",
		},
		{
			name: "a day of which half is missing", days: 5, hours: 24, cost: func(_, _ int) float64 { return 1 },
			data: func(day, hour int) []string {
				if day == 1 && hour > 12 {
					return nil
				}
				return []string{"c1"}
			}, want: "nothing",
		},
		{
			name: "another cluster has data", days: 30, hours: 24, cost: func(_, _ int) float64 { return 1 },
			data: func(_, _ int) []string { return []string{"c2"} }, want: "nothing",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := metering.NewPast(s, time.UTC)
			for day := range tc.days {
				for hour := range 24 {
					if day == tc.days-1 && hour >= tc.hours {
						break
					}
					clusters := []string{"c1"}
					if tc.data != nil {
						clusters = tc.data(day, hour)
					}
					p.Add(spent(start.AddDate(0, 0, day).Add(time.Duration(hour)*time.Hour), tc.cost(day, hour), clusters...))
				}
			}
			if diff := cmp.Diff(tc.want, expectedOf(s, p)); diff != "" || p.Bytes() == 0 {
				t.Errorf("%d bytes (-want +got):\n%s", p.Bytes(), diff)
			}
		})
	}
}
