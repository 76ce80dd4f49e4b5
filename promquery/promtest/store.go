package promtest

import (
	"context"
	"net"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// bytesCodec passes messages on as bytes.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// ServeStore runs a gRPC server of Thanos' StoreAPI until the test ends, which answers each question by handle, and returns its address. It stands in for Thanos, which
// tests of every machine do not have.
func ServeStore(t testing.TB, handle func(q StoreQuestion, stream grpc.ServerStream) error) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var question []byte
		if err := stream.RecvMsg(&question); err != nil {
			return err
		}
		return handle(parseStoreQuestion(question), stream)
	}))
	t.Cleanup(s.Stop)
	go func() {
		if err := s.Serve(l); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String()
}

// StoreQuestion is a question as a store reads it.
type StoreQuestion struct {
	Start, End int64
	Matchers   []*labels.Matcher
	Abort      bool   // fail where a part is missing
	NoChunks   bool   // only labels
	Batch      uint64 // series in a message
	strange    bool   // has something that no store knows
}

func parseStoreQuestion(msg []byte) (q StoreQuestion) {
	types := [...]labels.MatchType{labels.MatchEqual, labels.MatchNotEqual, labels.MatchRegexp, labels.MatchNotRegexp}
	each(msg, func(field int, number uint64, text []byte) {
		switch field {
		case 1:
			q.Start = int64(number)
		case 2:
			q.End = int64(number)
		case 3:
			var kind uint64
			var name, value string
			each(text, func(field int, number uint64, text []byte) {
				switch field {
				case 1:
					kind = number
				case 2:
					name = string(text)
				case 3:
					value = string(text)
				}
			})
			m, err := labels.NewMatcher(types[kind], name, value)
			q.strange = q.strange || err != nil
			q.Matchers = append(q.Matchers, m)
		case 7:
			q.Abort = number == 1
		case 8:
			q.NoChunks = number == 1
		case 15: // how many are wanted
		case 16:
			q.Batch = number
		default:
			q.strange = true
		}
	})
	return q
}

// each reads the fields of a message.
func each(msg []byte, visit func(field int, number uint64, text []byte)) {
	for len(msg) > 0 {
		field, kind, n := protowire.ConsumeTag(msg)
		msg = msg[n:]
		var number uint64
		var text []byte
		if kind == protowire.VarintType {
			number, n = protowire.ConsumeVarint(msg)
		} else {
			text, n = protowire.ConsumeBytes(msg)
		}
		msg = msg[n:]
		visit(int(field), number, text)
	}
}

// bytesField appends a field with bytes.
func bytesField(b []byte, field protowire.Number, text []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), text)
}

// numberField appends a field with a number.
func numberField(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// storeChunk is the message of a chunk of raw samples.
func storeChunk(c chunks.Meta) []byte {
	raw := bytesField(numberField(nil, 1, uint64(c.Chunk.Encoding()-chunkenc.EncXOR)), 2, c.Chunk.Bytes())
	return bytesField(numberField(numberField(nil, 1, uint64(c.MinTime)), 2, uint64(c.MaxTime)), 3, raw)
}

// StoreSeries is the message of a series.
func StoreSeries(lset labels.Labels, list ...chunks.Meta) (b []byte) {
	lset.Range(func(l labels.Label) {
		b = bytesField(b, 1, bytesField(bytesField(nil, 1, []byte(l.Name)), 2, []byte(l.Value)))
	})
	for _, c := range list {
		b = bytesField(b, 2, storeChunk(c))
	}
	return b
}

// StoreAnswer is what a store over q answers: series in the order of their labels, the chunks of each in two messages if it has several.
func StoreAnswer(t testing.TB, q storage.ChunkQueryable, of StoreQuestion) (list [][]byte) {
	t.Helper()
	if of.strange {
		t.Errorf("no store knows %+v", of)
	}
	cq, err := q.ChunkQuerier(of.Start, of.End)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer cq.Close()
	set := cq.Select(context.Background(), true, &storage.SelectHints{Start: of.Start, End: of.End, DisableTrimming: true}, of.Matchers...)
	for set.Next() {
		var all []chunks.Meta
		for it := set.At().Iterator(nil); it.Next() && !of.NoChunks; {
			all = append(all, it.At())
		}
		half := len(all) / 2
		if half > 0 {
			list = append(list, StoreSeries(set.At().Labels(), all[:half]...))
		}
		list = append(list, StoreSeries(set.At().Labels(), all[half:]...))
	}
	if err := set.Err(); err != nil {
		t.Error(err)
	}
	return list
}

// SendSeries sends series, some of them in one message where the question allows that.
func SendSeries(stream grpc.ServerStream, of StoreQuestion, list [][]byte) error {
	for len(list) > 0 {
		n := min(len(list), int(max(1, of.Batch)))
		msg := bytesField(nil, 1, list[0])
		if n > 1 {
			var batch []byte
			for _, s := range list[:n] {
				batch = bytesField(batch, 1, s)
			}
			msg = bytesField(nil, 4, batch)
		}
		if err := stream.SendMsg(msg); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}
