package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
)

// manifest is the manifest of a version, read once.
func (s *Store) manifest(ctx context.Context, v version) (*manifest, error) {
	name := v.manifest()
	s.mu.Lock()
	m := s.manifests[name]
	s.mu.Unlock()
	if m != nil {
		return m, nil
	}
	data, err := s.backend.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if m, err = decodeManifest(data, v); err != nil {
		if errors.Is(err, parquet.ErrNewerVersion) {
			return nil, fmt.Errorf("read history %s: %w", name, err)
		}
		return nil, &CorruptError{Name: name, Period: v.period, Window: v.within(), Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.manifests[name] = m
	return m, nil
}

// forget drops manifests that were read: somebody may have deleted and written them again.
func (s *Store) forget(v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.manifests, v.manifest())
}

// within returns a window that lies in the slot whatever the time zone, for sets without a manifest.
func (s slot) within() allocation.Window {
	form, at, length := time.DateOnly, s.name[len("date="):], time.Hour
	if s.period != Daily {
		form += "/hour=15"
		if len(at) > len(form) {
			form += "04"
		}
	} else {
		at, form, length = at+"T12", form+"T15", time.Second
	}
	t, err := time.Parse(form, at)
	if err != nil {
		return allocation.Window{}
	}
	return allocation.Window{Start: t, End: t.Add(length)}
}

// maxRetries bounds how often something is looked for again that was superseded while it was read.
const maxRetries = 100

// Read reads sets that List returned, over one Dict, in the order given. p says which columns are read; nil is all. If a set
// was superseded meanwhile, Read returns the new one. Damage is a CorruptError; a deleted set is fs.ErrNotExist.
func (s *Store) Read(ctx context.Context, sets []Stored, p *allocation.Projection) ([]*allocation.Set, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Some sets are decoded ahead; their strings are interned in order.
	decoding := make(chan chan decodedSet, s.opts.Readers)
	go func() {
		defer close(decoding)
		for i := range sets {
			done := make(chan decodedSet, 1)
			select {
			case decoding <- done:
			case <-ctx.Done():
				return
			}
			go func() { done <- s.decode(ctx, sets[i], p) }()
		}
	}()
	dict := allocation.NewDict()
	out := make([]*allocation.Set, 0, len(sets))
	for done := range decoding {
		d := <-done
		set, err := d.set(dict)
		if err != nil {
			return nil, err
		}
		if own := s.opts.Shard; own.Of > 1 && d.stored.manifests[0].version.Shard != own {
			if set, err = set.OfShard(allocation.Shard(own)); err != nil {
				return nil, err
			}
		}
		out = append(out, set)
	}
	return out, ctx.Err()
}

// decodedSet is the decoded content of a set.
type decodedSet struct {
	stored Stored
	files  [][]*parquet.Decoded
	sound  []func() error // of files that are mapped, of which something is decoded later
	err    error
}

// decode reads the files of a set. If the set was replaced, it reads the files of the new one.
func (s *Store) decode(ctx context.Context, stored Stored, p *allocation.Projection) decodedSet {
	if stored.Shards > 1 || s.opts.Shard.Of > 1 {
		p = p.WithInstance() // parts are merged
	}
	for try := 0; ; try++ {
		files, sound, err := s.decodeFiles(ctx, &stored, p)
		var corrupt *CorruptError
		if err == nil || try >= maxRetries || ctx.Err() != nil || !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &corrupt) {
			return decodedSet{stored, files, sound, err}
		}
		// Manifests may be out of date, where the set was deleted and computed again.
		for _, m := range stored.manifests {
			s.forget(m.version)
		}
		now, found, listErr := s.lookUp(ctx, &stored)
		if listErr != nil {
			return decodedSet{err: listErr}
		}
		same := found && slices.Equal(now.Files(), stored.Files()) && now.sameSums(&stored)
		switch {
		case same && corrupt == nil:
			m := stored.manifests[0]
			err = &CorruptError{Name: m.version.manifest(), Period: m.version.period, Window: m.window(), Err: fmt.Errorf("a file that it names is missing: %w", err)}
			return decodedSet{stored, nil, nil, err}
		case same, !found:
			return decodedSet{stored, nil, nil, err}
		}
		stored = now
	}
}

// sameSums reports whether two readings of a set's manifests say the same.
func (s *Stored) sameSums(o *Stored) bool {
	return slices.EqualFunc(s.manifests, o.manifests, func(a, b *manifest) bool { return slices.Equal(a.Files, b.Files) })
}

// lookUp is the set that is in the place of another now.
func (s *Store) lookUp(ctx context.Context, was *Stored) (Stored, bool, error) {
	list, err := s.List(ctx, was.Period, was.Window)
	if err != nil {
		return Stored{}, false, err
	}
	sets := list.Sets
	if len(was.Missing) > 0 {
		sets = list.Partial
	}
	for _, now := range sets {
		if now.Window == was.Window && (len(was.Missing) == 0 || now.Shards == was.Shards) {
			return now, true, nil
		}
	}
	return Stored{}, false, nil
}

func (s *Store) decodeFiles(ctx context.Context, stored *Stored, p *allocation.Projection) (files [][]*parquet.Decoded, sound []func() error, err error) {
	files = make([][]*parquet.Decoded, len(stored.manifests))
	for i, m := range stored.manifests {
		for k := range m.Files {
			if p != nil && p.WithoutAssets && m.Files[k].Kind == parquet.Assets {
				files[i] = append(files[i], &parquet.Decoded{})
				continue
			}
			d, check, err := s.decodeFile(ctx, m, &m.Files[k], p)
			if err != nil {
				return nil, nil, err
			}
			files[i] = append(files[i], d)
			if check != nil && p != nil && len(p.Deferred) > 0 {
				sound = append(sound, check)
			}
		}
	}
	return files, sound, nil
}

// content is the content of a file, mapped where the backend can: then owner is not nil, and must be reachable while it is read.
func (s *Store) content(ctx context.Context, name string) (data []byte, owner any, err error) {
	if d, ok := s.backend.(*Directory); ok {
		return d.mapFile(name)
	}
	data, err = s.backend.Get(ctx, name)
	return data, nil, err
}

// checkMapped is check of data that may be mapped: what cannot be read of it is an error.
func (f *file) checkMapped(data []byte, owner any) (err error) {
	defer runtime.KeepAlive(owner)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(owner != nil))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	return f.check(data)
}

// decodeFile reads a file. If it is mapped, sound returns an error once the file has changed.
func (s *Store) decodeFile(ctx context.Context, m *manifest, f *file, p *allocation.Projection) (d *parquet.Decoded, sound func() error, err error) {
	data, owner, err := s.content(ctx, f.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s set of %s: %w", m.version.period, m.Start.Format(time.RFC3339), err)
	}
	corrupt := func(err error) error {
		if errors.Is(err, parquet.ErrNewerVersion) {
			return fmt.Errorf("read history %s: %w", f.Name, err)
		}
		return &CorruptError{Name: f.Name, Period: m.version.period, Window: m.window(), Err: err}
	}
	check := func() error { return f.checkMapped(data, owner) }
	if err := check(); err != nil {
		return nil, nil, corrupt(err)
	}
	in, err := s.readers.Open(data, owner)
	if err != nil {
		return nil, nil, corrupt(err)
	}
	if in.Footer.Kind != f.Kind || !in.Footer.Window.Start.Equal(m.Start) || !in.Footer.Window.End.Equal(m.End) || in.Rows != f.Rows {
		return nil, nil, corrupt(errors.New("it is not the file that its manifest is of"))
	}
	if d, err = in.Decode(p); err != nil {
		return nil, nil, corrupt(err)
	}
	if owner == nil {
		return d, nil, nil
	}
	return d, check, nil
}

// set makes the set from its decoded content.
func (d decodedSet) set(dict *allocation.Dict) (*allocation.Set, error) {
	if d.err != nil {
		return nil, d.err
	}
	sets := make([]*allocation.Set, len(d.files))
	for i, files := range d.files {
		m := d.stored.manifests[i]
		set := allocation.NewSet(m.window(), dict)
		set.Resolution, set.ScrapeInterval, set.Warnings = m.resolution(), m.scrapeInterval(), m.Warnings
		set.Rules, set.Unlabeled, set.Covered = m.rules(), m.Unlabeled, m.covered()
		set.SetPricedBy(m.PricedBy)
		for k, file := range files {
			if err := file.AppendTo(set); err != nil {
				return nil, &CorruptError{Name: m.Files[k].Name, Period: m.version.period, Window: m.window(), Err: err}
			}
		}
		sets[i] = set
	}
	if len(sets) == 1 {
		sets[0].Sound = d.sound
		return sets[0], nil
	}
	return passes.Merge(d.stored.Window, sets)
}
