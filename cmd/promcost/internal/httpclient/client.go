// Package httpclient makes the clients that promcost asks other servers with. They authenticate as Prometheus' own HTTP
// configuration says, and keep credentials from the servers that a redirect leads to. InProcess asks a handler of this process.
package httpclient

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
	"github.com/prometheus/sigv4"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/promquery/remote"
)

// Config is the configuration of a client: what Prometheus takes for http_config, and how requests to AWS are signed.
type Config struct {
	HTTP promconfig.HTTPClientConfig `yaml:",inline"`
	// SigV4 signs requests, as Prometheus does for remote_write; nil for not at all.
	SigV4 *sigv4.SigV4Config `yaml:"sigv4"`

	flag string // that names its file
}

// prometheusFlag is the flag that names the file of a configuration that was not read from one.
const prometheusFlag = "--prometheus.http-config"

// ReadConfig reads a file of HTTP configuration, which a flag names; no file is a plain client.
func ReadConfig(flag, file string) (Config, error) {
	cfg := Config{HTTP: promconfig.DefaultHTTPClientConfig, flag: flag}
	if file == "" {
		return cfg, nil
	}
	text, err := os.ReadFile(file)
	if err == nil {
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err = d.Decode(&cfg); errors.Is(err, io.EOF) {
			err = nil // it is empty
		}
	}
	if err == nil {
		cfg.HTTP.SetDirectory(filepath.Dir(file))
		err = cfg.HTTP.Validate()
	}
	if err == nil && cfg.SigV4 != nil && cfg.authenticates() {
		err = errors.New("at most one of basic_auth, authorization, oauth2 and sigv4 may be given")
	}
	if err != nil {
		return Config{}, fmt.Errorf("read %s %s: %w: it takes what Prometheus takes for http_config, and sigv4", flag, file, err)
	}
	return cfg, nil
}

// authenticates reports whether requests have credentials, but for signatures.
func (c *Config) authenticates() bool {
	return c.HTTP.BasicAuth != nil || c.HTTP.Authorization != nil || c.HTTP.OAuth2 != nil
}

// New is a client that authenticates as cfg says, or as user if the URL has one.
func New(cfg Config, user *url.Userinfo) (*http.Client, error) {
	flag := cmp.Or(cfg.flag, prometheusFlag)
	if user != nil {
		if cfg.authenticates() || cfg.SigV4 != nil {
			return nil, fmt.Errorf("both the URL and %s have credentials: leave one of them out", flag)
		}
		password, _ := user.Password()
		cfg.HTTP.BasicAuth = &promconfig.BasicAuth{Username: user.Username(), Password: promconfig.Secret(password)}
	}
	options := []promconfig.HTTPClientOption{promconfig.WithUserAgent("promcost/" + version.Version), promconfig.WithDialContextFunc(remote.Dial)}
	client, err := promconfig.NewClientFromConfig(cfg.HTTP, "promcost", options...)
	if err != nil {
		return nil, fmt.Errorf("use %s: %w", flag, err)
	}
	if cfg.SigV4 != nil {
		if client.Transport, err = sigv4.NewSigV4RoundTripper(cfg.SigV4, client.Transport); err != nil {
			return nil, fmt.Errorf("use sigv4 of %s: %w", flag, err)
		}
	}
	crossOrigin, err := promconfig.NewRoundTripperFromConfig(withoutCredentials(cfg.HTTP), "promcost", options...)
	if err != nil {
		return nil, fmt.Errorf("use %s: %w", flag, err)
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
