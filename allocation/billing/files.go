package billing

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/thanos-io/objstore"
)

// Files are the files of a bill, in a directory or in a bucket.
type Files struct {
	Bucket  objstore.BucketReader
	Root    string // of a directory, which must be there; empty for buckets. No warning or error has it: clients read those
	Pattern string // of names, as path.Match has it; empty is all
	Where   string // of buckets, for people
}

// file is a file of a bill.
type file struct {
	Name     string    `json:"name"`
	Modified time.Time `json:"modified"`
	Bytes    int64     `json:"bytes"`
}

// isManifest and isData tell files by their names. Others are left alone.
var (
	isManifest = regexp.MustCompile(`(?i)manifest\.json$`)
	isData     = regexp.MustCompile(`(?i)\.(csv|parquet)(\.gz|\.gzip|\.zst|\.zstd|\.snappy)?$`)
)

// list returns the manifests and the files with lines, sorted by name, and what has such a name and is no file: a pipe or a device, which may
// have no end.
func (f *Files) list(ctx context.Context) (manifests, data []file, others []string, err error) {
	defer func() { err = f.below(err) }()
	if f.Root != "" {
		if _, err := os.Stat(f.Root); err != nil {
			return nil, nil, nil, fmt.Errorf("list its files: %w: give a directory that is there", err)
		}
	}
	var names []string
	err = f.Bucket.Iter(ctx, "", func(name string) error {
		names = append(names, name)
		return nil
	}, objstore.WithRecursiveIter())
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list %s: %w", f.place(), err)
	}
	slices.Sort(names)
	for _, name := range names {
		manifest := isManifest.MatchString(name)
		if !manifest && !isData.MatchString(name) || !f.matches(name) {
			continue
		}
		if !f.regular(name) {
			others = append(others, name)
			continue
		}
		a, err := f.Bucket.Attributes(ctx, name)
		if f.Bucket.IsObjNotFoundErr(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("read attributes of %s: %w", f.where(name), err)
		}
		to := &data
		if manifest {
			to = &manifests
		}
		*to = append(*to, file{name, a.LastModified.UTC(), a.Size})
	}
	return manifests, data, others, nil
}

// regular reports whether a name is that of a file, as far as is known. What is no longer there may have been one.
func (f *Files) regular(name string) bool {
	if f.Root == "" {
		return true
	}
	info, err := os.Stat(filepath.Join(f.Root, filepath.FromSlash(name)))
	return err != nil || info.Mode().IsRegular()
}

// matches reports whether a name, or a folder that it is in, matches the pattern.
func (f *Files) matches(name string) bool {
	if f.Pattern == "" {
		return true
	}
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if ok, err := path.Match(f.Pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// where is the name of a file for people: of a directory that below the root.
func (f *Files) where(name string) string {
	if f.Root != "" {
		return name
	}
	return strings.TrimSuffix(f.Where, "/") + "/" + name
}

// theirDirectory stands for the root of a directory.
const theirDirectory = "its directory"

// place is where the files are, for people.
func (f *Files) place() string {
	if f.Root == "" {
		return path.Join(f.Where, f.Pattern)
	}
	return strings.TrimSpace(theirDirectory + " " + f.Pattern)
}

// below is an error of the files, which names those of a directory as they are below its root.
func (f *Files) below(err error) error {
	root, absErr := filepath.Abs(f.Root)
	if err == nil || f.Root == "" || absErr != nil {
		return err
	}
	return &belowError{err, root}
}

// belowError is an error without the root of the files that it names.
type belowError struct {
	err  error
	root string // absolute
}

// Error is the cause's, without the root.
func (e *belowError) Error() string {
	separator := string(filepath.Separator)
	text := strings.ReplaceAll(e.err.Error(), strings.TrimSuffix(e.root, separator)+separator, "")
	if e.root == separator {
		return text
	}
	return strings.ReplaceAll(text, e.root, theirDirectory)
}

// Unwrap returns the cause.
func (e *belowError) Unwrap() error { return e.err }

// get returns the content of a small file.
func (f *Files) get(ctx context.Context, name string) (data []byte, err error) {
	defer func() { err = f.below(err) }()
	const most = 16 << 20
	in, err := f.Bucket.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.where(name), err)
	}
	data, err = io.ReadAll(io.LimitReader(in, most))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.where(name), err)
	}
	return data, nil
}

// sum identifies the content of a file.
func (f *Files) sum(ctx context.Context, name string) (text string, err error) {
	defer func() { err = f.below(err) }()
	in, err := f.Bucket.Get(ctx, name)
	if err != nil {
		return "", &accessError{err}
	}
	sum := sha256.New()
	if _, err = io.Copy(sum, in); err != nil {
		err = &accessError{err}
	}
	return string(sum.Sum(nil)), errors.Join(err, in.Close())
}

// read reads the lines of a file into a sink. An error names the file.
func (f *Files) read(ctx context.Context, of *file, bill string, to sink) (err error) {
	defer func() {
		if cut, ok := errors.AsType[*cutError](err); ok {
			cut.file = of.Name
		}
		if err != nil {
			err = f.below(fmt.Errorf("file %s: %w", f.where(of.Name), err))
		}
	}()
	if strings.Contains(strings.ToLower(path.Base(of.Name)), ".parquet") {
		in := &rangeReader{ctx: ctx, bucket: f.Bucket, name: of.Name}
		err := readParquet(in, of.Bytes, bill, to)
		if in.failed != nil {
			return in.failed
		}
		return err
	}
	in, err := f.Bucket.Get(ctx, of.Name)
	if err != nil {
		return &accessError{err}
	}
	kept := &failureReader{in: in}
	err = readCSV(kept, bill, to)
	if kept.failed != nil {
		err = kept.failed
	}
	return errors.Join(err, in.Close())
}

// accessError is the error of a directory or bucket: another attempt may succeed with the same file.
type accessError struct{ err error }

// Error is the cause's.
func (e *accessError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *accessError) Unwrap() error { return e.err }

// cutError is the error of a file that lacks its end.
type cutError struct {
	file string
	err  error
}

// Error is the cause's.
func (e *cutError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *cutError) Unwrap() error { return e.err }

// failureReader remembers that reading failed, which is not the file's fault.
type failureReader struct {
	in     io.Reader
	failed error
}

// Read implements io.Reader.
func (r *failureReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = &accessError{err}
	}
	return n, err
}

// rangeReader reads parts of an object.
type rangeReader struct {
	ctx    context.Context
	bucket objstore.BucketReader
	name   string
	failed error
}

// ReadAt implements io.ReaderAt.
func (r *rangeReader) ReadAt(p []byte, off int64) (n int, err error) {
	in, err := r.bucket.GetRange(r.ctx, r.name, off, int64(len(p)))
	if err == nil {
		n, err = io.ReadFull(in, p)
		err = errors.Join(err, in.Close())
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return n, io.EOF
	}
	if err != nil {
		r.failed = &accessError{err}
	}
	return n, err
}
