package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
)

// WriteOptions say how a set is stored.
type WriteOptions struct {
	Period Period
	// Zone is that which the set's window was cut in. nil is UTC.
	Zone *time.Location
	// Complete says that nothing of the source was missing.
	Complete bool
	// Shard says which shard of the computing the set is of. The zero value is the whole.
	Shard Shard
	// Replace stores the set as another generation where there is one already.
	Replace bool
}

// maxConflicts bounds how many consecutive generations may be taken by files of dead writers.
const maxConflicts = 1000

// blob is a file to be written.
type blob struct {
	file
	data []byte
}

// Write stores a set as a Builder or passes.Merge yields it, before bills are applied. It returns the set once it is durable.
// Reading gives passes.Merge of the set by itself: the same rows in their one order. If the set is stored already, Write
// returns the stored one, unless o.Replace asks for another generation. A part of a set is returned as if it were the
// whole. After an error the set is as it was before: files that were written are not visible, and Clean removes them.
func (s *Store) Write(ctx context.Context, set *allocation.Set, o WriteOptions) (Stored, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	v := version{slotOf(o.Period, set.Window.Start, o.Zone), o.Shard.orWhole(), 1}
	fail := func(err error) (Stored, error) {
		return Stored{}, fmt.Errorf("store %s set of %s: %w", o.Period, set.Window.Start.UTC().Format(time.RFC3339), err)
	}
	if err := storable(set, v.Shard); err != nil {
		return fail(err)
	}
	have, gen, err := s.generation(ctx, v, set.Window)
	if err != nil {
		return fail(err)
	}
	if have != nil && !o.Replace {
		there := newStored([]*manifest{have})
		lost, err := s.lost(ctx, &there)
		if err == nil {
			_, err = s.backend.Get(ctx, have.version.manifest()) // an object store may still list deleted objects
		}
		if err == nil && !lost {
			return there, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	blobs, err := encodeSet(set, v, o)
	if err != nil {
		return fail(err)
	}
	for v.generation = gen; v.generation < gen+maxConflicts; v.generation++ {
		m, err := s.writeVersion(ctx, set, v, o, blobs)
		if errors.Is(err, fs.ErrExist) {
			continue // another one's
		}
		if err != nil {
			return fail(err)
		}
		return newStored([]*manifest{m}), nil
	}
	return fail(fmt.Errorf("%d generations are there of which none is whole: remove %s", maxConflicts, v.name))
}

// storable refuses sets that cannot be stored.
func storable(set *allocation.Set, p Shard) error {
	switch {
	case !set.Built():
		return errors.New("passes have made it: store sets as they were built")
	case len(set.Cloud) > 0 || len(set.External) > 0:
		return errors.New("it has what only bills know: store sets before they are reconciled")
	case !set.Window.Start.Before(set.Window.End):
		return errors.New("its window is empty")
	case p.Index < 1 || p.Of < p.Index || p.Of > maxShards:
		return fmt.Errorf("part %d of %d is none: parts are 1 to %d", p.Index, p.Of, maxShards)
	}
	return nil
}

// maxShards bounds the shards of a set.
const maxShards = 9999

// generation returns the newest manifest of the part for the window, if any, and the next free generation.
func (s *Store) generation(ctx context.Context, v version, w allocation.Window) (have *manifest, next int, err error) {
	in := &manifestList{}
	if err := s.find(ctx, v.period, v.folder(), in); err != nil {
		return nil, 0, err
	}
	next = 1
	for _, m := range in.sound {
		if m.version.slot != v.slot {
			continue
		}
		same := m.window().Start.Equal(w.Start) && m.window().End.Equal(w.End) && m.version.Of == v.Of
		if !same || m.version.Shard == v.Shard { // other parts of the set may have any
			next = max(next, m.version.generation+1)
		}
		if same && m.version.Shard == v.Shard && (have == nil || have.version.generation < m.version.generation) {
			have = m
		}
	}
	for _, of := range in.damaged {
		if of.slot == v.slot && (of.Shard == v.Shard || of.Of != v.Of) {
			next = max(next, of.generation+1)
		}
	}
	return have, next, nil
}

// encodeSet makes the files of a set.
func encodeSet(set *allocation.Set, v version, o WriteOptions) ([]blob, error) {
	set, err := passes.Merge(set.Window, []*allocation.Set{set})
	if err != nil {
		return nil, err
	}
	var blobs []blob
	clusters := set.Clusters()
	for _, cluster := range clusters {
		of := set
		if len(clusters) > 1 {
			if of, err = set.OfCluster(cluster); err != nil {
				return nil, err
			}
		}
		for _, kind := range [...]parquet.Kind{parquet.Allocations, parquet.Assets} {
			var b bytes.Buffer
			rows, err := parquet.Write(&b, of, parquet.Footer{
				Kind: kind, Window: set.Window, Resolution: set.Resolution, Warnings: set.Warnings, Zone: o.Zone.String(), Complete: o.Complete,
				Shard: v.Index, Shards: v.Of,
			})
			if err != nil {
				return nil, err
			}
			blobs = append(blobs, blob{file{Kind: kind, Cluster: cluster, Rows: rows, Bytes: int64(b.Len()), CRC32C: checksum(b.Bytes())}, b.Bytes()})
		}
	}
	return blobs, nil
}

// writeVersion writes the files of a version and its manifest. fs.ErrExist says that the version is another one's.
func (s *Store) writeVersion(ctx context.Context, set *allocation.Set, v version, o WriteOptions, blobs []blob) (*manifest, error) {
	m := &manifest{
		Version: manifestFormat, Period: v.period.String(), Start: set.Window.Start.UTC(), End: set.Window.End.UTC(), Zone: o.Zone.String(),
		ResolutionSeconds: set.Resolution.Seconds(), ScrapeIntervalSeconds: set.ScrapeInterval.Seconds(), Rules: set.Rules, Unlabeled: set.Unlabeled, Complete: o.Complete, Warnings: set.Warnings, version: v, Covered: []covered{}, PricedBy: set.PricedBy(), Files: []file{},
	}
	for _, x := range set.Covered {
		m.Covered = append(m.Covered, covered(x))
	}
	adopted := map[string][]byte{}
	for i := range blobs {
		f := blobs[i].file
		f.Name = v.data(f.Kind, f.Cluster)
		there, err := s.putSame(ctx, f.Name, blobs[i].data)
		if err != nil {
			return nil, err
		}
		if there {
			adopted[f.Name] = blobs[i].data
		}
		m.Files = append(m.Files, f)
	}
	data, err := m.encode()
	if err != nil {
		return nil, err
	}
	if set.Reading != nil {
		stats, err := encodeStats(set.Reading)
		if err != nil {
			return nil, err
		}
		// Stats differ from one computation to the next: the first ones stay.
		if err := s.backend.Put(ctx, v.stats(), stats); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if _, err := s.putSame(ctx, v.manifest(), data); err != nil {
		return nil, err
	}
	for name, data := range adopted { // a dead writer left it: Clean may have been about to remove it
		if _, err := s.putSame(ctx, name, data); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// putSame writes a file that may be there already with the same content; with other content it is fs.ErrExist.
func (s *Store) putSame(ctx context.Context, name string, data []byte) (there bool, err error) {
	err = s.backend.Put(ctx, name, data)
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	have, getErr := s.backend.Get(ctx, name)
	switch {
	case errors.Is(getErr, fs.ErrNotExist):
		return false, err // just deleted: take another generation
	case getErr != nil:
		return false, getErr
	case bytes.Equal(have, data):
		return true, nil
	}
	return false, err
}
