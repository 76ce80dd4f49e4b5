package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// The folders of bills: their lines by day, the manifests of statements, and the deliveries that were taken in.
const (
	billData      = "bills_daily"
	billManifests = "sets_bills"
	billTaken     = "bills_taken"
)

// Bills keeps the lines of bills beside the sets of a Store. It is a billing.Keeper, safe for concurrent use, also with others on
// the same backend.
type Bills struct {
	store *Store

	mu        sync.Mutex
	manifests map[string]*billManifest // by name, those read so far
	taken     map[string]takenDelivery // likewise
	damaged   map[string]error         // manifests of statements of which a file turned out to be damaged
}

// Bills returns the bills of the store.
func (s *Store) Bills() *Bills { return s.bills }

func newBills(s *Store) *Bills {
	return &Bills{store: s, manifests: map[string]*billManifest{}, taken: map[string]takenDelivery{}, damaged: map[string]error{}}
}

// billManifest is what makes a statement visible: it is written after its files.
type billManifest struct {
	Version     int               `json:"version"`
	Statement   billing.Statement `json:"statement"`
	Fingerprint string            `json:"fingerprint"` // of the delivery
	Files       []billFile        `json:"files"`       // by day and part

	generation int
	name       string
}

// billFile is a file with lines of one day.
type billFile struct {
	Name   string    `json:"name"`
	Day    time.Time `json:"day"` // its start
	Rows   int       `json:"rows"`
	Bytes  int64     `json:"bytes"`
	CRC32C string    `json:"crc32c"`
}

// takenDelivery is a delivery that was taken in.
type takenDelivery struct {
	Name        billing.DeliveryName `json:"delivery"`
	Fingerprint string               `json:"fingerprint"`
}

// statementFolder is the place of a statement below the folders of bills.
func statementFolder(k billing.Key) string {
	place := "bill=" + escapeCluster(k.Bill) + "/account=" + escapeCluster(k.Account) + "/period=" + k.Start.UTC().Format("20060102T150405Z")
	if k.Folder != "" {
		place += "/folder=" + escapeCluster(k.Folder)
	}
	return place
}

func billManifestName(k billing.Key, generation int) string {
	return manifestOf(statementFolder(k), generation)
}

func manifestOf(slot string, generation int) string {
	return fmt.Sprintf("%s/%s.g%d.json", billManifests, slot, generation)
}

// The names of manifests and data files of bills: the statement's folder and the generation.
var (
	billManifestForm = regexp.MustCompile(`^` + billManifests + `/(bill=[^/]+/account=[^/]+/period=[^/.]+(?:/folder=[^/]+)?)\.g([1-9][0-9]{0,8})\.json$`)
	billDataForm     = regexp.MustCompile(`^` + billData + `/(bill=[^/]+/account=[^/]+/period=[^/]+(?:/folder=[^/]+)?)/date=[^/]+/part-[0-9]+\.g([1-9][0-9]{0,8})\.parquet$`)
)

// billSlot reads the name of a file of bills.
func billSlot(form *regexp.Regexp, name string) (slot string, generation int, ok bool) {
	m := form.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	generation, _ = strconv.Atoi(m[2])
	return m[1], generation, true
}

// billSlotOf reads the name of a manifest or of a data file.
func billSlotOf(name string) (slot string, generation int) {
	for _, form := range [...]*regexp.Regexp{billManifestForm, billDataForm} {
		if slot, generation, ok := billSlot(form, name); ok {
			return slot, generation
		}
	}
	return "", 0
}

// readSealed reads a sealed file once.
func readSealed[T any](ctx context.Context, b *Bills, cache map[string]T, name string, check func(*T) error) (v T, err error) {
	b.mu.Lock()
	v, ok := cache[name]
	b.mu.Unlock()
	if ok {
		return v, nil
	}
	data, err := b.store.backend.Get(ctx, name)
	if err != nil {
		return v, err
	}
	if err = unseal(data, &v); err == nil {
		err = check(&v)
	}
	if err != nil {
		return v, &CorruptError{Name: name, Err: &billDamage{err}}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	cache[name] = v
	return v, nil
}

// billDamage is damage of a bill, which is not computed but read again.
type billDamage struct{ err error }

// Error is the cause's.
func (d *billDamage) Error() string { return d.err.Error() }

// Unwrap returns the cause.
func (d *billDamage) Unwrap() error { return d.err }

// remedy says what to do.
func (d *billDamage) remedy() string {
	return "it is read again from the bill's own files at the next look, if they are still there"
}

// manifest reads the manifest of a statement.
func (b *Bills) manifest(ctx context.Context, name string) (*billManifest, error) {
	return readSealed(ctx, b, b.manifests, name, func(of **billManifest) error {
		m := *of
		if m == nil {
			return errors.New("it is empty")
		}
		slot, generation, _ := billSlot(billManifestForm, name)
		m.name, m.generation = name, generation
		if m.Version > manifestFormat {
			return fmt.Errorf("its format is %d, at most %d is known: upgrade this promcost", m.Version, manifestFormat)
		}
		if statementFolder(m.Statement.Key) != slot {
			return fmt.Errorf("it is the manifest of %s", statementFolder(m.Statement.Key))
		}
		for i := range m.Files {
			if of, g, ok := billSlot(billDataForm, m.Files[i].Name); !ok || of != slot || g != generation {
				return fmt.Errorf("it names %s, which is not a file of its own", m.Files[i].Name)
			}
		}
		m.Statement.Version = generation
		return nil
	})
}

// statementList is the statements of a backend, as they were read.
type statementList struct {
	whole   []*billManifest // of each statement the highest generation that is whole, sorted
	older   []*billManifest // superseded
	corrupt []*CorruptError // unless a later generation is whole
	// obsolete are manifests that are damaged, or of which a file is, and of whose statement a later generation is whole.
	obsolete []string
}

// find reads all manifests, and compares the files with them by their lengths.
func (b *Bills) find(ctx context.Context) (*statementList, error) {
	sizes := map[string]int64{}
	if err := b.store.backend.List(ctx, billData, true, func(o Object) error { sizes[o.Name] = o.Bytes; return nil }); err != nil {
		return nil, err
	}
	var names []string
	err := b.store.backend.List(ctx, billManifests, false, func(o Object) error {
		if billManifestForm.MatchString(o.Name) {
			names = append(names, o.Name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out, bySlot := &statementList{}, map[string][]*billManifest{}
	for _, name := range names {
		m, err := b.manifest(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // superseded and removed meanwhile
		}
		if err == nil {
			err = b.whole(m, sizes)
		}
		if corrupt, ok := errors.AsType[*CorruptError](err); ok {
			out.corrupt = append(out.corrupt, corrupt)
			continue
		}
		if err != nil {
			return nil, err
		}
		slot, _, _ := billSlot(billManifestForm, name)
		bySlot[slot] = append(bySlot[slot], m)
	}
	for _, all := range bySlot {
		slices.SortFunc(all, func(a, b *billManifest) int { return cmp.Compare(b.generation, a.generation) })
		out.whole, out.older = append(out.whole, all[0]), append(out.older, all[1:]...)
	}
	out.corrupt = slices.DeleteFunc(out.corrupt, func(c *CorruptError) bool {
		slot, generation := billSlotOf(c.Name)
		mended := len(bySlot[slot]) > 0 && bySlot[slot][0].generation > generation
		if mended {
			out.obsolete = append(out.obsolete, manifestOf(slot, generation))
		}
		return mended
	})
	slices.SortFunc(out.whole, func(a, b *billManifest) int { return a.Statement.Compare(b.Statement.Key) })
	return out, nil
}

// whole is an error if a file of a statement is missing, has another length, or turned out to be damaged.
func (b *Bills) whole(m *billManifest, sizes map[string]int64) error {
	b.mu.Lock()
	err := b.damaged[m.name]
	b.mu.Unlock()
	if err != nil {
		return err
	}
	for i := range m.Files {
		of := file{Name: m.Files[i].Name, Bytes: m.Files[i].Bytes}
		if err := of.checkSize(sizes); err != nil {
			return &CorruptError{Name: of.Name, Window: m.Statement.Charged, Err: &billDamage{err}}
		}
	}
	return nil
}

// Kept implements billing.Keeper.
func (b *Bills) Kept(ctx context.Context) (*billing.Kept, error) {
	found, err := b.find(ctx)
	if err != nil {
		return nil, fmt.Errorf("list bills of the history: %w", err)
	}
	taken, err := b.listTaken(ctx)
	if err != nil {
		return nil, fmt.Errorf("list bills of the history: %w", err)
	}
	k := &billing.Kept{Taken: map[billing.DeliveryName]string{}, Damaged: map[billing.DeliveryName]bool{}}
	for _, t := range taken {
		k.Taken[t.Name] = t.Fingerprint
	}
	for _, m := range found.whole {
		k.Statements = append(k.Statements, m.Statement)
	}
	for _, c := range found.corrupt {
		k.Warnings = append(k.Warnings, c.Error())
		slot, generation := billSlotOf(c.Name)
		b.mu.Lock()
		m := b.manifests[manifestOf(slot, generation)]
		b.mu.Unlock()
		bill, _, _ := strings.Cut(slot, "/")
		for name := range k.Taken { // those of the bill, if the manifest does not say which
			if m == nil && "bill="+escapeCluster(name.Bill) == bill || m != nil && name.Bill == m.Statement.Bill && name.Name == m.Statement.Delivery {
				k.Damaged[name] = true
			}
		}
	}
	return k, nil
}

// listTaken returns the deliveries that were taken in, by the name of their files. Damaged records are none.
func (b *Bills) listTaken(ctx context.Context) (map[string]takenDelivery, error) {
	var names []string
	if err := b.store.backend.List(ctx, billTaken, false, func(o Object) error { names = append(names, o.Name); return nil }); err != nil {
		return nil, err
	}
	out := map[string]takenDelivery{}
	for _, name := range names {
		t, err := readSealed(ctx, b, b.taken, name, func(t *takenDelivery) error {
			if takenName(*t) != name {
				return errors.New("it is the record of another delivery")
			}
			return nil
		})
		_, corrupt := errors.AsType[*CorruptError](err)
		if err != nil && !corrupt && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			out[name] = t
		}
	}
	return out, nil
}

// takenName is the name of the record of a delivery.
func takenName(t takenDelivery) string {
	return fmt.Sprintf("%s/bill=%s/%08x-%s.json", billTaken, escapeCluster(t.Name.Bill), crc32.ChecksumIEEE([]byte(t.Name.Name)), path.Base(t.Fingerprint))
}

// Read calls f for each line of a statement on days that may overlap w. It is a billing.Opener. Damage is a CorruptError, and the statement
// is not among those of Kept any more.
func (b *Bills) Read(ctx context.Context, s *billing.Statement, w allocation.Window, f func(*billing.Line) error) error {
	m, err := b.manifest(ctx, billManifestName(s.Key, s.Version))
	if err != nil {
		return fmt.Errorf("read bill: %w", err)
	}
	for i := range m.Files {
		of := &m.Files[i]
		if !of.Day.Before(w.End) || !of.Day.Add(longestDay).After(w.Start) {
			continue
		}
		if err := b.readFile(ctx, m, of, f); err != nil {
			return err
		}
	}
	return nil
}

// longestDay is longer than any day of a time zone.
const longestDay = 26 * time.Hour

// readFile reads the lines of a file.
func (b *Bills) readFile(ctx context.Context, m *billManifest, of *billFile, f func(*billing.Line) error) error {
	data, owner, err := b.store.content(ctx, of.Name)
	if err != nil {
		return fmt.Errorf("read bill: %w", err)
	}
	known := file{Name: of.Name, Bytes: of.Bytes, CRC32C: of.CRC32C}
	var own error // of f
	if err = known.checkMapped(data, owner); err == nil {
		err = billing.ReadDay(ctx, data, m.Statement.Bill, func(l *billing.Line) error {
			own = f(l)
			return own
		})
	}
	runtime.KeepAlive(owner)
	if err == nil || own != nil || ctx.Err() != nil {
		return cmp.Or(own, err)
	}
	err = &CorruptError{Name: of.Name, Window: m.Statement.Charged, Err: &billDamage{err}}
	b.mu.Lock()
	b.damaged[m.name] = err
	b.mu.Unlock()
	return err
}
