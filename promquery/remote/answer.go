package remote

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// label is a label of an answered series.
type label struct{ name, value string }

// answer reads an answer of the query API as it arrives, one series in memory at a time.
type answer struct {
	s      *scanner
	most   int // points of a series; more are not held in memory
	labels []label
	points []point
	strs   map[string]string // label names and values seen: their strings are made once
	size   int               // bytes of strs
	// result says that there was a list of series, be it empty.
	result bool
	// histograms says that a series had native histograms, which are passed over.
	histograms bool
}

type point struct {
	t int64
	v float64
}

// errNoResult is an answer of success without a result. Sending the request again does not help.
var errNoResult = errors.New("it says success, but has no result; look at what answers there, and at proxies between")

// maxPoint is longer than any point that a server writes.
const maxPoint = 512

// Bounds of the memory that an answer can use: bytes of strings shared among series, labels of a series, warnings.
const (
	maxStrings  = 64 << 20
	maxLabels   = 1 << 10
	maxWarnings = 100
)

// read calls series with the labels and points of each series of a matrix and returns the server's warnings. Both are
// valid during the call only.
func (a *answer) read(series func(labels []label, points []point) error) (warnings []string, err error) {
	if a.s.peek() != '{' {
		return nil, errNotJSON
	}
	a.strs = map[string]string{}
	status, message := "", ""
	var stop error
	a.s.object(func(key []byte) {
		switch string(key) {
		case "status":
			status = string(a.s.str())
		case "error":
			message = shown(printable(a.s.str()))
		case "isPartial":
			if string(a.s.number()) == "true" {
				warnings = append(warnings, "the answer is partial")
			}
		case "warnings":
			a.s.array(func() {
				if w := shown(printable(a.s.str())); len(warnings) < maxWarnings {
					warnings = append(warnings, w)
				}
			})
		case "data":
			if a.s.peek() != '{' {
				a.s.skip(0)
				return
			}
			a.data(series, &stop)
		default:
			a.s.skip(0)
		}
	})
	switch {
	case stop != nil:
		return warnings, stop
	case a.s.err != nil:
		return warnings, a.s.err
	case status != "success":
		return warnings, fmt.Errorf("status %q: %s", status, message)
	case !a.result:
		return warnings, errNoResult
	}
	return warnings, nil
}

// data reads the object of result type and result.
func (a *answer) data(series func([]label, []point) error, stop *error) {
	a.s.object(func(key []byte) {
		switch string(key) {
		case "resultType":
			if kind := string(a.s.str()); a.s.err == nil && kind != "matrix" {
				a.s.err = fmt.Errorf("it has a result of type %q; want a matrix", shown(kind)) // the same if it is asked for again
			}
		case "result":
			if a.s.peek() != '[' {
				a.s.skip(0)
				return
			}
			a.result = true
			a.s.array(func() {
				a.labels, a.points = a.labels[:0], a.points[:0]
				a.series()
				if a.s.err != nil {
					return
				}
				if err := series(a.labels, a.points); err != nil {
					*stop, a.s.err = err, err
				}
			})
		default:
			a.s.skip(0)
		}
	})
}

// series reads one series. Native histograms are passed over.
func (a *answer) series() {
	a.s.object(func(key []byte) {
		switch string(key) {
		case "metric":
			a.s.object(func(key []byte) {
				if len(a.labels) == maxLabels {
					a.s.fail("fewer labels")
					return
				}
				name := a.intern(key)
				a.labels = append(a.labels, label{name, a.intern(a.s.str())})
			})
		case "values":
			a.s.array(a.point)
		case "histograms":
			a.histograms = true
			a.s.skip(0)
		default:
			a.s.skip(0)
		}
	})
}

// intern returns the string of b.
func (a *answer) intern(b []byte) string {
	if s, ok := a.strs[string(b)]; ok {
		return s
	}
	s := string(b)
	if a.size += len(s); a.size <= maxStrings {
		a.strs[s] = s
	}
	return s
}

// fastPoint reads a point as servers write it, [seconds,"value"], if all of it is in the buffer. It leaves every other form to
// point.
func (a *answer) fastPoint() bool {
	b := a.s.buf[a.s.pos:a.s.end]
	if len(b) == 0 || b[0] != '[' {
		return false
	}
	end := bytes.IndexByte(b[:min(len(b), maxPoint)], ']')
	if end < 0 {
		return false
	}
	comma := bytes.IndexByte(b[:end], ',')
	if comma < 0 || end < comma+3 || b[comma+1] != '"' || b[end-1] != '"' {
		return false
	}
	t, ok := parseMillis(b[1:comma])
	if !ok {
		return false
	}
	v, err := parseValue(b[comma+2 : end-1])
	if err != nil {
		return false
	}
	a.points = append(a.points, point{t, v})
	a.s.pos += end + 1
	return true
}

// point reads [seconds, "value"].
func (a *answer) point() {
	if len(a.points) == a.most {
		a.s.fail("fewer points of a series than were asked for")
		return
	}
	if a.fastPoint() || !a.s.expect('[') {
		return
	}
	t, ok := parseMillis(a.s.number())
	if !ok {
		a.s.fail("a time in seconds")
		return
	}
	if !a.s.expect(',') {
		return
	}
	v, err := parseValue(a.s.str())
	if err != nil {
		a.s.fail("a sample's value")
		return
	}
	if a.s.expect(']') {
		a.points = append(a.points, point{t, v})
	}
}

// parseMillis parses seconds with up to three decimals, or any float, as milliseconds.
func parseMillis(b []byte) (int64, bool) {
	if m, d, ok := parseDecimal(b); ok && d <= 3 {
		return m * int64(powers[3-d]), true
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e15 {
		return 0, false
	}
	return int64(math.Round(f * 1000)), true
}
