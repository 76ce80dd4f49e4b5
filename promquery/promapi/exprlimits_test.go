package promapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
)

// nested is inner between n opening and n closing texts.
func nested(n int, opening, inner, closing string) string {
	return strings.Repeat(opening, n) + inner + strings.Repeat(closing, n)
}

// growing is a label whose value n calls of label_replace double each.
func growing(n int, inner string) string {
	return nested(n, "label_replace(", inner, `,"a","$1$1","a","(.*)")`)
}

// TestHostileExpressions refuses expressions that would take a process down, and evaluates those that are just small enough.
func TestHostileExpressions(t *testing.T) {
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{MaxSamples: 1_000_000})
	const odd = `odd{kind="small"}`
	for name, tt := range map[string]struct {
		expr string
		code int
		want string // in the error
	}{
		"long":                    {strings.Repeat("1", 64<<10+1), 400, "at most 65536"},
		"as long as may be":       {strings.Repeat(" ", 64<<10-1) + "1", 200, ""},
		"parentheses":             {nested(501, "(", "1", ")"), 400, "nested more than 500 deep"},
		"parentheses just":        {nested(500, "(", "1", ")"), 200, ""},
		"parentheses not closed":  {strings.Repeat("(", 60_000), 400, "nested more than 500 deep"},
		"brackets in a string":    {`label_replace(vector(1),"a","` + strings.Repeat("(", 501) + `","","")`, 200, ""},
		"calls":                   {nested(501, "abs(", odd, ")"), 400, "nested more than 500 deep"},
		"chain":                   {"1" + strings.Repeat("+1", 5001), 400, "more than 5000 operators"},
		"chain just":              {"1" + strings.Repeat("+1", 5000), 200, ""},
		"chain of words":          {odd + strings.Repeat(" or x", 5001), 400, "more than 5000 operators"},
		"signs":                   {strings.Repeat("-", 60_000) + "1", 400, "more than 5000 operators"},
		"subquery":                {"max_over_time(vector(1)[290y:1ms])", 422, "--promql.max-samples"},
		"long subquery":           {"max_over_time(vector(1)[100y:1s])", 422, "--promql.max-samples"},
		"subquery just":           {"max_over_time(vector(1)[400s:1ms])", 200, ""},
		"many subqueries":         {"max_over_time(vector(1)[400s:1ms])" + strings.Repeat(" + max_over_time(vector(1)[400s:1ms])", 3), 422, "--promql.max-samples"},
		"nested subqueries":       {"max_over_time(max_over_time(vector(1)[20m:1s])[20m:1s])", 422, "--promql.max-samples"},
		"nested subqueries just":  {"max_over_time(max_over_time(vector(1)[15m:1s])[15m:1s])", 200, ""},
		"range inside a subquery": {"max_over_time(sum_over_time(odd[10y])[1d:1m])", 422, "--promql.max-samples"},
		"subquery without a step": {"max_over_time(vector(1)[200y:])", 422, "--promql.max-samples"},
		"subquery @":              {"max_over_time(vector(1)[290y:1ms] @ 0)", 422, "--promql.max-samples"},
		"long label":              {growing(30, odd), 422, "label"},
		"long label, stored":      {growing(15, `label_replace(`+odd+`,"a","$1","kind","(.*)")`), 422, "label"},
		"long label just":         {growing(13, `label_replace(`+odd+`,"a","$1","kind","(.*)")`), 200, ""},
		"label_join":              {nested(20, "label_join(", odd, `,"a","",`+`"a","kind","a")`), 422, "label"},
		"label of another name":   {nested(200, "label_replace(", odd, `,"a","$1$1","kind","(.*)")`), 200, ""},
		"long label, counted":     {`label_replace(count_values("v",` + odd + `),"v","` + strings.Repeat("$1", 1000) + `","v","(.*)")`, 422, "label"},
		"long label, joined":      {odd + " * on(kind) group_left(a) " + growing(30, odd), 422, "label"},
		"repetition":              {`odd{kind=~"` + strings.Repeat(".{999}", 11) + `"}`, 400, "regular expression"},
		"repetition just":         {`odd{kind=~"` + strings.Repeat(".{999}", 9) + `"}`, 200, ""},
		"repetitions":             {`odd{kind=~".{999}"` + strings.Repeat(`,kind!~".{999}"`, 20) + `}`, 400, "regular expression"},
		"nested repetition":       {`odd{kind=~"(a{1000}){1000}"}`, 400, "repeat"},
		"repetition of a word":    {`odd{kind=~"(` + strings.Repeat("a", 100) + `){900}"}`, 400, "regular expression"},
		"classes":                 {`odd{kind=~"` + strings.Repeat(`\\pL`, 15_000) + `"}`, 400, "regular expression"},
		"many words":              {`odd{kind=~"` + strings.Repeat("word|", 12_000) + `small"}`, 200, ""},
		"repetition of a label":   {`label_replace(odd,"a","b","kind","` + strings.Repeat(".{999}", 11) + `")`, 400, "regular expression"},
	} {
		t.Run(name, func(t *testing.T) {
			for path, query := range map[string]string{
				"/api/v1/query":       fmt.Sprintf("time=%d&", apitest.Epoch+3600),
				"/api/v1/query_range": fmt.Sprintf("start=%d&end=%d&step=1&", apitest.Epoch+3600, apitest.Epoch+3601),
			} {
				if path == "/api/v1/query_range" && strings.HasSuffix(name, "just") && tt.code == 200 {
					continue // two steps are more than one
				}
				r := apitest.Ask(t, http.MethodPost, base, path, query+"query="+url.QueryEscape(tt.expr))
				checkRefusal(t, path, r, tt.code, tt.want)
			}
			code := tt.code
			if code == http.StatusUnprocessableEntity || strings.HasPrefix(tt.expr, "label_replace") {
				code = http.StatusOK // its result matters only if it is evaluated
			}
			for _, path := range []string{"/api/v1/parse_query", "/api/v1/query_exemplars"} {
				if r := apitest.Ask(t, http.MethodPost, base, path, "start=1&end=2&query="+url.QueryEscape(tt.expr)); r.Code != http.StatusNoContent {
					checkRefusal(t, path, r, code, tt.want)
					if !strings.Contains(fmt.Sprint(r.Body), "parse error") { // the error says where
						checkRefusal(t, path, r, code, `"query"`)
					}
				}
			}
			if r := apitest.Ask(t, http.MethodPost, base, "/api/v1/format_query", "query="+url.QueryEscape(tt.expr)); r.Code != http.StatusUnprocessableEntity {
				checkRefusal(t, "/api/v1/format_query", r, code, tt.want)
			}
		})
	}
}

// checkRefusal checks the status of an answer. If it is an error, its text must be short and contain what is wanted.
func checkRefusal(t *testing.T, path string, r apitest.Reply, code int, want string) {
	t.Helper()
	text := fmt.Sprint(r.Body)
	if r.Code != code || code != http.StatusOK && (!strings.Contains(text, want) || len(text) > 3000) {
		t.Errorf("%s: %d %.300s, want %d %q", path, r.Code, text, code, want)
	}
}

// TestFormatBounds refuses to format what would take too long, which is far less than what can be evaluated.
func TestFormatBounds(t *testing.T) {
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{})
	for name, tt := range map[string]struct {
		expr string
		code int
	}{
		"parentheses": {nested(500, "(", "1", ")"), 200},
		"many":        {"1" + strings.Repeat("+"+nested(500, "(", "1", ")"), 60), 422},
		"chain":       {"1" + strings.Repeat("+1", 300), 200},
		"long chain":  {"1" + strings.Repeat("+1", 4000), 422},
	} {
		r := apitest.Ask(t, http.MethodPost, base, "/api/v1/format_query", "query="+url.QueryEscape(tt.expr))
		checkRefusal(t, name, r, tt.code, "format")
	}
}

// TestHostileSelectors refuses selectors that would take a process down.
func TestHostileSelectors(t *testing.T) {
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{})
	paths := []string{"/api/v1/series", "/api/v1/labels", "/api/v1/label/kind/values", "/federate", "/api/v1/rules"}
	for name, tt := range map[string]struct {
		selectors []string
		code      int
		want      string
	}{
		"long":        {[]string{`{kind="` + strings.Repeat("a", 64<<10) + `"}`}, 400, "at most 65536"},
		"repetition":  {[]string{`{kind=~"` + strings.Repeat(".{999}", 11) + `"}`}, 400, "regular expression"},
		"repetitions": {repeating(20), 400, "regular expression"},
		"brackets":    {[]string{strings.Repeat("(", 60_000)}, 400, "nested more than 500 deep"},
		"just":        {[]string{`{kind=~"` + strings.Repeat("word|", 12_000) + `small"}`, "odd"}, 200, ""},
	} {
		for _, path := range paths {
			if tt.code == http.StatusOK && path == "/federate" {
				continue
			}
			r := apitest.AskLong(t, base, path, url.Values{"match[]": tt.selectors}.Encode())
			checkRefusal(t, name+": "+path, r, tt.code, tt.want)
			if tt.code != http.StatusOK {
				checkRefusal(t, name+": "+path, r, tt.code, "match[]")
			}
		}
		if tt.want != "regular expression" {
			continue
		}
		q := &prompb.Query{StartTimestampMs: 1, EndTimestampMs: 2}
		for _, s := range tt.selectors {
			text := strings.TrimSuffix(strings.TrimPrefix(s, `{kind=~"`), `"}`)
			q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: prompb.LabelMatcher_RE, Name: "kind", Value: text})
		}
		if code, _, text := post(t, base, readRequest(t, prompb.ReadRequest_SAMPLES, q)); code != tt.code || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s: read: %d %s", name, code, text)
		}
	}
}

// repeating are selectors whose regular expressions are long.
func repeating(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`{kind=~".{%d}.+"}`, 900+i))
	}
	return list
}

// TestHostileNumbers refuses times, durations and limits that are no such thing, or that an engine would divide by.
func TestHostileNumbers(t *testing.T) {
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{})
	const ranged = "/api/v1/query_range?query=odd&"
	for _, tt := range []struct {
		target string
		want   string
	}{
		{ranged + "start=1&end=1&step=1e-9", "step"},
		{ranged + "start=1&end=1&step=0.0009", "step"},
		{ranged + "start=1&end=1&step=NaN", "step"},
		{ranged + "start=1&end=1&step=Inf", "step"},
		{ranged + "start=1&end=1&step=-Inf", "step"},
		{ranged + "start=1&end=1&step=-1", "step"},
		{ranged + "start=1&end=1&step=0", "step"},
		{ranged + "start=NaN&end=1&step=1", "start"},
		{ranged + "start=1&end=NaN&step=1", "end"},
		{ranged + "start=1&end=Inf&step=1", "end"},
		{ranged + "start=1e300&end=1e300&step=1", "start"},
		{ranged + "start=-292273086-05-16T16:47:06Z&end=292277025-08-18T07:12:54.999999999Z&step=30d", "11,000"},
		{ranged + "start=-9e15&end=9e15&step=290y", "11,000"},
		{"/api/v1/query?query=odd&time=NaN", "time"},
		{"/api/v1/query?query=odd&time=Inf", "time"},
		{"/api/v1/query?query=odd&time=-1e19", "time"},
		{"/api/v1/query?query=odd&timeout=NaN", "timeout"},
		{"/api/v1/query?query=odd&timeout=-1", "timeout"},
		{"/api/v1/query?query=odd&timeout=0", "timeout"},
		{"/api/v1/query?query=odd&timeout=1e-9", "timeout"},
		{"/api/v1/query?query=odd&timeout=Inf", "timeout"},
		{"/api/v1/query?query=odd&lookback_delta=NaN", "lookback"},
		{"/api/v1/query?query=odd&lookback_delta=-1", "lookback"},
		{"/api/v1/query?query=odd&lookback_delta=1e-9", "lookback"},
		{"/api/v1/query?query=odd&limit=-1", "limit"},
		{"/api/v1/query?query=odd&limit=1e9", "limit"},
		{"/api/v1/query?query=odd&limit=NaN", "limit"},
		{"/api/v1/series?match[]=odd&start=NaN", "start"},
		{"/api/v1/labels?end=Inf", "end"},
		{"/api/v1/label/kind/values?start=1e300", "start"},
		{"/api/v1/query_exemplars?query=odd&start=NaN", "start"},
		{"/api/v1/metadata?limit=NaN", "limit"},
		{"/api/v1/query?query=limitk(1,odd)", "limitk() is experimental, and promcost does not evaluate it: use another function"},
	} {
		path, query, _ := strings.Cut(tt.target, "?")
		checkRefusal(t, tt.target, apitest.Ask(t, http.MethodGet, base, path, query), http.StatusBadRequest, tt.want)
	}
}

// TestExpressionsDrawMemory draws what the engine makes of an expression, before it is made.
func TestExpressionsDrawMemory(t *testing.T) {
	const mb = 1 << 20
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{Memory: memory.New(mb)})
	long := strings.Repeat("x", 50_000)
	for name, tt := range map[string]struct {
		expr string
		code int
	}{
		"labels":      {`label_replace({kind=~".+"},"a","` + long + `","kind",".*")`, 200},
		"many labels": {nested(6, `label_replace(`, `label_replace({kind=~".+"},"a","`+long+`","kind",".*")`, `,"b","$1","a","(.*)")`), 422},
		"steps":       {"max_over_time(vector(1)[1h:1s])", 200},
		"many steps":  {"max_over_time(vector(1)[1h:100ms])", 422},
	} {
		r := apitest.Ask(t, http.MethodPost, base, "/api/v1/query", fmt.Sprintf("time=%d&query=%s", apitest.Epoch+3600, url.QueryEscape(tt.expr)))
		if r.Code != tt.code || tt.code != http.StatusOK && !strings.Contains(fmt.Sprint(r.Body), "--query.max-memory") {
			t.Errorf("%s: %d %.300s, want %d", name, r.Code, fmt.Sprint(r.Body), tt.code)
		}
	}
}

// TestLongInputIsNotEchoed answers briefly, whatever long input an error or a warning quotes.
func TestLongInputIsNotEchoed(t *testing.T) {
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{})
	long := strings.Repeat("x", 60_000)
	for _, tt := range []struct{ path, query string }{
		{"/api/v1/" + long, ""},
		{"/api/v1/query", "query=1&stats=" + long},
		{"/api/v1/query", "query=1&time=" + long},
		{"/api/v1/query", "query=1&timeout=" + long},
		{"/api/v1/query", "query=1&limit=" + long},
		{"/api/v1/query", "query=1&lookback_delta=" + long},
		{"/api/v1/query", "query=" + long + "+" + long},
		{"/api/v1/query", "query=rate(" + long + ")"},
		{"/api/v1/query", "query=" + url.QueryEscape(`label_replace(odd,"`+long+`\xff","","kind","")`)},
		{"/api/v1/query", "query=" + url.QueryEscape(`label_replace(odd,"a","","kind","(`+long+`")`)},
		{"/api/v1/query_range", "query=1&start=1&end=2&step=" + long},
		{"/api/v1/format_query", "query=" + long + "("},
		{"/api/v1/series", "match[]=" + long + "("},
		{"/api/v1/label/%FF" + long + "/values", ""},
		{"/api/v1/rules", "type=" + long},
		{"/federate", "match[]=" + long + "("},
	} {
		r := apitest.Ask(t, http.MethodGet, base, tt.path, tt.query)
		if text := fmt.Sprint(r.Body); len(text) > 3000 || r.Code == http.StatusOK && !strings.Contains(tt.query, "stats=") {
			t.Errorf("%.40s?%.40s: %d, %d bytes: %.100s", tt.path, tt.query, r.Code, len(text), text)
		}
	}
}
