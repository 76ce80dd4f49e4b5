package billing

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cellError says where a file is wrong.
type cellError struct {
	row    int64 // from 1, the header of CSV counted; 0 if unknown
	column string
	err    error
}

// Error names the row and the column.
func (e *cellError) Error() string {
	return fmt.Sprintf("row %d, column %s: %v", e.row, e.column, e.err)
}

// Unwrap returns the cause.
func (e *cellError) Unwrap() error { return e.err }

var errNull = errors.New("it is empty")

// isNull reports whether a text stands for no value. Some exporters write NULL.
func isNull(text string) bool { return text == "" || text == "NULL" || text == "null" }

// timeForms are the forms of times, besides those that parseCommonTime reads. Without a zone they are UTC, which is the only one
// whose name BigQuery writes.
var timeForms = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 UTC",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// parseTime reads a time as Unix milliseconds.
func parseTime(text string) (int64, error) {
	if millis, ok := parseCommonTime(text); ok {
		return millis, nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return checkTime(t.UnixMilli())
		}
	}
	return 0, fmt.Errorf("%q is not a time: want one such as 2026-10-01T00:00:00Z", short(text))
}

// The years that times of bills lie in.
var (
	earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

// checkTime refuses times that no bill can have, such as those in another unit.
func checkTime(millis int64) (int64, error) {
	if millis < earliest || millis > latest {
		return 0, fmt.Errorf("%s is no time of a bill", time.UnixMilli(millis).UTC().Format(time.RFC3339))
	}
	return millis, nil
}

// parseCommonTime reads the two forms that exporters write: 2006-01-02T15:04:05Z and 2006-01-02 15:04:05.
func parseCommonTime(text string) (millis int64, ok bool) {
	if len(text) == len("2006-01-02T15:04:05Z") && text[19] == 'Z' && text[10] == 'T' {
		text = text[:19]
	}
	if len(text) != len("2006-01-02 15:04:05") || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':' || text[10] != ' ' && text[10] != 'T' {
		return 0, false
	}
	var parts [6]int
	for i, at := range [...][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		for _, c := range []byte(text[at[0]:at[1]]) {
			if c < '0' || c > '9' {
				return 0, false
			}
			parts[i] = parts[i]*10 + int(c-'0')
		}
	}
	if parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 28 || parts[3] > 23 || parts[4] > 59 || parts[5] > 59 {
		return 0, false // the library knows how long months are
	}
	millis = time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5], 0, time.UTC).UnixMilli()
	return millis, millis >= earliest && millis <= latest
}

// parseNumber reads a number; what stands for no value is NaN.
func parseNumber(text string) (float64, error) {
	if isNull(text) {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v-v != 0 {
		return 0, fmt.Errorf("%q is not a number", short(text))
	}
	return v, nil
}

// short cuts a text for errors.
func short(text string) string {
	const most = 40
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// parseTags reads tags from JSON: an object whose values are texts, numbers or booleans, or a list of objects with key and value,
// as BigQuery writes Google's. A value of null is an empty text.
func parseTags(text string) (Tags, error) {
	values := map[string]any{}
	if strings.HasPrefix(strings.TrimLeft(text, " "), "[") {
		var pairs []struct {
			Key   string `json:"key"`
			Value any    `json:"value"`
		}
		if err := json.Unmarshal([]byte(text), &pairs); err != nil {
			return nil, fmt.Errorf("%q is not a list of objects with key and value, or an object of JSON, which tags are", short(text))
		}
		for _, p := range pairs {
			values[p.Key] = p.Value
		}
	} else if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, fmt.Errorf("%q is not an object of JSON, which tags are", short(text))
	}
	tags := make(Tags, 0, len(values))
	for name, value := range values {
		switch v := value.(type) {
		case nil:
			tags = append(tags, Tag{name, ""})
		case string:
			tags = append(tags, Tag{name, v})
		case bool:
			tags = append(tags, Tag{name, strconv.FormatBool(v)})
		case float64:
			tags = append(tags, Tag{name, strconv.FormatFloat(v, 'f', -1, 64)})
		default:
			return nil, fmt.Errorf("tag %q is not a text", short(name))
		}
	}
	slices.SortFunc(tags, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	return tags, nil
}

// text writes tags as JSON that parseTags reads, empty for none.
func (t Tags) text() string {
	if len(t) == 0 {
		return ""
	}
	values := make(map[string]string, len(t))
	for _, tag := range t {
		values[tag.Name] = tag.Value
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic("BUG: encode tags: " + err.Error())
	}
	return string(text)
}

// provider returns the short name of a provider that several write in several ways.
func provider(text string) string {
	lower := strings.ToLower(text)
	for _, p := range [...]struct{ begins, name string }{
		{"aws", "AWS"}, {"amazon", "AWS"}, {"microsoft", "Azure"}, {"azure", "Azure"}, {"google", "GCP"}, {"gcp", "GCP"},
	} {
		if strings.HasPrefix(lower, p.begins) {
			return p.name
		}
	}
	return text
}

// vmName returns the VMName of Azure's x_SkuDetails, which are JSON; other text is the name itself, as stored files have it.
func vmName(text string) string {
	if !strings.HasPrefix(text, "{") {
		return text
	}
	var details struct {
		VMName string `json:"VMName"`
	}
	if json.Unmarshal([]byte(text), &details) != nil {
		return ""
	}
	return details.VMName
}
