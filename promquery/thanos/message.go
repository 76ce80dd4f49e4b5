package thanos

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// seriesMethod is the call of the StoreAPI that streams series.
const seriesMethod = "/thanos.Store/Series"

// Numbers of fields in the messages of the StoreAPI (rpc.proto and types.proto of Thanos).
const (
	requestMinTime, requestMaxTime, requestMatchers = 1, 2, 3
	requestStrategy, requestSkipChunks              = 7, 8
	requestLimit, requestBatch                      = 15, 16
	matcherType, matcherName, matcherValue          = 1, 2, 3
	responseSeries, responseWarning, responseBatch  = 1, 2, 4
	seriesLabels, seriesChunks                      = 1, 2
	batchSeries                                     = 1
	labelName, labelValue                           = 1, 2
	aggrMinTime, aggrMaxTime, aggrRaw               = 1, 2, 3
	chunkType, chunkData                            = 1, 2
)

// abort is the strategy that makes it an error that a part of the answer is missing.
const abort = 1

// batchOf is how many series come in a message, at most, where the store can do that.
const batchOf = 64

// question is what a store is asked.
type question struct {
	request *promquery.Request
	whole   bool // fails where a part is missing
	first   bool // asks for the labels of one series
}

// marshal is the message of a question.
func (q *question) marshal() (b []byte) {
	number := func(field protowire.Number, v int64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
	}
	number(requestMinTime, q.request.Start)
	number(requestMaxTime, q.request.End)
	matchers := q.request.Matchers
	if q.request.Metric != "" {
		matchers = append([]promquery.Matcher{{Name: "__name__", Value: q.request.Metric}}, matchers...)
	}
	for _, m := range matchers {
		var text []byte
		text = protowire.AppendVarint(protowire.AppendTag(text, matcherType, protowire.VarintType), uint64(m.Type)) // the same numbers
		text = protowire.AppendString(protowire.AppendTag(text, matcherName, protowire.BytesType), m.Name)
		text = protowire.AppendString(protowire.AppendTag(text, matcherValue, protowire.BytesType), m.Value)
		b = protowire.AppendBytes(protowire.AppendTag(b, requestMatchers, protowire.BytesType), text)
	}
	if q.whole {
		number(requestStrategy, abort)
	}
	if q.first {
		number(requestSkipChunks, 1)
		number(requestLimit, 1)
		return b
	}
	number(requestBatch, batchOf)
	return b
}

// label is a label of a series.
type label struct{ name, value string }

// series is a series of an answer. Its texts and chunks refer to the message.
type series struct {
	labels []label
	chunks []chunks.Encoded
}

// errMessage says that a message is not what the StoreAPI sends.
var errMessage = errors.New("malformed message")

// fields calls visit for each field of a message that has bytes or a number.
func fields(msg []byte, visit func(field int, number uint64, text []byte) error) error {
	for len(msg) > 0 {
		field, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return fmt.Errorf("%w: %w", errMessage, protowire.ParseError(n))
		}
		msg = msg[n:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(msg)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(msg)
		default:
			if n = protowire.ConsumeFieldValue(field, kind, msg); n >= 0 {
				msg = msg[n:]
				continue
			}
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", errMessage, protowire.ParseError(n))
		}
		msg = msg[n:]
		if err := visit(int(field), number, text); err != nil {
			return err
		}
	}
	return nil
}

// parseResponse reads an answer's message: some series, and a warning.
func parseResponse(dst []series, msg []byte) (_ []series, warning string, err error) {
	one := func(text []byte) error {
		s, err := parseSeries(text)
		dst = append(dst, s)
		return err
	}
	err = fields(msg, func(field int, _ uint64, text []byte) error {
		switch field {
		case responseSeries:
			return one(text)
		case responseWarning:
			warning = string(text)
		case responseBatch:
			return fields(text, func(field int, _ uint64, text []byte) error {
				if field == batchSeries {
					return one(text)
				}
				return nil
			})
		}
		return nil
	})
	return dst, warning, err
}

func parseSeries(msg []byte) (s series, err error) {
	err = fields(msg, func(field int, _ uint64, text []byte) error {
		switch field {
		case seriesLabels:
			var l label
			err := fields(text, func(field int, _ uint64, text []byte) error {
				switch field {
				case labelName:
					l.name = view(text)
				case labelValue:
					l.value = view(text)
				}
				return nil
			})
			s.labels = append(s.labels, l)
			return err
		case seriesChunks:
			c, err := parseChunk(text)
			s.chunks = append(s.chunks, c)
			return err
		}
		return nil
	})
	return s, err
}

// errNotRaw says that a chunk is of downsampled data, which nobody asked for.
var errNotRaw = errors.New("a chunk has no raw samples")

// parseChunk reads a chunk of raw samples.
func parseChunk(msg []byte) (c chunks.Encoded, err error) {
	raw := false
	err = fields(msg, func(field int, number uint64, text []byte) error {
		switch field {
		case aggrMinTime:
			c.MinTime = int64(number)
		case aggrMaxTime:
			c.MaxTime = int64(number)
		case aggrRaw:
			raw, c.Encoding = true, chunkenc.EncXOR
			return fields(text, func(field int, number uint64, text []byte) error {
				switch field {
				case chunkType:
					c.Encoding = encodingOf(number)
				case chunkData:
					c.Data = text
				}
				return nil
			})
		}
		return nil
	})
	if err == nil && !raw {
		err = errNotRaw
	}
	return c, err
}

// encodingOf is the encoding of a chunk by its number in the StoreAPI.
func encodingOf(number uint64) chunkenc.Encoding {
	list := [...]chunkenc.Encoding{chunkenc.EncXOR, chunkenc.EncHistogram, chunkenc.EncFloatHistogram}
	if number >= uint64(len(list)) {
		return chunkenc.EncNone // which the decoder refuses
	}
	return list[number]
}

// compare orders series as stores do, by their labels.
func compare(a, b []label) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Or(cmp.Compare(a[i].name, b[i].name), cmp.Compare(a[i].value, b[i].value)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// view returns b as a string without copying it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// rawCodec passes messages on as bytes: they are read field by field.
type rawCodec struct{}

// Name implements encoding.CodecV2.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

// Unmarshal implements encoding.CodecV2. Series refer to the bytes, so they are copied.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
