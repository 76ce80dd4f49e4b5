package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// temporaryPrefix begins the names of temporary directories.
const temporaryPrefix = "promcost-demo-"

// lockName is the file of a temporary directory that its process has locked.
const lockName = "lock"

// temporaryDir makes a temporary directory, and removes those of processes that were killed. remove removes it.
func temporaryDir() (dir string, remove closerFunc, err error) {
	sweepTemporary()
	base, err := os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		return "", nil, err
	}
	lock := flock.New(filepath.Join(base, lockName))
	if _, err = lock.TryLock(); err == nil {
		dir = filepath.Join(base, "data")
		err = os.Mkdir(dir, 0o700)
	}
	remove = func() error {
		closing := lock.Close() // first, for Windows removes no file that is open
		err := os.RemoveAll(base)
		if err != nil { // something that was being written came between
			err = os.RemoveAll(base)
		}
		return errors.Join(closing, err)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("make temporary directory: %w", err), remove())
	}
	return dir, remove, nil
}

// sweepTemporary removes the temporary directories of processes that were killed. Those of other users, and those that
// cannot be locked, stay.
func sweepTemporary() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*", lockName))
	if err != nil {
		return
	}
	for _, name := range locks {
		lock := flock.New(name, flock.SetFlag(os.O_RDWR))
		dead, _ := lock.TryLock()
		_ = lock.Close()
		if dead {
			_ = os.RemoveAll(filepath.Dir(name))
		}
	}
}
