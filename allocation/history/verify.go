package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/promcost/promcost/allocation/passes"
)

// CheckSizes compares the lengths of the files of sets with their manifests, which is cheaper than reading them. It finds
// missing files and files of another length; in an object store whose listings have no lengths, only missing ones.
func (s *Store) CheckSizes(ctx context.Context, sets []Stored) (damaged []*CorruptError, err error) {
	bytes, listed := map[string]int64{}, map[string]bool{}
	for i := range sets {
		for _, m := range sets[i].manifests {
			for k := range m.Files {
				f := &m.Files[k]
				if dir := dataFolder(f.Kind, m.version.period); !listed[dir] {
					listed[dir] = true
					if err := s.backend.List(ctx, dir, true, func(o Object) error { bytes[o.Name] = o.Bytes; return nil }); err != nil {
						return nil, err
					}
				}
				if err := f.checkSize(bytes); err != nil {
					damaged = append(damaged, &CorruptError{Name: f.Name, Period: m.version.period, Window: m.window(), Err: err})
				}
			}
		}
	}
	return damaged, nil
}

// checkSize compares the length of a file with the listed one.
func (f *file) checkSize(listed map[string]int64) error {
	switch bytes, ok := listed[f.Name]; {
	case !ok:
		return errors.New("it is missing")
	case bytes != f.Bytes && bytes >= 0:
		return fmt.Errorf("it has %d bytes, its manifest says %d", bytes, f.Bytes)
	}
	return nil
}

// Verify reads all files of a set and checks checksums, footers and stats, and for complete sets the laws of Set.Check. It
// returns how many files it read. An error is a CorruptError that names the file, or the set if a law is broken.
func (s *Store) Verify(ctx context.Context, set *Stored) (files int, err error) {
	sets, err := s.Read(ctx, []Stored{*set}, nil)
	if err != nil {
		return 0, err
	}
	if set.Complete && len(set.Missing) == 0 {
		if err := passes.Check(sets[0]); err != nil {
			return 0, &CorruptError{Name: set.manifests[0].version.manifest(), Period: set.Period, Window: set.Window, Err: err}
		}
	}
	stats, err := s.verifyStats(ctx, set)
	return len(set.Files()) + stats, err
}
