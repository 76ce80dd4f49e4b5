package webserver

import (
	"net/http"
	"regexp"
)

// corsHeaders are the headers that Prometheus sends for pages of other origins.
var corsHeaders = [...][2]string{
	{"Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Origin"},
	{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
	{"Access-Control-Expose-Headers", "Date"},
}

// CrossOrigin lets pages of the allowed origins read what next answers, and answers OPTIONS, which browsers ask before.
func CrossOrigin(allowed *regexp.Regexp, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" {
			for _, header := range corsHeaders {
				h.Set(header[0], header[1])
			}
			if allowed.MatchString(origin) {
				h.Set("Access-Control-Allow-Origin", origin)
			}
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
