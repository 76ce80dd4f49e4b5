package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nasty is a name that would clear a terminal, forge a row, turn the direction of text and set the title, in JSON.
const nasty = `a\u001b[2Jb\nTOTAL 0\r\u202ec\u009b1m\u001b]0;t\u0007`

// TestNamesOnTerminals prints answers whose names, warnings and messages have what terminals obey: people see it, and no terminal gets it.
func TestNamesOnTerminals(t *testing.T) {
	const window = `"window":{"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/getConfigs"):
			fmt.Fprint(w, `{"code":200,"data":{"currencyCode":"EUR"}}`)
		case r.URL.Query().Get("window") == "2d":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"code":400,"message":"`+nasty+`"}`)
		case strings.HasSuffix(r.URL.Path, "/change"):
			row := `{"name":"` + nasty + `","baseline":1,"cost":2,"change":1,"effects":{}}`
			fmt.Fprint(w, `{"code":200,"warnings":["`+nasty+`"],"data":{`+window+`,"baselineWindow":{"start":"2026-01-30T00:00:00Z","end":"2026-01-30T10:00:00Z"},"total":`+row+`,"rows":[`+row+`]}}`)
		default:
			fmt.Fprint(w, `{"code":200,"warnings":["`+nasty+`"],"data":[{"x":{"name":"`+nasty+`",`+window+`,"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z","minutes":600,"cpuCost":2}}]}`)
		}
	}))
	defer server.Close()
	saved := filepath.Join(t.TempDir(), "saved.json")
	if err := os.WriteFile(saved, []byte(`{"code":200,"data":[{"x":{"name":"`+nasty+`",`+window+`,"minutes":600,"cpuCost":2}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"query", "allocation", "--server=" + server.URL, "--window=1d"},
		{"query", "allocation", "--server=" + server.URL, "--window=2d"},
		{"query", "change", "--server=" + server.URL, "--window=1d"},
		{"query", "change", "--server=" + server.URL, "--window=2d"},
		{"query", "allocation", "--server=" + server.URL, "--window=1d", "--aggregate=\x1b[2J\u202e"},
		{"filter", "--input=" + saved, `cpuCost:"x`},
		{"filter", "--input=\x1b[2J\u202e", `namespace:"a"`},
		{"nothing\x1b[2J\u202e"},
		{"query", "allocation", "--no\x1b[2Jsuch"},
	} {
		var out, stderr bytes.Buffer
		run(t.Context(), args, &out, &stderr)
		all := out.String() + stderr.String()
		if strings.ContainsAny(all, "\x1b\r\a\u202e\u009b") {
			t.Errorf("%q sends what terminals obey: %q", args, all)
		}
		if strings.HasPrefix(all, "TOTAL 0") || strings.Count(out.String(), "\nTOTAL 0") > 0 {
			t.Errorf("%q: a name forges a row: %s", args, all)
		}
		if !strings.Contains(all, `\u001b`) && !strings.Contains(all, `\x1b`) && args[0] != "filter" {
			t.Errorf("%q does not show what is there: %q", args, all)
		}
	}
}
