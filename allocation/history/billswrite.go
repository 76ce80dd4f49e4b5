package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/billing"
)

// Take implements billing.Keeper.
func (b *Bills) Take(_ context.Context, d *billing.Delivery) (billing.Taking, error) {
	return &billTaking{bills: b, delivery: d, statements: map[billing.Key]*billManifest{}}, nil
}

// billTaking writes the files of a delivery. Nobody sees them before their manifests are there.
type billTaking struct {
	bills      *Bills
	delivery   *billing.Delivery
	statements map[billing.Key]*billManifest
}

// Add implements billing.Taking.
func (t *billTaking) Add(ctx context.Context, d *billing.Day) error {
	m := t.statements[d.Key]
	if m == nil {
		generation, err := t.bills.nextGeneration(ctx, d.Key)
		if err != nil {
			return err
		}
		m = &billManifest{Version: manifestFormat, Fingerprint: t.delivery.Fingerprint, generation: generation}
		t.statements[d.Key] = m
	}
	data, err := billing.WriteDay(d)
	if err != nil {
		return err
	}
	of := billFile{
		Name: fmt.Sprintf("%s/%s/date=%s/part-%d.g%d.parquet", billData, statementFolder(d.Key), d.Start.Format(time.DateOnly), len(m.Files)+1, m.generation),
		Day:  d.Start.UTC(), Rows: d.Len(), Bytes: int64(len(data)), CRC32C: checksum(data),
	}
	if _, err := t.bills.store.putSame(ctx, of.Name, data); err != nil {
		return err
	}
	m.Files = append(m.Files, of)
	return nil
}

// nextGeneration is a generation of a statement that no file has.
func (b *Bills) nextGeneration(ctx context.Context, k billing.Key) (int, error) {
	next, folder := 1, statementFolder(k)
	learn := func(o Object) error {
		if slot, g := billSlotOf(o.Name); slot == folder {
			next = max(next, g+1)
		}
		return nil
	}
	manifests := billManifests + "/" + folder[:strings.LastIndexByte(folder, '/')]
	return next, errors.Join(b.store.backend.List(ctx, manifests, false, learn), b.store.backend.List(ctx, billData+"/"+folder, false, learn))
}

// Commit implements billing.Taking.
func (t *billTaking) Commit(ctx context.Context, statements []billing.Statement) error {
	b := t.bills
	for _, s := range statements {
		m := t.statements[s.Key]
		if m == nil {
			return fmt.Errorf("no lines of account %s from %s were added", s.Account, s.Start)
		}
		slices.SortStableFunc(m.Files, func(a, b billFile) int { return a.Day.Compare(b.Day) })
		m.Statement = s
		data, err := seal(m)
		if err != nil {
			return err
		}
		if _, err := b.store.putSame(ctx, billManifestName(s.Key, m.generation), data); err != nil {
			return err
		}
	}
	own := takenDelivery{billing.DeliveryName{Bill: t.delivery.Bill, Name: t.delivery.Name}, t.delivery.Fingerprint}
	data, err := seal(own)
	if err != nil {
		return err
	}
	if _, err := b.store.putSame(ctx, takenName(own), data); err != nil {
		return err
	}
	taken, err := b.listTaken(ctx)
	if err != nil {
		return err
	}
	for name, other := range taken { // of the same delivery, before it changed
		if other.Name == own.Name && other != own {
			if err := b.store.backend.Delete(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Abort implements billing.Taking. Clean removes the files.
func (t *billTaking) Abort() {}

// orphansKeep is how long files of bills stay that no manifest names: a delivery may be taken in for long.
const orphansKeep = 24 * time.Hour

// clean removes superseded generations, and files that no manifest names.
func (b *Bills) clean(ctx context.Context, before time.Time, done *Cleaned) error {
	found, err := b.find(ctx)
	if err != nil {
		return err
	}
	written, named := map[string]time.Time{}, map[string]bool{}
	if err := b.store.backend.List(ctx, billManifests, true, func(o Object) error { written[o.Name] = o.Modified; return nil }); err != nil {
		return err
	}
	newest := map[billing.Key]*billManifest{}
	for _, m := range found.whole {
		newest[m.Statement.Key] = m
		for i := range m.Files {
			named[m.Files[i].Name] = true
		}
	}
	for _, m := range found.older {
		if by := newest[m.Statement.Key]; written[by.name].IsZero() || !written[by.name].Before(before) {
			for i := range m.Files {
				named[m.Files[i].Name] = true
			}
			continue
		}
		if err := b.remove(ctx, m); err != nil {
			return err
		}
		done.Superseded++
	}
	for _, name := range found.obsolete {
		if err := b.store.backend.Delete(ctx, name); err != nil { // its files are orphans from now on
			return err
		}
		done.Superseded++
	}
	kept := map[string]bool{} // slots with a damaged manifest: its files may still be good for somebody
	for _, c := range found.corrupt {
		if slot, _, ok := billSlot(billManifestForm, c.Name); ok {
			kept[slot] = true
		}
	}
	var old []string
	err = b.store.backend.List(ctx, billData, true, func(o Object) error {
		slot, _, ok := billSlot(billDataForm, o.Name)
		if ok && !named[o.Name] && !kept[slot] && o.Modified.Before(before.Add(b.store.opts.Keep-orphansKeep)) {
			old = append(old, o.Name)
		}
		return nil
	})
	for _, name := range old {
		if err == nil {
			if err = b.store.backend.Delete(ctx, name); err == nil {
				done.Orphans++
			}
		}
	}
	return err
}

// remove deletes a statement, its manifest first.
func (b *Bills) remove(ctx context.Context, m *billManifest) error {
	if err := b.store.backend.Delete(ctx, m.name); err != nil {
		return err
	}
	b.mu.Lock()
	delete(b.manifests, m.name)
	b.mu.Unlock()
	for i := range m.Files {
		if err := b.store.backend.Delete(ctx, m.Files[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// Retain removes statements whose last charge ends at or before t, and returns how many.
func (b *Bills) Retain(ctx context.Context, t time.Time) (int, error) {
	found, err := b.find(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, m := range slices.Concat(found.older, found.whole) { // older ones first, so that none becomes visible
		if m.Statement.Charged.End.After(t) {
			continue
		}
		if err := b.remove(ctx, m); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// StoredBill is a statement as it is stored.
type StoredBill struct {
	billing.Statement
	Generation int
	Files      int
	Bytes      int64
}

// List returns the statements that are stored, sorted, and what is damaged.
func (b *Bills) List(ctx context.Context) (list []StoredBill, damaged []*CorruptError, err error) {
	found, err := b.find(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list bills of the history: %w", err)
	}
	for _, m := range found.whole {
		s := StoredBill{Statement: m.Statement, Generation: m.generation, Files: len(m.Files)}
		for i := range m.Files {
			s.Bytes += m.Files[i].Bytes
		}
		list = append(list, s)
	}
	return list, found.corrupt, nil
}

// Verify reads all files of a statement. An error is a CorruptError that names the file.
func (b *Bills) Verify(ctx context.Context, s *StoredBill) error {
	sums := billing.Tally{}
	m, err := b.manifest(ctx, billManifestName(s.Key, s.Generation))
	if err != nil {
		return err
	}
	for i := range m.Files {
		rows := 0
		err := b.readFile(ctx, m, &m.Files[i], func(l *billing.Line) error {
			rows++
			sums.Add(l)
			return nil
		})
		if err == nil && rows != m.Files[i].Rows {
			err = &CorruptError{Name: m.Files[i].Name, Window: s.Charged, Err: &billDamage{fmt.Errorf("it has %d lines, its manifest says %d", rows, m.Files[i].Rows)}}
		}
		if err != nil {
			return err
		}
	}
	if err := sums.Agree(&m.Statement); err != nil {
		return &CorruptError{Name: m.name, Window: s.Charged, Err: &billDamage{err}}
	}
	return nil
}

// referenced are the names of all files that belong to bills.
func (b *Bills) referenced(ctx context.Context, known map[string]bool) error {
	found, err := b.find(ctx)
	if err != nil {
		return err
	}
	for _, m := range slices.Concat(found.whole, found.older) {
		known[m.name] = true
		for i := range m.Files {
			known[m.Files[i].Name] = true
		}
	}
	for _, c := range found.corrupt {
		known[c.Name] = true
	}
	taken, err := b.listTaken(ctx)
	for name := range taken {
		known[name] = true
	}
	return err
}
