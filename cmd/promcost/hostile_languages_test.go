package main

import "strings"

// hostileExpressions are of JMESPath.
func hostileExpressions() []hostileValue {
	const half = 30_000 // bytes of a literal that an expression has room for
	text := "'" + strings.Repeat("x", half) + "'"
	repeated := func(start, step string, n int) string { return start + strings.Repeat(" | "+step, n) }
	return []hostileValue{
		one("nesting", nested("(", "@", ")", 30_000)),
		one("unclosed", strings.Repeat("[", 60_000)),
		one("long path", strings.Repeat("a.", 30_000)+"a"),
		one("wide", "["+strings.Repeat("@,", 30_000)+"@]"),
		one("wide object", "{"+numbered("a%d: @", ",", 5_000)+"}"),
		one("projections", strings.Repeat("[*]", 20_000)),
		one("projection of all", "[*][*][*][*][*]"),
		one("values of values", "*.*.*.*.*.*"),
		one("flattened", strings.Repeat("[]", 20_000)),
		one("doubled", repeated("@", "[@,@]", 100)),
		one("doubled and flattened", repeated("[@,@]", "[@,@][]", 100)),
		one("multiplied", repeated("@", "[*].[@,@,@,@,@,@,@,@,@,@]", 20)),
		one("joined", repeated(text, "join('', [@,@,@,@])", 30)),
		one("as text", repeated("@", "to_string([@,@])", 30)),
		one("as texts", repeated("@", "[to_string(@), to_string(@)]", 30)),
		one("replaced", repeated("replace_all("+text+", 'x', 'yyyyyyyyyyyyyyyyyyyy')", "replace_all(@, 'y', 'zzzzzzzzzzzzzzzz')", 20)),
		one("multiplied text", "multiply("+text+", `1000000000`)"),
		one("sort_by", repeated("@", "[@,@,@,@][]", 15)+" | sort_by(@, &to_string(@))"),
		one("sorted", repeated("['a','b']", "[@,@,@,@][]", 15)+" | sort(@)"),
		one("items", repeated("@", "items(@, 'k', 'v')", 50)),
		one("pairs", repeated("[`1`]", "zip([@,@][], [@,@][])", 20)),
		one("compared", repeated("[`1`,`2`]", "[@,@]", 40)+" | @ == @"),
		one("map", repeated("[`1`]", "map(&[@,@,@,@], @)", 30)),
		one("contains", repeated("['a']", "[@,@,@,@][]", 15)+" | [?contains(@, 'b')]"),
		one("random", "random('(((([a-z]{1000})){1000}){1000})')"),
		one("random of all", "random('.*{0,1000000}')"),
		one("time", "time_add('1970-01-01T00:00:00Z', '999999999h')"),
		one("time loop", "time_truncate(time_now_utc(), '0s')"),
		one("time before", "time_diff('0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z')"),
		one("cron", "time_to_cron('99999-01-01T00:00:00Z')"),
		one("since", "time_since('', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z')"),
		one("parsed time", "time_parse('"+strings.Repeat("2006", 5_000)+"', '"+strings.Repeat("2006", 5_000)+"')"),
		one("certificate", "x509_decode('-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----')"),
		one("no certificate", "x509_decode("+text+")"),
		one("truncate", "truncate("+text+", `-1e300`)"),
		one("truncate of much", "truncate("+text+", `1e300`)"),
		one("range", "range(`0`, `1000000000`)"),
		one("power", "multiply(`1e308`, `1e308`)"),
		one("divided", "divide(`1`, `0`)"),
		one("modulo", "modulo('1Gi', '0')"),
		one("quantities", "add('"+strings.Repeat("9", half)+"Ei', '1')"),
		one("durations", "multiply('1000000h', `1e300`)"),
		one("rounded", "round(`1`, `1e9`)"),
		one("regex", "regex_match('(a+)+$', '"+strings.Repeat("a", half)+"')"),
		one("regex that grows", "regex_match('((a{100}){100}){100}', 'a')"),
		one("pattern", "pattern_match('"+strings.Repeat("*a", 10_000)+"', '"+strings.Repeat("a", half)+"')"),
		one("labels", "label_match(`{\"a\": \"*\"}`, `{\"a\": \"b\"}`)"),
		one("aliases", "parse_yaml('a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]')"),
		one("deep YAML", "parse_yaml('"+strings.Repeat("[", 20_000)+"')"),
		one("deep JSON", "parse_json('"+nested("[", "", "]", 20_000)+"')"),
		one("numbers", "parse_json('1e999999999')"),
		one("base64", "base64_decode("+text+")"),
		one("encoded", repeated(text, "base64_encode(@)", 60)),
		one("canonical", "path_canonicalize('"+strings.Repeat("../", 10_000)+"')"),
		one("external", "is_external_url('http://metadata.google.internal/')"),
		one("lookup", "lookup(@, '')"),
		one("unknown function", "system('id')"),
		one("no function", "[0](@)"),
		one("deep literal", "`"+nested("[", "", "]", 30_000)+"`"),
		one("large index", "[999999999999999999999]"),
		one("slice", "[::0]"),
		one("slices", "[-9223372036854775808:9223372036854775807:-9223372036854775808]"),
		one("split", "split("+text+", '')"),
		one("semver", "semver_compare('1.0.0', '"+strings.Repeat(">=1 || ", 4_000)+"')"),
		one("reversed", repeated(text, "reverse(@)", 100)),
		one("merged", repeated("{a: @}", "merge(@, {b: @})", 60)),
		one("not a number", "to_number('NaN')"),
		one("sum", "sum(parse_json('[1e308, 1e308]'))"),
		one("unclosed text", "'a"),
		one("unclosed JSON", "`{\"a\":"),
		one("NUL", "'a\x00b'"),
	}
}

// hostileQueries are of PromQL.
func hostileQueries() []hostileValue {
	const cost = `{__name__=~"promcost_.+"}`
	labels := numbered("l%d", ",", 30)
	matchers := numbered(`l%d="v"`, ",", 30)
	text := strings.Repeat("x", 60_000)
	return []hostileValue{
		one("subquery of milliseconds", "max_over_time(vector(1)[290y:1ms])"),
		one("subquery of a century", "max_over_time(vector(1)[100y:1s])"),
		one("nested subqueries", "max_over_time(max_over_time(max_over_time(vector(1)[30d:1m])[30d:1m])[30d:1m])"),
		one("deep subqueries", strings.Repeat("max_over_time(", 100)+"vector(1)"+strings.Repeat("[1h:1m])", 100)),
		one("step of 1ns", "max_over_time(vector(1)[1h:1ns])"),
		one("range of 290 years", "sum_over_time("+cost+"[290y])"),
		one("parentheses", nested("(", "1", ")", 100_000)),
		one("unclosed", strings.Repeat("(", 100_000)),
		one("negations", strings.Repeat("-", 100_000)+"1"),
		one("calls", nested("abs(", "vector(1)", ")", 20_000)),
		one("chain", strings.Repeat("1+", 100_000)+"1"),
		one("powers", strings.Repeat("2^", 50_000)+"2"),
		one("selectors", strings.Repeat(cost+" or ", 1_000)+cost),
		one("different selectors", numbered(`count({__name__=~"promcost_.+",pod!="%d"})`, " + ", 1_000)),
		one("10^4 or", strings.Repeat("vector(1) or ", 10_000)+"vector(1)"),
		one("sum of sums", nested("sum(", "vector(1)", ")", 20_000)),
		one("label_replace", `label_replace(vector(1), "a", "`+text+`", "", "")`),
		one("label_replace that grows", strings.Repeat("label_replace(", 20)+`label_replace(vector(1), "a", "`+strings.Repeat("x", 1000)+`", "", "")`+strings.Repeat(`, "a", "$1$1$1$1", "a", "(.*)")`, 20)),
		one("label_replace of many groups", `label_replace(`+cost+`, "a", "`+strings.Repeat("$1", 10_000)+`", "__name__", "(.*)")`),
		one("label_join", `label_join(`+cost+`, "a", "`+text+`", "__name__", "cluster", "namespace", "resource")`),
		one("label_join that grows", strings.Repeat("label_join(", 30)+`label_replace(vector(1), "a", "xxxxxxxxxx", "", "")`+strings.Repeat(`, "a", "", "a", "a", "a")`, 30)),
		one("regex of label_replace", `label_replace(vector(1), "a", "b", "c", "((a{100}){100}){100}")`),
		one("huge @", "vector(1) @ 1e300"),
		one("huge negative @", cost+" @ -9223372036854775"),
		one("@ NaN", cost+" @ NaN"),
		one("@ Inf", cost+" @ Inf"),
		one("offset of 290 years", cost+" offset 290y"),
		one("offset forward", cost+" offset -290y"),
		one("offset that overflows", cost+" offset 9999999999999y"),
		one("count_values", `count_values("`+strings.Repeat("a", 1000)+`", `+cost+`)`),
		one("count_values of a bad label", "count_values(\"a\xff\", "+cost+")"),
		one("absent", "absent(a{"+matchers+"})"),
		one("absent_over_time", "absent_over_time(a{"+matchers+"}[290y])"),
		one("by 30 labels", "sum by ("+labels+") ("+cost+")"),
		one("by 10^4 labels", "sum by ("+numbered("l%d", ",", 10_000)+") ("+cost+")"),
		one("cross join", `{__name__=~".+"} * on() group_left() `+`{__name__=~".+"}`),
		one("cross joins", cost+" * ignoring(__name__) group_left() sum("+cost+")"),
		one("everything", `{__name__=~".+"}`),
		one("everything for ever", `{__name__=~".+"}[290y]`),
		one("everything twice", `{__name__=~".+"} or {__name__=~".*.+"}`),
		one("empty selector", "{}"),
		one("empty matcher", `{__name__=~".*"}`),
		one("regex that grows", `{__name__=~"((a{100}){100}){100}"}`),
		one("regex of alternatives", `{__name__=~"`+numbered("a%d", "|", 20_000)+`"}`),
		one("10^4 matchers", "{"+numbered(`l%d!="v"`, ",", 10_000)+"}"),
		one("long name", strings.Repeat("a", 100_000)),
		one("long text", `"`+strings.Repeat("a", 500_000)+`"`),
		one("quantile", "quantile_over_time(1e308, vector(1)[1h:1m])"),
		one("topk", "topk(1e18, "+cost+")"),
		one("topk of NaN", "topk(NaN, "+cost+")"),
		one("limitk", "limitk(9223372036854775807, "+cost+")"),
		one("double_exponential_smoothing", "holt_winters(vector(1)[1h:1m], 2, 3)"),
		one("predict_linear", "predict_linear(vector(1)[1h:1m], 1e308)"),
		one("round", "round("+cost+", 1e-320)"),
		one("histogram", "histogram_quantile(NaN, "+cost+")"),
		one("NUL", "a\x00b"),
		one("invalid UTF-8", "{a=\"\xff\"}"),
		one("number", "1e999999999"),
		one("hexadecimal", "0x"+strings.Repeat("f", 10_000)),
		one("durations", "vector(1)[99999999999999999999y:1s]"),
		one("comment", "# "+strings.Repeat("a", 100_000)),
		one("unclosed text", `{a="`),
		one("escapes", `{a="`+strings.Repeat(`\`, 50_001)+`"}`),
		one("trailing", "1 1"),
		one("drop_common_labels", "sort(sort_desc(sort("+cost+")))"),
		one("time of everything", "timestamp(timestamp("+cost+"))"),
		one("info", "info("+cost+")"),
	}
}

// hostileSeries are values of match[].
func hostileSeries() []hostileValue {
	different := make([]string, 3000)
	for i := range different {
		different[i] = `{__name__=~".+",a!="` + strings.Repeat("x", i%50) + `"}`
	}
	equal := make([]string, 3000)
	for i := range equal {
		equal[i] = `{__name__=~"promcost_.+"}`
	}
	return append([]hostileValue{{"30 selectors", different[:30]}, {"3,000 selectors", different}, {"3,000 equal selectors", equal}, one("range", "a[5m]"), one("no selector", "1+1")}, hostileQueries()...)
}
