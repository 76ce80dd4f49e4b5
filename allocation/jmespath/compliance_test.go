package jmespath_test

import (
	"context"
	"encoding/json"
	"errors"
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

func TestOfficialSuite(t *testing.T) {
	// What JMESPath has as null and the dialect as an error: plain paths to keys that are not there.
	known := map[string]bool{
		"basic.json foo.bar.bad": true, "basic.json foo.bad": true, "basic.json bad": true, "basic.json bad.morebad.morebad": true,
		"indices.json foo[3].bar": true, "multiselect.json foo.badkey.{nokey: nokey, alsonokey: alsonokey}": true,
		"syntax.json foo.bar": true, "syntax.json foo": true, "syntax.json foo[0]": true, "syntax.json foo.[*]": true,
		"syntax.json foo.[abc]": true, "syntax.json foo.[abc, def]": true, "syntax.json a.{foo: bar}": true,
		"syntax.json a.{foo: bar, baz: bam}": true, "syntax.json foo.[a || b]": true, `syntax.json "foo"`: true, `syntax.json "\\"`: true,
	}
	missed := map[string]bool{}
	cases := officialCases(t)
	for _, c := range cases {
		got, err := search(c.expression, c.given)
		name := c.file + " " + c.expression
		var unknown *jmespath.UnknownKeyError
		switch {
		case errors.As(err, &unknown) && !c.fails && c.want == nil && known[name]:
			missed[name] = true
		case (err != nil) != c.fails:
			t.Errorf("%s: error %v, want %v", name, err, c.fails)
		case err == nil && !cmp.Equal(got, c.want):
			t.Errorf("%s: (-want +got)\n%s", name, cmp.Diff(c.want, got))
		}
	}
	if len(cases) != 862 {
		t.Errorf("%d official tests, want 862", len(cases))
	}
	for name := range known {
		if !missed[name] {
			t.Errorf("%s is no miss: take it off the list", name)
		}
	}
}

// TestLikeTheLibrary compares with the library's own evaluation where that is not up to the order of a map.
func TestLikeTheLibrary(t *testing.T) {
	for _, c := range officialCases(t) {
		if strings.Contains(c.expression, "*") || strings.Contains(c.expression, "keys(") || strings.Contains(c.expression, "values(") {
			continue
		}
		want, wantErr := gojmespath.Search(c.expression, c.given)
		got, err := search(c.expression, c.given)
		if (err != nil) != (wantErr != nil) || err == nil && !cmp.Equal(got, want) {
			t.Errorf("%s %s: %v, %v; the library: %v, %v", c.file, c.expression, got, err, want, wantErr)
		}
		if missing := new(gojmespath.NotFoundError); errors.As(wantErr, missing) {
			if unknown := new(jmespath.UnknownKeyError); !errors.As(err, &unknown) {
				t.Errorf("%s %s: %v, the library: %v", c.file, c.expression, err, wantErr)
			}
		}
	}
}
