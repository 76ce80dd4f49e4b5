package promapi

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// appendResult appends the data of a query's answer as Prometheus writes it, to the last byte. There may be millions of values, and
// encoding/json would write them slower and differently.
func appendResult(b []byte, v parser.Value) ([]byte, error) {
	b = append(append(append(b, `{"resultType":"`...), v.Type()...), `","result":`...)
	var err error
	switch v := v.(type) {
	case promql.Matrix:
		b, err = appendList(b, v, appendSeries)
	case promql.Vector:
		b, err = appendList(b, v, appendSample)
	case promql.Scalar:
		b = appendPoint(b, v.T, v.V)
	case promql.String:
		var text []byte
		text, err = json.Marshal(v)
		b = append(b, text...)
	default:
		err = fmt.Errorf("encode result of type %s: it is unknown", v.Type())
	}
	return append(b, '}'), err
}

func appendList[T any](b []byte, list []T, one func([]byte, T) ([]byte, error)) ([]byte, error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = one(b, v); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendSeries(b []byte, s promql.Series) (_ []byte, err error) {
	b = appendLabels(append(b, `{"metric":`...), s.Metric)
	if len(s.Floats) > 0 {
		b, err = appendList(append(b, `,"values":`...), s.Floats, func(b []byte, p promql.FPoint) ([]byte, error) { return appendPoint(b, p.T, p.F), nil })
	}
	if len(s.Histograms) > 0 && err == nil {
		b, err = appendList(append(b, `,"histograms":`...), s.Histograms, appendHistogram)
	}
	return append(b, '}'), err
}

func appendSample(b []byte, s promql.Sample) (_ []byte, err error) {
	b = appendLabels(append(b, `{"metric":`...), s.Metric)
	if s.H == nil {
		b = appendPoint(append(b, `,"value":`...), s.T, s.F)
	} else {
		b, err = appendHistogram(append(b, `,"histogram":`...), promql.HPoint{T: s.T, H: s.H})
	}
	return append(b, '}'), err
}

// appendHistogram appends a histogram, which only an upstream can have.
func appendHistogram(b []byte, p promql.HPoint) ([]byte, error) {
	text, err := json.Marshal(p)
	return append(b, text...), err
}

// appendPoint appends [seconds,"value"].
func appendPoint(b []byte, t int64, v float64) []byte {
	b = append(b, '[')
	if t < 0 {
		b, t = append(b, '-'), -t
	}
	b = strconv.AppendInt(b, t/1000, 10)
	if ms := t % 1000; ms != 0 {
		b = append(b, '.')
		if ms < 100 {
			b = append(b, '0')
		}
		if ms < 10 {
			b = append(b, '0')
		}
		b = strconv.AppendInt(b, ms, 10)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return append(strconv.AppendFloat(append(b, ',', '"'), v, format, -1, 64), '"', ']')
}

func appendLabels(b []byte, l labels.Labels) []byte {
	b = append(b, '{')
	first := true
	l.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendString(append(appendString(b, l.Name), ':'), l.Value)
	})
	return append(b, '}')
}

// appendString appends a string. Unlike encoding/json it does not escape HTML.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ':
			b = fmt.Appendf(b, "\\u%04x", c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
