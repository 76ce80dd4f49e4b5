// Package remote is a promquery.Source over a running server with Prometheus' HTTP API: Prometheus itself, Thanos, Mimir,
// VictoriaMetrics. Where the server has streamed remote read, one request carries many selectors and chunks are decoded
// as they arrive; elsewhere the query API is asked on the grid of the computation, or for raw samples,
// for several selectors at once where they allow that, and in pieces of up to a million samples, large ones one after the other: a server
// holds each answer in memory. What the server can do is found out at the first use. In this package, a selector is a promquery.Request, and a request is one of HTTP.
//
// # Faults
//
// What may pass (429, 500, 502, 503, 504, a name or a host that is not found, a connection that is refused, cut or silent, an
// answer that breaks off) is asked again with a growing, jittered back-off, or after what Retry-After says and a little more,
// long enough for a server to restart. Nothing is handed
// on twice: what came before the answer broke off is passed over. What is too much for the server (too many samples, 413,
// 422, timeouts, a 503 of a server that answers small questions) is asked for in parts by the query API: in time down to an hour, then by namespace down to one; what is
// too much even then is an error that names it. An answer is whole, or Select fails, or a warning says what the server
// left out. Where remote read fails for good and nobody insists on it, the query API is asked for a while, with a warning.
//
// # Staleness
//
// Answers on a grid are PromQL's of each instant: the last sample within the lookback, unless a staleness marker ended the
// series. Prometheus, Thanos and Mimir do that by themselves with a lookback of five minutes. VictoriaMetrics honors markers
// too, but looks back by the distance of the samples, or by a whole step of the grid where that is longer: it is told not
// to look back further than five minutes or two steps (max_lookback, which the others ignore) and then gives the same
// answers. Where samples come without markers, ends are a lookback late: Config.Lookback bounds that for all of them
// (lookback_delta for the others), two scrape intervals being enough. Raw samples from the query API never show
// markers, except VictoriaMetrics'. They are put back where up says when the target was scraped; elsewhere a last sample lasts one scrape
// interval. A grid that is as fine as the scrapes is made of raw samples, which cost the server less.
package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation/places"
	"github.com/promcost/promcost/allocation/singleflight"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// Mode is how the server is read.
type Mode string

// The modes. ModeAuto uses remote read if the server streams it, and otherwise the query API.
const (
	ModeAuto       Mode = "auto"
	ModeRemoteRead Mode = "remote-read"
	ModeQuery      Mode = "query"
)

// The defaults of Config.
const (
	DefaultMaxConcurrency = 2
	DefaultTimeout        = 2 * time.Minute
	DefaultBackoff        = 250 * time.Millisecond
	DefaultMaxSamples     = 50_000_000
)

// Config says which server to read and how. URL is required.
type Config struct {
	// URL is the URL before /api/v1, such as http://prometheus:9090.
	URL string
	// Client sends the requests, with whatever credentials it has. Nil is one like http.DefaultClient that connects by Dial.
	Client *http.Client
	// Mode is how to read; empty is ModeAuto.
	Mode Mode
	// MaxConcurrency bounds the requests that run at a time, over all Selects; 0 is DefaultMaxConcurrency. If there are several,
	// one is reserved for Selects that promquery.Background does not mark, and one more for small ones.
	MaxConcurrency int
	// Timeout bounds the wait for an answer to begin and, from there on, for each KiB of it; 0 is DefaultTimeout. What the
	// caller does with the samples meanwhile does not count, and a long answer that keeps coming may take as long as the
	// context allows.
	Timeout time.Duration
	// Backoff is the wait before a failed request is first repeated. It doubles each time. 0 is DefaultBackoff.
	Backoff time.Duration
	// MaxSamples bounds the samples of one answer of the query API, which the server holds in memory as a whole: what
	// exceeds it is asked for in parts. Answers have up to a million samples and 32 MB anyway, where what they are about can be divided.
	// Remote read is streamed by both sides and not bounded. 0 is DefaultMaxSamples.
	MaxSamples int64
	// Compression is whether answers are asked for compressed; empty is CompressionAuto.
	Compression Compression
	// Lookback, if not 0, is how long an instant sees a sample that no staleness marker follows. It is for servers whose data has
	// no such markers. Raw samples do not depend on it.
	Lookback time.Duration
	// Params are sent with every query, such as dedup=false or partial_response=true for Thanos.
	Params url.Values
	// ReplicaLabels distinguish replicas of one Prometheus. Keys leave them out, so that replicas are series of one key.
	ReplicaLabels []string
	// ExternalLabels are the server's external labels. Nil: they are learnt from /api/v1/status/config.
	ExternalLabels map[string]string
}

// Source reads a server. It is safe for concurrent use.
type Source struct {
	cfg   Config
	base  *url.URL
	slots places.Places // of requests that run
	// background has a slot for each request that may be of promquery.Background: one less than all. Without slots nothing is reserved.
	background chan struct{}
	large      chan struct{} // has one slot: of the large answers of the query API

	detections singleflight.Group[struct{}, *server]
	mu         sync.Mutex // never held while the server is asked
	server     *server    // nil until found out
	sample     knownSample
	scrapes    *scrapes // that were found last, nil if none were
	single     bool     // the server takes questions about one metric only
}

// New returns a Source for the server at cfg.URL. It sends nothing yet.
func New(cfg Config) (*Source, error) {
	base, err := url.Parse(cfg.URL)
	if err != nil {
		// The cause of a *url.Error, which would repeat the URL, perhaps with a password in it.
		if uerr, ok := errors.AsType[*url.Error](err); ok {
			err = uerr.Err
		}
		return nil, fmt.Errorf("parse --prometheus.url: %w; give a URL such as http://prometheus:9090", err)
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("parse --prometheus.url %q: not an http or https URL; give one such as http://prometheus:9090", base.Redacted())
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	base.RawQuery, base.Fragment = "", ""
	switch cfg.Mode {
	case "":
		cfg.Mode = ModeAuto
	case ModeAuto, ModeRemoteRead, ModeQuery:
	default:
		return nil, fmt.Errorf("configure source: unknown mode %q; give auto, remote-read or query", cfg.Mode)
	}
	switch cfg.Compression {
	case "":
		cfg.Compression = CompressionAuto
	case CompressionAuto, CompressionGzip, CompressionNone:
	default:
		return nil, fmt.Errorf("configure source: unknown compression %q; give auto, gzip or none", cfg.Compression)
	}
	if cfg.Client == nil {
		cfg.Client = defaultClient()
	}
	orDefault(&cfg.MaxConcurrency, DefaultMaxConcurrency)
	orDefault(&cfg.Timeout, DefaultTimeout)
	orDefault(&cfg.Backoff, DefaultBackoff)
	orDefault(&cfg.MaxSamples, DefaultMaxSamples)
	return &Source{
		cfg: cfg, base: base, slots: places.New(cfg.MaxConcurrency), background: make(chan struct{}, cfg.MaxConcurrency-1), large: make(chan struct{}, 1),
	}, nil
}

// orDefault sets what is not positive to d.
func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// ExternalLabels returns the server's external labels; the map is the caller's. Servers that do not show their
// configuration have none.
func (s *Source) ExternalLabels(ctx context.Context) (map[string]string, error) {
	srv, err := s.detect(ctx)
	if err != nil {
		return nil, err
	}
	return maps.Clone(srv.external), nil
}

// Mode returns how the server is read: ModeRemoteRead or ModeQuery.
func (s *Source) Mode(ctx context.Context) (Mode, error) {
	srv, err := s.detect(ctx)
	if err != nil {
		return "", err
	}
	return srv.mode, nil
}

// Name implements promquery.Named by the mode, "remote" where that is not known.
func (s *Source) Name(ctx context.Context) string {
	mode, err := s.Mode(ctx)
	if err != nil {
		return "remote"
	}
	return string(mode)
}

// Raw implements promquery.Sampler: remote read gives raw samples, the query API values on a grid.
func (s *Source) Raw(ctx context.Context, _, _ int64) bool {
	mode, err := s.Mode(ctx)
	return err == nil && mode == ModeRemoteRead
}

// Select implements promquery.Source. As many requests run at a time as may; the series of all come one after the other.
func (s *Source) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return func(yield func(promquery.Series, error) bool) {
		if err := s.read(ctx, rs, stats, yield); err != nil {
			yield(promquery.Series{}, err)
		}
	}
}

// read yields the series that answer the requests. It returns no error once yield wants no more.
func (s *Source) read(ctx context.Context, rs []promquery.Request, stats *promquery.Stats, yield func(promquery.Series, error) bool) error {
	if err := ctx.Err(); err != nil || len(rs) == 0 {
		return err
	}
	for i := range rs {
		if _, err := chunks.Matchers(&rs[i]); err != nil {
			return err
		}
	}
	srv, err := s.detect(ctx)
	if err != nil {
		return err
	}
	r := &run{src: s, requests: rs, series: make(chan promquery.Series), taken: make(chan bool)}
	go func() {
		defer close(r.series)
		err = r.ask(ctx, srv)
	}()
	more := r.handOver(yield)
	if stats.Add(r.result()); !more {
		return nil
	}
	return err
}

// handOver hands the series to yield, and reports whether that wants more after the last one. What runs has ended when it returns, also
// if yield panics.
func (r *run) handOver(yield func(promquery.Series, error) bool) (more bool) {
	more = true
	waits := false
	defer func() {
		if waits {
			r.taken <- false
		}
		for range r.series {
			r.taken <- false
		}
	}()
	for s := range r.series {
		waits = true
		more = more && yield(s, nil)
		waits = false
		r.taken <- more
	}
	return more
}

// ask asks for all requests.
func (r *run) ask(ctx context.Context, srv *server) error {
	if srv.mode == ModeRemoteRead {
		return r.read(ctx, srv)
	}
	if srv.broken != nil {
		r.warn(0, srv.broken.warning)
	}
	index := make([]int, len(r.requests))
	for i := range index {
		index[i] = i
	}
	tasks, err := r.queries(ctx, index, r.requests)
	if err != nil {
		return err
	}
	return r.parallel(ctx, tasks)
}

// run is one Select: several goroutines that hand series over, one at a time.
type run struct {
	src      *Source
	requests []promquery.Request
	series   chan promquery.Series // to the caller, which has it until taken says whether it wants more
	taken    chan bool

	mu       sync.Mutex // guards what follows, and handing over
	stopped  bool       // the caller wants no more
	stats    promquery.Stats
	warnings map[int][]string // by request, so that their order does not depend on what is answered first
}

// errStopped ends the requests of a Select whose caller wants no more series. It does not leave the package.
var errStopped = errors.New("stopped by the caller")

// emit hands a stretch of the series that keys were given the labels of to the caller, first telling whether it is the series'
// first.
func (r *run) emit(i int, keys *chunks.Keys, p *timeline.Points, first bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return errStopped
	}
	r.stats.Samples += int64(p.Len())
	if first {
		r.stats.Series++
	}
	r.series <- promquery.Series{Request: i, Key: keys.Key(), Points: p}
	if r.stopped = !<-r.taken; r.stopped {
		return errStopped
	}
	return nil
}

// sent counts what was sent for the requests at these places, each of which got a part of the answer like its weight.
func (r *run) sent(req promquery.Sent, places []int, weights []int64) {
	req.Of = promquery.NewPortions(req.Bytes, places, weights)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Ask(req)
}

// warn notes warnings about request i.
func (r *run) warn(i int, warnings ...string) {
	if len(warnings) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.warnings == nil {
		r.warnings = map[int][]string{}
	}
	r.warnings[i] = append(r.warnings[i], warnings...)
}

// result returns the stats; no request runs any more.
func (r *run) result() promquery.Stats {
	seen := map[string]bool{}
	for i := range r.requests {
		for _, w := range r.warnings[i] {
			if !seen[w] {
				r.stats.Warnings = append(r.stats.Warnings, w)
			}
			seen[w] = true
		}
	}
	return r.stats
}

// parallel runs the tasks, as many at a time as requests may run, and returns the first one's error that failed; it
// ends the others.
func (r *run) parallel(ctx context.Context, tasks []func(context.Context) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
		next  = make(chan func(context.Context) error)
	)
	for range min(len(tasks), r.src.cfg.MaxConcurrency) {
		wg.Go(func() {
			for task := range next {
				if err := task(inner); err != nil {
					once.Do(func() { first = err })
					cancel()
				}
			}
		})
	}
	for _, task := range tasks {
		if inner.Err() != nil {
			break
		}
		next <- task
	}
	close(next)
	wg.Wait()
	switch {
	case r.stopped:
		return errStopped
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return first
}
