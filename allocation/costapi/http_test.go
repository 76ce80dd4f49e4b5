package costapi_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/promcost/promcost/allocation/costapi"
)

func TestForms(t *testing.T) {
	form := url.Values{"aggregate": {"namespace"}, "filter": {`namespace:"web"`}}.Encode()
	for _, tc := range []struct {
		name, method, kind, target, body string
		status                           int
		want                             string
	}{
		{"form", "POST", "application/x-www-form-urlencoded", "/allocation?window=1d", form, 200, `"web":`},
		{"form with a character set", "POST", "application/x-www-form-urlencoded; charset=UTF-8", "/allocation?window=1d", form, 200, `"web":`},
		{"no content type", "POST", "", "/allocation?window=1d", form, 200, `"web":`},
		{"JSON", "POST", "application/json", "/allocation?window=1d", "{}", 415, "application/x-www-form-urlencoded"},
		{"malformed type", "POST", ";", "/allocation?window=1d", "", 415, "application/x-www-form-urlencoded"},
		{"malformed form", "POST", "", "/allocation?window=1d", "a=%zz", 400, "malformed form"},
		{"too long", "POST", "", "/allocation?window=1d", strings.Repeat("x", 1<<20+1), 413, "longer than 1048576 bytes"},
		{"given in both", "POST", "", "/allocation?window=1d", "window=2d", 400, "give it once"},
		{"malformed query", "GET", "", "/allocation?window=1d&filter=%zz", "", 400, "malformed query"},
		{"semicolon", "GET", "", "/allocation?window=1d;x=y", "", 400, "%3B"},
		{"method", "DELETE", "", "/allocation?window=1d", "", 405, "use GET"},
		{"raw quotes", "GET", "", `/allocation?window=1d&aggregate=namespace&filter=namespace:"web"`, "", 200, `"web":`},
		{"plus of a URL is AND", "GET", "", `/allocation?window=1d&aggregate=namespace&filter=cluster:"one"+namespace:"web"`, "", 200, `"web":`},
		{"slash at the end", "GET", "", "/allocation/?window=1d", "", 200, `"data":[`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "/", strings.NewReader(tc.body))
			path, query, _ := strings.Cut(tc.target, "?")
			r.URL = &url.URL{Path: path, RawQuery: query}
			if tc.kind != "" {
				r.Header.Set("Content-Type", tc.kind)
			}
			w := do(newHandler(&fake{}, costapi.Config{}), r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("status %d, want %d with %s: %s", w.Code, tc.status, tc.want, w.Body)
			}
			if tc.status >= 400 {
				checkError(t, w, tc.status)
			}
			if strings.Contains(w.Body.String(), `"batch":`) && strings.Contains(tc.target+tc.body, "filter") {
				t.Error("the filter was lost")
			}
		})
	}
}

// TestBrokenBody verifies that a body which breaks off is the client's error.
func TestBrokenBody(t *testing.T) {
	body := io.MultiReader(strings.NewReader("window=1d"), iotest.ErrReader(errors.New("invalid byte in chunk length")))
	w := do(newHandler(&fake{}, costapi.Config{}), httptest.NewRequest(http.MethodPost, "/allocation", body))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "invalid byte in chunk length: send the whole form") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestCompression(t *testing.T) {
	plain := get(newHandler(&fake{}, costapi.Config{}), "/allocation", "window=1d").Body.String()
	for _, tc := range []struct{ accept, want string }{
		{"", ""},
		{"gzip", "gzip"},
		{"deflate, gzip;q=0.5", "gzip"},
		{"GZIP", "gzip"},
		{"*", "gzip"},
		{"gzip;q=0", ""},
		{"gzip; q=0.0, *", ""},
		{"br", ""},
		{"gzip;q=x", ""},
		{", ;q=1", ""},
		{", gzip;q=0.5,", "gzip"},
		{"zstd", "zstd"},
		{"gzip, deflate, br, zstd", "zstd"},
		{"zstd;q=0.5, gzip", "gzip"},
		{"zstd;q=0, gzip;q=0.1", "gzip"},
		{"zstd, *;q=0.1", "zstd"},
	} {
		t.Run(tc.accept, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/allocation?window=1d", nil)
			r.Header.Set("Accept-Encoding", tc.accept)
			w := do(newHandler(&fake{}, costapi.Config{}), r)
			if got := w.Header().Get("Content-Encoding"); got != tc.want {
				t.Fatalf("compressed by %q, want %q", got, tc.want)
			}
			if w.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("Vary %q", w.Header().Get("Vary"))
			}
			body := io.Reader(w.Body)
			var err error
			switch tc.want {
			case "gzip":
				body, err = gzip.NewReader(w.Body)
			case "zstd":
				body, err = zstd.NewReader(w.Body)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(body)
			if err != nil || string(got) != plain {
				t.Errorf("got %v, %s", err, got)
			}
		})
	}
}
