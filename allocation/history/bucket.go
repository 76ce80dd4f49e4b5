package history

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation/attempts"
)

// BucketOptions say how often a bucket is asked again that fails. Zero fields take the defaults.
type BucketOptions = attempts.Options

// Bucket is a Backend in an object store.
type Bucket struct {
	bucket objstore.Bucket
	opts   BucketOptions
}

// NewBucket returns a backend in a bucket, which the caller closes. Failed requests are repeated, unless the object does not
// exist or access is denied.
func NewBucket(b objstore.Bucket, o BucketOptions) *Bucket {
	return &Bucket{bucket: b, opts: o.WithDefaults()}
}

// retry calls f until it succeeds, or the attempts are used up.
func (b *Bucket) retry(ctx context.Context, what, name string, f func(context.Context) error) error {
	return b.opts.Do(ctx, b.bucket, what, name, f)
}

// Get is the content of an object.
func (b *Bucket) Get(ctx context.Context, name string) (data []byte, err error) {
	err = b.retry(ctx, "read", name, func(ctx context.Context) error {
		r, err := b.bucket.Get(ctx, name)
		if err != nil {
			return err
		}
		data, err = io.ReadAll(r)
		return errors.Join(err, r.Close())
	})
	return data, err
}

// List calls f for the objects below dir. If the provider's listings do not contain times, each object is asked for its own.
func (b *Bucket) List(ctx context.Context, dir string, times bool, f func(Object) error) error {
	var list []Object
	reported := slices.Contains(b.bucket.SupportedIterOptions(), objstore.UpdatedAt)
	options := []objstore.IterOption{objstore.WithRecursiveIter()}
	if times && reported {
		options = append(options, objstore.WithUpdatedAt())
	}
	err := b.retry(ctx, "list", dir, func(ctx context.Context) error {
		list = list[:0]
		return b.bucket.IterWithAttributes(ctx, dir, func(a objstore.IterObjectAttributes) error {
			modified, _ := a.LastModified()
			list = append(list, Object{Name: a.Name, Modified: modified, Bytes: -1})
			return nil
		}, options...)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	slices.SortFunc(list, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range list {
		if times && !reported {
			if o.Modified, o.Bytes, err = b.attributes(ctx, o.Name); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
		}
		if err := f(o); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bucket) attributes(ctx context.Context, name string) (modified time.Time, bytes int64, err error) {
	err = b.retry(ctx, "read attributes", name, func(ctx context.Context) error {
		a, err := b.bucket.Attributes(ctx, name)
		modified, bytes = a.LastModified, a.Size
		return err
	})
	return modified, bytes, err
}

// Put uploads an object, which stores show once it is whole. Between looking for one of that name and writing it another
// may have written it: what both write is the same.
func (b *Bucket) Put(ctx context.Context, name string, data []byte) error {
	there := false
	err := b.retry(ctx, "look", name, func(ctx context.Context) (err error) {
		there, err = b.bucket.Exists(ctx, name)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if there {
		return fmt.Errorf("write to bucket %s: %s: %w", b.bucket.Name(), name, fs.ErrExist)
	}
	return b.retry(ctx, "write", name, func(ctx context.Context) error { return b.bucket.Upload(ctx, name, bytes.NewReader(data)) })
}

// Delete removes an object.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := b.retry(ctx, "delete", name, func(ctx context.Context) error { return b.bucket.Delete(ctx, name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
