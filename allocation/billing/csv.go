package billing

import (
	"bufio"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// readCSV reads a file of CSV, plain or compressed with gzip or zstd, into a sink.
func readCSV(in io.Reader, bill string, to sink) error {
	content, done, err := decompress(in)
	if err != nil {
		return err
	}
	defer done()
	text := bufio.NewReader(content)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // they are buffered
	}
	r := &csvReader{bill: bill, to: to, in: &recordLimit{in: text}}
	r.csv = csv.NewReader(r.in)
	r.csv.ReuseRecord = true
	if err := r.header(); err != nil {
		return err
	}
	for {
		record, err := r.csv.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.failure(err)
		}
		r.in.passed = r.csv.InputOffset()
		if err := r.record(record); err != nil {
			row, _ := r.csv.FieldPos(0)
			return atRow(err, int64(row))
		}
	}
}

// byteOrderMark begins the files that Azure writes.
const byteOrderMark = "\ufeff"

// atRow puts the row into an error of a cell.
func atRow(err error, row int64) error {
	if cell, ok := errors.AsType[*cellError](err); ok && cell.row == 0 {
		cell.row = row
	}
	return err
}

// failure is the error of a record: a cutError if the file ends with it, or within its compression.
func (r *csvReader) failure(err error) error {
	last := errors.Is(err, io.ErrUnexpectedEOF)
	if _, ok := errors.AsType[*csv.ParseError](err); ok {
		_, after := r.csv.Read()
		last = errors.Is(after, io.EOF)
	}
	if err = csvError(err); last {
		return &cutError{err: err}
	}
	return err
}

// csvError says in one form where a file is no CSV.
func csvError(err error) error {
	switch parse, ok := errors.AsType[*csv.ParseError](err); {
	case !ok:
		return fmt.Errorf("it ends too early or is damaged: %w", err)
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("row %d: it has not as many columns as the header: the file may be cut", parse.Line)
	default:
		return fmt.Errorf("row %d, byte %d: %w", parse.Line, parse.Column, parse.Err)
	}
}

// decompress returns the plain text of a file, by its first bytes.
func decompress(in io.Reader) (content io.Reader, done func(), err error) {
	buffered := bufio.NewReaderSize(in, 1<<18)
	head, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case strings.HasPrefix(string(head), "\x1f\x8b"):
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, nil, &cutError{err: fmt.Errorf("it is no whole gzip: %w", err)}
		}
		return r, func() { _ = r.Close() }, nil
	case strings.HasPrefix(string(head), "\x28\xb5\x2f\xfd"):
		r, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, nil, fmt.Errorf("it is no whole zstd: %w", err)
		}
		return r, r.Close, nil
	}
	return buffered, func() {}, nil
}

// recordLimit ends a file whose record is longer than any can be, such as after a quote that nothing closes.
type recordLimit struct {
	in     io.Reader
	read   int64
	passed int64 // the end of the last record
}

// maxRecord is the longest record of CSV, in bytes, and how much the reader may be ahead of it.
const maxRecord = 4 << 20

// Read implements io.Reader.
func (r *recordLimit) Read(p []byte) (int, error) {
	if r.read-r.passed > maxRecord {
		return 0, fmt.Errorf("a row after byte %d is longer than %d bytes: is a quote never closed?", r.passed, maxRecord)
	}
	n, err := r.in.Read(p)
	r.read += int64(n)
	return n, err
}

// csvReader reads the records of a file.
type csvReader struct {
	bill    string
	to      sink
	in      *recordLimit
	csv     *csv.Reader
	names   []string
	layout  *layout
	columns []int // of the item
	key     []byte
	times   [2]struct {
		text   string
		millis int64
	}
}

// header reads the names of the columns.
func (r *csvReader) header() error {
	record, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return &cutError{err: errors.New("it is empty: not even the names of columns are there")}
	}
	if err != nil {
		return r.failure(err)
	}
	for _, name := range record {
		r.names = append(r.names, strings.Clone(name))
	}
	if r.layout, err = newLayout(r.names); err != nil {
		if _, after := r.csv.Read(); errors.Is(after, io.EOF) { // it ends within the names, or within the first bytes of its compression
			return &cutError{err: fmt.Errorf("%w: the file may be cut", err)}
		}
		return err
	}
	for _, columns := range r.layout.columns {
		r.columns = append(r.columns, columns...)
	}
	return nil
}

// record hands a record on.
func (r *csvReader) record(record []string) error {
	r.key = r.key[:0]
	for _, column := range r.columns {
		r.key = binary.AppendUvarint(r.key, uint64(len(record[column])))
		r.key = append(r.key, record[column]...)
	}
	item, err := r.to.item(r.key, func() (*Item, error) {
		return r.layout.item(r.bill, func(column int) string { return record[column] }, func(column int) string { return r.names[column] })
	})
	if err != nil {
		return err
	}
	var n numbers
	for i, column := range r.layout.amounts {
		text := ""
		if column >= 0 {
			text = record[column]
		}
		if n[i], err = parseNumber(text); err != nil {
			return &cellError{column: r.names[column], err: err}
		}
	}
	for i, column := range [...]int{r.layout.start, r.layout.end} {
		last := &r.times[i]
		if text := record[column]; text != last.text || text == "" {
			if last.millis, err = parseTime(text); err != nil {
				return &cellError{column: r.names[column], err: err}
			}
			last.text = strings.Clone(text)
		}
	}
	return r.to.add(item, r.times[0].millis, r.times[1].millis, &n)
}
