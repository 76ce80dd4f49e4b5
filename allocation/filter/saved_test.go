package filter_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/filter"
)

func TestSaved(t *testing.T) {
	const a, b = `"a":{"name":"a","properties":{"namespace":"web"}}`, `"b":{"properties":{"namespace":"x"}}`
	for _, tc := range []struct{ name, answer, want string }{
		{"array of sets", `{"code":200,"status":"success","data":[{` + a + `,` + b + `},{"c":{"properties":{"namespace":"web"}}}],"warnings":["w"]}`, "a c"},
		{"one map", `{"data":{` + a + `,` + b + `}}`, "a"},
		{"without an envelope", `[{` + a + `,` + b + `}]`, "a"},
		{"each name once", `{"data":[{` + a + `},{` + a + `}]}`, "a"},
		{"selected in one of two sets", `{"data":[{"a":{}},{` + a + `}]}`, "a"},
		{"nothing of interest around it", `{"explain":{"data":[1,{"x":[]}]},"message":"","data":[{` + a + `}],"resolution":"1m"}`, "a"},
		{"in the order of the answer", `{"data":[{"z":{"properties":{"namespace":"web"}},` + a + `}]}`, "z a"},
		{"empty sets", `{"data":[{},null,{}]}`, ""},
		{"no sets", `{"data":[]}`, ""},
		{"nulls", `{"data":[{"n":null,"p":{"properties":null},` + a + `}]}`, "a"},
		{"names are text", `{"data":[{"a\u00e4/\n":{"properties":{"namespace":"web"}}}]}`, "aä/\n"},
		{"white space", " {\n\"data\" : [ {" + a + "} ] }\n\n", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := filter.Parse(`namespace:"web"`)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []io.Reader{strings.NewReader(tc.answer), iotest.OneByteReader(strings.NewReader(tc.answer))} {
				names, err := f.Saved(r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, strings.Join(names, " ")); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// endless is an answer that does not end: head, then the same over and over.
type endless struct {
	head io.Reader
	more string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if n, err := e.head.Read(p); err == nil {
		return n, nil
	}
	for i := range p {
		p[i] = e.more[e.at]
		e.at = (e.at + 1) % len(e.more)
	}
	return len(p), nil
}

func TestSavedErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 20_000)
	for _, tc := range []struct {
		name   string
		answer io.Reader
		want   string
	}{
		{"nothing", strings.NewReader(""), "byte 0: unexpected EOF"},
		{"HTML", strings.NewReader("<html>"), "invalid character '<'"},
		{"a number", strings.NewReader("5"), "expected an answer of the API"},
		{"no data", strings.NewReader(`{"code":200}`), "it has no data: give an answer of the API"},
		{"an error of the API", strings.NewReader(`{"code":400,"data":null,"message":"parameter window is missing"}`), "it has no data, but says: parameter window is missing"},
		{"a message of another kind", strings.NewReader(`{"message":{}}`), "read message"},
		{"data of another kind", strings.NewReader(`{"data":"x"}`), "data is x, expected an array of maps, or a map"},
		{"sets of another kind", strings.NewReader(`{"data":[[]]}`), "expected a map of names"},
		{"a summary", strings.NewReader(`{"data":{"step":86400,"sets":[]}}`), "this is a summary, which does not say what its costs belong to: filter in the request"},
		{"the sets of a summary", strings.NewReader(`{"data":{"sets":[{"allocations":{}}]}}`), "this is a summary"},
		{"a set of a summary", strings.NewReader(`[{"allocations":{"a":{"name":"a"}}}]`), "this is a summary"},
		{"a topline", strings.NewReader(`{"data":{"combined":{"allocations":{"total":{}}},"numResults":7}}`), "this is a summary"},
		{"assets", strings.NewReader(`{"data":[{"a":{"type":"Node","properties":{"cluster":"c"}}}]}`), "this is an answer of assets: use --api=asset"},
		{"a property of another kind", strings.NewReader(`{"data":[{"a":{"properties":{"cluster":5}}}]}`), `read "a": properties.cluster has a number, expected text: put it in double quotes`},
		{"a label that is a number", strings.NewReader(`{"data":[{"a":{"properties":{"labels":{"tier":5}}}}]}`), `read "a": properties.labels`},
		{"cut", strings.NewReader(`{"data":[{"a":{}}`), "unexpected EOF"},
		{"cut in a value", strings.NewReader(`{"data":[{"a":{"prop`), "unexpected EOF"},
		{"cut in what is skipped", strings.NewReader(`{"explain":[[`), "unexpected EOF"},
		{"two answers", strings.NewReader(`{"data":[]}{"data":[]}`), "after the answer: keep one answer"},
		{"text after it", strings.NewReader(`{"data":[]}x`), "invalid character 'x'"},
		{"deep in what is skipped", strings.NewReader(`{"x":` + deep), "unexpected EOF"},
		{"deep in a value", strings.NewReader(`{"data":` + deep), "exceeded max depth"},
		{"one endless value", &endless{head: strings.NewReader(`{"data":[{"a":{"x":"`), more: "y"}, "one value in it is longer than 16777216 bytes"},
		{"endless white space", &endless{head: strings.NewReader(`{"data":[`), more: " "}, "longer than"},
		{"broken", iotest.ErrReader(errors.New("disk on fire")), "disk on fire"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			names, err := filter.New(filter.And{}).Saved(tc.answer)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "read answer: byte ") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if names != nil {
				t.Errorf("names %v beside an error", names)
			}
		})
	}
}

// TestSavedOfAllocations refuses an answer of allocations where assets are filtered.
func TestSavedOfAllocations(t *testing.T) {
	_, err := filter.NewAssets(filter.And{}).Saved(strings.NewReader(`{"data":[{"a":{"name":"a","properties":{"pod":"p"},"cpuCoreRequestAverage":0}}]}`))
	if err == nil || !strings.Contains(err.Error(), "this is an answer of allocations: use --api=allocation") {
		t.Errorf("got %v", err)
	}
	names, err := filter.New(filter.And{}).Saved(strings.NewReader(`{"data":[{"allocations":{"name":"allocations","properties":{"namespace":"allocations"}}}]}`))
	if err != nil || len(names) != 1 {
		t.Errorf("%v, %v: a namespace may be called so", names, err)
	}
}

// TestSavedKeepsLittle reads an answer that is longer than one value may be.
func TestSavedKeepsLittle(t *testing.T) {
	one := `"a":{"x":"` + strings.Repeat("y", 1<<20) + `","properties":{"pod":"p"}},`
	answer := `{"data":[{` + strings.Repeat(one, 40) + `"b":{}}]}`
	f, err := filter.Parse(`pod:"p"`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := f.Saved(strings.NewReader(answer))
	if diff := cmp.Diff([]string{"a"}, names); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
