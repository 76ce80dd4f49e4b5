package jmespath_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/jmespath"
)

func TestBoundsOfExpressions(t *testing.T) {
	nested := func(open, within, end string, n int) string {
		return strings.Repeat(open, n) + within + strings.Repeat(end, n)
	}
	for name, c := range map[string]struct{ text, fails string }{
		"long":            {strings.Repeat("a", jmespath.MaxExpression+1), "is too long"},
		"parentheses":     {nested("(", "@", ")", 30_000), "nested deeper than 500 levels"},
		"unclosed":        {strings.Repeat("(", 60_000), "nested deeper than 500 levels"},
		"negations":       {nested("!", "@", "", 60_000), "nested deeper than 500 levels"},
		"spaced":          {strings.Repeat("! ", 30_000), "nested deeper than 500 levels"},
		"hidden":          {strings.Repeat("(')'||", 10_000), "nested deeper than 500 levels"},
		"path":            {strings.Repeat("a.", 30_000) + "a", "column 1000: expression has more than 500 parts in a row"},
		"alternatives":    {strings.Repeat("a||", 20_000) + "a", "column 1500: expression has more than 500 parts in a row"},
		"empty":           {" ", "expression is empty"},
		"no text":         {"a\xff", "no valid UTF-8"},
		"a place":         {"foo.[bar", "column 9"},
		"no name":         {"[0](@)", "no name of a function"},
		"quoted name":     {`"abs"(@)`, "column 1"},
		"large index":     {"foo[99999999999999999999]", "column 5: \"99999999999999999999\" is no whole number in range"},
		"brackets are ok": {"'" + strings.Repeat("(", 10_000) + "'", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jmespath.Compile(c.text)
			var syntax *jmespath.SyntaxError
			switch {
			case c.fails == "" && err != nil, c.fails != "" && (!errors.As(err, &syntax) || !strings.Contains(err.Error(), c.fails)):
				t.Errorf("%.300v, want %q", err, c.fails)
			case err != nil && len(err.Error()) > 500:
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

// TestPlaces checks which place the errors about malformed expressions name. The library names no place for some of them, and accepts
// others.
func TestPlaces(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"[0", "column 3: expected \"]\", found the end"},
		{"a.[b, [0", "column 9: expected"},
		{"a[0", "column 4: expected \"]\", found the end"},
		{"a[1:", "column 5: expected \":\" or a number, found the end"},
		{"a[*", "column 4: expected \"]\", found the end"},
		{"(a", "column 3: expected \")\", found the end"},
		{"a[-]", "column 3: \"-\" is no whole number in range"},
		{"a[0: 99999999999999999999]", "column 6: \"99999999999999999999\" is no whole number in range"},
		{"[:::]", "column 4: expected \"]\", found \":\""},
		{"'ä'|@[1 : 2:3 : ]", "column 15: expected \"]\", found \":\""},
		{"a[:b:]", "column 4: expected \":\" or a number, found a name"},
		{"a.ä", "column 3: unexpected \"ä\"\n  a.ä\n    ^"},
		{"a || `{b}`", "column 6: what begins here is no JSON"},
		{"`x` || a", "column 1: what begins here is no JSON"},
		{`a || "\u"`, "column 6: what begins here is no JSON"},
		{"a || @(b)", "column 7: malformed expression: what stands before ( is no name of a function"},
		{"a[0] (b)", "column 6: malformed expression: what stands before ( is no name of a function"},
		{`"abs"(a)`, "column 1: can't have quoted a name"},
		{"a && foo[?@ | b", "column 16: expected \"]\", found the end"},
		{"{a: b", "column 6: expected"},
		{"a['b']", "column 4: expected \"*\""},
	} {
		_, err := jmespath.Compile(tc.text)
		if err == nil || !strings.Contains(err.Error(), "parse JMESPath: "+tc.want) {
			t.Errorf("%s: got %v, want %s", tc.text, err, tc.want)
		}
	}
	for _, text := range []string{"a[]", "a[ 0 ]", "a[::]", "a[-1:2:-1]", "a[0:1].b[1]", `"[:::]"`, "'[:::] @('", "`\"[:::] \\`@(\"`", "a || (b)", "[(a), !(b)]", "{a: (b)}", `"a\"[:::]"`, "a[?b == `[0]`]"} {
		if _, err := jmespath.Compile(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBoundsOfEvaluations(t *testing.T) {
	const few = 2_000_000
	long := strings.Repeat("x", 60_000)
	for name, c := range map[string]struct {
		text, fails string
		steps       int // 0 for as many as there may be
	}{
		"doubled lists":    {"[@,@]" + strings.Repeat(" | [@,@]", 100), "builds more than", 0},
		"flattened lists":  {"[@,@]" + strings.Repeat(" | [@,@][]", 100), "builds more than", 0},
		"doubled texts":    {"'" + long + "'" + strings.Repeat(" | join('', [@,@,@])", 20), "builds more than", 0},
		"replaced":         {"replace_all('" + long + "', '', 'yyyyyyyyy')" + strings.Repeat(" | replace_all(@, '', 'yyyyyyyy')", 5), "builds more than", 0},
		"as JSON":          {"[@,@]" + strings.Repeat(" | [@,@]", 100) + " | to_string(@)", "builds more than", 0},
		"compared":         {"[@,@]" + strings.Repeat(" | [@,@]", 100) + " | [@ == @]", "more than", few},
		"regex":            {"'" + long + "' | " + strings.Repeat("[@,@,@,@,@,@][] | ", 4) + "[*].regex_match('(x{1,30}){1,30}y', @)", "more than", few},
		"large regex":      {"regex_match('" + strings.Repeat("a{1000}", 11) + "', 'x')", "too large", 0},
		"regex with match": {"regex_replace_all('', '" + long + "', '" + long[:5000] + "')", "builds more than", 0},
		"patterns":         {"pattern_match('" + strings.Repeat("*x", 10_000) + "', '" + long[:40_000] + "')", "more than", 0},
		"aliases":          {"parse_yaml('a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]')", "parse_yaml", 0},
		"chance":           {"random('((([a-z]{1000})){9}+)+')", "random", 0},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := jmespath.Compile(c.text)
			if err == nil {
				_, err = e.Search(t.Context(), "x", jmespath.Options{Steps: c.steps})
			}
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%.300v, want %q", err, c.fails)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	e, err := jmespath.Compile("[*].[@,@,@,@]")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Search(ctx, []any{"x"}, jmespath.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestInputIsNotChanged sorts and reverses values of the input and of the expression twice. Neither may change.
func TestInputIsNotChanged(t *testing.T) {
	var given, before any
	for _, v := range []*any{&given, &before} {
		if err := json.Unmarshal([]byte(object), v); err != nil {
			t.Fatal(err)
		}
	}
	const text = "[sort_by(pods[:2], &age), sort(list), reverse(list), merge(labels, {x: 'y'}), sort_by(`[{\"a\": 2}, {\"a\": 1}]`, &a), list[::-1]]"
	e, err := jmespath.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	first, err := e.Search(t.Context(), given, jmespath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.Search(t.Context(), given, jmespath.Options{})
	if diff := cmp.Diff(first, second); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	got, err := jmespath.Parse("a.b || nosuch('x')")
	const want = `ASTOrExpression {
  children: {
    ASTSubexpression {
      children: {
        ASTField {
          value: "a"
        }
        ASTField {
          value: "b"
        }
    }
    ASTFunctionExpression {
      value: "nosuch"
      children: {
        ASTLiteral {
          value: "x"
        }
    }
}
`
	if err != nil || got != want {
		t.Errorf("%v (-want +got)\n%s", err, cmp.Diff(want, got))
	}
	if _, err := jmespath.Parse("a."); err == nil {
		t.Error("no error")
	}
}

func FuzzSearch(f *testing.F) {
	for _, table := range allCases() {
		for _, c := range table {
			f.Add(c.expr, object)
		}
	}
	for _, c := range officialCases(f) {
		given, err := json.Marshal(c.given)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.expression, string(given))
	}
	f.Fuzz(func(t *testing.T, text, data string) {
		var given any
		if json.Unmarshal([]byte(data), &given) != nil {
			return
		}
		e, err := jmespath.Compile(text)
		if err != nil {
			_ = err.Error()
			return
		}
		got, err := e.Search(t.Context(), given, options())
		if err != nil {
			return
		}
		out, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("%q: result is no JSON: %v", text, err)
		}
		if e.Volatile() != "" {
			return
		}
		again, err := e.Search(t.Context(), given, options())
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := json.Marshal(again); string(second) != string(out) {
			t.Errorf("%q: %s, then %s", text, out, second)
		}
	})
}
