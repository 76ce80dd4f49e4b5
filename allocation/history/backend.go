package history

import (
	"context"
	"time"
)

// Object is a file that a backend has.
type Object struct {
	Name     string    // with slashes, relative to the root
	Modified time.Time // zero unless it was asked for
	Bytes    int64     // likewise; -1 if the backend does not return it
}

// Reader reads files. The error for a missing file is fs.ErrNotExist.
type Reader interface {
	// Get is the content of a file.
	Get(ctx context.Context, name string) ([]byte, error)
	// List calls f for the files in the folder dir and all below it, sorted by name; a folder that is not there has none. times
	// asks for when they were written, and how long they are.
	List(ctx context.Context, dir string, times bool, f func(Object) error) error
}

// Writer writes files.
type Writer interface {
	// Put writes a file completely or not at all. If a file of that name exists, it does not change, and the error is
	// fs.ErrExist.
	Put(ctx context.Context, name string, data []byte) error
	// Delete removes a file. A missing file is not an error.
	Delete(ctx context.Context, name string) error
}

// Backend is where files are kept. It is safe for concurrent use, also by other processes.
type Backend interface {
	Reader
	Writer
}

// temporary is the folder of files that are being written.
const temporary = "tmp"
