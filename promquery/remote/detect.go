package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/promquery"
)

// maxProbe bounds the answers to the few questions asked once, a server's configuration being the largest.
const maxProbe = 16 << 20

// server is what detection found out about the server.
type server struct {
	mode     Mode
	external map[string]string
	broken   *breakage // why the query API is used although there is remote read; nil if it is not
}

// known is what was found out about the server, nil if that is unknown or outdated.
func (s *Source) known() *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil || s.server.broken.over() {
		return nil
	}
	return s.server
}

// detect finds out what the server is and supports. A failure is not remembered, so the next use asks again.
func (s *Source) detect(ctx context.Context) (*server, error) {
	if srv := s.known(); srv != nil {
		return srv, nil
	}
	srv, leave, err := s.detections.Do(ctx, struct{}{}, func(ctx context.Context) (*server, error) {
		if srv := s.known(); srv != nil {
			return srv, nil
		}
		srv, err := s.probe(ctx)
		if ctx.Err() == nil {
			s.mu.Lock()
			s.server = srv
			s.mu.Unlock()
		}
		return srv, err
	})
	leave()
	return srv, err
}

// probe asks the server what it is and supports.
func (s *Source) probe(ctx context.Context) (*server, error) {
	if err := s.probeAPI(ctx); err != nil {
		return nil, err
	}
	srv := &server{mode: s.cfg.Mode, external: s.cfg.ExternalLabels}
	if srv.external == nil {
		external, err := s.probeExternal(ctx)
		if err != nil {
			return nil, err
		}
		srv.external = external
	}
	if srv.mode == ModeQuery {
		return srv, nil
	}
	streams, err := s.probeRead(ctx)
	switch {
	case s.fails(err):
		srv.mode, srv.broken = ModeQuery, s.breakageOf(err)
	case err != nil:
		return nil, err
	case streams:
		srv.mode = ModeRemoteRead
	case srv.mode == ModeRemoteRead:
		return nil, fmt.Errorf("read from %s: the server does not stream remote read at %s; use the query API with --source=query, or let --source=auto choose", s.base.Redacted(), readPath)
	default:
		srv.mode = ModeQuery
	}
	return srv, nil
}

// envelope is what surrounds every answer of the API.
type envelope struct {
	Status   string          `json:"status"`
	Error    string          `json:"error"`
	Data     json.RawMessage `json:"data"`
	Warnings []string        `json:"warnings"`
}

// ask sends a small request and returns the data of its answer.
func (s *Source) ask(ctx context.Context, req request, sent func(promquery.Sent)) (json.RawMessage, error) {
	answer, err := s.askWhole(ctx, req, sent)
	return answer.Data, err
}

// askWhole is ask with what surrounds the data.
func (s *Source) askWhole(ctx context.Context, req request, sent func(promquery.Sent)) (answer envelope, err error) {
	err = s.send(ctx, req, func(resp *http.Response, body io.Reader) (bool, error) {
		text, err := io.ReadAll(io.LimitReader(body, maxProbe))
		if err != nil {
			return false, streamError{err}
		}
		answer = envelope{}
		if json.Unmarshal(text, &answer) != nil || answer.Status == "" {
			return false, notAPI(resp)
		}
		if answer.Status != "success" {
			return false, fmt.Errorf("status %q: %s", answer.Status, shown(printable([]byte(answer.Error))))
		}
		return false, nil
	}, sent)
	return answer, err
}

// uncounted is for requests that are part of no Select.
func uncounted(promquery.Sent) {}

// notAPI is the error of a good status around something that is not an answer of the API.
func notAPI(resp *http.Response) error {
	what := "something other than JSON"
	if isHTML(resp) {
		what = "HTML"
	}
	return &notPrometheusError{what}
}

// notPrometheusError says that no Prometheus answers.
type notPrometheusError struct{ what string }

func (e *notPrometheusError) Error() string { return "got " + e.what }

// probeAPI makes sure that the server speaks Prometheus' API.
func (s *Source) probeAPI(ctx context.Context) error {
	const path = "/api/v1/query"
	data, err := s.ask(ctx, get(path, url.Values{"query": {"1"}}), uncounted)
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err == nil && (json.Unmarshal(data, &answer) != nil || answer.Result == nil || string(answer.Result) == "null") {
		err = &notPrometheusError{"JSON without a result"}
	}
	if notPrometheus, ok := errors.AsType[*notPrometheusError](err); ok {
		return fmt.Errorf("read from %s: not a Prometheus API: got %s from %s; give the URL that stands before /api/v1 with --prometheus.url", s.base.Redacted(), notPrometheus.what, path)
	}
	return err
}

// answers reports whether the server answers a trivial question.
func (s *Source) answers(ctx context.Context, sent func(promquery.Sent)) bool {
	req := get("/api/v1/query", url.Values{"query": {"1"}})
	req.tries = 1
	_, err := s.ask(ctx, req, sent)
	return err == nil
}

// probeExternal reads the server's external labels. A server that keeps its configuration to itself has none.
func (s *Source) probeExternal(ctx context.Context) (map[string]string, error) {
	data, err := s.ask(ctx, get("/api/v1/status/config", nil), uncounted)
	var (
		serr          *statusError
		notPrometheus *notPrometheusError
	)
	if errors.As(err, &notPrometheus) || errors.As(err, &serr) && serr.code/100 == 4 && serr.code != http.StatusTooManyRequests {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	var wrapped struct {
		YAML string `json:"yaml"`
	}
	var config struct {
		Global struct {
			ExternalLabels map[string]string `yaml:"external_labels"`
		} `yaml:"global"`
	}
	if json.Unmarshal(data, &wrapped) != nil || yaml.Unmarshal([]byte(wrapped.YAML), &config) != nil {
		return map[string]string{}, nil
	}
	if config.Global.ExternalLabels == nil {
		return map[string]string{}, nil
	}
	return config.Global.ExternalLabels, nil
}

// probeRead reports whether the server streams remote read. It sends a request without queries. A failure of the server says
// nothing about that, and is an error.
func (s *Source) probeRead(ctx context.Context) (bool, error) {
	streams := false
	err := s.send(ctx, readRequest(nil), func(resp *http.Response, _ io.Reader) (bool, error) {
		streams = mediaType(resp) == streamedType
		return false, nil
	}, uncounted)
	switch serr := (*statusError)(nil); {
	case !errors.As(err, &serr):
		return streams, err
	case serr.code == http.StatusNotImplemented || serr.code/100 == 4 && serr.code != http.StatusTooManyRequests:
		return false, nil
	}
	return false, err
}
