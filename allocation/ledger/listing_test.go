package ledger_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

// TestListing asks for times in a history of an hour, a day and the last hour of the day after it.
func TestListing(t *testing.T) {
	window := func(from, to string) allocation.Window { return ledgertest.Between(t, from, to) }
	hour, day, last := window("2026-03-01T22:00", "2026-03-01T23:00"), window("2026-03-02T00:00", "2026-03-03T00:00"), window("2026-03-03T23:00", "2026-03-04T00:00")
	l := &ledger.Listing{Sets: []ledger.Kept{{Window: hour}, {Window: window("2026-03-02T00:00", "2026-03-02T01:00")}, {Window: day}, {Window: last}}}
	all := window("2026-03-01T00:00", "2026-03-05T00:00")
	at := func(text string) time.Time { return ledgertest.ParseTime(t, text) }
	for name, ok := range map[string]bool{
		"the longest set at a time":                 l.Longest(day.Start, all).Window == day,
		"no set at a time within one":               l.Longest(at("2026-03-02T01:00"), all) == nil,
		"no set that ends later":                    l.Longest(last.Start, window("2026-03-03T00:00", "2026-03-03T23:30")) == nil,
		"a set of a window":                         l.Has(hour) && !l.Has(window("2026-03-01T22:00", "2026-03-01T22:30")),
		"the next set":                              l.After(hour.Start, all).Equal(day.Start),
		"no next set":                               l.After(last.Start, all).Equal(all.End),
		"the last set by a time":                    l.Last(all.Start, at("2026-03-02T12:00")).Window.End.Equal(at("2026-03-02T01:00")),
		"no set since a time":                       l.Last(at("2026-03-04T00:00"), all.End) == nil,
		"an hour of a day is covered":               l.Covers(window("2026-03-02T05:00", "2026-03-02T06:00")),
		"a kept hour is not covered by itself":      !l.Covers(hour),
		"an hour after the day is not covered":      !l.Covers(window("2026-03-03T00:00", "2026-03-03T01:00")),
		"a day that other sets lie in":              l.Differs(window("2026-03-01T12:00", "2026-03-02T12:00")),
		"a time that other sets do not overlap":     !l.Differs(window("2026-03-03T00:00", "2026-03-03T12:00")),
		"a window that is the only one of its time": !l.Differs(last),
	} {
		if !ok {
			t.Error(name)
		}
	}
}
