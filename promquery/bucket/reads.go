package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/thanos-io/objstore"
	"golang.org/x/sync/errgroup"
)

// Reads of parts that are close to each other are joined: a read takes a store about as long as so many bytes.
const (
	maxGap    = 256 << 10
	maxRead   = 8 << 20 // so that several are on their way, and one that fails costs little
	maxRecord = 64 << 20
)

// meter counts what was read.
type meter struct{ reads, bytes atomic.Int64 }

// get reads a part of an object, less if the object ends before. It is fs.ErrNotExist if there is no such object, and errBroken if it ends
// before the part.
func (s *Source) get(ctx context.Context, m *meter, object string, from, length int64) (data []byte, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	err = s.cfg.Requests.Do(ctx, s.cfg.Bucket, "read", object, func(ctx context.Context) error {
		m.reads.Add(1)
		data, err = s.read(ctx, object, from, length)
		m.bytes.Add(int64(len(data)))
		if err == nil {
			return nil
		}
		if a, aerr := s.cfg.Bucket.Attributes(ctx, object); aerr == nil && a.Size <= from { // stores refuse to read beyond the end
			data, err = nil, nil
		}
		return err
	})
	if err == nil && len(data) == 0 {
		err = fmt.Errorf("read of bucket %s: %s: %w: it ends before %d", s.cfg.Bucket.Name(), object, errBroken, from)
	}
	return data, err
}

// read reads a part of an object once.
func (s *Source) read(ctx context.Context, object string, from, length int64) ([]byte, error) {
	r, err := s.cfg.Bucket.GetRange(ctx, object, from, length)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if size, err := objstore.TryToGetSize(r); err == nil {
		buf.Grow(int(min(size, length)) + bytes.MinRead)
	}
	_, err = io.Copy(&buf, io.LimitReader(r, length))
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return buf.Bytes(), err
}

// span is where a record lies in an object. Its end is an estimate.
type span struct{ from, to int64 }

// read is a part of an object with some of the records that are asked for.
type read struct {
	span
	first, last int // the index of the first record, and that after the last one
}

// join joins spans, which ascend by where they begin, into few reads.
func join(list []span) (reads []read) {
	for i, x := range list {
		n := len(reads)
		if n > 0 && x.from-reads[n-1].to <= maxGap && x.to-reads[n-1].from <= maxRead {
			reads[n-1].to, reads[n-1].last = max(reads[n-1].to, x.to), i+1
			continue
		}
		reads = append(reads, read{x, i, i + 1})
	}
	return reads
}

// records reads records of an object, in the order of spans, which ascend by where they begin. size says how long the record is that bytes begin
// with, 0 where they do not show it. A record that is cut off ends the object. Bytes may follow a record.
func (s *Source) records(ctx context.Context, m *meter, object string, list []span, size func([]byte) int64) ([][]byte, error) {
	out := make([][]byte, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel)
	for _, r := range join(list) {
		group.Go(func() error {
			data, err := s.get(ctx, m, object, r.from, r.to-r.from)
			if err != nil && !errors.Is(err, errBroken) { // the others may be there
				return err
			}
			return s.cut(ctx, m, object, data, r, list, size, out)
		})
	}
	return out, group.Wait()
}

// cut finds the records of a read in its data. It reads those again that are longer than was thought.
func (s *Source) cut(ctx context.Context, m *meter, object string, data []byte, r read, list []span, size func([]byte) int64, out [][]byte) error {
	used := int64(0)
	for k := r.first; k < r.last; k++ {
		b := data[min(list[k].from-r.from, int64(len(data))):]
		n := size(b)
		if n > int64(len(b)) && n <= maxRecord && int64(len(data)) == r.to-r.from {
			var err error
			if b, err = s.get(ctx, m, object, list[k].from, n); err != nil {
				return err
			}
		}
		out[k] = b
		used += n
	}
	if used < int64(len(data))/2 { // the rest need not stay
		for k := r.first; k < r.last; k++ {
			out[k] = slices.Clone(out[k][:min(max(size(out[k]), 0), int64(len(out[k])))])
		}
	}
	return nil
}
