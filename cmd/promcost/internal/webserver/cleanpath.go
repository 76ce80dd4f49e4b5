package webserver

import (
	"net/http"
	"path"
	"strings"
)

// CleanPath redirects a path with empty or relative parts to the path without them. A mux does so too, but escapes it twice.
func CleanPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.EscapedPath()
		to := path.Clean("/" + given)
		if strings.HasSuffix(given, "/") && to != "/" {
			to += "/"
		}
		if to == given {
			next.ServeHTTP(w, r)
			return
		}
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	})
}
