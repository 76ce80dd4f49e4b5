package parquet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestFieldsHaveNames checks that the columns of every table have distinct names.
func TestFieldsHaveNames(t *testing.T) {
	s := randomSet(rand.New(rand.NewPCG(1, 1)), 1)
	rows, assets := files(t, s)
	var stream bytes.Buffer
	if err := encode.Arrow(&stream, []*allocation.Set{s}, encode.Options{}); err != nil {
		t.Fatal(err)
	}
	in, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	names := map[string][]string{}
	for _, f := range in.Schema().Fields() {
		names["Arrow"] = append(names["Arrow"], f.Name)
	}
	for table, data := range map[string][]byte{"rows": rows, "assets": assets} {
		f, err := parquetgo.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Root().Columns() {
			names[table] = append(names[table], c.Name())
		}
	}
	for table, list := range names {
		slices.Sort(list)
		if len(list) == 0 || list[0] == "" || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("columns of %s are %q", table, list)
		}
	}
}

// maxDamaged is how much memory may be allocated in all to read a file of at most maxFuzzed bytes.
const (
	maxDamaged = 256 << 20
	maxFuzzed  = 32 << 10
)

// readDamaged reads a file that may contain anything. The result is an error or a set, and takes little memory. Deferred columns give an
// error or the same values.
func readDamaged(t *testing.T, data []byte) {
	t.Helper()
	before := allocated()
	s, err := readBack(nil, data)
	answer, answerErr := byNamespace(t, s, err)
	deferred, deferredErr := readBack(deferring(), data)
	deferredAnswer, deferredErr := byNamespace(t, deferred, deferredErr)
	if n := allocated() - before; n > maxDamaged {
		t.Errorf("%d bytes were allocated for a file of %d", n, len(data))
	}
	if err == nil {
		_, _ = files(t, s) // what is read can be written
	}
	if answerErr == nil && (deferredErr != nil || answer != deferredAnswer) {
		t.Errorf("what is read deferred differs: %v\n%s\n%s", deferredErr, answer, deferredAnswer)
	}
}

// deferring is a projection that defers as much as possible.
func deferring() *allocation.Projection {
	p := &allocation.Projection{Properties: []allocation.Property{allocation.Namespace, allocation.GPUDevices}, Volumes: true, Balancers: true, Levels: true}
	for x := range allocation.GPUDevices {
		if x != allocation.Namespace {
			p.Deferred = append(p.Deferred, x)
		}
	}
	for c := range allocation.NumColumns {
		p.Columns = append(p.Columns, c)
	}
	return p
}

// byNamespace is an answer of a set that was read.
func byNamespace(t *testing.T, s *allocation.Set, err error) (string, error) {
	t.Helper()
	if err != nil || s.Len() == 0 {
		return "", err
	}
	keys, err := allocation.ParseKeys("namespace", nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := passes.Apply([]*allocation.Set{s}, passes.Options{Aggregate: keys})
	if err != nil {
		return "", err
	}
	return fmt.Sprint(resolvedSetOf(out[0])), nil
}

// allocated is the memory that was ever allocated, in bytes.
func allocated() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// TestParquetDamaged reads files with flipped bytes, of which only some are found by the checksums of pages.
func TestParquetDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	rows, assets := files(t, randomSet(rng, 8))
	for _, whole := range [][]byte{rows, assets} {
		for range soak.Of(300, 1500) {
			data := bytes.Clone(whole)
			for range 1 + rng.IntN(3) {
				data[rng.IntN(len(data))] = byte(rng.IntN(256))
			}
			readDamaged(t, data)
		}
	}
}

// TestParquetHostile reads files that claim to be large.
func TestParquetHostile(t *testing.T) {
	rows, _ := files(t, randomSet(rand.New(rand.NewPCG(1, 5)), 8))
	footer := func(thrift ...byte) []byte {
		data := append([]byte("PAR1"), thrift...)
		return append(binary.LittleEndian.AppendUint32(data, uint32(len(thrift))), "PAR1"...)
	}
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"footer":   {append(binary.LittleEndian.AppendUint32(bytes.Clone(rows[:len(rows)-8]), 0xf0000000), "PAR1"...), "its footer claims 4026531840 bytes"},
		"schema":   {footer(0x15, 0x02, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00), "a list claims 2147483647 elements"},
		"names":    {footer(0x15, 0x02, 0x19, 0xf8, 0x20, 0x01), "a list claims 32 elements"},
		"text":     {footer(0x18, 0xff, 0xff, 0xff, 0xff, 0x07), "footer: it is damaged"},
		"nested":   {footer(bytes.Repeat([]byte{0x1c}, 1000)...), "footer: it is damaged"},
		"no magic": {rows[1:], "it does not begin and end with PAR1"},
	} {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			_, err := readBack(nil, tc.data)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if n := allocated() - before; n > 16<<20 {
				t.Errorf("%d bytes were allocated", n)
			}
		})
	}
}

func FuzzParquet(f *testing.F) {
	rows, assets := files(f, randomSet(rand.New(rand.NewPCG(1, 5)), 3))
	f.Add(rows)
	f.Add(assets)
	f.Add([]byte("PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= maxFuzzed {
			readDamaged(t, data)
		}
	})
}
