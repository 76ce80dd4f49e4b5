package billing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/promcost/promcost/allocation"
)

// DefaultSettle is how long after a day its charges are taken as final, where a bill does not say.
const DefaultSettle = 24 * time.Hour

// Bill are the settings of one bill in the config file, without the place of its files.
type Bill struct {
	Name string
	Cost Cost
	// Tags are the properties that tags stand for, by the tag's name, besides DefaultTags.
	Tags map[string]allocation.Property
	// Clusters are the ARNs, resource ids or account/name pairs of clusters, by the cluster's id.
	Clusters  map[string]string
	Include   []Category
	Settle    time.Duration
	Rates     Rates
	Restating Restating
}

// Rates are exchange rates: units of the configured currency for one of another.
type Rates struct {
	Currency string // the configured one
	Always   map[string]float64
	Months   map[string]map[string]float64 // by currency and month, such as 2026-10
}

// Rate returns the rate of a currency for a billing period that starts at t: all of a statement has one rate.
func (r *Rates) Rate(currency string, t time.Time) (float64, bool) {
	if currency == r.Currency {
		return 1, true
	}
	if months := r.Months[currency]; months != nil {
		if v, ok := months[t.UTC().Format("2006-01")]; ok {
			return v, true
		}
	}
	v, ok := r.Always[currency]
	return v, ok
}

// Books hands out the state of all bills.
type Books interface {
	// Book returns what the bills say now.
	Book(ctx context.Context) (*Book, error)
}

// Options of a Book.
type Options struct {
	Bills []Bill // in the order of the config file
	Zone  *time.Location
	Now   time.Time
	Looks Looks
}

// Opener calls f for each line of a statement that may overlap w, day by day where it can. Costs are as the bill writes them,
// in its currency. The line is valid during the call; its Item stays.
type Opener func(ctx context.Context, s *Statement, w allocation.Window, f func(*Line) error) error

// Book is what all bills say at one moment. It is safe for concurrent use.
type Book struct {
	options    Options
	statements []Statement
	charging   []*charging // of statements
	open       Opener
	warnings   []string
	version    string
}

// NewBook returns a book of statements, one of each key, whose lines open reads. version differs between books that differ. Of
// bills that charge one account for the same period, the first counts.
func NewBook(o Options, version string, statements []Statement, warnings []string, open Opener) *Book {
	b := &Book{options: o, open: open, version: version}
	b.warnings = slices.Clone(warnings)
	type charged struct {
		account string
		start   int64
	}
	first := map[charged]*Statement{}
	for i := range o.Bills {
		for k := range statements {
			s := &statements[k]
			if s.Bill != o.Bills[i].Name {
				continue
			}
			c, err := newCharging(&o.Bills[i], s)
			key := charged{s.Account, s.Start.UnixNano()}
			switch other := first[key]; {
			case err != nil:
				b.warnings = append(b.warnings, fmt.Sprintf("bill %s does not count for the billing period from %s: %v", s.Bill, s.Start.UTC().Format(time.DateOnly), err))
				continue
			case s.Account == "":
			case other == nil:
				first[key] = s
			case other.Bill != s.Bill:
				b.warnings = append(b.warnings, fmt.Sprintf("bill %s does not count for account %s and the billing period from %s: bill %s has that, and is named before it", s.Bill, s.Account, s.Start.UTC().Format(time.DateOnly), other.Bill))
				continue
			}
			b.statements, b.charging = append(b.statements, *s), append(b.charging, c)
		}
	}
	return b
}

// FromLines returns a book of lines that are at hand. Costs are in the currency of the bill, each line names its bill.
func FromLines(o Options, lines []Line) *Book {
	at, tallies := map[Key]int{}, []Tally{}
	var statements []Statement
	by := map[Key][]Line{}
	for i := range lines {
		l := &lines[i]
		key := l.Key()
		n, ok := at[key]
		if !ok {
			n = len(statements)
			at[key] = n
			statements, tallies = append(statements, Statement{Key: key, End: l.Account.PeriodEnd}), append(tallies, Tally{})
		}
		tallies[n].Add(l)
		by[key] = append(by[key], *l)
	}
	for i := range statements {
		tallies[i].Put(&statements[i])
	}
	slices.SortFunc(statements, func(a, b Statement) int { return a.Compare(b.Key) })
	return NewBook(o, strconv.Itoa(len(lines)), statements, nil, func(_ context.Context, s *Statement, _ allocation.Window, f func(*Line) error) error {
		for _, l := range by[s.Key] {
			if err := f(&l); err != nil {
				return err
			}
		}
		return nil
	})
}

// Version is another one whenever the lines, the reach or the settings are others.
func (b *Book) Version() string { return b.version }

// Warnings say which files and bills do not count, and why.
func (b *Book) Warnings() []string { return b.warnings }

// Statements are the statements of the book, in the order of the bills in the config file, then by account and start.
func (b *Book) Statements() []Statement { return b.statements }

// Looks say when deliveries were looked for.
func (b *Book) Looks() Looks { return b.options.Looks }

// Bills are the settings of the bills, in the order of the config file.
func (b *Book) Bills() []Bill { return b.options.Bills }

// Bill returns the settings of a bill by its name, nil for a name that is not configured.
func (b *Book) Bill(name string) *Bill {
	for i := range b.options.Bills {
		if b.options.Bills[i].Name == name {
			return &b.options.Bills[i]
		}
	}
	return nil
}

// Reach is until when a bill has charged a sub-account.
type Reach struct {
	Bill, Account, SubAccount string
	// Charged is the end of the latest charge period of usage. Without usage it is that of any charge, but not beyond the usage of
	// the bill's other sub-accounts: taxes and purchases are charged for periods to come.
	Charged time.Time
	// Until is the beginning of the first day whose charges are not final: Charged, but not beyond now less the bill's
	// settle, rounded down to a day.
	Until time.Time
}

// Reach returns until when the bills have charged each sub-account, sorted by bill, account and sub-account.
func (b *Book) Reach() []Reach {
	type latest struct{ usage, other time.Time }
	at := map[Reach]*latest{}
	usage := map[string]time.Time{} // of bills
	for i := range b.statements {
		s := &b.statements[i]
		for _, t := range s.Totals {
			key := Reach{Bill: s.Bill, Account: s.Account, SubAccount: t.SubAccount}
			if at[key] == nil {
				at[key] = &latest{}
			}
			end := &at[key].other
			if t.Category == Usage {
				end = &at[key].usage
				usage[s.Bill] = later(usage[s.Bill], t.End)
			}
			if t.End.After(*end) {
				*end = t.End
			}
		}
	}
	list := make([]Reach, 0, len(at))
	for r, l := range at {
		if r.Charged = l.usage; r.Charged.IsZero() {
			r.Charged = l.other
			if last, ok := usage[r.Bill]; ok && last.Before(r.Charged) {
				r.Charged = last
			}
		}
		settled := b.options.Now.Add(-b.Bill(r.Bill).Settle)
		if r.Until = r.Charged; settled.Before(r.Until) {
			r.Until = settled
		}
		r.Until = allocation.Day.Round(allocation.Window{Start: r.Until, End: r.Until.Add(1)}, b.options.Zone).Start
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Reach) int {
		return cmp.Or(cmp.Compare(a.Bill, b.Bill), cmp.Compare(a.Account, b.Account), cmp.Compare(a.SubAccount, b.SubAccount))
	})
	return list
}

// Read calls f for each line that overlaps w, cut at the days of the configured zone and at the edges of w: its costs and
// quantities are the part that lies within. The line is valid during the call; its Item stays, and is the same for lines of the
// same thing that lie close together. An error of f ends the reading.
func (b *Book) Read(ctx context.Context, w allocation.Window, f func(*Line) error) error {
	for i := range b.statements {
		s := &b.statements[i]
		if !s.Charged.Start.Before(w.End) || !s.Charged.End.After(w.Start) {
			continue
		}
		err := b.open(ctx, s, w, func(l *Line) error {
			out := *l
			if b.charging[i].apply(&out) {
				return nil
			}
			return cut(out, w, b.options.Zone, f)
		})
		if err != nil {
			return fmt.Errorf("read bill %s of account %s, %s: %w", s.Bill, s.Account, s.Start.UTC().Format(time.DateOnly), err)
		}
	}
	return nil
}
