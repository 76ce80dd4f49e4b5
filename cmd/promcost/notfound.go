package main

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/dashboards/explorer"
	"github.com/promcost/promcost/promquery/promapi"
)

// ownPaths are the pages that are neither the API's nor Prometheus'. All but reload are only read.
func (f *webFlags) ownPaths() []string {
	paths := []string{"/", "/-/healthy", "/-/ready", reloadPath, "/dashboards/", faviconPath, "/metrics", explorer.Root, linksPath}
	if f.pprof {
		paths = append(paths, profilesPath)
	}
	if f.mcp {
		paths = append(paths, mcpPath)
	}
	return paths
}

// missing answers that a path is not there, and which one may have been meant.
func (f *webFlags) missing() http.Handler {
	own := f.ownPaths()
	known := slices.Concat(costapi.Paths(), promapi.Paths(), own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prefix := ""
		if f.prefix != "" && strings.HasPrefix(r.RequestURI, f.prefix+"/") {
			prefix = f.prefix
		}
		if slices.Contains(own, r.URL.Path) { // the path exists, but not for this method
			w.Header().Set("Allow", "GET, HEAD")
			failPage(w, r, http.StatusMethodNotAllowed, fmt.Sprintf("method %s is not allowed on path %s: use GET", r.Method, prefix+r.URL.Path), "")
			return
		}
		notFound(w, r, prefix, known)
	})
}

// notFound answers that a path is not among the known ones, which are below a prefix.
func notFound(w http.ResponseWriter, r *http.Request, prefix string, known []string) {
	for path, flag := range map[string]string{profilesPath: "--web.enable-pprof", mcpPath + "/": "--web.enable-mcp"} {
		if strings.HasPrefix(r.URL.Path+"/", path) && !slices.Contains(known, strings.TrimSuffix(path, "/")) && !slices.Contains(known, path) {
			failPage(w, r, http.StatusNotFound, fmt.Sprintf("path %.200q is switched off: start promcost with %s", prefix+r.URL.Path, flag), "")
			return
		}
	}
	message := fmt.Sprintf("unknown path %.200q: %s%s links the pages, %[2]s/openapi.json has the paths of the API", prefix+r.URL.Path, prefix, linksPath)
	link := prefix + "/"
	if near := caret.NearestPath(strings.TrimSuffix(r.URL.Path, "/"), known); near != "" {
		link = prefix + near
		message = fmt.Sprintf("unknown path %.200q: did you mean %s?", prefix+r.URL.Path, link)
	}
	failPage(w, r, http.StatusNotFound, message, link)
}

// otherHost answers a request to a host name that is none of promcost's.
func otherHost(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	failPage(w, r, http.StatusMisdirectedRequest, fmt.Sprintf("host %.200q is not known to be this promcost: if it is, start promcost with --web.allowed-hosts=%.200s", r.Host, host), "")
}

// failPage answers with an error: a browser gets a page, with a link if there is one, all other clients the API's form.
func failPage(w http.ResponseWriter, r *http.Request, code int, message, link string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = encode.Error(w, code, message) // a client that has gone needs no answer
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintf(w, "<!DOCTYPE html>\n<title>promcost: %[1]s</title>\n<h1>%[1]s</h1>\n<p>%[2]s</p>\n", http.StatusText(code), html.EscapeString(message))
	if link != "" {
		fmt.Fprintf(w, "<p><a href=\"%[1]s\">%[1]s</a></p>\n", html.EscapeString(link))
	}
}
