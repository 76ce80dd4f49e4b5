package main

import (
	"fmt"
	"strconv"
	"strings"
)

// hostileValue is a value of a parameter that is meant to do harm.
type hostileValue struct {
	name   string
	values []string // more than one: the parameter is given several times
}

// one is a parameter that is given once.
func one(name, value string) hostileValue { return hostileValue{name, []string{value}} }

// nested is text within n pairs.
func nested(open, text, end string, n int) string {
	return strings.Repeat(open, n) + text + strings.Repeat(end, n)
}

// numbered is n different elements, written by format.
func numbered(format, separator string, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, separator)
}

const long = 200_000 // bytes of a long value

// hostileValues are the attacks on parameters by the parameters' types. Those of anyType are for all of them.
func hostileValues() map[string][]hostileValue {
	durations := hostileDurations()
	return map[string][]hostileValue{
		anyType:          hostileTexts(),
		"window":         append(hostileWindows(), durations...),
		"time":           hostileTimes(),
		"duration":       durations,
		"number":         hostileNumbers(),
		"boolean":        {one("yes", "yes"), one("2", "2"), one("TRUE twice", "TRUETRUE"), {"both", []string{"true", "false"}}},
		wordType:         {one("unknown", "nosuch"), one("upper case", "JSON"), one("several", "json,csv"), one("a word of another list", "week;day")},
		"list":           hostileLists(),
		"fields":         hostileLists(),
		"field":          hostileLists(),
		"filter":         hostileFilters(),
		"field selector": hostileSelectors(),
		"label selector": hostileSelectors(),
		"text":           {one("regex", "(a+)+$"), one("million", strings.Repeat("%", 100_000))},
		"expression":     hostileExpressions(),
		"promql":         hostileQueries(),
		"series":         hostileSeries(),
	}
}

// Types of parameters that the tables of parameters do not name.
const (
	anyType  = "any"
	wordType = "word" // one of several
)

func hostileTexts() []hostileValue {
	same := make([]string, 1000)
	different := make([]string, 1000)
	for i := range same {
		same[i], different[i] = "1", strconv.Itoa(i)
	}
	return []hostileValue{
		one("empty", ""),
		one("blank", " \t\n"),
		one("NUL", "a\x00b"),
		one("invalid UTF-8", "\xff\xfe\xc3("),
		one("long", strings.Repeat("x", long)),
		one("long and invalid", strings.Repeat("\xff", long)),
		one("markup", `"><script>alert(1)</script>`),
		one("header", "a\r\nSet-Cookie: a=b"),
		one("unicode digits", "١٢٣"),
		one("right to left", "\u202e\u2066a"),
		{"1,000 times", same},
		{"1,000 values", different},
	}
}

func hostileWindows() []hostileValue {
	repeated := make([]string, 1000)
	for i := range repeated {
		repeated[i] = fmt.Sprintf("%dh", i+1)
	}
	return []hostileValue{
		one("from 1970", "1970-01-01T00:00:00Z,"+hostileEnd),
		one("290 years", "1736-01-01T00:00:00Z,2026-01-01T00:00:00Z"),
		one("all times", "0001-01-01T00:00:00Z,9999-12-31T23:59:59Z"),
		one("end before start", "2026-01-02T00:00:00Z,2026-01-01T00:00:00Z"),
		one("nothing", "2026-01-01T00:00:00Z,2026-01-01T00:00:00Z"),
		one("far future", "9000-01-01T00:00:00Z,9000-01-02T00:00:00Z"),
		one("year 0", "0000-01-01T00:00:00Z,"+hostileEnd),
		one("negative year", "-2026-01-01T00:00:00Z,"+hostileEnd),
		one("year 10000", "2026-01-01T00:00:00Z,10000-01-01T00:00:00Z"),
		one("10^18 seconds", "0,1000000000000000000"),
		one("10^30 seconds", "0,1000000000000000000000000000000"),
		one("negative seconds", "-1000000000000,0"),
		one("NaN", "NaN,NaN"),
		one("infinite", "-Inf,+Inf"),
		one("exponent", "1e308,1e309"),
		one("hexadecimal", "0x10,0x20"),
		one("leap second", "2016-12-31T23:59:60Z,2017-01-01T00:00:00Z"),
		one("nanosecond", "2026-01-31T12:00:00Z,2026-01-31T12:00:00.000000001Z"),
		one("odd zone", "2026-01-31T12:00:00+99:99,"+hostileEnd),
		one("three times", "0,1,2"),
		one("comma", ","),
		one("offset", "1h offset 290y"),
		one("negative offset", "1h offset -290y"),
		one("many offsets", "1h"+strings.Repeat(" offset 1h", 1000)),
		one("word", "lastcentury"),
		{"repeated", repeated},
	}
}

func hostileTimes() []hostileValue {
	return append(hostileNumbers(),
		one("year 0", "0000-01-01T00:00:00Z"), one("year 9999", "9999-12-31T23:59:59Z"), one("year 10000", "10000-01-01T00:00:00Z"), one("1970", "0"),
		one("10^18 seconds", "1000000000000000000"), one("first", "-292273086-05-16T16:47:06Z"), one("last", "292277025-08-18T07:12:54.999999999Z"),
		one("leap second", "2016-12-31T23:59:60Z"), one("word", "yesterday"))
}

func hostileDurations() []hostileValue {
	texts := []string{"1ns", "1e-9", "0", "0s", "-1", "-1h", "Inf", "NaN", "10000y", "290y", "99999999999999999999d", "1.5h", "1h1h", "1h30", "h", "1ms", "1s", "1m", "٣h", "1e308", "0x1p-1074", "1mo"}
	return byText(texts)
}

func hostileNumbers() []hostileValue {
	return byText([]string{"NaN", "Inf", "-Inf", "-0", "1e309", "1e-400", "9223372036854775807", "9223372036854775808", "-1", "0x7f", "1_000", "1,5", "0.1", "00000000001", "2147483648", "²"})
}

// byText are values that are named as they are.
func byText(texts []string) []hostileValue {
	var values []hostileValue
	for _, text := range texts {
		values = append(values, one(text, text))
	}
	return values
}

func hostileLists() []hostileValue {
	return []hostileValue{
		one("10^5 elements", numbered("n%d", ",", 100_000)),
		one("10^5 equal elements", strings.Repeat("namespace,", 100_000)),
		one("10^5 commas", strings.Repeat(",", 100_000)),
		one("wildcards", strings.Repeat("*", 50_000)),
		one("many wildcards", strings.Repeat("*a*,", 10_000)),
		one("10^4 labels", numbered("label:l%d", ",", 10_000)),
		one("label of nothing", "label:"),
		one("long label", "label:"+strings.Repeat("x", long)),
		one("colons", strings.Repeat(":", 10_000)),
		one("10^4 pairs", numbered("app:n%d", ",", 10_000)),
	}
}

func hostileFilters() []hostileValue {
	return []hostileValue{
		one("nesting", nested("(", `namespace:"a"`, ")", 100_000)),
		one("unclosed nesting", strings.Repeat("(", 100_000)),
		one("closed nesting", strings.Repeat(")", 100_000)),
		one("unclosed quote", `namespace:"a`),
		one("quotes", strings.Repeat(`"`, 50_001)),
		one("10^5 alternatives", numbered(`namespace:"n%d"`, "|", 30_000)),
		one("10^5 conditions", numbered(`namespace!:"n%d"`, "+", 30_000)),
		one("10^5 values", `namespace:`+numbered(`"n%d"`, ",", 100_000)),
		one("escapes", `namespace:"`+strings.Repeat(`\`, 50_001)+`"`),
		one("regex", `namespace~:"(a+)+$"`),
		one("regex that grows", `namespace~:"((((a{100}){100}){100}){100})"`),
		one("long contains", `pod~:"`+strings.Repeat("a", long)+`"`),
		one("NUL", "namespace:\"a\x00b\""),
		one("invalid UTF-8", "namespace:\"\xff\""),
		one("unknown field", `nosuch:"a"`),
		one("label without a name", `label[]:"a"`),
		one("long label", `label[`+strings.Repeat("x", long)+`]:"a"`),
		one("operators", strings.Repeat("!", 50_000)+`namespace:"a"`),
		one("trailing", `namespace:"a" namespace:"b"`),
		one("only operators", strings.Repeat("+|", 50_000)),
		one("empty group", "()"),
	}
}

func hostileSelectors() []hostileValue {
	return []hostileValue{
		one("10^5 conditions", numbered("metadata.namespace!=n%d", ",", 30_000)),
		one("10^5 labels", numbered("a%d=b", ",", 50_000)),
		one("10^5 values", "app in ("+numbered("n%d", ",", 100_000)+")"),
		one("nesting", nested("(", "a", ")", 50_000)),
		one("unclosed", "app in (a"),
		one("operators", strings.Repeat("=", 50_000)),
		one("negations", strings.Repeat("!", 50_000)+"a"),
		one("NUL", "app=a\x00"),
		one("invalid UTF-8", "app=\xff"),
		one("escapes", "app="+strings.Repeat(`\`, 50_001)),
		one("unknown field", "spec.nosuch=a"),
		one("long key", strings.Repeat("k", long)+"=a"),
		one("comma", ","),
		one("greater", "app>99999999999999999999"),
	}
}
