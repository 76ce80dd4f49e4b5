package jmespath_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gojmespath "github.com/kyverno/go-jmespath"

	"github.com/promcost/promcost/allocation/jmespath"
)

// officialCase is one of JMESPath's official tests.
type officialCase struct {
	file       string
	given      any
	expression string
	want       any
	fails      bool
}

// officialCases are in testdata/compliance as the library has them, under its license, which lies beside them.
func officialCases(t testing.TB) []officialCase {
	t.Helper()
	files, err := filepath.Glob("testdata/compliance/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no official tests: ", err)
	}
	var list []officialCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var suites []struct {
			Given any
			Cases []struct {
				Expression string
				Result     any
				Error      string
			}
		}
		if err := json.Unmarshal(text, &suites); err != nil {
			t.Fatal(file, err)
		}
		for _, s := range suites {
			for _, c := range s.Cases {
				list = append(list, officialCase{filepath.Base(file), s.Given, c.Expression, c.Result, c.Error != ""})
			}
		}
	}
	return list
}

// search compiles and evaluates.
func search(expression string, given any) (any, error) {
	e, err := jmespath.Compile(expression)
	if err != nil {
		return nil, err
	}
	return e.Search(context.Background(), given, jmespath.Options{})
}

// officialMisses are cases for which JMESPath wants null and the dialect returns an error, all for one reason: a plain path names a
// missing key.
var officialMisses = []struct {
	file, expression string
	missing          string // the key
	times            int    // it is in the file
}{
	{"basic.json", "bad", "bad", 1},
	{"basic.json", "bad.morebad.morebad", "bad", 1},
	{"basic.json", "foo.bad", "bad", 1},
	{"basic.json", "foo.bar.bad", "bad", 1},
	{"indices.json", "foo[3].bar", "bar", 1},
	{"multiselect.json", "foo.badkey.{nokey: nokey, alsonokey: alsonokey}", "badkey", 1},
	{"syntax.json", `"\\"`, `\`, 1},
	{"syntax.json", `"foo"`, "foo", 1},
	{"syntax.json", "a.{foo: bar, baz: bam}", "a", 1},
	{"syntax.json", "a.{foo: bar}", "a", 1},
	{"syntax.json", "foo", "foo", 2},
	{"syntax.json", "foo.[*]", "foo", 1},
	{"syntax.json", "foo.[a || b]", "foo", 1},
	{"syntax.json", "foo.[abc, def]", "foo", 1},
	{"syntax.json", "foo.[abc]", "foo", 1},
	{"syntax.json", "foo.bar", "foo", 1},
	{"syntax.json", "foo[0]", "foo", 1},
}

// TestOfficialSuite evaluates the official cases that the library has: 844 of 862 give the official result.
func TestOfficialSuite(t *testing.T) {
	const all, misses = 862, 18
	missed := map[string]int{}
	done, failed := 0, 0
	for _, c := range officialCases(t) {
		done++
		got, err := search(c.expression, c.given)
		name := c.file + " " + c.expression
		var unknown *jmespath.UnknownKeyError
		switch {
		case errors.As(err, &unknown) && !c.fails && c.want == nil:
			missed[name+" lacks "+unknown.Key]++
			failed++
		case (err != nil) != c.fails:
			t.Errorf("%s: error %v, want %v", name, err, c.fails)
		case err == nil && !cmp.Equal(got, c.want):
			t.Errorf("%s: (-want +got)\n%s", name, cmp.Diff(c.want, got))
		}
	}
	want := map[string]int{}
	for _, m := range officialMisses {
		want[m.file+" "+m.expression+" lacks "+m.missing] = m.times
	}
	if diff := cmp.Diff(want, missed); diff != "" || done != all || failed != misses {
		t.Errorf("%d official cases, %d misses, want %d and %d: (-want +got)\n%s", done, failed, all, misses, diff)
	}
}

// TestOfficialSuiteOfToday checks cases that the official suite got after the library copied it. The library is wrong about averages of
// empty arrays, backslashes at the end of strings and slices of four parts, and right about the others.
func TestOfficialSuiteOfToday(t *testing.T) {
	given := map[string]any{"a": map[string]any{"b": 1.0}, "yes": true, "no": false, "list": []any{}}
	for expression, want := range map[string]any{
		"avg(`[]`)": nil, `'\\'`: `\\`, `'a\\'`: `a\\`, `['\\', 'it\'s']`: []any{`\\`, "it's"}, `'\\\'\\'`: `\\'\\`, `'\z'`: `\z`, "'`\\\\'": "`\\\\",
		`'\\' || "\\" || 'b'`: `\\`, `contains('C:\\', '\\')`: true, `'\''`: "'", `''`: "",
		"a . b": 1.0, "a\t.\tb": 1.0, "a\r.\r\nb": 1.0, "list < a.b": nil, "list < lacking": nil, "a.b >= yes": nil, "!yes && no": false,
		"` \t\n\r[1] \t\n\r`": []any{1.0},
	} {
		if got, err := search(expression, given); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", expression, got, err, want)
		}
	}
	for expression, place := range map[string]string{
		"[:::]": "column 4", `'\\'b`: "column 5", `'\\' || b c`: "column 11", `a['\\']`: "column 4", `'a' || '\\`: "column 11", `'\'`: "column 4", `['\\', '\\'] [`: "column 15",
		`'\\' || nosuch('\\')`: "column 9", "`1\f`": "column 1", "`1\u0085`": "column 1", "`1\u00a0`": "column 1", "`1\u3000`": "column 1",
		"@=": "column 2", "(@": "column 3", "@(a)": "column 2", "[:@:]": "column 3", "a[? @ | b": "column 10",
	} {
		if _, err := search(expression, nil); err == nil || !strings.Contains(err.Error(), place+": ") {
			t.Errorf("%s: got %v, want %s", expression, err, place)
		}
	}
}

// besideLibrary evaluates an expression here and with the library, and says how the results differ, "" if they do not.
func besideLibrary(expression string, given any) (diff string, err, libraryErr error) {
	want, libraryErr := gojmespath.Search(expression, given)
	got, err := search(expression, given)
	switch {
	case (err != nil) != (libraryErr != nil):
		diff = fmt.Sprintf("%v, %v; the library: %v, %v", got, err, want, libraryErr)
	case err == nil:
		diff = cmp.Diff(want, got)
	}
	return diff, err, libraryErr
}

// TestLikeTheLibrary compares results with the library's, except where they depend on the order of a map.
func TestLikeTheLibrary(t *testing.T) {
	for _, c := range officialCases(t) {
		if strings.Contains(c.expression, "*") || strings.Contains(c.expression, "keys(") || strings.Contains(c.expression, "values(") {
			continue
		}
		diff, err, libraryErr := besideLibrary(c.expression, c.given)
		if diff != "" {
			t.Errorf("%s %s: %s", c.file, c.expression, diff)
		}
		if missing := new(gojmespath.NotFoundError); errors.As(libraryErr, missing) {
			if unknown := new(jmespath.UnknownKeyError); !errors.As(err, &unknown) {
				t.Errorf("%s %s: %v, the library: %v", c.file, c.expression, err, libraryErr)
			}
		}
	}
}
