package webserver_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
)

// TestOwnSecurityHeaders keeps what the web configuration or a page says.
func TestOwnSecurityHeaders(t *testing.T) {
	page := webserver.Secured(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	w := httptest.NewRecorder()
	w.Header().Set("Content-Security-Policy", "default-src 'self'")
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if got := w.Header().Values("Content-Security-Policy"); len(got) != 1 || got[0] != "default-src 'self'" {
		t.Errorf("%q", got)
	}
}
