package allocation_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/windows"
)

func TestResolutionText(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{0, "exact"},
		{time.Second, "1s"},
		{30 * time.Second, "30s"},
		{time.Minute, "1m"},
		{90 * time.Second, "1m30s"},
		{10 * time.Minute, "10m"},
		{time.Hour, "1h"},
		{90 * time.Minute, "1h30m"},
		{time.Hour + time.Second, "1h0m1s"},
		{24 * time.Hour, "24h"},
		{1500 * time.Millisecond, "1.5s"},
	} {
		got := allocation.ResolutionText(tt.d)
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.d, got, tt.want)
		}
		if back, err := windows.ParseDuration(got); tt.d >= time.Second && tt.d%time.Second == 0 && (err != nil || back != tt.d) {
			t.Errorf("%s is read back as %s, %v", got, back, err)
		}
	}
}
