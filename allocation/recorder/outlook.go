package recorder

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
)

// outlooks finds what subjects should cost.
type outlooks struct {
	*records

	mu      sync.Mutex
	outlook *metering.Outlook // as it was found last; nil before
	basis   basis             // of it
}

// basis is what an Outlook is made from. Hours that are kept or computed again change it.
type basis struct {
	end                time.Time
	metering           *metering.Metering
	hours, generations int
}

// Outlook is what namespaces and controllers should have cost by the end of the last closed hour that is kept; nil while that is not known.
func (o *outlooks) Outlook() *metering.Outlook {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.outlook
}

// update finds what subjects should have cost by the end of the last closed hour, unless it has, or the hour is not kept. It reports whether
// that changed.
func (o *outlooks) update(ctx context.Context) (changed bool, err error) {
	hour := o.clock.LastHour()
	at := hour.End.Add(o.clock.Grace)
	f, err := o.foresee(ctx, allocation.Window{Start: at, End: at})
	if err != nil || !f.hours.Has(hour) {
		return false, err
	}
	now := basis{end: hour.End, metering: o.opts.Metering(), hours: len(f.hours.Sets)}
	for i := range f.hours.Sets {
		now.generations += f.hours.Sets[i].Generation
	}
	o.mu.Lock()
	same := o.outlook != nil && o.basis == now
	o.mu.Unlock()
	if same {
		return false, nil
	}
	f.subjects = now.metering.Subjects()
	outlook, err := f.at(ctx, at)
	if err != nil {
		return false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outlook, o.basis = outlook, now
	return true, nil
}

// OutlooksIn returns a function that gives what subjects should have cost by instants within w: by the end of the hour that was closed last
// then. Subjects that do not Expects are left out. It reads only hours that are kept, each once if instants come in their order. It is not safe
// for concurrent use.
func (o *outlooks) OutlooksIn(ctx context.Context, w allocation.Window, subjects ...metering.Subject) (outlookAt func(context.Context, time.Time) (*metering.Outlook, error), err error) {
	f, err := o.foresee(ctx, w)
	if err != nil {
		return nil, err
	}
	f.subjects = subjects
	return f.at, nil
}

// foresee finds the hours that are kept of w and of the days before.
func (o *outlooks) foresee(ctx context.Context, w allocation.Window) (*foreseer, error) {
	if o.archive == nil {
		return nil, fmt.Errorf("%w: there is no history to compare costs with", allocation.ErrNoData)
	}
	start := metering.PastStart(o.clock.ClosedAt(w.Start), o.clock.Zone)
	hours, err := o.archive.List(ctx, ledger.Hours, allocation.Window{Start: start, End: w.End})
	if err != nil {
		return nil, fmt.Errorf("find the hours to compare costs with: %w", err)
	}
	return &foreseer{outlooks: o, hours: hours}, nil
}

// foreseer reads the hours that are kept, oldest first.
type foreseer struct {
	*outlooks
	subjects []metering.Subject
	hours    *ledger.Listing
	pasts    []*metering.Past
	only     *allocation.Projection
	next     time.Time // hours before are read
	drawn    int64     // bytes of memory for pasts
}

// at returns what subjects should have cost by an instant.
func (f *foreseer) at(ctx context.Context, t time.Time) (*metering.Outlook, error) {
	end := f.clock.ClosedAt(t)
	if f.pasts == nil || end.Before(f.next) {
		f.begin(end)
	}
	for f.next.Before(end) {
		var kept []ledger.Kept
		for f.next.Before(end) && len(kept) < maxCountedAtOnce {
			k := f.hours.Longest(f.next, allocation.Window{Start: f.next, End: end})
			if k == nil {
				f.next = f.clock.HourFrom(f.next).End
				continue
			}
			kept = append(kept, *k)
			f.next = k.Window.End
		}
		if err := f.add(ctx, kept); err != nil {
			return nil, fmt.Errorf("compare costs with those of four weeks: %w", err)
		}
	}
	return metering.NewOutlook(end, f.pasts), nil
}

// begin begins anew with the days before an hour.
func (f *foreseer) begin(end time.Time) {
	f.next = metering.PastStart(end, f.clock.Zone)
	f.pasts, f.only = []*metering.Past{}, &allocation.Projection{WithoutAssets: true}
	for i := range f.subjects {
		if s := &f.subjects[i]; s.Expects() {
			f.pasts = append(f.pasts, metering.NewPast(s, f.clock.Zone))
			f.only = f.only.Union(s.Projection())
		}
	}
}

// add adds hours.
func (f *foreseer) add(ctx context.Context, kept []ledger.Kept) error {
	sets, release, err := f.archive.Read(ctx, kept, f.only)
	if err != nil {
		return f.archive.RecordDamage(err)
	}
	defer release()
	bytes := int64(0)
	for _, p := range f.pasts {
		for _, set := range sets {
			p.Add(set)
		}
		bytes += p.Bytes()
	}
	err = memory.FromContext(ctx).Draw(bytes - f.drawn)
	if err == nil {
		f.drawn = bytes
	}
	return err
}
