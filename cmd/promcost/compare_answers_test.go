package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/golang/snappy"
	"github.com/parquet-go/parquet-go"
	"github.com/prometheus/prometheus/prompb"
)

// leaf is a value of an answer, and where it stands.
type leaf struct{ path, value string }

// comparedAnswer is what came back.
type comparedAnswer struct {
	status int
	header http.Header
	body   []byte
}

// mediaType is the type of the body, without parameters.
func (a *comparedAnswer) mediaType() string {
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// leafReaders read the formats of answers.
var leafReaders = map[string]func([]byte) ([]leaf, error){
	"application/json":                    jsonLeaves,
	"text/csv":                            csvLeaves,
	"application/vnd.apache.arrow.stream": arrowLeaves,
	"application/vnd.apache.parquet":      parquetLeaves,
	"application/openmetrics-text":        metricLeaves,
	"text/plain":                          metricLeaves,
	"application/x-protobuf":              remoteReadLeaves,
}

// leaves are the values of the answer to a request of path, in their order. Pages for people have none.
func (a *comparedAnswer) leaves(path string) ([]leaf, error) {
	read := leafReaders[a.mediaType()]
	if read == nil || path == "/healthz" || strings.HasPrefix(path, "/-/") {
		return nil, nil
	}
	list, err := read(a.body)
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for _, l := range list {
		if l.value, err = comparedValue(path, l); err == nil {
			kept = append(kept, l)
		}
	}
	return kept, nil
}

// uncompared are values that may differ: texts for people, timings, and what the flags of the two servers say. A value that is
// left out is not compared at all; a text has to be there in both.
var uncompared = []struct {
	request, leaf *regexp.Regexp
	leftOut       bool
}{
	{regexp.MustCompile(``), regexp.MustCompile(`^\.(warnings|infos)\[\d+\]$|^\.(message|error)$`), false},
	{regexp.MustCompile(``), regexp.MustCompile(`^\.explain\b`), true},
	{regexp.MustCompile(`^/model/diagnose$`), regexp.MustCompile(`[sS]econds$`), true},
	{regexp.MustCompile(`^/openapi.json$`), regexp.MustCompile(`\.(description|summary|version)$`), false},
	{regexp.MustCompile(`metadata$`), regexp.MustCompile(`\.help$`), false},
	{regexp.MustCompile(`^/api/v1/query`), regexp.MustCompile(`^\.data\.stats\.timings\b`), true},
	{regexp.MustCompile(`/status/(buildinfo|runtimeinfo)$`), regexp.MustCompile(``), true},
	{regexp.MustCompile(`/status/config$`), regexp.MustCompile(`\.yaml$`), false},
	{regexp.MustCompile(`/status/flags$`), regexp.MustCompile(`\.(storage\.path|config\.file|web\.listen-address)$`), false},
	{regexp.MustCompile(`^/metrics$`), regexp.MustCompile(`^(TYPE )?(go_|process_|promhttp_|opencost_build_info|promcost_(build_info|config_|computation_|http_|source_|memory_|price_age_|store_last_write_))`), true},
}

// comparedValue is a leaf's value for comparison; an error if it is left out.
func comparedValue(path string, l leaf) (string, error) {
	for _, u := range uncompared {
		switch {
		case !u.request.MatchString(path) || !u.leaf.MatchString(l.path):
		case u.leftOut:
			return "", io.EOF
		default:
			return "(text)", nil
		}
	}
	return l.value, nil
}

// hasRows reports whether an answer has any rows.
func hasRows(list []leaf) bool {
	return slices.ContainsFunc(list, func(l leaf) bool {
		named := strings.HasPrefix(l.path, ".") && !strings.HasPrefix(l.path, ".data") || l.path == ".data.resultType" || l.path == ".data.step"
		column := strings.HasPrefix(l.path, "TYPE ") || strings.HasPrefix(l.path, "schema") || l.path == "header"
		return !named && !column && l.value != "null" && l.value != "{}" && l.value != "[]"
	})
}

func jsonLeaves(body []byte) ([]leaf, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return appendJSON(nil, d, "")
}

// appendJSON appends the leaves of the next value.
func appendJSON(list []leaf, d *json.Decoder, path string) ([]leaf, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		before := len(list)
		for i := 0; d.More(); i++ {
			at := fmt.Sprintf("%s[%d]", path, i)
			if token == '{' {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				at = fmt.Sprintf("%s.%s", path, key)
			}
			if list, err = appendJSON(list, d, at); err != nil {
				return nil, err
			}
		}
		end, err := d.Token()
		if err == nil && len(list) == before {
			list = append(list, leaf{path, fmt.Sprintf("%s%s", token, end)})
		}
		return list, err
	case nil:
		return append(list, leaf{path, "null"}), nil
	case string:
		return append(list, leaf{path, strconv.Quote(token)}), nil
	}
	return append(list, leaf{path, fmt.Sprint(token)}), nil
}

func csvLeaves(body []byte) ([]leaf, error) {
	rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	list := []leaf{{"header", strings.Join(rows[0], ",")}}
	for i, row := range rows[1:] {
		for c, value := range row {
			list = append(list, leaf{fmt.Sprintf("row[%d].%s", i, rows[0][c]), value})
		}
	}
	return list, nil
}

func arrowLeaves(body []byte) ([]leaf, error) {
	in, err := ipc.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer in.Release()
	var list []leaf
	for i, key := range in.Schema().Metadata().Keys() {
		list = append(list, leaf{"schema " + key, in.Schema().Metadata().Values()[i]})
	}
	for _, f := range in.Schema().Fields() {
		list = append(list, leaf{"schema." + f.Name, f.Type.String()})
	}
	n := 0
	for in.Next() {
		batch := in.RecordBatch()
		for row := range int(batch.NumRows()) {
			for c, column := range batch.Columns() {
				list = append(list, leaf{fmt.Sprintf("row[%d].%s", n, batch.ColumnName(c)), column.ValueStr(row)})
			}
			n++
		}
	}
	return list, in.Err()
}

func parquetLeaves(body []byte) ([]leaf, error) {
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, err
	}
	list := []leaf{{"schema", file.Schema().String()}}
	columns := file.Schema().Columns()
	in := parquet.NewReader(file)
	defer in.Close()
	rows := make([]parquet.Row, 100)
	for n := 0; ; {
		read, err := in.ReadRows(rows)
		for _, row := range rows[:read] {
			seen := map[int]int{}
			for _, v := range row {
				c := v.Column()
				text := v.String()
				if v.Kind() == parquet.Double && !v.IsNull() {
					text = strconv.FormatFloat(v.Double(), 'g', -1, 64)
				}
				list = append(list, leaf{fmt.Sprintf("row[%d].%s[%d]", n, strings.Join(columns[c], "."), seen[c]), text})
				seen[c]++
			}
			n++
		}
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// metricLeaves are the samples of an exposition, and the types of the families.
func metricLeaves(body []byte) ([]leaf, error) {
	var list []leaf
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(text, " ")
			list = append(list, leaf{"TYPE " + name, kind})
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndex(line, "}") + 1
		if end == 0 {
			end = strings.IndexByte(line, ' ')
		}
		if end < 0 {
			return nil, fmt.Errorf("no sample: %.100q", line)
		}
		for i, field := range strings.Fields(line[end:]) { // the value, and the timestamp if there is one
			list = append(list, leaf{line[:end] + []string{"", " time"}[min(i, 1)], field})
		}
	}
	return list, nil
}

// remoteReadLeaves are the samples of an answer of remote read.
func remoteReadLeaves(body []byte) ([]leaf, error) {
	text, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, err
	}
	var answer prompb.ReadResponse
	if err := answer.Unmarshal(text); err != nil {
		return nil, err
	}
	var list []leaf
	for i, result := range answer.Results {
		for _, series := range result.Timeseries {
			for _, s := range series.Samples {
				list = append(list, leaf{fmt.Sprintf("result[%d]%v@%d", i, series.Labels, s.Timestamp), strconv.FormatFloat(s.Value, 'g', -1, 64)})
			}
		}
	}
	return list, nil
}

// Kinds of differences. Those of roundingKind are within the tolerance.
const (
	statusKind   = "status"
	typeKind     = "type"
	brokenKind   = "not readable"
	missingKind  = "missing"
	extraKind    = "extra"
	orderKind    = "order"
	numberKind   = "number"
	roundingKind = "rounding"
	textKind     = "text"
)

// difference is one between two answers.
type difference struct{ kind, path, base, changed string }

// String is for people.
func (d difference) String() string {
	text := fmt.Sprintf("%s: %s: base %.200s, changed %.200s", d.kind, d.path, d.base, d.changed)
	if x, y, ok := numbersOf(d.base, d.changed); ok {
		text += fmt.Sprintf(" (relative %.2g)", relative(x, y))
	}
	return text
}

// answerDifferences are the differences between two answers to a request of path, and whether the first has rows.
func answerDifferences(path string, a, b *comparedAnswer, tolerance float64) (list []difference, rows bool) {
	if a.status != b.status {
		return []difference{{statusKind, "", fmt.Sprintf("%d %s", a.status, a.body), fmt.Sprintf("%d %s", b.status, b.body)}}, false
	}
	if a.mediaType() != b.mediaType() {
		return []difference{{typeKind, "", a.mediaType(), b.mediaType()}}, false
	}
	base, err := a.leaves(path)
	if err != nil {
		return []difference{{brokenKind, "", err.Error(), ""}}, false
	}
	changed, err := b.leaves(path)
	if err != nil {
		return []difference{{brokenKind, "", "", err.Error()}}, false
	}
	return leafDifferences(base, changed, tolerance), a.status == http.StatusOK && hasRows(base)
}

// leafDifferences are the differences between two answers' values.
func leafDifferences(base, changed []leaf, tolerance float64) (list []difference) {
	values := make(map[string]string, len(changed))
	for _, l := range changed {
		values[l.path] = l.value
	}
	sameOrder := len(base) == len(changed)
	for i, l := range base {
		value, ok := values[l.path]
		delete(values, l.path)
		sameOrder = sameOrder && l.path == changed[i].path
		if !ok {
			list = append(list, difference{missingKind, l.path, l.value, ""})
		} else if kind := valueDifference(l.value, value, tolerance); kind != "" {
			list = append(list, difference{kind, l.path, l.value, value})
		}
	}
	for _, l := range changed {
		if _, ok := values[l.path]; ok {
			list = append(list, difference{extraKind, l.path, "", l.value})
		}
	}
	if len(list) == 0 && !sameOrder {
		for i, l := range base {
			if changed[i].path != l.path {
				return []difference{{orderKind, l.path, fmt.Sprintf("number %d", i), changed[i].path}}
			}
		}
	}
	return list
}

// valueDifference is the kind of the difference between two values, "" for none. Numbers are equal if all of their bits are.
func valueDifference(base, changed string, tolerance float64) string {
	if base == changed {
		return ""
	}
	x, y, ok := numbersOf(base, changed)
	switch {
	case !ok:
		return textKind
	case math.Float64bits(x) == math.Float64bits(y):
		return ""
	case relative(x, y) <= tolerance:
		return roundingKind
	}
	return numberKind
}

// numbersOf are the numbers that two texts are, which JSON may have in quotes.
func numbersOf(a, b string) (x, y float64, ok bool) {
	x, errA := strconv.ParseFloat(strings.Trim(a, `"`), 64)
	y, errB := strconv.ParseFloat(strings.Trim(b, `"`), 64)
	return x, y, errA == nil && errB == nil
}

// relative is how far apart two numbers are, by the larger of them.
func relative(x, y float64) float64 { return math.Abs(x-y) / max(math.Abs(x), math.Abs(y)) }
