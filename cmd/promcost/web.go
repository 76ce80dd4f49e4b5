package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/mdlayher/vsock"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
	"github.com/promcost/promcost/dashboards/explorer"
)

// shutdownTimeout is how long requests that are being answered may take once the process is to end.
const shutdownTimeout = 10 * time.Second

// webFlags say where and how to serve.
type webFlags struct {
	toolkit *web.FlagConfig
	prefix  string
	hosts   webserver.Hosts // the names that are answered to
	origin  *regexp.Regexp  // the origins of pages that may read answers

	external string // a URL by which browsers reach promcost, if given
	pprof    bool
	reloads  bool // by request
	mcp      bool // answer assistants
	most     int  // connections

	profiles webserver.Profiles
}

// addWebFlags adds exporter-toolkit's flags and ours, with a default address to listen on.
func addWebFlags(clause *kingpin.CmdClause, address string) *webFlags {
	f := &webFlags{toolkit: kingpinflag.AddFlags(clause, address)}
	clause.Flag("web.route-prefix", "Path under which every page answers too, for a proxy that passes it on.").
		PlaceHolder("/PATH").StringVar(&f.prefix)
	addHostFlags(clause, &f.hosts, &f.external)
	addCORSFlag(clause, &f.origin)
	countOf(clause, "web.max-connections", "Maximum open connections. Above it, the connection idle longest is closed. Half as many requests are served concurrently, not counting health checks and /metrics.", &f.most, 8).
		Default(strconv.Itoa(webserver.DefaultConnections))
	clause.Flag("web.enable-pprof", "Serve profiles of the process under /debug/pprof/.").BoolVar(&f.pprof)
	clause.Flag("web.enable-mcp", "Answer assistants at /mcp, by the Model Context Protocol. They can read what the API serves.").Default("true").BoolVar(&f.mcp)
	clause.Flag("web.enable-lifecycle", "Let a POST or PUT to /-/reload read the configuration again, as SIGHUP always does.").BoolVar(&f.reloads)
	return f
}

// addHostFlags adds the flags that say by which names clients may ask.
func addHostFlags(clause *kingpin.CmdClause, hosts *webserver.Hosts, external *string) {
	eachOf(clause, "web.allowed-hosts", "Host names, separated by commas, by which clients may ask, such as costs.example.com or *.example.com; * for any. Addresses, localhost, the host of --web.listen-address, names without a dot and names that end in .svc or .svc.cluster.local are always among them. A request to any other is refused, but for health checks and /metrics: it may come from a web page whose own name leads here (DNS rebinding).", func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			if err := hosts.Add(strings.TrimSpace(name)); err != nil {
				return err
			}
		}
		return nil
	}).PlaceHolder("NAME,…")
	eachOf(clause, "web.external-url", "URL by which browsers reach promcost through a proxy. Its host is one of --web.allowed-hosts. Links of the dashboards lead to the first one.", func(text string) error {
		u, err := parseWebURL(text)
		if err != nil {
			return err
		}
		*external = cmp.Or(*external, text)
		return hosts.Add(u.Hostname())
	}).PlaceHolder("URL")
}

// parseWebURL reads a URL that browsers can open.
func parseWebURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("give a URL such as https://costs.example.com")
	}
	return u, nil
}

// page is the URL of promcost's page, without /ui/, as a client reached it that is not behind a proxy.
func (f *webFlags) page(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return cmp.Or(f.external, scheme+r.Host+f.prefix)
}

// addCORSFlag adds the flag that says which pages of other origins may read answers, as Prometheus has it.
func addCORSFlag(clause *kingpin.CmdClause, origin **regexp.Regexp) {
	addFlag(clause, "web.cors.origin", "Regular expression of the origins whose pages may read answers of the APIs (CORS), such as https?://(one|two)\\.example\\.com. It is fully anchored. Without it, only promcost's own pages may.", func(text string) error {
		re, err := regexp.Compile("^(?s:" + text + ")$")
		if err != nil {
			return fmt.Errorf("%w: give a regular expression such as https://grafana\\.example\\.com", err)
		}
		*origin = re
		return nil
	}).Default("").PlaceHolder("REGEX")
}

// validate checks what can be checked before anything is computed, and puts the prefix into the form /a/b.
func (f *webFlags) validate() error {
	if err := web.Validate(*f.toolkit.WebConfigFile); err != nil {
		return fmt.Errorf("read --web.config.file %s: %w", *f.toolkit.WebConfigFile, err)
	}
	if !*f.toolkit.WebSystemdSocket {
		for _, address := range *f.toolkit.WebListenAddresses {
			if err := checkAddress(address); err != nil {
				return usageErrorf("parse --web.listen-address=%q: %w: give HOST:PORT such as :9003, 127.0.0.1:9003 or [::1]:9003", address, err)
			}
			f.hosts.AddListened(address)
		}
	}
	if f.prefix = strings.Trim(f.prefix, "/"); f.prefix != "" {
		f.prefix = "/" + f.prefix
	}
	if strings.ContainsAny(f.prefix, "?#{} ") {
		return usageErrorf("parse --web.route-prefix %q: it must be a plain path such as /cost", f.prefix)
	}
	return nil
}

// vsockScheme begins addresses of VM sockets, as exporter-toolkit has them.
const vsockScheme = "vsock://"

// vsockPort is the port of the address of a VM socket; ok is false for other addresses.
func vsockPort(address string) (port uint32, ok bool, err error) {
	text, ok := strings.CutPrefix(address, vsockScheme)
	if !ok {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, ":"), 10, 32)
	if err != nil || !strings.HasPrefix(text, ":") {
		err = fmt.Errorf("%q is no colon and port of a VM socket such as vsock://:9003", text)
	}
	return uint32(n), true, err
}

// checkAddress says what is wrong with an address to listen on.
func checkAddress(address string) error {
	if _, ok, err := vsockPort(address); ok {
		return err
	}
	if strings.Contains(address, "://") {
		return errors.New("it is a URL, not an address")
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		if whole, ok := errors.AsType[*net.AddrError](err); ok {
			return errors.New(whole.Err)
		}
		return err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	return nil
}

// listen opens all addresses, or none. It is nil where exporter-toolkit has to open them.
func (f *webFlags) listen() ([]net.Listener, error) {
	if *f.toolkit.WebSystemdSocket {
		return nil, nil
	}
	var listeners []net.Listener
	for _, address := range *f.toolkit.WebListenAddresses {
		l, err := listenOn(address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: give a free address with --web.listen-address=HOST:PORT", err), closeAll(listeners))
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// listenOn opens an address that checkAddress takes.
func listenOn(address string) (net.Listener, error) {
	port, ok, err := vsockPort(address)
	if !ok {
		return net.Listen("tcp", address) //nolint:noctx // nothing to cancel: listening does not wait
	}
	if err != nil {
		return nil, err
	}
	l, err := vsock.Listen(port, nil)
	if err != nil {
		return nil, fmt.Errorf("listen on VM socket %s: %w", address, err)
	}
	return l, nil
}

func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// url is what a person on this machine types to reach an address that is listened on.
func (f *webFlags) url(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return f.scheme() + "://" + net.JoinHostPort(host, port) + f.prefix
}

// scheme is https where the web configuration has a certificate.
func (f *webFlags) scheme() string {
	var cfg web.Config
	text, err := os.ReadFile(*f.toolkit.WebConfigFile)
	if err == nil && yaml.Unmarshal(text, &cfg) == nil && (cfg.TLSConfig.TLSCert != "" || cfg.TLSConfig.TLSCertPath != "") {
		return "https"
	}
	return "http"
}

// pages are what the HTTP server serves.
type pages struct {
	metrics    http.Handler // /metrics
	api        http.Handler // the paths that costapi knows
	promql     http.Handler // Prometheus' API
	dashboards http.Handler // /dashboards/ and the paths below it
	assistants http.Handler // /mcp
	missing    http.Handler // paths that are not there
	ready      func() error // nil once answers are complete, else why not
	behind     func() error // what is wrong although the server is ready
	reload     func() error // reads the configuration again
}

// handler routes requests to the pages, at their paths and again below the prefix.
func (f *webFlags) handler(p pages) (http.Handler, error) {
	beside, err := f.routes("", p)
	if err != nil || f.prefix == "" {
		return webserver.CleanPath(beside), err
	}
	below, err := f.routes(f.prefix, p)
	if err != nil {
		return nil, err
	}
	both := http.NewServeMux()
	both.Handle("/", beside)
	both.Handle(f.prefix+"/", below)
	return webserver.CleanPath(both), nil
}

// routes are the pages below a prefix. It is part of every pattern, so that what the mux redirects stays below it.
func (f *webFlags) routes(prefix string, p pages) (http.Handler, error) {
	for _, base := range []string{here, above} { // whose templates must hold before anybody asks
		if _, err := web.NewLandingPage(landingConfig(base, f.pprof)); err != nil {
			return nil, fmt.Errorf("make landing page: %w", err)
		}
	}
	mux := http.NewServeMux()
	open := func(method, path string, h http.Handler) { mux.Handle(method+prefix+path, http.StripPrefix(prefix, h)) }
	handle := func(method, path string, h http.Handler) { open(method, path, f.hosts.Guard(h, otherHost)) }
	handle("", "/", webserver.CrossOrigin(f.origin, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if costapi.Knows(r.URL.Path) {
			p.api.ServeHTTP(w, r)
		} else {
			p.missing.ServeHTTP(w, r)
		}
	})))
	handle("", "/api/v1/", webserver.CrossOrigin(f.origin, p.promql))
	handle("", "/federate", webserver.CrossOrigin(f.origin, p.promql))
	if f.mcp {
		handle("", mcpPath, f.hosts.SameOrigin(p.assistants))
	}
	handle("", reloadPath, f.hosts.SameOrigin(webserver.OwnSite(f.reloadHandler(p.reload))))
	const get = http.MethodGet + " "
	handle(get, "/{$}", browsersTo(explorer.Root, landing(here, f.pprof, p.state)))
	handle(get, explorer.Root, explorer.Handler(p.missing))
	handle(get, linksPath, landing(above, f.pprof, p.state))
	open(get, "/metrics", p.metrics)
	handle(get, "/dashboards/", p.dashboards)
	handle(get, faviconPath, http.HandlerFunc(serveFavicon))
	open(get, "/-/healthy", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		webserver.Text(w, http.StatusOK, "promcost is healthy.")
	}))
	open(get, "/-/ready", http.HandlerFunc(p.serveReady))
	if f.pprof {
		for path, h := range f.profiles.Routes() {
			handle(get, path, h)
		}
	}
	return mux, nil
}

// state says whether questions can be answered, and what is not as it should be.
func (p *pages) state() (code int, text string) {
	if err := p.ready(); err != nil {
		return http.StatusServiceUnavailable, "promcost is not ready: " + err.Error()
	}
	if err := p.behind(); err != nil {
		return http.StatusOK, "promcost is ready, but behind: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return http.StatusOK, "promcost is ready."
}

// serveReady tells the state.
func (p *pages) serveReady(w http.ResponseWriter, _ *http.Request) {
	code, text := p.state()
	webserver.Text(w, code, text)
}

// Paths that are named in several places.
const (
	reloadPath   = "/-/reload"
	faviconPath  = "/favicon.ico"
	linksPath    = explorer.Root + "links"
	profilesPath = "/debug/pprof/"
)

//go:embed favicon.ico
var favicon []byte

// serveFavicon answers with the icon of the pages.
func serveFavicon(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "max-age=86400")
	send(w, "image/x-icon", favicon)
}

// browsersTo redirects browsers to a path below the one that they ask for, by a relative address: a proxy may have taken a prefix away.
func browsersTo(path string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Location", strings.TrimPrefix(path, "/"))
		w.WriteHeader(http.StatusFound)
	})
}

// Where links of the landing page begin: at its own folder, or at the one above.
const (
	here  = "./"
	above = "../"
)

// landingConfig are the links of the landing page.
func landingConfig(base string, withPprof bool) web.LandingConfig {
	const day = "?window=24h&aggregate=namespace&accumulate=true"
	return web.LandingConfig{
		RoutePrefix: base,
		Name:        "promcost",
		Description: "What Kubernetes workloads cost, computed from Prometheus.",
		Version:     version.Version,
		Profiling:   strconv.FormatBool(withPprof),
		Links: []web.LandingLinks{
			{Address: strings.TrimPrefix(explorer.Root, "/"), Text: "Explorer", Description: "what clusters cost, and why it changed"},
			{Address: "model/allocation/compute" + day, Text: "Costs by namespace", Description: "the last 24 hours, as JSON"},
			{Address: "model/allocation/compute" + day + "&format=csv", Text: "The same as CSV"},
			{Address: "model/assets?window=24h", Text: "Assets", Description: "the nodes and what they cost"},
			{Address: "api/v1/query?query=sum+by+(namespace)+(promcost_namespace_hourly_cost)", Text: "PromQL", Description: "costs of any past time, for Grafana and whatever else asks a Prometheus"},
			{Address: "metrics", Text: "Metrics", Description: "costs of the last closed hour, and promcost's own health"},
			{Address: "dashboards/", Text: "Dashboards", Description: "for Grafana, and rules for Prometheus"},
			{Address: "-/ready", Text: "Ready", Description: "and if not, why"},
			{Address: "-/healthy", Text: "Healthy"},
		},
	}
}

// landing is the page with links to everything, and the state. Its links begin at base.
func landing(base string, withPprof bool, state func() (code int, text string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cfg := landingConfig(base, withPprof)
		_, text := state()
		cfg.ExtraHTML = `<link rel="icon" href="` + base + strings.TrimPrefix(faviconPath, "/") + `"><p>` + html.EscapeString(text) + "</p>" // browsers look for the icon at the root by themselves
		page, err := web.NewLandingPage(cfg)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r = r.Clone(r.Context())
		r.URL.Path = base // the page answers at its prefix only
		page.ServeHTTP(w, r)
	})
}
