package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/promquery/remote"
)

// serverFlag is the URL of a server, which may hold a user name and a password.
type serverFlag struct {
	name, envar string
	url         string
	given       bool // on the command line, where every user of the machine can read it
}

// add adds the flag, and the environment variable that may stand in for it.
func (f *serverFlag) add(g flagGroup, name, envar, help string) {
	f.name, f.envar = name, envar
	clause := g.Flag(name, help+" A URL with a password is taken from the environment variable only.").PlaceHolder("URL").Envar(envar).IsSetByUser(&f.given)
	clause.SetValue((*serverValue)(f))
}

// serverValue is a serverFlag as kingpin sees it.
type serverValue serverFlag

// Set implements kingpin.Value. What is wrong with the URL is for check to say.
func (v *serverValue) Set(text string) error {
	v.url = text
	return nil
}

// String is the URL without secrets.
func (v *serverValue) String() string { return redacted(v.url) }

// check checks that the URL can be asked by HTTP, and that nobody can read a password on the command line. No error repeats
// what may be secret.
func (f *serverFlag) check() error {
	if !strings.Contains(f.url, "://") && !strings.Contains(f.url, "@") {
		scheme, rest, _ := strings.Cut(f.url, ":/")
		if u, err := url.Parse(scheme + "://" + rest); err == nil && (scheme == "http" || scheme == "https") && u.Hostname() != "" {
			return usageErrorf("parse --%s: %q has one slash: write --%[1]s=%[3]s", f.name, scheme+":/"+u.Host+u.Path, redacted(u.String()))
		}
		u, err := url.Parse("http://" + strings.TrimLeft(f.url, "/"))
		if err != nil {
			return usageErrorf("parse --%s: it has no scheme, and %w: write --%[1]s=http://HOST:PORT, or https://…", f.name, withoutURL(err))
		}
		if u.Hostname() != "" {
			return usageErrorf("parse --%s: %q has no scheme: write --%[1]s=%[3]s, or https://…", f.name, u.Host+u.Path, redacted(u.String()))
		}
	}
	u, err := url.Parse(f.url)
	if err != nil {
		return usageErrorf("parse --%s: %w: give a URL such as http://localhost:9090", f.name, withoutURL(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return usageErrorf("parse --%s %q: it is not an HTTP URL: give one such as http://localhost:9090", f.name, redacted(f.url))
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return usageErrorf("parse --%s: parameters of the URL are not sent: leave out what follows %s; credentials belong in the file of --prometheus.http-config", f.name, redacted(f.url))
	}
	if u.User != nil && f.given {
		return usageErrorf("--%s has a user name or password, which every user of this machine can read on the command line: %s", f.name, f.secretly())
	}
	return nil
}

// secretly names the safe ways to give credentials.
func (f *serverFlag) secretly() string {
	from := "set the environment variable " + f.envar + " to the URL in place of the flag"
	if f.name == prometheusURL {
		return "put it into the file of --prometheus.http-config (basic_auth), or " + from
	}
	return from
}

// split is the URL without credentials, and the credentials; nil if it has none.
func (f *serverFlag) split() (*url.URL, *url.Userinfo, error) {
	u, err := url.Parse(f.url)
	if err != nil {
		return nil, nil, fmt.Errorf("parse --%s: %w: give a URL such as http://localhost:9090", f.name, withoutURL(err))
	}
	user := u.User
	u.User = nil
	return u, user, nil
}

// withoutURL is the cause of an error of package url, which would repeat a URL that may have a password in it.
func withoutURL(err error) error {
	if whole, ok := errors.AsType[*url.Error](err); ok {
		return whole.Err
	}
	return err
}

// redacted is a URL as it may be shown: without user name, password and parameters.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil && strings.Contains(text, "@") {
		return "…"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// httpConfig reads a file of HTTP configuration; no file is a plain client.
func httpConfig(file string) (promconfig.HTTPClientConfig, error) {
	if file == "" {
		return promconfig.DefaultHTTPClientConfig, nil
	}
	cfg, _, err := promconfig.LoadHTTPConfigFile(file)
	if err != nil {
		return promconfig.HTTPClientConfig{}, fmt.Errorf("read --prometheus.http-config %s: %w: it takes what Prometheus takes for http_config", file, err)
	}
	return *cfg, nil
}

// httpClient is a client that authenticates as cfg says, or as user if the URL has one.
func httpClient(cfg promconfig.HTTPClientConfig, user *url.Userinfo) (*http.Client, error) {
	if user != nil {
		if cfg.BasicAuth != nil || cfg.Authorization != nil || cfg.OAuth2 != nil {
			return nil, errors.New("both the URL and --prometheus.http-config have credentials: leave one of them out")
		}
		password, _ := user.Password()
		cfg.BasicAuth = &promconfig.BasicAuth{Username: user.Username(), Password: promconfig.Secret(password)}
	}
	options := []promconfig.HTTPClientOption{promconfig.WithUserAgent("promcost/" + version.Version), promconfig.WithDialContextFunc(remote.Dial)}
	client, err := promconfig.NewClientFromConfig(cfg, "promcost", options...)
	if err != nil {
		return nil, fmt.Errorf("use --prometheus.http-config: %w", err)
	}
	elsewhere, err := promconfig.NewRoundTripperFromConfig(withoutCredentials(cfg), "promcost", options...)
	if err != nil {
		return nil, fmt.Errorf("use --prometheus.http-config: %w", err)
	}
	client.Transport = &originTransport{origin: client.Transport, elsewhere: elsewhere}
	return client, nil
}

// client is one with the credentials of the URL, and that without them.
func (f *serverFlag) client() (client *http.Client, base string, err error) {
	if err := f.check(); err != nil {
		return nil, "", err
	}
	u, user, err := f.split()
	if err != nil {
		return nil, "", err
	}
	cfg := promconfig.DefaultHTTPClientConfig
	cfg.ProxyFromEnvironment = true
	client, err = httpClient(cfg, user)
	return client, strings.TrimRight(u.String(), "/"), err
}

// withoutCredentials is cfg without credentials. It drops all headers, because nothing says which of them are secret.
func withoutCredentials(cfg promconfig.HTTPClientConfig) promconfig.HTTPClientConfig {
	cfg.BasicAuth, cfg.Authorization, cfg.OAuth2, cfg.HTTPHeaders = nil, nil, nil, nil
	cfg.BearerToken, cfg.BearerTokenFile = "", ""
	tls := &cfg.TLSConfig
	tls.Cert, tls.CertFile, tls.CertRef, tls.Key, tls.KeyFile, tls.KeyRef = "", "", "", "", "", ""
	return cfg
}

// originTransport sends requests with credentials, but requests that a redirect leads to another origin without. Prometheus' own
// transports send theirs to another port, scheme or subdomain, and http_headers to any host.
type originTransport struct{ origin, elsewhere http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *originTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !leftOrigin(req) {
		return t.origin.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for _, name := range []string{"Authorization", "Cookie", "Referer"} { // the last has the parameters of the request before
		req.Header.Del(name)
	}
	return t.elsewhere.RoundTrip(req)
}

// leftOrigin reports whether any redirect that led to the request went from one scheme, host and port to another. It may
// have come back, but to an address that another server chose.
func leftOrigin(req *http.Request) bool {
	for r := req; r.Response != nil && r.Response.Request != nil; r = r.Response.Request {
		if origin(r.URL) != origin(r.Response.Request.URL) {
			return true
		}
	}
	return false
}

// origin is the scheme, the host and the port of a URL.
func origin(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
