package promquery_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// growing is a real Prometheus that gets the samples of a demo cluster as time passes.
type growing struct {
	url    string
	series []promtest.Series
	until  time.Time // until when it has them
}

func newGrowing(t *testing.T, series []promtest.Series, from time.Time) *growing {
	return &growing{url: promtest.Start(t, "", promtest.Config{Flags: []string{"--web.enable-remote-write-receiver"}}), series: series, until: from}
}

// receive pushes the samples up to an instant.
func (g *growing) receive(t *testing.T, until time.Time) {
	t.Helper()
	some := make([]promtest.Series, 0, len(g.series))
	for _, s := range g.series {
		s.Samples = slices.DeleteFunc(slices.Clone(s.Samples), func(x promtest.Sample) bool {
			return x.T < g.until.UnixMilli() || x.T >= until.UnixMilli()
		})
		if len(s.Samples) > 0 {
			some = append(some, s)
		}
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, some...)
	promtest.Push(t, g.url+"/api/v1/write", dir, true)
	g.until = until
}

// living runs the loop of a ledger, and waits until it has nothing to do.
func living(t *testing.T, l ledgertest.Recorded, clock *ledgertest.Clock) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	clock.Pass(clock.Now())
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestIncompleteHours has a real Prometheus go down, or lose its targets, shortly before an hour ends, and come back shortly after. The
// loop closes the hour ten minutes after its end, when it cannot know yet what ran on: the hour is incomplete, and an answer says so. Once
// samples of an hour after its end are there, it is computed once more, and costs what it costs who asks later. Counters keep what they
// counted, also after a restart.
func TestIncompleteHours(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	original := seriesOf(t, dir)
	border := c.Start().Add(4 * time.Hour)
	after := func(minutes int) time.Time { return border.Add(time.Duration(minutes) * time.Minute) }
	hour := allocation.Window{Start: after(-60), End: border}
	all := []down{
		{from: after(-20), to: after(15)},
		{from: after(-20), to: after(15), job: "kubelet", marked: true},
		{from: after(-20), to: after(15), job: "kube-state-metrics", marked: true},
	}
	for _, d := range all[:soak.Of(2, len(all))] {
		t.Run(d.String(), func(t *testing.T) {
			server := newGrowing(t, interrupted(original, d), after(-180))
			src, err := remote.New(remote.Config{URL: server.url, Mode: remote.ModeRemoteRead})
			if err != nil {
				t.Fatal(err)
			}
			files, clock := t.TempDir(), ledgertest.NewClock(after(12))
			opts := ledgertest.Options{Ledger: ledger.Options{Now: clock.Now, Grace: 10 * time.Minute}, Recorder: recorder.Options{Sleep: clock.Sleep, Backfill: -1}}
			server.receive(t, after(12))
			l := keeping(t, src, files, opts)
			stop := living(t, l, clock)
			const unknown = "computed again once they are"
			first := hourOf(t, l.Hours(t.Context(), hour, nil))
			if warned := strings.Join(first.Warnings, " "); !first.Incomplete || !strings.Contains(warned, unknown) {
				t.Errorf("closed without its evidence: incomplete %t, it warns of %s", first.Incomplete, warned)
			}
			before := counters(l.Accrued())
			server.receive(t, after(30)) // the outage is over, but it is not an hour yet that would tell whether it stays so
			clock.Pass(after(30))
			compareShards(t, first, []*allocation.Set{hourOf(t, l.Hours(t.Context(), hour, nil))})
			if diff := cmp.Diff(before, counters(l.Accrued())); diff != "" {
				t.Errorf("counters changed before another hour was closed (-before +after):\n%s", diff)
			}

			server.receive(t, after(85))
			clock.Pass(after(85))
			again := hourOf(t, l.Hours(t.Context(), hour, nil))
			if again.Incomplete || strings.Contains(strings.Join(again.Warnings, " "), unknown) {
				t.Errorf("with its evidence: incomplete %t, it warns of %v", again.Incomplete, again.Warnings)
			}
			compareShards(t, compute(t, src, allocation.Query{Window: hour, Alone: true, After: allocation.Evidence})[0], []*allocation.Set{again})
			if now, was := sumOf(again, d.changes()), sumOf(first, d.changes()); now < 1.01*was {
				t.Errorf("%s is %v, without the evidence %v: it should be less", d.changes(), now, was)
			}

			compareShards(t, first, []*allocation.Set{hourOf(t, l.Counted(t.Context(), hour, nil))})
			want := counters(metering.NewAccrued(l.Accrued().Window.Start, nil).Add(countedHours(t, l, after(60))...))
			for _, life := range []string{"before", "after"} {
				if diff := cmp.Diff(want, counters(l.Accrued())); diff != "" {
					t.Errorf("counters %s a restart (-hours as they were counted +counters):\n%s", life, diff)
				}
				stop()
				l = keeping(t, src, files, opts)
				stop = living(t, l, clock)
			}
			stop()
			for of, v := range before {
				if want[of] < v {
					t.Errorf("counter of %s fell from %v to %v", of, v, want[of])
				}
			}
		})
	}
}

// changes is what of an hour an outage at its end hides until its end is known.
func (d down) changes() allocation.Column {
	if d.job == "kubelet" {
		return allocation.NetworkTransferBytes
	}
	return allocation.RunningSeconds
}

// hourOf is the one hour that is yielded.
func hourOf(t *testing.T, hours iter.Seq2[*allocation.Set, error]) (hour *allocation.Set) {
	t.Helper()
	for s, err := range hours {
		if err != nil || hour != nil {
			t.Fatalf("not one hour: %v", err)
		}
		hour = s
	}
	return hour
}

// countedHours are the hours of the month up to an instant as they were counted.
func countedHours(t *testing.T, l ledgertest.Recorded, until time.Time) (hours []*allocation.Set) {
	t.Helper()
	for s, err := range l.Counted(t.Context(), allocation.Window{Start: l.Accrued().Window.Start, End: until}, nil) {
		if err != nil && !errors.Is(err, allocation.ErrNoData) {
			t.Fatal(err)
		}
		hours = append(hours, s)
	}
	return hours
}

// counters are what the counters of namespaces show.
func counters(a *metering.Accrued) map[string]float64 {
	subject := metering.Subjects()[0]
	totals := a.Totals(&subject)
	out := map[string]float64{"until " + a.Window.End.Format(time.TimeOnly): 0}
	for i := range totals.Len() {
		out[strings.Join(totals.Labels(i), "/")] = totals.Cost(i)
	}
	return out
}
