package billing

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Deliveries of one statement stand beside each other where no manifest says what they replace (SEMANTICS §7, Restatement): the files of each
// folder are kept as they are, and what counts of them is worked out from all that are kept. A manifest's delivery takes the place of
// everything older. Of two folders, the newer one takes the place of those days of the older one that it covers anew, and of equal
// lines that are no usage. All else counts.

// Restating says what a newer folder without a manifest does to older ones.
type Restating uint8

// What bills can say. By default it depends on the lines.
const (
	ByLines Restating = iota
	Adds
	Replaces
	NumRestatings
)

// String is how the config file names it.
func (r Restating) String() string { return [NumRestatings]string{"auto", "add", "replace"}[r] }

// part is what counts of one delivery in a statement.
type part struct {
	Statement
	gone map[int64]*goneLines // what does not, by the start of the day in Unix seconds
	// replaced is what does not count, by the delivery that took its place.
	replaced map[string]*Replaced
}

// goneLines are the lines of a day that newer deliveries took the place of.
type goneLines struct {
	usage  bool             // all usage but corrections
	others map[uint64]int32 // how many of other lines, by what they say
}

// stander works out what counts of the deliveries that are kept.
type stander struct {
	zone     *time.Location
	read     Opener
	modes    map[string]Restating // by bill
	seed     maphash.Seed
	text     []byte // scratch
	warnings []string
}

// stand returns one statement for what each bill charges each account for each billing period, and warnings about what is unclear. Its parts
// know which of their lines do not count.
func (s *stander) stand(ctx context.Context, kept []Statement) (list []Statement, err error) {
	kept = slices.Clone(kept)
	slices.SortStableFunc(kept, func(a, b Statement) int {
		return cmp.Or(a.statement().Compare(b.statement()), a.Delivered.Compare(b.Delivered), strings.Compare(a.Delivery, b.Delivery))
	})
	for from := 0; from < len(kept); {
		to := from
		for to < len(kept) && kept[to].statement() == kept[from].statement() {
			s.warnings = append(s.warnings, kept[to].Warnings...)
			to++
		}
		parts, err := s.parts(ctx, kept[from:to])
		if err != nil {
			return nil, err
		}
		list = append(list, joined(parts))
		from = to
	}
	return list, nil
}

// parts returns the parts of one statement, the oldest first.
func (s *stander) parts(ctx context.Context, deliveries []Statement) ([]part, error) {
	var parts []part
	for i := range deliveries {
		d := &deliveries[i]
		rewritten := func(o Statement) bool { return o.Folder == d.Delivery } // since versions that kept one delivery at a time
		if d.Folder == "" && isFolder(d.Delivery) && slices.ContainsFunc(deliveries, rewritten) {
			continue
		}
		parts = append(parts, part{Statement: *d, replaced: map[string]*Replaced{}})
	}
	for i := range slices.Backward(parts) {
		p := &parts[i]
		if whole := !isFolder(p.Delivery) || s.modes[p.Bill] == Replaces; whole {
			for k := range i {
				parts[k].leave(p.Delivery)
			}
			break
		}
	}
	if s.modes[parts[0].Bill] != ByLines {
		return parts, nil
	}
	return parts, s.byLines(ctx, parts)
}

// leave says that all of the part is replaced.
func (p *part) leave(by string) {
	p.replaced[by] = &Replaced{by, p.Lines, costsOf(p.Totals)}
	p.Totals, p.Days, p.Lines = nil, nil, 0
}

// costsOf returns what totals cost, by currency.
func costsOf(totals []Total) map[string]float64 {
	out := map[string]float64{}
	for i := range totals {
		t := &totals[i]
		v := t.Costs[Effective]
		if t.Unknown[Effective] == t.Lines {
			v = t.Costs[Billed]
		}
		out[t.Currency] += v
	}
	return out
}

// joined returns what counts of the parts as one statement.
func joined(parts []part) Statement {
	last := &parts[len(parts)-1]
	if len(parts) == 1 {
		out := last.Statement
		out.Key = out.statement()
		out.parts = parts
		return out
	}
	out := Statement{Key: last.statement(), Delivery: last.Delivery, Delivered: last.Delivered, parts: parts}
	totals := map[tallied]*Total{}
	for i := range parts {
		p := &parts[i]
		if len(p.Totals) == 0 {
			continue
		}
		out.End, out.Lines, out.Files = later(out.End, p.End), out.Lines+p.Lines, out.Files+p.Files
		if out.Charged.Start.IsZero() || p.Charged.Start.Before(out.Charged.Start) {
			out.Charged.Start = p.Charged.Start
		}
		out.Charged.End = later(out.Charged.End, p.Charged.End)
		for k := range p.Totals {
			t := &p.Totals[k]
			key := tallied{t.SubAccount, t.Currency, t.Category}
			if totals[key] == nil {
				totals[key] = &Total{SubAccount: t.SubAccount, Provider: t.Provider, Currency: t.Currency, Category: t.Category}
			}
			totals[key].add(t)
		}
	}
	for _, t := range totals {
		out.Totals = append(out.Totals, *t)
	}
	slices.SortFunc(out.Totals, compareTotals)
	return out
}

// add adds another total of the same lines.
func (t *Total) add(o *Total) {
	t.Lines += o.Lines
	t.End = later(t.End, o.End)
	for k := range t.Costs {
		t.Costs[k] += o.Costs[k]
		t.Positive[k] += o.Positive[k]
		t.Unknown[k] += o.Unknown[k]
	}
}

// dayLines are the lines of a part in one day: how often each occurs, and what usage costs by resource.
type dayLines struct {
	usage  map[uint64]int32
	count  int32 // of usage
	costs  map[string]float64
	others map[uint64]otherLine
}

// otherLine is a line that is no usage, or a correction.
type otherLine struct {
	times int32
	what  uint64 // the line without its amounts
	name  string
	cost  float64 // of one
}

// byLines finds out which lines newer parts take the place of, day by day. Days that only one part has are not read.
func (s *stander) byLines(ctx context.Context, parts []part) error {
	having := map[int64][]int{} // the parts that have lines, by day
	for i := range parts {
		for _, day := range parts[i].days(s.zone) {
			having[day.Unix()] = append(having[day.Unix()], i)
		}
	}
	doubts := map[[2]int]*doubt{}
	for _, day := range slices.Sorted(maps.Keys(having)) {
		who := having[day]
		if len(who) < 2 {
			continue
		}
		lines := make([]*dayLines, len(who))
		for k, i := range who {
			var err error
			if lines[k], err = s.linesOf(ctx, &parts[i], day); err != nil {
				return err
			}
		}
		for k, i := range who {
			for n := k + 1; n < len(who); n++ {
				parts[i].replace(day, lines[k], lines[n])
			}
		}
		for k, i := range who {
			for n := k + 1; n < len(who); n++ {
				pair := [2]int{i, who[n]}
				if doubts[pair] == nil {
					doubts[pair] = &doubt{resources: map[string]bool{}}
				}
				doubts[pair].compare(lines[k], lines[n], !parts[i].goneUsage(day) && !parts[who[n]].goneUsage(day), day)
			}
		}
	}
	for i := range parts {
		if err := s.recount(ctx, parts, i); err != nil {
			return err
		}
	}
	s.warn(parts, doubts)
	return nil
}

// goneUsage reports whether newer parts took the place of the usage of a day.
func (p *part) goneUsage(day int64) bool {
	g := p.gone[day]
	return g != nil && g.usage
}

// days returns the days of the zone that a part may have lines of. It was taken in by days of the zone that was configured then.
func (p *part) days(zone *time.Location) (out []time.Time) {
	if len(p.Days) > 0 || p.Lines == 0 {
		for _, day := range p.Days {
			out = append(out, dayStart(day, zone), dayStart(day.Add(24*time.Hour-time.Second), zone))
		}
		slices.SortFunc(out, time.Time.Compare)
		return slices.CompactFunc(out, time.Time.Equal)
	}
	for day := dayStart(p.Charged.Start, zone); day.Before(p.Charged.End); day = nextDay(day, zone) {
		out = append(out, day)
	}
	return out
}

// linesOf reads the lines of a part in a day.
func (s *stander) linesOf(ctx context.Context, p *part, day int64) (*dayLines, error) {
	out := &dayLines{usage: map[uint64]int32{}, costs: map[string]float64{}, others: map[uint64]otherLine{}}
	err := s.each(ctx, p, day, func(l *Line) {
		if l.restated() {
			line, _ := s.hashes(l)
			out.usage[line]++
			out.count++
			out.costs[l.resource()] += l.paid()
		} else {
			what, hash := s.hashes(l)
			out.others[hash] = otherLine{out.others[hash].times + 1, what, l.Charge.Category.String() + " " + l.Resource.ID, l.paid()}
		}
	})
	return out, err
}

// each calls f for each line of a part that begins in a day.
func (s *stander) each(ctx context.Context, p *part, day int64, f func(*Line)) error {
	from := time.Unix(day, 0)
	w := allocation.Window{Start: from, End: nextDay(from, s.zone)}
	return s.read(ctx, &p.Statement, w, func(l *Line) error {
		if !l.Start.Before(w.Start) && l.Start.Before(w.End) {
			f(l)
		}
		return ctx.Err()
	})
}

// paid is the effective cost of a line, else what was billed.
func (l *Line) paid() float64 {
	if l.Known[Effective] {
		return l.Costs[Effective]
	}
	return l.Costs[Billed]
}

// restated reports whether a newer delivery that covers the line's day takes the line's place: corrections add to what they correct.
func (l *Line) restated() bool {
	return l.Charge.Category == Usage && !strings.EqualFold(l.Charge.Class, "Correction")
}

// hashes identify what a line is of by its category, account, resource, SKU and charge period, and the line by its amounts, too. Lines that
// lack a resource or a SKU are told apart by all else that says what is charged: folders side by side may have such lines each.
func (s *stander) hashes(l *Line) (what, line uint64) {
	b := binary.BigEndian.AppendUint64(s.text[:0], uint64(l.Start.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(l.End.UnixMilli()))
	b = appendTexts(b, l.resource(), l.Charge.Sku)
	if l.Resource.ID == "" || l.Charge.Sku == "" {
		b = appendTexts(b, l.Service.Name, l.Resource.Name, l.Resource.Region, l.Charge.Description, l.Charge.SkuPrice, l.Charge.Meter, l.Charge.PricingUnit, l.Charge.ConsumedUnit)
		for _, tag := range l.Tags {
			b = appendTexts(b, tag.Name, tag.Value)
		}
	}
	if !l.restated() {
		b = append(b, byte(l.Charge.Category))
		b = appendTexts(b, l.Charge.Class)
	}
	what = maphash.Bytes(s.seed, b)
	for k, v := range l.Costs {
		if l.Known[k] {
			b = binary.BigEndian.AppendUint64(append(b, byte(k)), math.Float64bits(v))
		}
	}
	s.text = b
	return what, maphash.Bytes(s.seed, b)
}

// appendTexts appends texts, each with its end.
func appendTexts(b []byte, texts ...string) []byte {
	for _, text := range texts {
		b = append(append(b, text...), 0)
	}
	return b
}

// resource identifies the resource of a line among those of its bill, whatever the case of its id: exporters change that.
func (l *Line) resource() string { return l.Account.SubID + "\x00" + strings.ToLower(l.Resource.ID) }

// replace marks those lines of a day that those of a newer part take the place of: usage if at least four fifths of it recur, other
// lines as often as they recur.
func (p *part) replace(day int64, own, newer *dayLines) {
	recur := int32(0)
	for line, n := range own.usage {
		recur += min(n, newer.usage[line])
	}
	g := p.gone[day]
	if g == nil {
		g = &goneLines{others: map[uint64]int32{}}
	}
	g.usage = g.usage || own.count > 0 && 5*recur >= 4*own.count
	for line, o := range own.others {
		if again := min(o.times, newer.others[line].times); again > 0 {
			g.others[line] = max(g.others[line], again)
		}
	}
	if !g.usage && len(g.others) == 0 {
		return
	}
	if p.gone == nil {
		p.gone = map[int64]*goneLines{}
	}
	p.gone[day] = g
}

// recount sums what is left of a part, and what was replaced by each newer one.
func (s *stander) recount(ctx context.Context, parts []part, i int) error {
	p := &parts[i]
	if len(p.gone) == 0 {
		return nil
	}
	var left Tally
	whole := Statement{}
	replaced := map[string]*Tally{}
	for _, day := range p.days(s.zone) {
		g := p.gone[day.Unix()].left()
		err := s.each(ctx, p, day.Unix(), func(l *Line) {
			if !g.takes(s, l) {
				left.Add(l)
				return
			}
			by := newest(parts[i+1:], day, s.zone)
			if replaced[by] == nil {
				replaced[by] = &Tally{}
			}
			replaced[by].Add(l)
		})
		if err != nil {
			return err
		}
	}
	for by, t := range replaced {
		t.Put(&whole)
		p.replaced[by] = &Replaced{by, whole.Lines, costsOf(whole.Totals)}
	}
	left.Put(&whole)
	p.Lines, p.Totals = whole.Lines, whole.Totals
	if p.Lines > 0 {
		p.Charged = whole.Charged
	}
	return nil
}

// newest is the delivery of the newest of some parts that has lines of a day.
func newest(parts []part, day time.Time, zone *time.Location) string {
	for _, p := range slices.Backward(parts) {
		if slices.ContainsFunc(p.days(zone), day.Equal) {
			return p.Delivery
		}
	}
	return ""
}

// left returns a copy that takes can count down.
func (g *goneLines) left() *goneLines {
	if g == nil {
		return nil
	}
	return &goneLines{g.usage, maps.Clone(g.others)}
}

// takes reports whether a line of the day is gone. It counts other lines down.
func (g *goneLines) takes(s *stander, l *Line) bool {
	switch {
	case g == nil:
		return false
	case l.restated():
		return g.usage
	case len(g.others) == 0:
		return false
	}
	_, line := s.hashes(l)
	if g.others[line] == 0 {
		return false
	}
	g.others[line]--
	return true
}

// open is an Opener of the statements that stand returns.
func (s *stander) open(ctx context.Context, of *Statement, w allocation.Window, f func(*Line) error) error {
	for i := range of.parts {
		p := &of.parts[i]
		if len(p.Totals) == 0 {
			continue
		}
		own, days := *s, map[int64]*goneLines{}
		own.text = nil
		kept := f
		if len(p.gone) > 0 {
			kept = func(l *Line) error {
				day := dayStart(l.Start, s.zone).Unix()
				g, ok := days[day]
				if !ok {
					g = p.gone[day].left()
					days[day] = g
				}
				if g.takes(&own, l) {
					return nil
				}
				return f(l)
			}
		}
		if err := s.read(ctx, &p.Statement, w, kept); err != nil {
			return err
		}
	}
	return nil
}
