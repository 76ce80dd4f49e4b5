package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/notices"
)

// explaining is a history that says why sets are missing.
type explaining struct {
	*ledgertest.Faulty
	unusable []ledger.Unusable
}

func (e *explaining) Unusable(_ context.Context, k ledger.Kind, _ allocation.Window) ([]ledger.Unusable, error) {
	if k != ledger.Hours {
		return nil, errors.New("the disk is gone")
	}
	return e.unusable, nil
}

// TestReadersTellWhatIsUnusable reads a history with a missing hour, a missing shard, and a damaged hour.
func TestReadersTellWhatIsUnusable(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	for _, w := range []allocation.Window{ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T02:00"), ledgertest.Between(t, "2026-03-04T05:00", "2026-03-04T06:00")} {
		if err := r.Fill(t.Context(), w, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for name := range r.Bucket.Objects() {
		if strings.HasPrefix(name, "allocations_hourly/") {
			names = append(names, name)
		}
	}
	last := slices.Max(names)
	data := bytes.Clone(r.Bucket.Objects()[last])
	data[len(data)/2] ^= 4
	if err := r.Bucket.Upload(t.Context(), last, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	r.Opts.Ledger.ReadOnly, r.Model.Err = true, allocation.ErrNoData
	r.Restart(t)
	lacks := "shard 2/2 of it is not there"
	h := &explaining{r.History, []ledger.Unusable{{Window: ledgertest.Between(t, "2026-03-04T02:00", "2026-03-04T03:00"), Why: lacks}, {Window: ledgertest.Between(t, "2026-03-04T03:00", "2026-03-04T04:00"), Why: lacks}}}
	var told bytes.Buffer
	r.Log = &told
	r.Recorded = r.Open(r.Model, h)
	for _, stream := range []bool{false, true} {
		var got []string
		for _, s := range r.Ask(t, allocation.Query{Window: ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T06:00"), Step: time.Hour, Stored: true, Stream: stream}) {
			got = append(got, s.Warnings...)
		}
		want := []string{
			"no costs from 2026-03-04T02:00:00Z to 2026-03-04T04:00:00Z: no data: the history is only read here, and shard 2/2 of it is not there",
			"no costs from 2026-03-04T04:00:00Z to 2026-03-04T05:00:00Z: no data: the history has nothing of that time, and is only read here",
			"no costs from 2026-03-04T05:00:00Z to 2026-03-04T06:00:00Z: no data: the history is only read here, and its files are damaged",
		}
		if diff := cmp.Diff(want, notices.JoinWarnings(got)); diff != "" {
			t.Errorf("streamed %v: warnings (-want +got):\n%s", stream, diff)
		}
	}
	day := r.Ask(t, allocation.Query{Window: ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T06:00"), Stored: true})
	if n := len(day[0].Warnings); n != 3 {
		t.Errorf("in one set there are the warnings %q", day[0].Warnings)
	}
	var hours []string
	for s, err := range r.Hours(t.Context(), ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T06:00"), nil) {
		if err != nil {
			hours = append(hours, fmt.Sprint(s.Window.Start.UTC().Format("15:04 "), errors.Is(err, allocation.ErrNoData), " ", err))
		}
	}
	want := []string{
		"02:00 false the history is only read here, and " + lacks, "03:00 false the history is only read here, and " + lacks,
		hours[min(2, len(hours)-1)], // nothing of that time: as the computer says
		"05:00 false the history is only read here, and its files are damaged",
	}
	if diff := cmp.Diff(want, hours); diff != "" || !strings.HasPrefix(want[2], "04:00 true") {
		t.Errorf("hours that failed (-want +got):\n%s", diff)
	}
	if !strings.Contains(told.String(), "only read here") || strings.Contains(told.String(), "will be computed again") {
		t.Errorf("log:\n%s", &told)
	}
	_, err := ledgertest.Collect(t.Context(), r.Ledger, allocation.Query{Window: ledgertest.Between(t, "2026-03-04T02:00", "2026-03-04T03:00"), Stored: true})
	if !errors.Is(err, allocation.ErrNoData) || !strings.Contains(err.Error(), lacks) {
		t.Errorf("an hour that lacks a shard alone: %v", err)
	}
}
