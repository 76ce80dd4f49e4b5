package main

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/alecthomas/kingpin/v2"
)

// addCORSFlag adds the flag that says which pages of other origins may read answers, as Prometheus has it.
func addCORSFlag(clause *kingpin.CmdClause, origin **regexp.Regexp) {
	addFlag(clause, "web.cors.origin", "Regular expression of the origins whose pages may read answers of the APIs (CORS), such as https?://(one|two)\\.example\\.com. It is fully anchored.", func(text string) error {
		re, err := regexp.Compile("^(?s:" + text + ")$")
		if err != nil {
			return fmt.Errorf("%w: give a regular expression such as https://grafana\\.example\\.com", err)
		}
		*origin = re
		return nil
	}).Default(".*").PlaceHolder("REGEX")
}

// corsHeaders are the headers that Prometheus sends for pages of other origins.
var corsHeaders = [...][2]string{
	{"Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Origin"},
	{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
	{"Access-Control-Expose-Headers", "Date"},
}

// crossOrigin lets pages of the allowed origins read what next answers, and answers OPTIONS, which browsers ask before.
func crossOrigin(allowed *regexp.Regexp, next http.Handler) http.Handler {
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
