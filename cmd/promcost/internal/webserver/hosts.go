package webserver

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Hosts are the host names that a server answers to. A page whose own name leads to this server (DNS rebinding) asks by that name,
// and would otherwise pass for a page of this server. Addresses, names of this machine, names without a dot and names of Services
// of Kubernetes always belong: no page elsewhere can have them. The zero value answers to no other.
type Hosts struct {
	names    []string // that were added, in lower case; .example.com stands for all names below it
	listened []string // of the addresses that are listened on
	any      bool
}

// always are the names that a server always answers to, beside addresses and names without a dot.
var always = Hosts{names: []string{".localhost", ".svc", ".svc.cluster.local"}}

// Add adds a name such as costs.example.com, all names below one as *.example.com, or * for any.
func (h *Hosts) Add(name string) error {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "*" {
		h.any = true
		return nil
	}
	rest := strings.TrimPrefix(name, "*.")
	if rest == "" || strings.ContainsAny(rest, "*/?#@: ") && net.ParseIP(name) == nil {
		return errors.New("give a name such as costs.example.com without scheme and port, *.example.com for all below it, or * for any")
	}
	h.names = append(h.names, strings.TrimPrefix(name, "*"))
	return nil
}

// AddListened adds the host of an address that is listened on, HOST:PORT, which may be empty.
func (h *Hosts) AddListened(address string) { h.listened = append(h.listened, hostName(address)) }

// has reports whether a host was added, other than by *.
func (h *Hosts) has(host string) bool {
	for _, name := range h.names {
		if host == name || strings.HasPrefix(name, ".") && strings.HasSuffix(host, name) {
			return true
		}
	}
	return false
}

// answers reports whether requests to a host, HOST or HOST:PORT, are answered. Only clients of HTTP/1.0 name none, and no browser is one.
func (h *Hosts) answers(hostPort string) bool {
	host := hostName(hostPort)
	address, _, _ := strings.Cut(host, "%") // which a zone of IPv6 follows
	return h.any || !strings.ContainsAny(host, ".:") || net.ParseIP(address) != nil || always.has(host) || h.has(host) || slices.Contains(h.listened, host)
}

// hostName is the name in HOST or HOST:PORT, in lower case.
func hostName(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// Guard passes requests to these hosts on to next, and others to refuse.
func (h *Hosts) Guard(next http.Handler, refuse http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.answers(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		refuse(w, r)
	})
}

// OwnSite refuses requests that browsers say come of a page of another origin, whatever hosts were added: what changes a server is for its
// own pages and for clients that are no browsers.
func OwnSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, site := range r.Header.Values("Sec-Fetch-Site") {
			if site != "same-origin" && site != "none" {
				Text(w, http.StatusForbidden, fmt.Sprintf("a page of another origin (%.100q) may not ask this: ask without a browser, as curl does", cmp.Or(r.Header.Get("Origin"), site)))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// SameOrigin refuses requests of pages of other origins, which browsers tell by headers that other clients do not send. A page of a
// host that was added is none of them, for a proxy may ask this server by another name than browsers ask the proxy.
func (h *Hosts) SameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		from, err := url.Parse(origin)
		added := err == nil && h.has(hostName(from.Host))
		same := (origin == "" || err == nil && strings.EqualFold(from.Host, r.Host)) && slices.Contains([]string{"", "same-origin", "none"}, site)
		if !same && !added {
			Text(w, http.StatusForbidden, fmt.Sprintf("a page of another origin (%.100q) may not ask this: if it is a page of this promcost, name its host by --web.allowed-hosts", cmp.Or(origin, site)))
			return
		}
		next.ServeHTTP(w, r)
	})
}
