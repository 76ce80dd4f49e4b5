// Package upstream joins the series of another Prometheus, or of a server with the same API, to the series of a storage.Queryable,
// so that one expression may name both.
package upstream

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation/places"
)

// Defaults of Config.
const (
	DefaultLookback = 5 * time.Minute
	DefaultTimeout  = 2 * time.Minute
	DefaultMaxBytes = 256 << 20
)

// Config says which server has the other series. URL, Owned, External and Streams are required.
type Config struct {
	// URL is what stands before /api/v1.
	URL *url.URL
	// Client sends the requests, with whatever credentials it has. The default is http.DefaultClient.
	Client *http.Client
	// Params are sent with every query, such as dedup=false for Thanos.
	Params url.Values
	// Owned are the names of cost series that only promcost has. The server may have scraped some from a promcost, but they are never read
	// from it.
	Owned []string
	// Shared are the names of cost series that others expose, too, such as kube-state-metrics. The server's series of these names stand beside
	// the cost series, and in place of those with equal labels; what it scraped from a promcost is left out, unless a query names the job.
	Shared []string
	// Limits are the series that may be read. The default is all.
	Limits Limits
	// External returns the server's external labels. They are taken off its series, unless a query names them, so that a query
	// gives the same as on the server itself.
	External func(ctx context.Context) (map[string]string, error)
	// Streams says whether the server streams remote read. If not, it is asked by the query API.
	Streams func(ctx context.Context) (bool, error)
	// Lookback is how long a sample of the server is valid. The lookback of the engine is longer, as cost has a sample an hour.
	// The default is DefaultLookback.
	Lookback time.Duration
	// Timeout bounds a request. The default is DefaultTimeout.
	Timeout time.Duration
	// MaxConcurrency bounds the requests that run at a time. One more may run for a small question. The default is 2.
	MaxConcurrency int
	// MaxBytes bounds an answer of the server. The default is DefaultMaxBytes.
	MaxBytes int64
}

// Server is a server with further series for queries. If it fails, the answer has a warning and only the cost series. It is safe
// for concurrent use.
type Server struct {
	cfg   Config
	base  *url.URL
	slots places.Places // of requests that run

	mu        sync.Mutex
	down      error // why detect failed last
	downUntil time.Time
}

// New returns a server. It sends nothing yet.
func New(cfg Config) *Server {
	if cfg.Client == nil {
		cfg.Client = http.DefaultClient
	}
	cfg.Lookback = cmp.Or(cfg.Lookback, DefaultLookback)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.MaxConcurrency = cmp.Or(cfg.MaxConcurrency, 2)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	cfg.Owned = slices.Sorted(slices.Values(cfg.Owned))
	base := *cfg.URL
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	base.RawQuery, base.Fragment = "", ""
	return &Server{cfg: cfg, base: &base, slots: places.New(cfg.MaxConcurrency)}
}
