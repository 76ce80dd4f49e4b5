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
