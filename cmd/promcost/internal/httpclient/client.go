// Package httpclient makes the clients that promcost asks other servers with. They authenticate as Prometheus' own HTTP
// configuration says, and keep credentials from the servers that a redirect leads to. InProcess asks a handler of this process.
package httpclient

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

// ReadConfig reads a file of HTTP configuration; no file is a plain client.
func ReadConfig(file string) (promconfig.HTTPClientConfig, error) {
	if file == "" {
		return promconfig.DefaultHTTPClientConfig, nil
	}
	cfg, _, err := promconfig.LoadHTTPConfigFile(file)
	if err != nil {
		return promconfig.HTTPClientConfig{}, fmt.Errorf("read --prometheus.http-config %s: %w: it takes what Prometheus takes for http_config", file, err)
	}
	return *cfg, nil
}

// New is a client that authenticates as cfg says, or as user if the URL has one.
func New(cfg promconfig.HTTPClientConfig, user *url.Userinfo) (*http.Client, error) {
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
	crossOrigin, err := promconfig.NewRoundTripperFromConfig(withoutCredentials(cfg), "promcost", options...)
	if err != nil {
		return nil, fmt.Errorf("use --prometheus.http-config: %w", err)
	}
	client.Transport = &originTransport{sameOrigin: client.Transport, crossOrigin: crossOrigin}
	return client, nil
}

// withoutCredentials is cfg without credentials. It drops all headers, because nothing says which of them are secret.
func withoutCredentials(cfg promconfig.HTTPClientConfig) promconfig.HTTPClientConfig {
	cfg.BasicAuth, cfg.Authorization, cfg.OAuth2, cfg.HTTPHeaders = nil, nil, nil, nil
	cfg.BearerToken, cfg.BearerTokenFile = "", ""
	tls := &cfg.TLSConfig
	tls.Cert, tls.CertFile, tls.CertRef, tls.Key, tls.KeyFile, tls.KeyRef = "", "", "", "", "", ""
	return cfg
}

// originTransport sends requests with credentials, except requests that a redirect leads to another origin. Prometheus' own transports
// also send credentials to another port, scheme or subdomain, and http_headers to any host.
type originTransport struct{ sameOrigin, crossOrigin http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *originTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !leftOrigin(req) {
		return t.sameOrigin.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for _, name := range []string{"Authorization", "Cookie", "Referer"} { // the last has the parameters of the request before
		req.Header.Del(name)
	}
	return t.crossOrigin.RoundTrip(req)
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
