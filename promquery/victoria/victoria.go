// Package victoria is a promquery.Source over VictoriaMetrics' exports, which give raw samples: of a single node, of vmselect below the prefix
// of a tenant, or of vmauth before one of them.
//
// Long windows are read from /api/v1/export/native: blocks as they are stored, which costs the server next to nothing. Whole blocks of up to
// 8,192 samples come, so short windows are read from /api/v1/export, lines of JSON. The native format has no version. Where an
// answer is not what this package knows, lines are read in its place, with a warning.
//
// VictoriaMetrics merges no replicas in exports: of samples of a series at one time, the first one counts.
package victoria

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"sync"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// The paths of exports, and the content type of the native one.
const (
	nativePath = "/api/v1/export/native"
	linesPath  = "/api/v1/export"
	nativeType = "victoriametrics/native"
)

// Name is the name of the source in readings, and the value of --source that insists on it.
const Name = "victoria-metrics"

// Config says which server to read. Server is required.
type Config struct {
	// Server is the server by its Prometheus API, which answers all other questions than for samples, and these where there are no exports.
	Server *remote.Source
	// ReplicaLabels distinguish replicas of one Prometheus. Keys leave them out, so that replicas are series of one key.
	ReplicaLabels []string
	// Insist makes it an error that the server has no exports.
	Insist bool
}

// Source reads a server. It is safe for concurrent use.
type Source struct {
	*remote.Source
	cfg Config

	mu      sync.Mutex // never held while the server is asked
	known   bool
	exports bool
}

// New returns a Source. It sends nothing yet.
func New(cfg Config) *Source { return &Source{Source: cfg.Server, cfg: cfg} }

// Name implements promquery.Named: Name where exports are read, else as the server is read without them.
func (s *Source) Name(ctx context.Context) string {
	if exports, err := s.hasExports(ctx); err == nil && exports {
		return Name
	}
	return s.Source.Name(ctx)
}

// Raw implements promquery.Sampler: exports are of raw samples.
func (s *Source) Raw(ctx context.Context, start, end int64) bool {
	exports, err := s.hasExports(ctx)
	return err == nil && (exports || s.Source.Raw(ctx, start, end))
}

// Select implements promquery.Source.
func (s *Source) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return func(yield func(promquery.Series, error) bool) {
		exports, err := s.hasExports(ctx)
		if err != nil {
			yield(promquery.Series{}, err)
			return
		}
		if !exports {
			s.Source.Select(ctx, rs, stats)(yield)
			return
		}
		promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
			r, err := newReader(ctx, s, rs, yield)
			if err == nil {
				err = r.read(ctx)
			}
			return r.stats, err
		})(yield)
	}
}

// hasExports finds out whether the server has exports. A failure is not remembered, so that the next use asks again.
func (s *Source) hasExports(ctx context.Context) (bool, error) {
	s.mu.Lock()
	known, exports := s.known, s.exports
	s.mu.Unlock()
	if known {
		return exports, nil
	}
	exports, err := s.probe(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.exports = true, exports
	return exports, nil
}

// probe asks for an export of nothing. A server that streams remote read is none of VictoriaMetrics'.
func (s *Source) probe(ctx context.Context) (bool, error) {
	if mode, err := s.Mode(ctx); err != nil || mode == remote.ModeRemoteRead && !s.cfg.Insist {
		return false, err
	}
	exports := false
	err := s.Post(ctx, nativePath, url.Values{"match[]": {`{__name__="promcost_nothing"}`}, "start": {"1"}, "end": {"2"}}, func(contentType string, _ io.Reader) error {
		exports = contentType == nativeType
		return nil
	}, func(promquery.Sent) {})
	if remote.IsRefused(err) {
		exports, err = false, nil
	}
	if err == nil && !exports && s.cfg.Insist {
		err = fmt.Errorf("the server has no %s, as VictoriaMetrics does: give its URL, that of vmselect with the prefix of a tenant (http://vmselect:8481/select/0/prometheus), or --source=auto", nativePath)
	}
	return exports, err
}

// formatError says that an answer is not what this package knows.
type formatError struct{ error }

// Unwrap returns the cause.
func (e formatError) Unwrap() error { return e.error }

// isFormat reports whether an answer was not what this package knows.
func isFormat(err error) bool { return errors.As(err, new(formatError)) }

// formatErrorf is a formatError with a text.
func formatErrorf(format string, args ...any) error { return formatError{fmt.Errorf(format, args...)} }

// selector writes the selector of a request.
func selector(r *promquery.Request) string {
	terms := []string{promquery.Matcher{Name: "__name__", Value: r.Metric}.String()}
	for _, m := range r.Matchers {
		terms = append(terms, m.String())
	}
	return "{" + strings.Join(terms, ",") + "}"
}
