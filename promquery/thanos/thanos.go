// Package thanos is a promquery.Source over Thanos' StoreAPI, by gRPC: of Thanos Query, sidecars, store gateways, receivers and rulers. It
// gives the chunks that are stored, so that all samples are read, for less of the servers' time than the query API takes.
//
// Stores answer with series in the order of their labels. Those of several stores are merged, and chunks that two of them have count once.
// What a store leaves out, as it says in warnings, is a loss of the answer: hours that lack it are incomplete.
package thanos

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// Name is the name of the source in readings, and the value of --source.
const Name = "thanos"

// The defaults of Config, and how often a question is asked before it fails.
const (
	DefaultTimeout = 2 * time.Minute
	DefaultBackoff = 250 * time.Millisecond
	tries          = 6
)

// maxMessage bounds a message: a series, or some of them.
const maxMessage = 64 << 20

// Config says which stores to read. Stores is required.
type Config struct {
	// Stores are their addresses, HOST:PORT, or tls://HOST:PORT for those that want TLS.
	Stores []string
	// TLS is how to speak TLS; nil is as the system does.
	TLS *tls.Config
	// ReplicaLabels distinguish replicas of one Prometheus. Keys leave them out, so that replicas are series of one key.
	ReplicaLabels []string
	// Whole refuses answers that lack what a store behind Thanos Query has.
	Whole bool
	// Timeout bounds the wait for the next message of a store; 0 is DefaultTimeout.
	Timeout time.Duration
	// Backoff is the wait before a failed question is first repeated. It doubles each time. 0 is DefaultBackoff.
	Backoff time.Duration
}

// Source reads stores. It is safe for concurrent use.
type Source struct {
	cfg    Config
	stores []*store
}

// store is one of them, and the connection to it, which is made when it is first used.
type store struct {
	address string
	conn    *grpc.ClientConn
}

// New returns a Source. It sends nothing yet.
func New(cfg Config) (*Source, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Backoff <= 0 {
		cfg.Backoff = DefaultBackoff
	}
	s := &Source{cfg: cfg}
	for _, address := range cfg.Stores {
		host, secure := strings.CutPrefix(address, "tls://")
		if host == "" || strings.Contains(host, "/") || !strings.Contains(host, ":") {
			return nil, errors.Join(fmt.Errorf("parse --thanos.store=%s: give HOST:PORT of a gRPC endpoint, such as thanos-query:10901, or tls://HOST:PORT", address), s.Close())
		}
		creds := insecure.NewCredentials()
		if secure {
			creds = credentials.NewTLS(cfg.TLS)
		}
		conn, err := grpc.NewClient("dns:///"+host, grpc.WithTransportCredentials(creds), grpc.WithUserAgent("promcost"),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxMessage)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open --thanos.store=%s: %w", address, err), s.Close())
		}
		s.stores = append(s.stores, &store{address, conn})
	}
	return s, nil
}

// Close closes the connections.
func (s *Source) Close() error {
	var errs []error
	for _, x := range s.stores {
		errs = append(errs, x.conn.Close())
	}
	return errors.Join(errs...)
}

// Name implements promquery.Named.
func (*Source) Name(context.Context) string { return Name }

// ExternalLabels returns none: series have those of their Prometheus.
func (*Source) ExternalLabels(context.Context) (map[string]string, error) {
	return map[string]string{}, nil
}

// DataBegin returns when the data of metrics begin within [from, to), rounded down to whole hours after from; to if there are none. A store
// gateway knows the times of series by those of its blocks: it may be earlier than that.
func (s *Source) DataBegin(ctx context.Context, metrics []string, from, to time.Time) (time.Time, error) {
	return promquery.FirstHour(from, to, func(from, to time.Time) (bool, error) {
		r := promquery.Request{
			Matchers: []promquery.Matcher{{Name: "__name__", Type: promquery.MatchRegexp, Value: strings.Join(metrics, "|")}},
			Start:    from.UnixMilli(), End: to.UnixMilli() - 1,
		}
		some := false
		err := s.repeat(ctx, func() (bool, error) {
			err := s.series(ctx, question{request: &r, whole: true, first: true}, new(promquery.Sent), func(*merged) error {
				some = true
				return errEnough
			})
			if errors.Is(err, errEnough) {
				err = nil
			}
			return false, err
		})
		return some, err
	})
}

// errEnough ends the reading of an answer of which no more is wanted.
var errEnough = errors.New("no more is wanted")

// Select implements promquery.Source.
func (s *Source) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		r := &reader{src: s, yield: yield, keys: chunks.NewKeys(nil, chunks.NewSymbols(promquery.SymbolsOf(ctx)))}
		for i := range rs {
			if _, err := chunks.Matchers(&rs[i]); err != nil {
				return r.stats, err
			}
		}
		for i := range rs {
			if err := r.request(ctx, i, &rs[i]); err != nil {
				return r.stats, err
			}
		}
		return r.stats, ctx.Err()
	})
}

// repeat asks until that does not fail, as often as it may help. ask reports whether it has failed for a reason that another question would not mend.
func (s *Source) repeat(ctx context.Context, ask func() (final bool, err error)) error {
	for try := 1; ; try++ {
		final, err := ask()
		if err != nil && !final && ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || final || try == tries || !transient(err) {
			return err
		}
		d := s.cfg.Backoff << (try - 1)
		select {
		case <-time.After(d/2 + rand.N(d)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// transient reports whether the same question may be answered in a moment.
func transient(err error) bool {
	return slices.Contains([]codes.Code{codes.Unavailable, codes.ResourceExhausted, codes.Aborted}, status.Code(err))
}
