package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeFile writes a file whole or not at all: it writes a temporary file in the same directory and renames it. A reader of path
// sees the old content or all of the new. It writes to a pipe or a device directly.
func writeFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	exists := err == nil
	if exists && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	if exists { // if it is a link, its target
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	file, err := besides(path)
	if err != nil {
		return fmt.Errorf("%w: give a file in a directory that can be written to", err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err == nil && exists {
		err = file.Chmod(info.Mode().Perm())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// besides makes a file with a new name in the directory of path, with the permissions of new files.
func besides(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	for n := 1; ; n++ {
		file, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf(".%s.%d-%d.tmp", name, os.Getpid(), n)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, os.ErrExist) {
			return file, err
		}
	}
}
