package jmespath_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/jmespath"
)

// functionCase is an expression, and its result as JSON or a part of its error.
type functionCase struct{ expr, want, fails string }

// object is the input of the expressions in the tables.
const object = `{
	"text": "foobar", "number": 7.5, "list": [3, 1, 2], "names": ["b", "a"], "none": null, "yes": true,
	"pods": [{"name": "b", "age": 2}, {"name": "a", "age": 1}, {"name": "c"}],
	"labels": {"dog": "lab", "color": "tan", "weight": "chonky"}
}`

// options have a clock that stands still, and know two hosts.
func options() jmespath.Options {
	return jmespath.Options{
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)) },
		Resolve: func(_ context.Context, host string) ([]string, error) {
			hosts := map[string][]string{"example.com": {"93.184.216.34", "2606:2800:220:1::1"}, "intra.example.com": {"93.184.216.34", "10.0.0.1"}}
			if hosts[host] == nil {
				return nil, errors.New("no such host")
			}
			return hosts[host], nil
		},
	}
}

// check evaluates each case.
func check(t *testing.T, cases []functionCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.expr, func(t *testing.T) {
			var given any
			if err := json.Unmarshal([]byte(object), &given); err != nil {
				t.Fatal(err)
			}
			var got any
			e, err := jmespath.Compile(c.expr)
			if err == nil {
				got, err = e.Search(t.Context(), given, options())
			}
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("%v, error %v; want one with %q", got, err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatalf("want %s: %v", c.want, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// allCases are the tables of this package's tests.
func allCases() [][]functionCase {
	return [][]functionCase{arithmeticCases(), textCases(), patternCases(), dataCases(), timeCases(), outsideCases(), officialTable()}
}

func TestArithmetic(t *testing.T) { check(t, arithmeticCases()) }
func TestText(t *testing.T)       { check(t, textCases()) }
func TestPatterns(t *testing.T)   { check(t, patternCases()) }
func TestData(t *testing.T)       { check(t, dataCases()) }
func TestTimes(t *testing.T)      { check(t, timeCases()) }
func TestOutside(t *testing.T)    { check(t, outsideCases()) }
func TestOfficial(t *testing.T)   { check(t, officialTable()) }

// TestFunctions checks that every function is documented, and that a table calls it once with success and once with an error of its own.
func TestFunctions(t *testing.T) {
	safe := map[string]bool{ // nothing can be wrong with these but the types that signatures name
		"time_now": true, "time_now_utc": true, "type": true, "to_array": true, "not_null": true, "to_number": true,
	}
	tables := allCases()
	for _, f := range jmespath.Functions() {
		if f.Help == "" || !strings.HasPrefix(f.Signature, f.Name+"(") {
			t.Errorf("%+v lacks documentation", f)
		}
		works, fails := false, safe[f.Name]
		for _, table := range tables {
			for _, c := range table {
				if strings.Contains(c.expr, f.Name+"(") {
					works = works || c.fails == ""
					fails = fails || strings.Contains(c.fails, "function "+f.Name)
				}
			}
		}
		if !works || !fails {
			t.Errorf("%s: tested to work %v, to fail %v", f.Name, works, fails)
		}
	}
}

func TestErrorsNameFunctionArgumentAndValue(t *testing.T) {
	_, err := search("add('10Mi', 'x')", nil)
	const want = "function add: argument 2 is \"x\": want a number such as `10`, a quantity such as '10Mi' or a duration such as '10h'"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestResolverIsNeeded(t *testing.T) {
	_, err := search("is_external_url('https://example.com')", nil)
	if err == nil || !strings.Contains(err.Error(), "names of hosts are not looked up here") {
		t.Error(err)
	}
}

func TestRandom(t *testing.T) {
	for _, pattern := range []string{"[0-9a-z]{5}", "(ab|cd)+x?", `\d{2,4}-\w`, "^a.c$", "(?i)x[^\\x00-\\x{10fffe}]?"} {
		got, err := search("random('"+pattern+"')", nil)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if ok, err := search("regex_match('^(?:"+pattern+")$', @)", got); ok != true {
			t.Errorf("%s gives %q, which it does not match: %v", pattern, got, err)
		}
	}
}

func TestVolatile(t *testing.T) {
	for text, want := range map[string]string{"a.b": "", "{x: time_add(time_now(), '1h')}": "time_now", "a || random('x')": "random"} {
		e, err := jmespath.Compile(text)
		if err != nil || e.Volatile() != want || e.String() != text {
			t.Errorf("%s: %q, %v", text, e.Volatile(), err)
		}
	}
}

func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		"labels.team || labels.owner || 'unowned'": "labels", "a.b[0].c": "a", "[a, {x: b}]": "a b", "join('-', [a.x, b])": "a b",
		"a[?b == c].d": "a", "a | b": "a", "map(&b, a)": "a", "!a && b": "a b", "a[]": "a", "'x'": "", "a == b": "a b", "a.*": "a",
		"@": "all", "@.a": "all", "*": "all", "keys(@)": "all", "a || [0]": "a all", "[]": "all", "[?a]": "all", "{x: @}": "all",
	} {
		e, err := jmespath.Compile(text)
		if err != nil {
			t.Fatal(text, err)
		}
		keys, all := e.Keys()
		got := strings.Join(keys, " ")
		if all {
			got = strings.TrimSpace(got + " all")
		}
		if got != want {
			t.Errorf("%s reads %s, want %s", text, got, want)
		}
	}
}
