package billing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
)

// Keeper keeps statements, such as a history. It is safe for concurrent use.
type Keeper interface {
	// Kept returns what is kept.
	Kept(ctx context.Context) (*Kept, error)
	// Take begins to take in a delivery.
	Take(ctx context.Context, d *Delivery) (Taking, error)
	// Read is an Opener.
	Read(ctx context.Context, s *Statement, w allocation.Window, f func(*Line) error) error
}

// Kept is what a keeper has.
type Kept struct {
	Statements []Statement // one of each key, sorted
	// Taken are the fingerprints of the deliveries that were taken in, by bill and name.
	Taken map[DeliveryName]string
	// Damaged are deliveries of which a statement was kept and is damaged: they are taken in once more.
	Damaged  map[DeliveryName]bool
	Warnings []string
}

// put adds a statement in place of that of the same key.
func (k *Kept) put(s *Statement) {
	i, ok := slices.BinarySearchFunc(k.Statements, s.Key, func(o Statement, key Key) int { return o.Compare(key) })
	if ok {
		k.Statements[i] = *s
	} else {
		k.Statements = slices.Insert(k.Statements, i, *s)
	}
}

// DeliveryName names a delivery.
type DeliveryName struct{ Bill, Name string }

// Taking takes in one delivery. Nothing of it is visible before Commit.
type Taking interface {
	// Add keeps lines of a statement. They are valid during the call.
	Add(ctx context.Context, d *Day) error
	// Commit makes the statements visible, each in place of that of the same key, and remembers the delivery.
	Commit(ctx context.Context, statements []Statement) error
	// Abort forgets what was added. After Commit it does nothing.
	Abort()
}

// Source is a bill and its files. Files of nil are not read: another process takes them in.
type Source struct {
	Bill  Bill
	Files *Files
}

// IntakeOptions are settings of an Intake.
type IntakeOptions struct {
	// Zone begins the days that lines are kept by.
	Zone *time.Location
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// LookFirst has the first Book look for deliveries, for processes in which Run does not.
	LookFirst bool
}

// Intake looks for deliveries, has them kept, and hands out the state of all bills. It is safe for concurrent use.
type Intake struct {
	keeper  Keeper
	logger  log.Logger
	options IntakeOptions

	looking sync.Mutex // one look at a time
	failed  map[DeliveryName]failure
	again   map[DeliveryName]string     // fingerprints of those that were taken in again for damage
	sizes   map[string]map[string]sized // of files whose time lies in the future, by bill and name

	mu        sync.Mutex
	sources   []Source
	standing  *standing // nil before the first look
	warnings  []string
	looks     Looks
	unsettled bool          // files changed a short while ago
	wanted    chan struct{} // has an element if Look is wanted
}

// Looks say how often deliveries are looked for.
type Looks struct {
	Last  time.Time     // zero if there was none
	Every time.Duration // 0 if that is not known
	Count int
}

// failure is a delivery that cannot be read.
type failure struct {
	fingerprint string
	err         error
}

// NewIntake returns an intake without bills. Set gives it some.
func NewIntake(k Keeper, logger log.Logger, o IntakeOptions) *Intake {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &Intake{keeper: k, logger: logger, options: o, failed: map[DeliveryName]failure{}, again: map[DeliveryName]string{}, sizes: map[string]map[string]sized{}, wanted: make(chan struct{}, 1)}
}

// Set changes the bills and the time zone, and asks Run to look at once.
func (n *Intake) Set(sources []Source, zone *time.Location) {
	n.mu.Lock()
	n.sources, n.options.Zone = sources, zone
	n.mu.Unlock()
	select {
	case n.wanted <- struct{}{}:
	default:
	}
}

// Run looks for deliveries every interval, and when Set was called, until ctx ends. Failures are logged and become warnings.
func (n *Intake) Run(ctx context.Context, interval func() time.Duration) {
	for {
		if n.configured() {
			if err := n.Look(ctx); err != nil && ctx.Err() == nil {
				level.Error(n.logger).Log("msg", "Looking for bills failed", "err", err)
			}
		}
		every := interval()
		n.mu.Lock()
		n.looks.Every = every
		if n.unsettled {
			every = min(every, settleTime)
		}
		n.mu.Unlock()
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-n.wanted:
			timer.Stop()
		case <-timer.C:
		}
	}
}

func (n *Intake) configured() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.sources) > 0
}

// Look takes in new deliveries. What cannot be read becomes a warning of the next Book; an error is of the keeper.
func (n *Intake) Look(ctx context.Context) error {
	n.looking.Lock()
	defer n.looking.Unlock()
	n.mu.Lock()
	sources, zone, before := n.sources, n.options.Zone, n.standing
	n.mu.Unlock()
	kept, err := n.keeper.Kept(ctx)
	if err != nil {
		return err
	}
	var warnings []string
	unsettled := false
	for i := range sources {
		if sources[i].Files == nil {
			continue
		}
		of, waits, err := n.bill(ctx, &sources[i], zone, kept)
		if err != nil {
			return err
		}
		warnings, unsettled = append(warnings, of...), unsettled || waits
		if kept, err = n.keeper.Kept(ctx); err != nil {
			return err
		}
	}
	what, err := n.stand(ctx, before, sources, zone)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range warnings {
		if !slices.Contains(n.warnings, w) {
			level.Warn(n.logger).Log("msg", "Something of a bill does not count", "warning", w)
		}
	}
	n.standing, n.warnings, n.unsettled = what, warnings, unsettled
	n.looks.Last = n.options.Now()
	n.looks.Count++
	return nil
}

// bill takes in the new deliveries of a bill, in the order of their time. It reports whether files wait because they changed a short while ago.
func (n *Intake) bill(ctx context.Context, src *Source, zone *time.Location, kept *Kept) (warnings []string, waits bool, err error) {
	settled := n.settled(src.Bill.Name, kept)
	list, warnings, err := src.Files.deliveries(ctx, src.Bill.Name, settled)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil {
		return []string{fmt.Sprintf("bill %s: %v: what was delivered before still counts", src.Bill.Name, err)}, false, nil
	}
	for i := range list {
		d := &list[i]
		name := DeliveryName{d.Bill, d.Name}
		if kept.Taken[name] == d.Fingerprint {
			delete(n.failed, name)
			if !kept.Damaged[name] || n.again[name] == d.Fingerprint {
				continue
			}
			n.again[name] = d.Fingerprint
		}
		if last, ok := n.failed[name]; !ok || last.fingerprint != d.Fingerprint {
			delete(n.failed, name)
			err = n.take(ctx, src.Files, d, zone, kept, settled)
		} else {
			err = last.err
		}
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if err == nil {
			continue
		}
		if _, access := errors.AsType[*accessError](err); !access && !errors.Is(err, errKeeper) {
			n.failed[name] = failure{d.Fingerprint, err}
		}
		warnings = append(warnings, fmt.Sprintf("bill %s: %v: nothing of this delivery counts, what was delivered before does", d.Bill, err))
	}
	return warnings, len(settled.waiting) > 0, nil
}

// errKeeper marks errors of the keeper, after which a delivery is tried again.
var errKeeper = errors.New("keep bills")

// mostCut is how many files of a folder may be cut. Each has the others read again.
const mostCut = 10

// take takes in one delivery. Files of a folder that are not whole are left out, with a warning.
func (n *Intake) take(ctx context.Context, files *Files, d *Delivery, zone *time.Location, kept *Kept, settled *settling) error {
	begun, cut := n.options.Now(), map[string]error{}
	for {
		statements, err := n.takeWithout(ctx, files, d, zone, kept, settled, cut)
		if failed, ok := errors.AsType[*cutError](err); ok && d.folder() != "" && len(cut) < min(mostCut, len(d.files)-1) {
			cut[failed.file] = err
			continue
		}
		if err != nil {
			return err
		}
		lines := int64(0)
		for i := range statements {
			lines += statements[i].Lines
			kept.put(&statements[i])
		}
		level.Info(n.logger).Log("msg", "Took in a delivery of a bill", "bill", d.Bill, "delivery", d.Name, "statements", len(statements), "lines", lines, "duration", n.options.Now().Sub(begun))
		return nil
	}
}

// takeWithout takes in one delivery without the files that are cut.
func (n *Intake) takeWithout(ctx context.Context, files *Files, d *Delivery, zone *time.Location, kept *Kept, settled *settling, cut map[string]error) ([]Statement, error) {
	taking, err := n.keeper.Take(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeeper, err)
	}
	defer taking.Abort()
	newer, before := map[Key]bool{}, map[Key]*Statement{}
	for i := range kept.Statements {
		s := &kept.Statements[i]
		newer[s.Key] = s.Bill == d.Bill && s.Delivery != d.Name && s.Delivered.After(d.Time)
		before[s.Key] = s
	}
	sums := &tallies{folder: d.folder(), numbers: map[Key]int32{}}
	days := map[Key][]time.Time{}
	to := newBatch(zone, defaultLimits, sums, func(day *Day) error {
		if newer[day.Key] {
			return nil
		}
		if !slices.ContainsFunc(days[day.Key], day.Start.Equal) {
			days[day.Key] = append(days[day.Key], day.Start.UTC())
		}
		if err := taking.Add(ctx, day); err != nil {
			return fmt.Errorf("%w: %w", errKeeper, err)
		}
		return nil
	})
	warnings, err := d.read(ctx, files, to, cut)
	if err != nil {
		return nil, err
	}
	if err := to.flush(); err != nil {
		return nil, err
	}
	if err := n.unchanged(ctx, files, d, settled); err != nil {
		return nil, err
	}
	var statements []Statement
	for i, key := range sums.keys {
		if newer[key] {
			continue
		}
		s := Statement{Key: key, End: sums.ends[i], Delivery: d.Name, Delivered: d.Time, Files: d.dataFiles() - len(cut), Days: days[key], Warnings: warnings}
		slices.SortFunc(s.Days, time.Time.Compare)
		sums.list[i].Put(&s)
		if old := before[key]; old != nil && key.Folder == "" {
			s.Replaced = &Replaced{old.Delivery, old.Lines, costsOf(old.Totals)}
		}
		statements = append(statements, s)
	}
	slices.SortFunc(statements, func(a, b Statement) int { return a.Compare(b.Key) })
	if err := taking.Commit(ctx, statements); err != nil {
		return nil, fmt.Errorf("%w: %w", errKeeper, err)
	}
	return statements, nil
}

// unchanged fails if the files of a delivery changed while they were read.
func (n *Intake) unchanged(ctx context.Context, files *Files, d *Delivery, settled *settling) error {
	now, _, err := files.deliveries(ctx, d.Bill, settled)
	if err != nil {
		return &accessError{err}
	}
	if !slices.ContainsFunc(now, func(o Delivery) bool { return o.Name == d.Name && o.Fingerprint == d.Fingerprint }) {
		return &accessError{fmt.Errorf("%s changed while it was read: it is read again at the next look", files.where(d.Name))}
	}
	return nil
}

// Book returns what the bills say now: what was kept at the last look.
func (n *Intake) Book(ctx context.Context) (*Book, error) {
	n.mu.Lock()
	what, warnings, sources, zone := n.standing, n.warnings, n.sources, n.options.Zone
	o := Options{Zone: zone, Now: n.options.Now(), Looks: n.looks}
	n.mu.Unlock()
	for i := range sources {
		o.Bills = append(o.Bills, sources[i].Bill)
	}
	if len(sources) == 0 {
		return NewBook(o, "", nil, nil, nil), nil
	}
	if what == nil && n.options.LookFirst {
		if err := n.Look(ctx); err != nil {
			return nil, fmt.Errorf("look for bills: %w", err)
		}
		n.mu.Lock()
		what, warnings = n.standing, n.warnings
		n.mu.Unlock()
	}
	if what == nil {
		var err error
		if what, err = n.stand(ctx, nil, sources, zone); err != nil {
			return nil, fmt.Errorf("read bills: %w", err)
		}
		n.mu.Lock()
		if n.standing == nil {
			n.standing = what
		}
		n.mu.Unlock()
		warnings = append(slices.Clone(warnings), "bills have not been looked at yet: what was kept before counts")
	}
	b := NewBook(o, "", what.statements, slices.Concat(what.warnings, warnings), what.stander.open)
	b.version = b.hash()
	return b, nil
}

// standing is what counts of all that is kept.
type standing struct {
	of         string // what it was worked out of
	statements []Statement
	warnings   []string
	stander    *stander
}

// stand works out what counts, if that may have changed since before. What turns out to be damaged is not kept any more, and is left out.
func (n *Intake) stand(ctx context.Context, before *standing, sources []Source, zone *time.Location) (*standing, error) {
	modes := map[string]Restating{}
	for i := range sources {
		modes[sources[i].Bill.Name] = sources[i].Bill.Restating
	}
	const attempts = 5
	for left := attempts; ; left-- {
		kept, err := n.keeper.Kept(ctx)
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		fmt.Fprintln(&text, modes, zone)
		for i := range kept.Statements {
			s := &kept.Statements[i]
			fmt.Fprintln(&text, s.Key, s.Delivery, s.Delivered.UnixNano(), s.Version)
		}
		of := text.String()
		if before != nil && before.of == of {
			return &standing{of, before.statements, slices.Concat(kept.Warnings, before.stander.warnings), before.stander}, nil
		}
		s := &stander{zone: zone, read: n.keeper.Read, modes: modes, seed: maphash.MakeSeed()}
		list, err := s.stand(ctx, kept.Statements)
		if err == nil {
			return &standing{of, list, slices.Concat(kept.Warnings, s.warnings), s}, nil
		}
		if ctx.Err() != nil || left == 1 {
			return nil, err
		}
	}
}

// hash changes whenever the answers of the book do.
func (b *Book) hash() string {
	sum := sha256.New()
	text := json.NewEncoder(sum)
	for _, part := range [...]any{b.options.Bills, b.options.Zone.String(), b.Reach()} {
		if err := text.Encode(part); err != nil {
			panic("BUG: encode settings of bills: " + err.Error())
		}
	}
	for i := range b.statements {
		s := &b.statements[i]
		fmt.Fprintln(sum, s.Bill, s.Account, s.Start.UnixNano(), s.Delivery, s.Delivered.UnixNano(), s.Version)
		for k := range s.parts {
			p := &s.parts[k]
			fmt.Fprintln(sum, p.Delivery, p.Delivered.UnixNano(), p.Version)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
