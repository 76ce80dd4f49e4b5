package webserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOneProfileAtATime(t *testing.T) {
	var p Profiles
	p.taking.Lock()
	for _, path := range []string{"/debug/pprof/profile", "/debug/pprof/trace", "/debug/pprof/"} {
		rec := httptest.NewRecorder()
		p.Routes()[path].ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path+"?seconds=1", nil))
		if rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), "ask again") {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}
