package reconcile

import (
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// account is a sub-account that a bill charges.
type account struct{ bill, account, sub string }

// reach is until when bills charge.
type reach struct {
	until map[account]time.Time // the first day whose charges are not final
	last  time.Time             // the latest of until
	// billed is until when the clusters' costs are final: the earliest of the bills of cloud providers, or of all bills if there
	// are no such. Of the accounts of a bill the latest counts, because closed accounts get no charges.
	billed time.Time
	bills  []time.Time // until when each bill with final charges charges
	// charged is all time that lines charge.
	charged allocation.Window
}

func newReach(book *billing.Book) reach {
	r := reach{until: map[account]time.Time{}}
	byBill := map[string]time.Time{}
	for _, of := range book.Reach() {
		r.until[account{of.Bill, of.Account, of.SubAccount}] = of.Until
		byBill[of.Bill] = latest(byBill[of.Bill], of.Until)
		r.last = latest(r.last, of.Until)
	}
	clouds := map[string]bool{}
	for i, s := range book.Statements() {
		if i == 0 || s.Charged.Start.Before(r.charged.Start) {
			r.charged.Start = s.Charged.Start
		}
		r.charged.End = latest(r.charged.End, s.Charged.End)
		for k := range s.Totals {
			switch s.Totals[k].Provider {
			case aws, google, azure:
				clouds[s.Bill] = true
			}
		}
	}
	for bill, until := range byBill {
		r.bills = append(r.bills, until)
		if (len(clouds) == 0 || clouds[bill]) && (r.billed.IsZero() || until.Before(r.billed)) {
			r.billed = until
		}
	}
	return r
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// reached reports whether the charges of a line are final.
func (r *reach) reached(l *billing.Line) bool {
	return l.Start.Before(r.until[account{l.Bill, l.Account.ID, l.Account.SubID}])
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
