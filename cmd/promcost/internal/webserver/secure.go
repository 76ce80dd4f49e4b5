package webserver

import "net/http"

// securityHeaders are the security headers of every answer: a browser loads nothing for it and runs nothing in it. A handler whose
// page needs more sets its own, and headers of --web.config.file stay.
var securityHeaders = [...][2]string{
	{"X-Content-Type-Options", "nosniff"},
	{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
}

// Secured sets the security headers.
func Secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, h := range securityHeaders {
			if w.Header().Get(h[0]) == "" {
				w.Header().Set(h[0], h[1])
			}
		}
		next.ServeHTTP(w, r)
	})
}
