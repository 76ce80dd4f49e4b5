package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/bucket"
	"github.com/promcost/promcost/promquery/remote"
	"github.com/promcost/promcost/promquery/thanos"
	"github.com/promcost/promcost/promquery/victoria"
)

// The values of --source. auto chooses by the other flags and by what the server allows: both sources if both are given.
const (
	sourceAuto       = "auto"
	sourceRemoteRead = "remote-read"
	sourceQuery      = "query"
	sourceVictoria   = victoria.Name
	sourceThanos     = thanos.Name
	sourceBlocks     = "blocks"
	sourceNone       = "none" // for serve: answers only from the stored history
)

// prometheusURL is the flag that names the Prometheus.
const prometheusURL = "prometheus.url"

// queryParams is the environment variable that may stand in for --prometheus.query-param.
const queryParams = "PROMCOST_PROMETHEUS_QUERY_PARAM"

// credential matches names of parameters that look like credentials.
var credential = regexp.MustCompile(`(?i)token|secret|passw|credential|api_?key|access_?key|^auth`)

// asServer leaves a choice to the server.
const asServer = "server"

// sourceFlags name the source of samples.
type sourceFlags struct {
	kind           string
	prometheus     serverFlag
	httpConfig     string
	thanosStores   []string
	bucket         bucketFlags
	external       map[string]string // nil: the server is asked
	tsdbPath       string
	replicas       []string
	exclude        []promquery.Matcher
	params         []string // NAME=VALUE
	dedup, partial string   // of Thanos: asServer, true or false
	lookback       time.Duration
	maxConcurrency int
	maxSamples     int64
	timeout        time.Duration
	compression    string

	paramsGiven bool // on the command line, where every user of the machine can read them

	concurrencyGiven, samplesGiven, timeoutGiven bool // rather than the defaults
}

func addSourceFlags(g flagGroup) *sourceFlags {
	f := &sourceFlags{}
	f.prometheus.add(g, prometheusURL, "PROMCOST_PROMETHEUS_URL", "URL of the Prometheus to read from, such as http://localhost:9090. Credentials belong in the file of --prometheus.http-config.")
	g.Flag("prometheus.http-config", "File that says how to reach the Prometheus: authentication, TLS, proxy, headers, and sigv4 for AWS, as remote_write has it. See: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config").
		PlaceHolder("FILE").StringVar(&f.httpConfig)
	addFlag(g, "prometheus.external-labels", "External labels of the Prometheus, as NAME=VALUE,…, for a server that does not show its configuration.", func(text string) error {
		var err error
		f.external, err = parseLabels(text)
		return err
	}).PlaceHolder("LABELS")
	g.Flag("prometheus.replica-label", "Label that distinguishes replicas of one Prometheus. Their series are counted once. Repeatable.").
		PlaceHolder("NAME").StringsVar(&f.replicas)
	eachOf(g, "prometheus.exclude", "Label matcher, such as job=\"promcost\" or job=~\"pc-.*\", of series to leave out, also by --promql.passthrough. Series of a promcost are always left out of what is computed.", func(text string) error {
		m, err := promquery.ParseMatcher(text)
		if err == nil && m.MatchesAbsent() {
			return fmt.Errorf("it also matches series without the label %s, so nothing would be read: write %s=~\".+\" for those that have it", m.Name, m.Name)
		}
		f.exclude = append(f.exclude, m)
		return err
	}).PlaceHolder("MATCHER")
	g.Flag("prometheus.query-param", "Parameter to send with every query, such as max_source_resolution=5m for Thanos. Every user of the machine can read it: credentials belong in the file of --prometheus.http-config, as http_headers, else in the environment variable, a parameter a line. Repeatable.").
		PlaceHolder("NAME=VALUE").Envar(queryParams).IsSetByUser(&f.paramsGiven).StringsVar(&f.params)
	oneOf(g, "prometheus.dedup", "Whether Thanos merges the series of replicas: true, false, or server for its own setting.", &f.dedup, asServer, "true", "false")
	oneOf(g, "prometheus.partial-response", "Whether Thanos answers, with a warning, when some stores fail: true, false, or server for its own setting.", &f.partial, asServer, "true", "false")
	oneOf(g, "prometheus.compression", "Whether Prometheus compresses its answers: gzip, none, or auto, which is gzip for servers outside of this machine and of the cluster. Compressing takes a Prometheus up to four times the processor time.", &f.compression,
		string(remote.CompressionAuto), string(remote.CompressionGzip), string(remote.CompressionNone))
	durationOf(g, "prometheus.lookback", "How long a sample counts, by the query API, where the data has no staleness markers: two scrape intervals, say. 0 means the server's setting.", &f.lookback, 0).
		Default("0s")
	oneOf(g, "source", "What to read: auto, remote-read, query (the query API only), victoria-metrics (its exports), thanos (--thanos.store), bucket (TSDB blocks in an object store, --blocks.config), blocks (those on disk), or none to serve a history that others fill. auto reads blocks and, for data that is not in them, the server, where both are given; of a server it reads raw samples where it has remote read or exports.", &f.kind,
		append(storeNames(), sourceBlocks, sourceNone)...)
	g.Flag("tsdb.path", "Directory of TSDB blocks: what a Prometheus has as --storage.tsdb.path. With --prometheus.url, that Prometheus'.").PlaceHolder("DIR").StringVar(&f.tsdbPath)
	g.Flag("thanos.store", "gRPC address of Thanos Query, or of another server with its StoreAPI, as HOST:PORT, or tls://HOST:PORT: every sample is read from it. Repeatable: what several have counts once. TLS is as --prometheus.http-config has it.").
		PlaceHolder("ADDRESS").StringsVar(&f.thanosStores)
	f.bucket.add(g)
	countOf(g, "query.max-concurrency", "Maximum concurrent requests to Prometheus. One extra slot is reserved for windows of up to an hour.", &f.maxConcurrency, 1).Default("2").
		IsSetByUser(&f.concurrencyGiven)
	countOf(g, "query.max-samples", "Maximum samples of one answer of the query API, which Prometheus holds in memory. Larger questions are split, and all of them into answers of up to a million samples and 32 MB where that is possible.", &f.maxSamples, 1).
		Default(strconv.Itoa(remote.DefaultMaxSamples)).IsSetByUser(&f.samplesGiven)
	durationOf(g, "query.timeout", "Maximum time to wait for Prometheus to begin an answer, and for its next part. --compute.timeout limits the whole.", &f.timeout, time.Millisecond).Default("2m").
		IsSetByUser(&f.timeoutGiven)
	return f
}

// given reports whether a source of samples is named.
func (f *sourceFlags) given() bool {
	return f.prometheus.url != "" || f.tsdbPath != "" || len(f.thanosStores) > 0 || f.bucket.config != ""
}

// validate checks that the flags name one source, and that replicas and clusters have different labels.
func (f *sourceFlags) validate(cost *costFlags) error {
	for _, validate := range []func(*costFlags) (bool, error){f.validateBucket, f.validateThanos} {
		if done, err := validate(cost); done || err != nil {
			return err
		}
	}
	switch {
	case f.kind == sourceNone && f.given():
		return usageErrorf("--source=none reads no samples: leave out --prometheus.url and --tsdb.path, or --source")
	case f.kind == sourceNone:
		return f.checkUnused()
	case f.kind == sourceBlocks && f.tsdbPath == "":
		return usageErrorf("--source=blocks has no directory to read: give --tsdb.path=DIR")
	case f.kind == sourceBlocks && f.prometheus.url != "":
		return usageErrorf("--source=blocks reads --tsdb.path, not --prometheus.url: leave one of them out, or --source to join both")
	case f.kind == sourceBlocks, f.kind == sourceAuto && f.prometheus.url == "" && f.tsdbPath != "":
		f.kind = sourceBlocks
		return f.checkUnused()
	case f.prometheus.url == "":
		return usageErrorf("no source of samples given: give --prometheus.url=http://HOST:9090, or --source=blocks --tsdb.path=DIR, or run \"promcost demo\"")
	case f.tsdbPath != "" && f.kind != sourceAuto:
		return usageErrorf("--source=%s does not read --tsdb.path=%s: leave that out, or --source to join it with --prometheus.url", f.kind, f.tsdbPath)
	}
	if err := f.checkReplicas(cost); err != nil {
		return err
	}
	if err := f.checkParams(); err != nil {
		return err
	}
	if f.kind == sourceRemoteRead {
		if name := firstGiven(f.queryFlags()); name != "" {
			return usageErrorf("--%s is for the query API, which --source=remote-read does not ask: leave one of them out", name)
		}
	}
	return f.prometheus.check()
}

// validateThanos checks the flags where --thanos.store is the source. done says that nothing else is to be checked.
func (f *sourceFlags) validateThanos(cost *costFlags) (done bool, err error) {
	if f.kind == sourceThanos && len(f.thanosStores) == 0 {
		return false, usageErrorf("--source=thanos has no server to read: give --thanos.store=HOST:PORT")
	}
	if len(f.thanosStores) == 0 {
		return false, nil
	}
	if f.kind != sourceThanos && f.kind != sourceAuto {
		return false, usageErrorf("--source=%s does not read --thanos.store: leave one of them out", f.kind)
	}
	if f.tsdbPath != "" {
		return false, usageErrorf("--thanos.store and --tsdb.path are two sources, which are not joined: leave one of them out")
	}
	f.kind = sourceThanos
	if err := f.checkReplicas(cost); err != nil {
		return true, err
	}
	if f.prometheus.url == "" {
		unused := []givenFlag{
			{"prometheus.query-param", len(f.params) > 0},
			{"prometheus.dedup", f.dedup != asServer},
			{"prometheus.lookback", f.lookback != 0},
			{"query.max-samples", f.samplesGiven},
			{"prometheus.external-labels", f.external != nil},
			{"prometheus.compression", f.compression != string(remote.CompressionAuto)},
			{"query.max-concurrency", f.concurrencyGiven},
		}
		if name := firstGiven(unused); name != "" {
			return true, usageErrorf("--%s has no effect on --thanos.store, which is asked by gRPC: leave it out", name)
		}
		return true, nil
	}
	return true, f.prometheus.check() // which --promql.passthrough asks
}

// checkReplicas checks that replicas and clusters have different labels.
func (f *sourceFlags) checkReplicas(cost *costFlags) error {
	if slices.Contains(f.replicas, cost.clusterLabel) {
		return usageErrorf("--prometheus.replica-label=%s is --cluster.label, too: clusters would be counted as replicas of one, name another label in one of them", cost.clusterLabel)
	}
	return nil
}

// checkParams checks the parameters that are added to every query. Some are reserved for promcost.
func (f *sourceFlags) checkParams() error {
	for _, param := range f.params {
		name, _, ok := strings.Cut(param, "=")
		switch {
		case !ok || name == "":
			return usageErrorf("parse --prometheus.query-param: one has no name or no value: give NAME=VALUE such as dedup=false")
		case f.paramsGiven && credential.MatchString(name):
			return usageErrorf("--prometheus.query-param=%s looks like a credential, which every user of this machine can read on the command line: give it as http_headers in the file of --prometheus.http-config, or set the environment variable %s", name, queryParams)
		case slices.Contains([]string{"query", "time", "start", "end", "step", "match[]"}, name):
			return usageErrorf("--prometheus.query-param=%s cannot be sent: promcost asks by %s itself", param, name)
		}
	}
	return nil
}

// givenFlag is a flag, and whether it was given.
type givenFlag struct {
	name  string
	given bool
}

// firstGiven is the name of the first flag that was given, "" if none was.
func firstGiven(flags []givenFlag) string {
	for _, f := range flags {
		if f.given {
			return f.name
		}
	}
	return ""
}

// queryFlags are the flags that say how to ask the query API.
func (f *sourceFlags) queryFlags() []givenFlag {
	return []givenFlag{
		{"prometheus.query-param", len(f.params) > 0},
		{"prometheus.dedup", f.dedup != asServer},
		{"prometheus.partial-response", f.partial != asServer},
		{"prometheus.lookback", f.lookback != 0},
		{"query.max-samples", f.samplesGiven},
	}
}

// checkUnused refuses flags about asking a Prometheus if none is asked.
func (f *sourceFlags) checkUnused() error {
	flags := append(f.serverFlags(), givenFlag{"prometheus.replica-label", len(f.replicas) > 0}, givenFlag{"query.timeout", f.timeoutGiven})
	if name := firstGiven(flags); name != "" {
		return usageErrorf("--%s has no effect without --prometheus.url: give that, or leave it out", name)
	}
	return nil
}

// queryParams are the parameters of every query.
func (f *sourceFlags) queryParams() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{"dedup": f.dedup, "partial_response": f.partial} {
		if value != asServer {
			values.Set(name, value)
		}
	}
	for _, param := range f.params {
		name, value, _ := strings.Cut(param, "=")
		values.Add(name, value)
	}
	return values
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

// opened is a source, and the parts of it that know more than samples.
type opened struct {
	promquery.Source
	blocks  *blocks.DB     // nil if no blocks are read
	bucket  *bucket.Source // nil if no blocks in an object store are read
	server  serverSource   // nil if none is asked
	exclude []promquery.Matcher
	kind    string    // --source
	since   time.Time // when the data begin, for other sources than blocks and servers; zero if unknown
	end     lastEnd   // of the blocks in an object store
}

// Close closes what was opened.
func (o *opened) Close() error {
	var errs []error
	if o.blocks != nil {
		errs = append(errs, o.blocks.Close())
	}
	if o.beside() {
		errs = append(errs, o.bucket.Close())
	}
	if c, ok := o.server.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// open opens the source. Closing it is the caller's business.
func (f *sourceFlags) open() (*opened, error) {
	o := &opened{exclude: f.exclude, kind: f.kind}
	alone := f.kind == sourceBlocks || f.kind == sourceNone
	if f.tsdbPath != "" {
		open := blocks.OpenBeside
		if alone {
			open = blocks.Open
		}
		var err error
		if o.blocks, err = open(f.tsdbPath); err != nil {
			return nil, fmt.Errorf("open --tsdb.path: %w", err)
		}
		o.Source = o.blocks
	}
	if alone {
		return o, nil
	}
	var err error
	if o.server, err = storeOf(f.kind).open(f); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	o.Source = o.server
	if o.blocks != nil {
		o.Source = promquery.Join(o.blocks, o.server, o.blocks.Cover)
	}
	if err := f.joinBucket(o); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// reach is the server's URL, without credentials, and the client that has those.
func (f *sourceFlags) reach() (*url.URL, *http.Client, error) {
	base, user, err := f.prometheus.split()
	if err != nil {
		return nil, nil, err
	}
	cfg, err := httpclient.ReadConfig("--prometheus.http-config", f.httpConfig)
	if err != nil {
		return nil, nil, err
	}
	if cfg.HTTP.ProxyURL.URL == nil { // as curl, kubectl and the clients of object stores do
		cfg.HTTP.ProxyFromEnvironment = true
	}
	client, err := httpclient.New(cfg, user)
	return base, client, err
}

// announce logs where the source differs from the flags.
func (f *sourceFlags) announce(o *opened, logger log.Logger) {
	if o.beside() {
		level.Info(logger).Log("msg", "Reading blocks in an object store for the time before what the Prometheus has", "blocks.config", f.bucket.config, "prometheus.url", redacted(f.prometheus.url))
	}
	if o.blocks != nil && o.server != nil {
		level.Info(logger).Log("msg", "Reading TSDB blocks, and from the Prometheus what is not in them", "tsdb.path", f.tsdbPath, "prometheus.url", redacted(f.prometheus.url))
		if found, err := o.blocks.Blocks(); err == nil && len(found) == 0 {
			level.Warn(logger).Log("msg", "There are no TSDB blocks yet: everything is read from the Prometheus", "tsdb.path", f.tsdbPath)
		}
	}
}

// clock is the clock that decides which hours are closed, given that hours are computed a grace period after their end. Blocks end
// some hours ago, because the newest samples are not in them. If nothing else is read, now is the newest block's end. As long as the end is not known of
// blocks in an object store, it is 1970, so that no hour is closed.
func (o *opened) clock(grace time.Duration) func() time.Time {
	return func() time.Time {
		now, err := o.now(grace)
		if err != nil { // who reads the bucket says why it does not answer
			return time.UnixMilli(0)
		}
		return now
	}
}

// now is what the clock shows, and an error where that is not known.
func (o *opened) now(grace time.Duration) (now time.Time, err error) {
	var newest int64
	now = time.Now()
	switch {
	case o.bucket != nil && !o.beside():
		if newest, err = o.end.of(o.bucket); err != nil {
			return time.Time{}, err
		}
	case o.blocks != nil && o.server == nil:
		_, newest, _ = o.blocks.Bounds()
	}
	if end := time.UnixMilli(newest).Add(grace); newest > 0 && end.Before(now) {
		return end, nil
	}
	return now, nil
}

// beside reports whether blocks in an object store are read beside a server.
func (o *opened) beside() bool { return o.bucket != nil && o.server != serverSource(o.bucket) }

// begin is when the data begin within w, as far as the source can tell: there are none before it. If blocks are damaged, it
// cannot. A server may have more than the blocks beside it.
func (o *opened) begin(ctx context.Context, w allocation.Window) (begin time.Time, err error) {
	if o.beside() {
		return o.beginBeside(ctx, w)
	}
	begin = w.End
	if o.server != nil {
		if begin, err = o.server.DataBegin(ctx, promquery.Evident(), w.Start, w.End); err != nil {
			return time.Time{}, err
		}
	}
	if o.blocks == nil {
		if o.server == nil {
			begin = o.since
		}
		return begin, nil
	}
	cover, err := o.blocks.Cover(ctx)
	oldest, newest, boundsErr := o.blocks.Bounds()
	if err = errors.Join(err, boundsErr); err != nil {
		return time.Time{}, err
	}
	if slices.ContainsFunc(cover.Gaps, func(l promquery.Gap) bool { return l.Damaged }) {
		return w.Start, nil
	}
	if first := time.UnixMilli(oldest); newest > 0 && first.Before(begin) {
		begin = first
	}
	return begin, nil
}
