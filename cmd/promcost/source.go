package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/remote"
)

// Sources that --source can name. auto takes what the other flags and the server allow.
const (
	sourceAuto       = "auto"
	sourceRemoteRead = "remote-read"
	sourceQuery      = "query"
	sourceBlocks     = "blocks"
)

// sourceFlags say where samples come from.
type sourceFlags struct {
	kind           string
	url            string
	httpConfig     string
	external       map[string]string // nil: the server is asked
	tsdbPath       string
	maxConcurrency int
	timeout        time.Duration
}

func addSourceFlags(g flagGroup) *sourceFlags {
	f := &sourceFlags{}
	g.Flag("prometheus.url", "URL of the Prometheus to read from, such as http://localhost:9090.").PlaceHolder("URL").StringVar(&f.url)
	g.Flag("prometheus.http-config", "File that says how to reach it: authentication, TLS, proxy, headers. See: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config").
		PlaceHolder("FILE").StringVar(&f.httpConfig)
	addFlag(g, "prometheus.external-labels", "Its external labels, as NAME=VALUE,…, for a server that does not show its configuration.", func(text string) error {
		var err error
		f.external, err = parseLabels(text)
		return err
	}).PlaceHolder("LABELS")
	oneOf(g, "source", "What to read: auto, remote-read, query (the query API only) or blocks (TSDB blocks on disk).", &f.kind,
		sourceAuto, sourceRemoteRead, sourceQuery, sourceBlocks)
	g.Flag("tsdb.path", "Directory of TSDB blocks, with --source=blocks: what a Prometheus has as --storage.tsdb.path.").PlaceHolder("DIR").StringVar(&f.tsdbPath)
	countOf(g, "query.max-concurrency", "Most requests that Prometheus is sent at a time.", &f.maxConcurrency, 1).Default("2")
	durationOf(g, "query.timeout", "Longest that one request to Prometheus may take.", &f.timeout, time.Millisecond).Default("2m")
	return f
}

// validate checks that the flags name one source.
func (f *sourceFlags) validate() error {
	switch {
	case f.kind == sourceBlocks && f.tsdbPath == "":
		return usageErrorf("--source=blocks has no directory to read: give --tsdb.path=DIR")
	case f.kind == sourceBlocks && f.url != "":
		return usageErrorf("--source=blocks reads --tsdb.path, not --prometheus.url: leave one of them out")
	case f.kind == sourceBlocks:
		return nil
	case f.kind == sourceAuto && f.url == "" && f.tsdbPath != "":
		f.kind = sourceBlocks
		return nil
	case f.url == "":
		return usageErrorf("no source of samples given: give --prometheus.url=http://HOST:9090, or --source=blocks --tsdb.path=DIR, or run \"promcost demo\"")
	case f.tsdbPath != "":
		return usageErrorf("--tsdb.path=%s is read with --source=blocks only: leave it or --prometheus.url out", f.tsdbPath)
	}
	return checkURL("--prometheus.url", f.url)
}

// checkURL checks that text is a URL that can be asked by HTTP.
func checkURL(flag, text string) error {
	u, err := url.Parse(text)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err // without the URL, which may have a password in it
		}
		return usageErrorf("parse %s: %w: give a URL such as http://localhost:9090", flag, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return usageErrorf("parse %s %q: it is not an HTTP URL: give one such as http://localhost:9090", flag, u.Redacted())
	}
	return nil
}

// redacted is a URL as errors may show it, without its password.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "that URL"
	}
	return u.Redacted()
}

// parseLabels reads NAME=VALUE pairs separated by commas.
func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is no label: give NAME=VALUE pairs such as cluster=prod,region=eu", pair)
		}
		labels[name] = value
	}
	return labels, nil
}

// open opens the source. Closing it is the caller's business.
func (f *sourceFlags) open() (promquery.Source, io.Closer, error) {
	if f.kind == sourceBlocks {
		db, err := blocks.Open(f.tsdbPath)
		if err != nil {
			return nil, nil, fmt.Errorf("open --tsdb.path: %w", err)
		}
		return db, db, nil
	}
	client, err := httpClient(f.httpConfig)
	if err != nil {
		return nil, nil, err
	}
	src, err := remote.New(remote.Config{
		URL: f.url, Client: client, Mode: remote.Mode(f.kind), MaxConcurrency: f.maxConcurrency, Timeout: f.timeout,
		ExternalLabels: f.external,
	})
	if err != nil {
		return nil, nil, err
	}
	return src, nothingToClose{}, nil
}

// clock says which hours are closed for src, given that hours are computed a grace period after their end. Blocks end
// some hours ago, for the newest samples are not in them: there the newest block's end is now.
func (f *sourceFlags) clock(src promquery.Source, grace time.Duration) func() time.Time {
	db, ok := src.(*blocks.DB)
	if !ok {
		return time.Now
	}
	return func() time.Time {
		now := time.Now()
		if _, newest, err := db.Bounds(); err == nil && newest > 0 {
			if end := time.UnixMilli(newest).Add(grace); end.Before(now) {
				return end
			}
		}
		return now
	}
}

// nothingToClose is the closer of a source that holds nothing open.
type nothingToClose struct{}

// Close does nothing.
func (nothingToClose) Close() error { return nil }

// httpClient is the client for Prometheus, as the file says; no file is a plain client.
func httpClient(file string) (*http.Client, error) {
	cfg := &config.DefaultHTTPClientConfig
	if file != "" {
		var err error
		if cfg, _, err = config.LoadHTTPConfigFile(file); err != nil {
			return nil, fmt.Errorf("read --prometheus.http-config %s: %w: it takes what Prometheus takes for http_config", file, err)
		}
	}
	client, err := config.NewClientFromConfig(*cfg, "promcost", config.WithUserAgent("promcost/"+version.Version))
	if err != nil {
		return nil, fmt.Errorf("use --prometheus.http-config %s: %w", file, err)
	}
	return client, nil
}

// readSheet reads the pricing file; no file is the defaults.
func readSheet(file string) (*pricing.Sheet, error) {
	if file == "" {
		return pricing.Default(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --pricing.file: %w: give a readable YAML file, or leave the flag out for the defaults", err)
	}
	sheet, err := pricing.Parse(file, text)
	if err != nil {
		return nil, fmt.Errorf("read --pricing.file: %w", err)
	}
	return sheet, nil
}
