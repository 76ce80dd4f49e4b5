package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	promconfig "github.com/prometheus/common/config"

	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
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

// client is one with the credentials of the URL, and that without them.
func (f *serverFlag) client() (client *http.Client, base string, err error) {
	if err := f.check(); err != nil {
		return nil, "", err
	}
	u, user, err := f.split()
	if err != nil {
		return nil, "", err
	}
	cfg := httpclient.Config{HTTP: promconfig.DefaultHTTPClientConfig}
	cfg.HTTP.ProxyFromEnvironment = true
	client, err = httpclient.New(cfg, user)
	return client, strings.TrimRight(u.String(), "/"), err
}
