package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// Forms say what texts stand for, where a column has texts in place of numbers or times, and which times can be.
type Forms struct {
	Null   func(text string) bool
	Number func(text string) (float64, error)
	Time   func(text string) (millis int64, err error) // Unix milliseconds
	Check  func(millis int64) error                    // of a time
	Pairs  func(pairs [][2]string) string              // the text of a map or list of names and values
}

// eachBytes calls f for each text of a page, which shares its memory, until f fails.
func eachBytes(values encoding.Values, f func([]byte) error) error {
	if values.Kind() == encoding.FixedLenByteArray {
		data, size := values.FixedLenByteArray()
		for ; size > 0 && len(data) >= size; data = data[size:] {
			if err := f(data[:size]); err != nil {
				return err
			}
		}
		return nil
	}
	data, offsets := values.ByteArray()
	for i := range max(len(offsets), 1) - 1 {
		if err := f(data[offsets[i]:offsets[i+1]]); err != nil {
			return err
		}
	}
	return nil
}

// texts reads the values of a page as texts. Times are in the form of RFC 3339.
func (f *Forms) texts(values encoding.Values, column *parquet.Column) ([]string, error) {
	var out []string
	switch kind := values.Kind(); {
	case kind == encoding.ByteArray || kind == encoding.FixedLenByteArray:
		err := eachBytes(values, func(b []byte) error {
			out = append(out, string(b))
			return nil
		})
		return out, err
	case isTime(column) || kind == encoding.Int96:
		millis, err := f.times(values, column, nil)
		for _, v := range millis {
			out = append(out, time.UnixMilli(int64(v)).UTC().Format(time.RFC3339))
		}
		return out, err
	case kind == encoding.Undefined:
		return nil, nil
	case kind == encoding.Boolean:
		return nil, fmt.Errorf("its type is %s, want a text", kind)
	}
	numbers, err := f.numbers(values, column, nil)
	for _, v := range numbers {
		out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return out, err
}

// scale is the power of ten that whole numbers of a decimal column are divided by.
func scale(column *parquet.Column) float64 {
	if d, ok := logical(column).(*format.DecimalType); ok {
		return math.Pow10(int(d.Scale))
	}
	return 1
}

// logical returns the logical type of a column, nil without one.
func logical(column *parquet.Column) format.LogicalTypeValue {
	if t := column.Type().LogicalType(); t != nil {
		return t.Value
	}
	return nil
}

// isTime reports whether a column has times or dates.
func isTime(column *parquet.Column) bool {
	switch logical(column).(type) {
	case *format.TimestampType, *format.DateType:
		return true
	}
	return false
}

// numbers appends the values of a page to dst. It ends before the first that is no number.
func (f *Forms) numbers(values encoding.Values, column *parquet.Column, dst []float64) ([]float64, error) {
	divisor := scale(column)
	var err error
	switch values.Kind() {
	case encoding.Undefined:
	case encoding.Double:
		dst = append(dst, values.Double()...)
	case encoding.Float:
		for _, v := range values.Float() {
			dst = append(dst, float64(v))
		}
	case encoding.Int32:
		for _, v := range values.Int32() {
			dst = append(dst, float64(v)/divisor)
		}
	case encoding.Int64:
		for _, v := range values.Int64() {
			dst = append(dst, float64(v)/divisor)
		}
	case encoding.ByteArray, encoding.FixedLenByteArray:
		if _, decimal := logical(column).(*format.DecimalType); decimal {
			err = eachBytes(values, func(b []byte) error {
				dst = append(dst, decimalOf(b, divisor))
				return nil
			})
			return dst, err
		}
		err = eachBytes(values, func(b []byte) error {
			v, err := f.Number(string(b))
			if err == nil {
				dst = append(dst, v)
			}
			return err
		})
		return dst, err
	default:
		return dst, fmt.Errorf("its type is %s, want a number", values.Kind())
	}
	for i, v := range dst {
		if v-v != 0 {
			return dst[:i], fmt.Errorf("%v is not a number", v)
		}
	}
	return dst, nil
}

// decimalOf reads a decimal from big-endian bytes in two's complement. Most have 16, of which the first half only repeats the sign.
func decimalOf(b []byte, divisor float64) float64 {
	if len(b) == 16 {
		high, low := int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
		if high == low>>63 {
			return float64(low) / divisor
		}
	}
	whole := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		whole.Sub(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	v, _ := new(big.Float).SetInt(whole).Float64()
	return v / divisor
}

// times appends the values of a page, as Unix milliseconds, to dst. It ends before the first that is no time.
func (f *Forms) times(values encoding.Values, column *parquet.Column, dst []float64) ([]float64, error) {
	add := func(millis int64) error {
		err := f.Check(millis)
		if err == nil {
			dst = append(dst, float64(millis))
		}
		return err
	}
	var err error
	switch values.Kind() {
	case encoding.Undefined:
	case encoding.Int64:
		unit := unitOf(column)
		for _, v := range values.Int64() {
			if err = add(floorDiv(v, unit)); err != nil {
				break
			}
		}
	case encoding.Int32: // days
		for _, v := range values.Int32() {
			if err = add(int64(v) * 24 * 60 * 60 * 1000); err != nil {
				break
			}
		}
	case encoding.Int96: // nanoseconds of a Julian day
		const epoch = 2440588
		for _, v := range values.Int96() {
			nanos := int64(v[1])<<32 | int64(v[0])
			if err = add((int64(v[2])-epoch)*24*60*60*1000 + floorDiv(nanos, int64(time.Millisecond))); err != nil {
				break
			}
		}
	case encoding.ByteArray:
		err = eachBytes(values, func(b []byte) error {
			millis, err := f.Time(string(b))
			if err == nil {
				dst = append(dst, float64(millis))
			}
			return err
		})
	default:
		err = errors.New("its type is not a time")
	}
	return dst, err
}

// unitOf returns how many of a column's units a millisecond has. Without a logical type they are milliseconds.
func unitOf(column *parquet.Column) int64 {
	if t, ok := logical(column).(*format.TimestampType); ok {
		switch t.Unit.Value.(type) {
		case *format.MicroSeconds:
			return 1000
		case *format.NanoSeconds:
			return 1_000_000
		}
	}
	return 1
}

func floorDiv(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}
