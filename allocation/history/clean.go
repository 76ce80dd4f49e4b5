package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
)

// Cleaned counts what Clean has removed.
type Cleaned struct {
	Superseded int // parts of sets of which a later generation is there
	Orphans    int // files that no manifest names
	Temporary  int // files that somebody began to write
}

// Clean removes what has been obsolete for Options.Keep: superseded generations, files of writers that died before their
// manifest, and temporary files. Damaged files stay until they were computed again. It may run beside readers and writers,
// and may be stopped at any time. What it removed before an error stays removed.
func (s *Store) Clean(ctx context.Context) (Cleaned, error) {
	var done Cleaned
	before := s.opts.Now().Add(-s.opts.Keep)
	for p := range NumPeriods {
		if err := s.cleanPeriod(ctx, p, before, &done); err != nil {
			return done, fmt.Errorf("clean %s history: %w", p, err)
		}
	}
	if err := s.Bills().clean(ctx, before, &done); err != nil {
		return done, fmt.Errorf("clean bills of history: %w", err)
	}
	var old []string
	err := s.backend.List(ctx, temporary, true, func(o Object) error {
		if o.Modified.Before(before) {
			old = append(old, o.Name)
		}
		return nil
	})
	for _, name := range old {
		if err == nil {
			if err = s.backend.Delete(ctx, name); err == nil {
				done.Temporary++
			}
		}
	}
	if err != nil {
		return done, fmt.Errorf("clean temporary files of history: %w", err)
	}
	return done, nil
}

// cleanPeriod removes superseded and orphaned files.
func (s *Store) cleanPeriod(ctx context.Context, p Period, before time.Time, done *Cleaned) error {
	written := map[version]time.Time{} // of manifests
	err := s.backend.List(ctx, manifests(p), true, func(o Object) error {
		if v, ok := s.names.manifestVersion(p, o.Name); ok {
			written[v] = o.Modified
		}
		return nil
	})
	if err != nil {
		return err
	}
	in := &manifestList{}
	if err := s.find(ctx, p, manifests(p), in); err != nil {
		return err
	}
	slots := map[slot]Stored{}
	for _, manifests := range in.bySlot() {
		best, ok := newest(manifests)
		if !ok || !best.before(before, written) {
			continue
		}
		slots[best.slot] = best
		for _, m := range manifests {
			if best.supersedes(m.version) {
				if err := s.remove(ctx, m.version, m.Files); err != nil {
					return err
				}
				done.Superseded++
				delete(written, m.version)
			}
		}
	}
	for i, v := range in.damaged {
		best, ok := slots[v.slot]
		if ok && best.supersedes(v) && !s.onlyName(p, in.corrupt[i], written) {
			if err := s.backend.Delete(ctx, v.manifest()); err != nil { // its files are orphans from now on
				return err
			}
			done.Superseded++
			delete(written, v)
		}
	}
	for _, c := range in.corrupt {
		for _, f := range misplacedFiles(c) {
			if v, ok := s.names.dataVersion(p, f.Name); ok {
				written[v] = before // until the manifest has its own name again
			}
		}
	}
	return s.cleanOrphans(ctx, p, before, written, done)
}

// onlyName reports whether a damaged manifest is an intact one under another set's name, and the only one that names its
// files.
func (s *Store) onlyName(p Period, c *CorruptError, written map[version]time.Time) bool {
	return slices.ContainsFunc(misplacedFiles(c), func(f file) bool {
		v, ok := s.names.dataVersion(p, f.Name)
		_, named := written[v]
		return !ok || !named
	})
}

// before reports whether all manifests of the set were written before t.
func (s *Stored) before(t time.Time, written map[version]time.Time) bool {
	for _, m := range s.manifests {
		if at, ok := written[m.version]; !ok || !at.Before(t) {
			return false
		}
	}
	return true
}

// supersedes reports whether another version of the slot is not needed beside the set: parts of a later one may be on
// their way.
func (s *Stored) supersedes(v version) bool {
	for _, m := range s.manifests {
		if m.version == v {
			return false
		}
	}
	return v.generation <= s.Generation
}

// cleanOrphans removes files that belong to no manifest.
func (s *Store) cleanOrphans(ctx context.Context, p Period, before time.Time, written map[version]time.Time, done *Cleaned) error {
	for _, kind := range [...]parquet.Kind{parquet.Allocations, parquet.Assets} {
		var old []string
		err := s.backend.List(ctx, dataFolder(kind, p), true, func(o Object) error {
			if v, ok := s.names.dataVersion(p, o.Name); ok && o.Modified.Before(before) {
				if _, named := written[v]; !named {
					old = append(old, o.Name)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, name := range old {
			v, _ := s.names.dataVersion(p, name)
			if _, err := s.backend.Get(ctx, v.manifest()); err == nil {
				continue // it was written meanwhile
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := s.backend.Delete(ctx, name); err != nil {
				return err
			}
			done.Orphans++
		}
	}
	return nil
}

// remove deletes a version. The manifest goes first, so that no manifest ever names a missing file.
func (s *Store) remove(ctx context.Context, v version, files []file) error {
	for _, name := range [...]string{v.manifest(), v.stats()} {
		if err := s.backend.Delete(ctx, name); err != nil {
			return err
		}
	}
	s.forget(v)
	for i := range files {
		if err := s.backend.Delete(ctx, files[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// Delete removes a set that List returned, and everything in its slot. Older generations go first, so that none of them
// becomes visible.
func (s *Store) Delete(ctx context.Context, set *Stored) error {
	in := &manifestList{}
	if err := s.find(ctx, set.Period, set.slot.folder(), in); err != nil {
		return fmt.Errorf("delete %s: %w", set.describe(), err)
	}
	for g, left := 1, true; left; g++ {
		left = false
		for _, m := range in.sound {
			if m.version.slot != set.slot {
				continue
			}
			left = left || m.version.generation > g
			if m.version.generation == g {
				if err := s.remove(ctx, m.version, m.Files); err != nil {
					return fmt.Errorf("delete %s: %w", set.describe(), err)
				}
			}
		}
	}
	for _, v := range in.damaged {
		if v.slot == set.slot {
			if err := s.backend.Delete(ctx, v.manifest()); err != nil {
				return fmt.Errorf("delete %s: %w", set.describe(), err)
			}
		}
	}
	return nil
}

// Retain removes the sets of a period that end at or before t, oldest first, and returns how many, including sets with
// missing parts and sets with damaged manifests.
func (s *Store) Retain(ctx context.Context, p Period, t time.Time) (int, error) {
	list, err := s.List(ctx, p, allocation.Window{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, sets := range [...][]Stored{list.Sets, list.Partial} {
		for i := range sets {
			if set := &sets[i]; !set.Window.End.After(t) {
				if err := s.Delete(ctx, set); err != nil {
					return n, err
				}
				n++
			}
		}
	}
	for _, c := range list.Corrupt {
		if c.Window.End.After(t.Add(-unsureEnd)) {
			continue
		}
		if err := s.DeleteDamaged(ctx, c); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// unsureEnd is how long after the window in its name a set may end, whatever the time zone.
const unsureEnd = 36 * time.Hour

// DeleteDamaged removes the manifest that a CorruptError of List is of, and with it what else is in its slot.
func (s *Store) DeleteDamaged(ctx context.Context, c *CorruptError) error {
	v, ok := s.names.manifestVersion(c.Period, c.Name)
	if !ok {
		return fmt.Errorf("delete damaged set of %s: %s is no manifest", c.Window.Start.UTC().Format(time.RFC3339), c.Name)
	}
	return s.Delete(ctx, &Stored{Period: c.Period, Window: c.Window, slot: v.slot})
}

// Unreferenced are the files of the store that nothing reads: those that are no manifest, and that no manifest and no temporary
// file accounts for, by name. Writers that died leave some, which Clean removes; others were put there by somebody.
func (s *Store) Unreferenced(ctx context.Context) ([]string, error) {
	known := map[string]bool{}
	for p := range NumPeriods {
		in := &manifestList{}
		if err := s.find(ctx, p, manifests(p), in); err != nil {
			return nil, fmt.Errorf("list history: %w", err)
		}
		for _, m := range in.sound {
			known[m.version.manifest()], known[m.version.stats()] = true, true
			for i := range m.Files {
				known[m.Files[i].Name] = true
			}
		}
		for i, v := range in.damaged { // reported as damaged
			known[v.manifest()], known[v.stats()] = true, true
			for _, f := range misplacedFiles(in.corrupt[i]) {
				known[f.Name] = true
			}
		}
	}
	if err := s.Bills().referenced(ctx, known); err != nil {
		return nil, fmt.Errorf("list bills of history: %w", err)
	}
	var unreferenced []string
	err := s.backend.List(ctx, "", false, func(o Object) error {
		if !known[o.Name] && !strings.HasPrefix(o.Name, temporary+"/") {
			unreferenced = append(unreferenced, o.Name)
		}
		return nil
	})
	return unreferenced, err
}

// misplacedFiles are the files that a manifest under another set's name names.
func misplacedFiles(c *CorruptError) []file {
	if of, ok := errors.AsType[*misplacedError](c.Err); ok {
		return of.files
	}
	return nil
}
