package billing

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/promcost/promcost/allocation"
)

// The readers of files, for tests that need no delivery.

// ReadCSV calls f for each line of a CSV file, cut at days.
func ReadCSV(in io.Reader, f func(*Line) error) error {
	return collect(f, func(to sink) error { return readCSV(in, "bill", to) })
}

// ReadParquet does so for a Parquet file.
func ReadParquet(file []byte, f func(*Line) error) error {
	return collect(f, func(to sink) error { return readParquet(bytes.NewReader(file), int64(len(file)), "bill", to) })
}

func collect(f func(*Line) error, read func(sink) error) error {
	b := newBatch(time.UTC, limits{lines: 100, items: 1 << 20}, &tallies{numbers: map[Key]int32{}}, func(d *Day) error { return d.Each(f) })
	if err := read(b); err != nil {
		return err
	}
	return b.flush()
}

// Stand returns what counts of statements without lines.
func Stand(ctx context.Context, kept []Statement) ([]Statement, error) {
	s := stander{zone: time.UTC, modes: map[string]Restating{}, read: func(context.Context, *Statement, allocation.Window, func(*Line) error) error { return nil }}
	return s.stand(ctx, kept)
}

// Days calls f for each day of a CSV file.
func Days(in io.Reader, zone *time.Location, f func(*Day) error) error {
	b := newBatch(zone, defaultLimits, &tallies{numbers: map[Key]int32{}}, f)
	if err := readCSV(in, "bill", b); err != nil {
		return err
	}
	return b.flush()
}
