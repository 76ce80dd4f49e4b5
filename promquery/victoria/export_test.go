package victoria

import (
	"bytes"
	"io"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/timeline"
)

// What a test may know of the format.
const (
	MaxRows    = maxRows
	DeltaConst = deltaConst
	Constant   = constant
	PlainDelta = plainDelta
)

// ReadAll reads a whole answer of the native export, and how many series and samples in [start, end] it has.
func ReadAll(answer []byte, start, end int64, account *memory.Account) (series, samples int, err error) {
	n, err := readNative(bytes.NewReader(answer), start, end, account)
	defer n.release()
	if err != nil {
		return 0, 0, err
	}
	d, err := newDecoder()
	if err != nil {
		return 0, 0, err
	}
	var p timeline.Points
	for _, s := range n.series {
		if _, err := parseName(nil, s.name); err != nil {
			return 0, 0, err
		}
		if err := d.series(&p, s.blocks, start, end); err != nil {
			return 0, 0, err
		}
		last := start - 1
		for t := range p.All() {
			if t <= last || t > end {
				panic("samples are out of order, or out of the window")
			}
			last = t
			samples++
		}
		series++
	}
	return series, samples, nil
}

// ParseLine reads a line of the export in lines, and how many samples in [from, to] it has.
func ParseLine(text []byte, from, to int64) (samples int, err error) {
	l, err := parseLine(text, from, to)
	return len(l.times), err
}

// IsFormat reports whether an error says that an answer is not what the package knows.
func IsFormat(err error) bool { return isFormat(err) || err == io.ErrUnexpectedEOF } //nolint:errorlint // what an answer that is cut off gives
