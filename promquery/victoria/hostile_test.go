package victoria_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/victoria"
)

var update = flag.Bool("update", false, "record the answers of a real VictoriaMetrics in testdata")

// recorded are answers of a real VictoriaMetrics about the odd series, which seed what is fuzzed.
const (
	recordedNative = "testdata/odd.native"
	recordedLines  = "testdata/odd.jsonl"
	shortEnd       = begin + hour/4 // of the lines
)

// TestRecorded reads the recorded answers.
func TestRecorded(t *testing.T) {
	t.Parallel()
	if *update {
		base := server(t, odd()...)
		for file, path := range map[string]string{recordedNative: nativePath, recordedLines: linesPath} {
			until := map[string]int64{nativePath: end, linesPath: shortEnd}[path]
			form := url.Values{"match[]": {`{__name__="odd"}`}, "start": {strconv.FormatInt(begin/1000, 10)}, "end": {strconv.FormatInt(until/1000, 10)}}
			resp, err := http.PostForm(base+path, form)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := func(all map[string][]string) (total int) {
		for _, s := range all {
			total += len(s)
		}
		return total
	}
	expected := want(begin, end)
	total := count(expected)
	series, samples, err := victoria.ReadAll(read(t, recordedNative), begin, end, account(1<<30))
	if err != nil || series != len(expected) || samples != total {
		t.Errorf("%d series of %d samples, %v; want %d of %d", series, samples, err, len(expected), total)
	}
	samples, total = 0, count(want(begin, shortEnd))
	for line := range bytes.Lines(read(t, recordedLines)) {
		n, err := victoria.ParseLine(line, begin, shortEnd)
		if err != nil {
			t.Error(err)
		}
		samples += n
	}
	if samples != total {
		t.Errorf("lines have %d samples, want %d", samples, total)
	}
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// account is one of a budget of its own.
func account(limit int64) *memory.Account { return memory.New(limit).Open("ask for less") }

// frame is a block of a native answer, and the name of its series.
type frame struct{ name, block []byte }

// frames divides a native answer.
func frames(whole []byte) (head []byte, list []frame) {
	head, rest := whole[:16], whole[16:]
	next := func() []byte {
		n := binary.BigEndian.Uint32(rest)
		text := rest[4 : 4+n]
		rest = rest[4+n:]
		return text
	}
	for len(rest) > 0 {
		list = append(list, frame{next(), next()})
	}
	return head, list
}

// joined puts an answer together again.
func joined(head []byte, list ...frame) []byte {
	out := bytes.Clone(head)
	for _, f := range list {
		for _, text := range [][]byte{f.name, f.block} {
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(text))), text...)
		}
	}
	return out
}

// made is a block of so many samples from a time on, of the value 1.
func made(first, last int64, rows uint64, timeKind, valueKind byte, times []byte) []byte {
	var b []byte
	for _, v := range []int64{first, last, 1} {
		b = binary.AppendVarint(b, v)
	}
	b = binary.AppendVarint(binary.AppendUvarint(b, rows), 0)
	b = append(b, timeKind, valueKind, 64)
	b = append(binary.AppendUvarint(b, uint64(len(times))), times...)
	return binary.AppendUvarint(b, 0)
}

// varints writes signed numbers.
func varints(list ...int64) (b []byte) {
	for _, v := range list {
		b = binary.AppendVarint(b, v)
	}
	return b
}

// TestStrange answers the native export in ways that no VictoriaMetrics does: lines are read in its place, and no sample is lost or counted twice.
func TestStrange(t *testing.T) {
	t.Parallel()
	base := server(t, odd()...)
	name := []byte("odd\x01shape\x01one\x01")
	replaced := func(block []byte) func(head []byte, list []frame) []byte {
		return func(head []byte, list []frame) []byte {
			list[len(list)-1] = frame{name, block} // what comes before it is passed on
			return joined(head, list...)
		}
	}
	for _, tc := range []struct {
		name   string
		meddle func(head []byte, list []frame) []byte
		says   string
	}{
		{"another format", func([]byte, []frame) []byte { return []byte(strings.Repeat("no export ", 10)) }, "the answer is about times from"},
		{"a text at the end", func(head []byte, list []frame) []byte {
			return append(joined(head, list...), "cannot read the rest of it"...)
		}, "has 1667329646 bytes, of at most"},
		{"a block of an unknown kind", replaced(made(begin, end, 361, 7, victoria.Constant, nil)), "numbers of the unknown kind 7"},
		{"16,385 samples", replaced(made(begin, end, victoria.MaxRows+1, victoria.DeltaConst, victoria.Constant, varints(minute))), "a block has 16385 samples, of 1 to 16384"},
		{"no samples", replaced(made(begin, end, 0, victoria.DeltaConst, victoria.Constant, varints(minute))), "a block has 0 samples"},
		{"times out of order", replaced(made(begin, begin+minute, 3, victoria.PlainDelta, victoria.Constant, varints(2*minute, -minute))), "a block has a sample at"},
		{"times beyond what it says", replaced(made(begin, begin+minute, 3, victoria.DeltaConst, victoria.Constant, varints(minute))), "a block has times from"},
		{"an end before its begin", replaced(made(end, begin, 3, victoria.DeltaConst, victoria.Constant, varints(minute))), "a block begins at"},
		{"fewer numbers than samples", replaced(made(begin, begin+2*minute, 3, victoria.PlainDelta, victoria.Constant, varints(minute))), "a block has fewer than 3 numbers"},
		{"more numbers than samples", replaced(made(begin, begin+minute, 2, victoria.PlainDelta, victoria.Constant, varints(minute, minute))), "a block has 3 bytes after its 2 numbers"},
		{"a block that ends early", replaced(made(begin, end, 361, victoria.DeltaConst, victoria.Constant, nil)[:10]), "a block ends within its header"},
		{"a name without end", func(head []byte, list []frame) []byte {
			list[len(list)/2].name = []byte("odd\x01shape\x01one")
			return joined(head, list...)
		}, "a label of a series does not end"},
		{"an escape that is none", func(head []byte, list []frame) []byte {
			list[len(list)/2].name = []byte("odd\x01shape\x01o\x007ne\x01")
			return joined(head, list...)
		}, "a label of a series has an unknown escape"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			src := over(t, meddler(t, base, nativePath, func(w http.ResponseWriter, whole []byte) {
				_, _ = w.Write(tc.meddle(frames(whole)))
			}), victoria.Config{})
			got, stats := ask(t, src, odds(begin, end))
			if diff := cmp.Diff(want(begin, end), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := strings.Join(stats.Warnings, "\n"); !strings.Contains(text, "lines of JSON were read in its place") || !strings.Contains(text, tc.says) {
				t.Errorf("warnings %q, want %q", text, tc.says)
			}
		})
	}
}

// TestRepeated gives each block twice: its samples count once.
func TestRepeated(t *testing.T) {
	t.Parallel()
	base := server(t, odd()...)
	src := over(t, meddler(t, base, nativePath, func(w http.ResponseWriter, whole []byte) {
		head, list := frames(whole)
		_, _ = w.Write(joined(head, append(list, list...)...))
	}), victoria.Config{})
	got, stats := ask(t, src, odds(begin, end))
	if diff := cmp.Diff(want(begin, end), got); diff != "" || len(stats.Warnings) > 0 {
		t.Errorf("%q (-want +got):\n%s", stats.Warnings, diff)
	}
}

// TestStrangers leaves out series that nobody asked for, such as another tenant's.
func TestStrangers(t *testing.T) {
	t.Parallel()
	base := server(t, odd()...)
	src := over(t, meddler(t, base, nativePath, func(w http.ResponseWriter, whole []byte) {
		head, list := frames(whole)
		list = append(list, frame{[]byte("secret\x01tenant\x017\x01"), list[0].block}, frame{[]byte("odd\x01shape\x01zero\x01tenant\x017\x01"), list[0].block})
		_, _ = w.Write(joined(head, list...))
	}), victoria.Config{})
	r := odds(begin, end)
	r.Matchers = []promquery.Matcher{{Name: "tenant", Value: ""}}
	got, stats := ask(t, src, r)
	if diff := cmp.Diff(want(begin, end), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := strings.Join(stats.Warnings, "\n"); !strings.Contains(text, `have 2 series that nobody asked for, such as one of "secret", which are left out`) {
		t.Errorf("warnings %q", text)
	}
}

// TestCut breaks answers off: they are asked for again, and what does not come after several tries is an error that names it.
func TestCut(t *testing.T) {
	t.Parallel()
	base := server(t, odd()...)
	for _, tc := range []struct {
		name, path string
		times      int32 // answers that break off
		want       string
		request    promquery.Request
	}{
		{"blocks, twice", nativePath, 2, "", odds(begin, end)},
		{"blocks, always", nativePath, 1000, "answer of /api/v1/export/native (6 tries): ", odds(begin, end)},
		{"lines, twice", linesPath, 2, "", odds(begin, begin+hour-1)},
		{"lines, always", linesPath, 1000, "answer of /api/v1/export (6 tries): ", odds(begin, begin+hour-1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			src := over(t, meddler(t, base, tc.path, func(w http.ResponseWriter, whole []byte) {
				if n.Add(1) <= tc.times {
					_, _ = w.Write(whole[:len(whole)*2/3])
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
				_, _ = w.Write(whole)
			}), victoria.Config{})
			if tc.want == "" {
				got, stats := ask(t, src, tc.request)
				if diff := cmp.Diff(want(tc.request.Start, tc.request.End), got); diff != "" || stats.Requests != 3 {
					t.Errorf("%d requests (-want +got):\n%s", stats.Requests, diff)
				}
				return
			}
			stats, err := promtest.Select(t.Context(), src, []promquery.Request{tc.request}, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) || stats.Samples != 0 {
				t.Errorf("%d samples, %v; want %q", stats.Samples, err, tc.want)
			}
		})
	}
}

// TestFlood sends blocks without end: the memory that a request may take bounds them.
func TestFlood(t *testing.T) {
	t.Parallel()
	base := server(t, odd()...)
	for _, tc := range []struct{ path, kind string }{{nativePath, "VictoriaMetrics/native"}, {linesPath, "application/stream+json"}} {
		src := over(t, meddler(t, base, tc.path, func(w http.ResponseWriter, whole []byte) {
			w.Header().Set("Content-Type", tc.kind)
			part := whole
			if tc.path == nativePath {
				_, _ = w.Write(whole[:16])
				part = whole[16:]
			}
			for err := error(nil); err == nil; {
				_, err = w.Write(part)
			}
		}), victoria.Config{})
		a := account(8 << 20)
		to := end
		if tc.path == linesPath {
			to = begin + hour - 1
		}
		_, err := promtest.Select(memory.With(t.Context(), a), src, []promquery.Request{odds(begin, to)}, nil)
		if !errors.Is(err, allocation.ErrTooMuch) {
			t.Errorf("%s: %v, want that it takes too much memory", tc.path, err)
		}
		if a.Held() != 0 {
			t.Errorf("%s: %d bytes are not given back", tc.path, a.Held())
		}
	}
}

// TestHang waits for a server that sends nothing, as long as the caller does.
func TestHang(t *testing.T) {
	t.Parallel()
	base := server(t, odd()...)
	src := over(t, meddler(t, base, nativePath, func(w http.ResponseWriter, whole []byte) {
		_, _ = w.Write(whole[:100])
		_ = http.NewResponseController(w).Flush()
		<-t.Context().Done()
	}), victoria.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := promtest.Select(ctx, src, []promquery.Request{odds(begin, end)}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the deadline", err)
	}
}

// FuzzNative reads whatever a server may send.
func FuzzNative(f *testing.F) {
	head, list := frames(read(f, recordedNative))
	for _, x := range list {
		f.Add(joined(head, x))
	}
	f.Add(joined(head, frame{[]byte("odd\x01"), made(begin, end, victoria.MaxRows, victoria.DeltaConst, victoria.Constant, varints(1))}))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if _, _, err := victoria.ReadAll(answer, begin, end, account(64<<20)); err != nil && !victoria.IsFormat(errors.Unwrap(err)) && !victoria.IsFormat(err) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v is neither a cut nor about the format", err)
		}
	})
}

// FuzzLine reads whatever a server may send as a line.
func FuzzLine(f *testing.F) {
	for line := range bytes.Lines(read(f, recordedLines)) {
		f.Add(bytes.Clone(line[:min(len(line), 400)]))
	}
	f.Add([]byte(`{"metric":{"__name__":"odd"},"values":[1,null,"Infinity"],"timestamps":[1767571200000,1767571260000,1767571320000]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n, err := victoria.ParseLine(text, begin, end); err != nil && !victoria.IsFormat(err) || n > len(text) {
			t.Errorf("%d samples, %v", n, err)
		}
	})
}
