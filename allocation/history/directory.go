package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

// Directory is a Backend in a local directory. It must be one file system that has hard links.
type Directory struct {
	root   string
	opened os.FileInfo
}

// OpenDirectory opens a directory and creates it if need be. A read-only directory only fails when it is written to.
func OpenDirectory(root string) (*Directory, error) {
	if err := os.MkdirAll(root, 0o777); err != nil {
		return nil, fmt.Errorf("open history %s: %w", root, err)
	}
	opened, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("open history %s: %w", root, err)
	}
	return &Directory{root: root, opened: opened}, nil
}

// Gone says that the directory is no longer the one that was opened: it was deleted or renamed, or its volume is no longer there. It is
// nil while the directory is there. What was kept is missing then, as if it had never been computed: so it is neither listed nor written to.
func (d *Directory) Gone() error {
	now, err := os.Stat(d.root)
	switch {
	case err != nil:
		return fmt.Errorf("the history is gone: %w: mount its volume or restore %s from a copy, and start promcost again", err, d.root)
	case !os.SameFile(now, d.opened):
		return fmt.Errorf("the history is gone: %s is another directory than at the start: mount its volume or restore it from a copy, and start promcost again", d.root)
	}
	return nil
}

func (d *Directory) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// Get is the content of a file.
func (d *Directory) Get(_ context.Context, name string) ([]byte, error) {
	data, err := os.ReadFile(d.path(name))
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return data, nil
}

// List calls f for the files in dir and below it.
func (d *Directory) List(ctx context.Context, dir string, times bool, f func(Object) error) error {
	if err := d.Gone(); err != nil {
		return err
	}
	err := filepath.WalkDir(d.path(dir), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // or deleted meanwhile
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		o := Object{Name: filepath.ToSlash(name)}
		if times {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			o.Modified, o.Bytes = info.ModTime(), info.Size()
		}
		return f(o)
	})
	if err != nil {
		return fmt.Errorf("list history %s: %w", dir, err)
	}
	return nil
}

// Put writes a file under a temporary name, syncs it, and links it to its own: it is whole or not there, also after a
// crash of the machine.
func (d *Directory) Put(_ context.Context, name string, data []byte) error {
	path := d.path(name)
	if err := d.Gone(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("write history %s: %w", path, fs.ErrExist)
	}
	err := d.put(path, data)
	for range maxRaces { // a folder may have been deleted meanwhile, for it was empty
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = d.put(path, data)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("write history %s: %w", path, fs.ErrExist)
	case err != nil:
		return fmt.Errorf("write history %s: %w: is there room on the disk, and may it be written to?", path, err)
	}
	return nil
}

// maxRaces bounds how often a folder is made anew that somebody deletes.
const maxRaces = 10

func (d *Directory) put(path string, data []byte) error {
	if err := d.makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	f, remove, err := d.begin()
	if err != nil {
		return err
	}
	defer remove()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(fileMode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// begin makes a temporary file, which is locked until it is removed. Where there are no locks, Prepare of another process may
// remove it, and put tries again.
func (d *Directory) begin() (f *os.File, remove func(), err error) {
	if err := d.makeDir(d.path(temporary)); err != nil {
		return nil, nil, err
	}
	f, err = os.CreateTemp(d.path(temporary), "part-*")
	if err != nil {
		return nil, nil, err
	}
	_, release := lock(f.Name())
	return f, func() {
		_ = os.Remove(f.Name())
		release()
	}, nil
}

// lock locks a temporary file until it is released, and reports whether nobody else had done so. On Windows it only says so:
// there, a locked file could not be written, and one that is open cannot be removed.
func lock(name string) (mine bool, release func()) {
	if runtime.GOOS == "windows" {
		return true, func() {}
	}
	l := flock.New(name, flock.SetFlag(os.O_RDWR))
	mine, _ = l.TryLock()
	return mine, func() { _ = l.Close() }
}

// Prepare checks that files can be written, and removes temporary files of dead writers. Files that a process is writing,
// this one or another, are locked and stay.
func (d *Directory) Prepare() error {
	if err := d.Gone(); err != nil {
		return err
	}
	probe, remove, err := d.begin()
	for range maxRaces { // another process may tidy the folder meanwhile, for it is empty
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		probe, remove, err = d.begin()
	}
	if err != nil {
		return err
	}
	err = probe.Close()
	remove()
	if err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(d.path(temporary), "*"))
	if err != nil {
		return err
	}
	probes, err := filepath.Glob(d.path("probe-*")) // of versions that wrote them there
	if err != nil {
		return err
	}
	for _, name := range append(left, probes...) {
		dead, release := lock(name)
		if dead {
			_ = os.Remove(name) // Clean tries again in an hour
		}
		release()
	}
	return nil
}

// fileMode is the mode of files. CreateTemp makes them private, but backups, DuckDB and other users need to read them.
const fileMode = 0o644

// makeDir makes a directory and those above it, but not the root, and syncs them.
func (d *Directory) makeDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if dir == filepath.Clean(d.root) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := d.makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// syncDir makes the entries of a directory last. Windows does so unasked, and refuses to be asked.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Delete removes a file, and folders that it leaves empty.
func (d *Directory) Delete(_ context.Context, name string) error {
	path := d.path(name)
	if err := d.Gone(); err != nil {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete from history: %w", err)
	}
	for dir := filepath.Dir(path); len(dir) > len(filepath.Clean(d.root)); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break // it is not empty
		}
	}
	return nil
}
