package victoria

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	jsoniter "github.com/json-iterator/go"
)

// maxLine bounds the line of a series, in bytes, and shownText how much of one is shown.
const (
	maxLine   = 16 << 20
	shownText = 100
)

// A piece is how much time lines are asked for at once, and the least that it is divided into where an answer is large.
const (
	piece      = hour
	leastPiece = hour / 60
)

// line is a series of an export in lines.
type line struct {
	labels []label
	times  []int64
	values []float64
}

// stretch is the lines of a piece, by the identity of their series.
type stretch struct {
	arena
	lines []line
	ids   []string
	has   map[string]bool
}

// lines asks for lines of JSON, an hour at a time, as an answer is held until it has ended. It leaves out the series in done. A piece is passed on when
// the next one has come, which tells which of its series go on.
func (r *reader) lines(ctx context.Context, g *group, done map[string]bool) error {
	last, seen := &stretch{}, map[string]bool{}
	defer func() { last.release() }()
	for from, length := g.start, piece; from <= g.end; {
		to := min(from+length-1, g.end)
		next, err := r.piece(ctx, g, from, to)
		if errors.Is(err, errLarge) && length/2 >= leastPiece {
			length /= 2
			continue
		}
		if errors.Is(err, errLarge) {
			err = fmt.Errorf("%s: a minute of %s has more than %d MB: choose fewer series with --prometheus.exclude", linesPath, r.requests[g.index[0]].Metric, maxAnswer>>20)
		}
		if err == nil {
			err = r.pass(ctx, g, last, next.has, seen, done)
		}
		last.release()
		if last = next; err != nil {
			return err
		}
		from = to + 1
	}
	return r.pass(ctx, g, last, nil, seen, done)
}

// pass passes on the series of a stretch, but those in done. goesOn tells those that later stretches have, and seen notes them all.
func (r *reader) pass(ctx context.Context, g *group, s *stretch, goesOn, seen, done map[string]bool) error {
	for i := range s.lines {
		if i%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l, id := &s.lines[i], s.ids[i]
		if done[id] {
			continue
		}
		r.p.Reset()
		for k, t := range l.times {
			r.p.Append(t, l.values[k])
		}
		if goesOn[id] {
			r.p.MarkContinued()
		}
		first := !seen[id]
		seen[id] = true
		if err := r.hand(g, l.labels, first); err != nil {
			return err
		}
	}
	return nil
}

// piece asks for the lines of a stretch of time.
func (r *reader) piece(ctx context.Context, g *group, from, to int64) (*stretch, error) {
	out := &stretch{}
	err := r.post(ctx, linesPath, g, from, to, func(_ string, body io.Reader) error {
		out.release() // what came before the answer broke off
		*out = stretch{arena: arena{account: r.account}, has: map[string]bool{}}
		s := bufio.NewScanner(body)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		for s.Scan() {
			l, err := parseLine(s.Bytes(), from, to)
			if err != nil {
				return cmp.Or(s.Err(), err) // of a line that was cut off
			}
			if err := out.add(l); err != nil {
				return err
			}
		}
		if errors.Is(s.Err(), bufio.ErrTooLong) {
			return formatErrorf("a line has more than %d bytes", maxLine)
		}
		return s.Err()
	})
	if err != nil {
		out.release()
	}
	return out, err
}

// add adds a series.
func (s *stretch) add(l line) error {
	if len(l.times) == 0 {
		return nil
	}
	id := identity(l.labels)
	s.lines, s.ids = append(s.lines, l), append(s.ids, id)
	s.has[id] = true
	const lineBytes, sampleBytes = 512, 16
	return s.draw(lineBytes + 2*int64(len(id)) + sampleBytes*int64(cap(l.times)))
}

// parseLine reads a series and its samples in [from, to].
func parseLine(text []byte, from, to int64) (l line, err error) {
	it := jsoniter.ParseBytes(jsoniter.ConfigDefault, text)
	it.ReadObjectCB(func(it *jsoniter.Iterator, member string) bool {
		switch member {
		case "metric":
			it.ReadMapCB(func(it *jsoniter.Iterator, name string) bool {
				l.labels = append(l.labels, label{name, it.ReadString()})
				return it.Error == nil
			})
		case "values":
			it.ReadArrayCB(func(it *jsoniter.Iterator) bool {
				l.values = append(l.values, readValue(it))
				return it.Error == nil
			})
		case "timestamps":
			it.ReadArrayCB(func(it *jsoniter.Iterator) bool {
				l.times = append(l.times, it.ReadInt64())
				return it.Error == nil
			})
		default:
			it.Skip()
		}
		return it.Error == nil
	})
	if it.Error != nil && !errors.Is(it.Error, io.EOF) || len(bytes.TrimSpace(text)) == 0 {
		return l, formatErrorf("%s has a line that is no series: %.*q", linesPath, shownText, text)
	}
	if len(l.times) != len(l.values) {
		return l, formatErrorf("%s has a series of %d values and %d times", linesPath, len(l.values), len(l.times))
	}
	n := 0
	for k, t := range l.times {
		if k > 0 && t < l.times[k-1] {
			return l, formatErrorf("%s has a sample at %d after one at %d", linesPath, t, l.times[k-1])
		}
		if from <= t && t <= to {
			l.times[n], l.values[n] = t, l.values[k]
			n++
		}
	}
	l.times, l.values = l.times[:n], l.values[:n]
	return l, nil
}

// readValue reads a value: null is a staleness marker, which is the only NaN that VictoriaMetrics keeps.
func readValue(it *jsoniter.Iterator) float64 {
	if it.ReadNil() {
		return staleMarker
	}
	if it.WhatIsNext() != jsoniter.StringValue {
		return it.ReadFloat64()
	}
	switch text := it.ReadString(); text {
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	default:
		it.ReportError("value", fmt.Sprintf("%.100q is no number", text))
		return 0
	}
}
