package remote_test

import (
	"slices"
	"testing"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// TestRemoteReadRequests checks that one request asks for little, and that what is much is read by as many as may run.
func TestRemoteReadRequests(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int
		hours int64 // of each selector
		want  int
	}{
		{"few", 3, 24, 1},
		{"many of short times", 40, 0, 1},
		{"less than a day together", 23, 1, 1},
		{"a day together", 24, 1, 2},
		{"many", 40, 24, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.handle("/api/v1/read", probed(frames()))
			src := f.source(t, remote.Config{Mode: remote.ModeRemoteRead, MaxConcurrency: 2})
			sel := promquery.Request{Metric: "m", Start: 0, End: tt.hours * hourMs}
			_, stats, err := collect(t, src, slices.Repeat([]promquery.Request{sel}, tt.n)...)
			if err != nil || stats.Requests != int64(tt.want) {
				t.Errorf("%d requests, %v, want %d", stats.Requests, err, tt.want)
			}
		})
	}
}
