package billing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/billing"
)

// TestForms are ways to write a file of one charge on October 1st with a tag, as exporters and extracts have them, and ways that
// say nothing certain.
func TestForms(t *testing.T) {
	line := func(start, end, tags string) string {
		return "payer,2026-10-01 00:00:00,2026-11-01,USD,sub,AWS,EC2,Usage," + start + "," + end + ",1,1,i-1,\"" + strings.ReplaceAll(tags, `"`, `""`) + "\"\n"
	}
	const object = `{"team":"web"}`
	quoted := `"` + strings.ReplaceAll(strings.TrimSpace(header), ",", `","`) + "\"\n"
	for _, tt := range []struct{ name, file, warning string }{
		{"RFC 3339", header + line("2026-10-01T00:00:00Z", "2026-10-01T01:00:00Z", object), ""},
		{"without a zone", header + line("2026-10-01T00:00:00", "2026-10-01 01:00:00", object), ""},
		{"with an offset", header + line("2026-10-01T02:00:00+02:00", "2026-09-30T19:00:00-06:00", object), ""},
		{"BigQuery", header + line("2026-10-01 00:00:00 UTC", "2026-10-01 01:00:00.000000 UTC", `[{"key":"team","value":"web","inherited":false,"namespace":null}]`), ""},
		{"a mark of the byte order", "\ufeff" + header + line("2026-10-01T00:00:00Z", "2026-10-01T01:00:00Z", object), ""},
		{"the mark before a quote", "\ufeff" + quoted + line("2026-10-01T00:00:00Z", "2026-10-01T01:00:00Z", object), ""},
		{"lines of Windows", strings.ReplaceAll(header+line("2026-10-01T00:00:00Z", "2026-10-01T01:00:00Z", object), "\n", "\r\n"), ""},
		{"another zone by name", header + line("2026-10-01 00:00:00 PST", "2026-10-01T01:00:00Z", object), `row 2, column ChargePeriodStart: "2026-10-01 00:00:00 PST" is not a time`},
		{"tags that are a list of texts", header + line("2026-10-01T00:00:00Z", "2026-10-01T01:00:00Z", `["team"]`), `row 2, column Tags: "[\"team\"]" is not a list of objects with key and value`},
		{"tags that are a text", header + line("2026-10-01T00:00:00Z", "2026-10-01T01:00:00Z", `team`), `row 2, column Tags: "team" is not an object of JSON`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "a/1.csv", tt.file, 0)
			b := look(t, newIntake(bucketOf(t, dir)))
			if got := strings.Join(b.Warnings(), "\n"); tt.warning == "" && got != "" || !strings.Contains(got, tt.warning) {
				t.Fatalf("warnings %q, want %q", got, tt.warning)
			}
			lines := 0
			start := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
			err := b.Read(t.Context(), always, func(l *billing.Line) error {
				if lines++; !l.Start.Equal(start) || !l.End.Equal(start.Add(time.Hour)) || l.Tags.Get("team") != "web" {
					t.Errorf("%v to %v with %v", l.Start, l.End, l.Tags)
				}
				return nil
			})
			if err != nil || (lines == 1) != (tt.warning == "") {
				t.Errorf("%d lines: %v", lines, err)
			}
		})
	}
}
