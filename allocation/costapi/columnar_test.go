package costapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestColumnar checks the formats of binary columns by how they begin and end; encode's tests read them.
func TestColumnar(t *testing.T) {
	for _, path := range []string{"/model/allocation/compute?step=1h&aggregate=namespace", "/model/allocation/compute?accumulate=true", "/model/assets?", "/assets?"} {
		for format, want := range map[string][3]string{
			"parquet": {"application/vnd.apache.parquet", "PAR1", "PAR1"},
			"arrow":   {"application/vnd.apache.arrow.stream", "\xff\xff\xff\xff", "\xff\xff\xff\xff\x00\x00\x00\x00"},
		} {
			got := ask(t, path+"&window=3h&format="+format)
			body := got.Body.String()
			if got.Code != http.StatusOK || got.Header().Get("Content-Type") != want[0] || !strings.HasPrefix(body, want[1]) || !strings.HasSuffix(body, want[2]) {
				t.Errorf("%s: %s: %d %s: %.200q", path, format, got.Code, got.Header().Get("Content-Type"), body)
			}
		}
	}
}

// TestFileNames checks what browsers save answers as that are files.
func TestFileNames(t *testing.T) {
	for target, want := range map[string]string{
		"/model/allocation/compute?window=3h&format=csv":                                        `attachment; filename="allocation-3h.csv"`,
		"/allocation?window=3h&format=csv":                                                      `attachment; filename="allocation-3h.csv"`,
		"/model/allocation?window=yesterday&format=parquet":                                     `attachment; filename="allocation-yesterday.parquet"`,
		"/model/allocation/compute?window=3h&format=arrow":                                      `attachment; filename="allocation-3h.arrows"`,
		"/model/assets?window=3h&format=csv":                                                    `attachment; filename="assets-3h.csv"`,
		"/model/assets?window=3h&format=arrow":                                                  `attachment; filename="assets-3h.arrows"`,
		"/assets?window=3h&format=parquet":                                                      `attachment; filename="assets-3h.parquet"`,
		"/v2/allocation?window=24h&format=csv":                                                  `attachment; filename="allocation-24h.csv"`,
		"/model/allocation/compute?window=2026-03-01T00:00:00Z,2026-03-02T00:00:00Z&format=csv": `attachment; filename="allocation-2026-03-01T00_00_00Z_2026-03-02T00_00_00Z.csv"`,
		"/model/allocation/compute?window=3h":                                                   "",
	} {
		if got := ask(t, target).Header().Get("Content-Disposition"); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}
