// Package promapi serves Prometheus' HTTP API over a storage.Queryable: queries, look-ups, federation and remote read, for Grafana,
// promtool and other Prometheus servers. Answers and errors are those of Prometheus, to the last byte. What a request may take is
// bounded.
package promapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/places"
	"github.com/promcost/promcost/promquery/upstream"
)

// Defaults of Options, and limits of requests.
const (
	DefaultMaxConcurrency = 20
	maxForm               = 1 << 20 // bytes of the parameters in a body
)

// Options set up the HTTP API. Zero fields take the defaults.
type Options struct {
	// Lookback is that of the engine, and how far back /federate looks. The default is DefaultLookback.
	Lookback time.Duration
	// Timeout bounds a request, including the wait for its turn. The engine has a timeout of its own. The default is
	// DefaultTimeout.
	Timeout time.Duration
	// MaxConcurrency bounds the requests for series that are answered at a time; others wait. One more may be answered where it is
	// a small question. The default is DefaultMaxConcurrency.
	MaxConcurrency int
	// MaxSamples bounds the steps of the subqueries of an expression, and the samples of an answer of /api/v1/read that is not
	// streamed. The default is DefaultMaxSamples.
	MaxSamples int
	// Memory is what requests draw from. Each has an account, which is in the context that series are selected with. The default
	// has no bound.
	Memory *memory.Budget
	// Metadata describes the cost series for /api/v1/metadata, sorted by name. The default is nothing.
	Metadata []upstream.Metadata
	// Config is what /api/v1/status/config shows, as YAML without secrets. The default is nothing.
	Config func() string
	// Flags are what /api/v1/status/flags shows: the command line's, without secrets. The default is none.
	Flags map[string]string
	// Started is when the process began.
	Started time.Time
	// Retention says in words how far back costs go.
	Retention string
	// Reloaded says when the configuration was last read, and whether that succeeded. The default is Started, and that it did.
	Reloaded func() (at time.Time, ok bool)
	// Upstream has further series that queries may name. Nil is none.
	Upstream *upstream.Server
	// Logger gets a warning if /federate leaves costs out, because its answer has no place for one. The default logs nothing.
	Logger log.Logger
	// Now is the clock of queries that name no time, and of /federate. The default is time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.Lookback = cmp.Or(o.Lookback, DefaultLookback)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxConcurrency = cmp.Or(o.MaxConcurrency, DefaultMaxConcurrency)
	o.MaxSamples = cmp.Or(o.MaxSamples, DefaultMaxSamples)
	if o.Memory == nil {
		o.Memory = memory.New(0)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = log.NewNopLogger()
	}
	if o.Config == nil {
		o.Config = func() string { return "" }
	}
	if o.Flags == nil {
		o.Flags = map[string]string{}
	}
	if o.Reloaded == nil {
		o.Reloaded = func() (time.Time, bool) { return o.Started, true }
	}
	return o
}

// api is what all requests share. It never changes.
type api struct {
	own    storage.SampleAndChunkQueryable
	all    storage.Queryable // own, and the upstream's
	engine promql.QueryEngine
	o      Options
	parser parser.Parser
	turns  places.Places // of the requests for series
}

// ReadPath answers remote read, in an encoding of its own.
const ReadPath = "/api/v1/read"

// route is a path and its handler.
type route struct {
	path     string
	costs    bool // it reads series: requests wait for their turn and have a timeout
	instant  bool // it is about one instant
	post     bool // it also takes a form
	serve    func(*api, *http.Request) (result, *apiError)
	serveRaw func(*api, http.ResponseWriter, *http.Request) // instead of serve, if the answer is not Prometheus' JSON
}

// routes are the routes of the API, sorted by path.
func routes() []route {
	return []route{
		{path: "/api/v1/alertmanagers", serve: always(map[string]any{"activeAlertmanagers": []string{}, "droppedAlertmanagers": []string{}})},
		{path: "/api/v1/alerts", serve: always(none("alerts"))},
		{path: "/api/v1/features", serve: (*api).serveFeatures},
		{path: "/api/v1/format_query", post: true, serve: (*api).serveFormat},
		{path: "/api/v1/label/{name}/values", costs: true, serve: (*api).serveLabelValues},
		{path: "/api/v1/labels", costs: true, post: true, serve: (*api).serveLabels},
		{path: "/api/v1/metadata", costs: true, serve: (*api).serveMetadata},
		{path: "/api/v1/parse_query", post: true, serve: (*api).serveParse},
		{path: "/api/v1/query", costs: true, instant: true, post: true, serve: (*api).serveQuery},
		{path: "/api/v1/query_exemplars", post: true, serve: (*api).serveExemplars},
		{path: "/api/v1/query_range", costs: true, post: true, serve: (*api).serveQueryRange},
		{path: ReadPath, costs: true, serveRaw: (*api).serveRead},
		{path: "/api/v1/rules", serve: (*api).serveRules},
		{path: "/api/v1/scrape_pools", serve: always(none("scrapePools"))},
		{path: "/api/v1/series", costs: true, post: true, serve: (*api).serveSeries},
		{path: "/api/v1/status/buildinfo", serve: (*api).serveBuildInfo},
		{path: "/api/v1/status/config", serve: (*api).serveConfig},
		{path: "/api/v1/status/flags", serve: func(a *api, _ *http.Request) (result, *apiError) { return result{data: a.o.Flags}, nil }},
		{path: "/api/v1/status/runtimeinfo", serve: (*api).serveRuntimeInfo},
		{path: "/api/v1/targets", serve: (*api).serveTargets},
		{path: "/api/v1/targets/metadata", serve: (*api).serveTargetMetadata},
		{path: "/federate", costs: true, instant: true, serveRaw: (*api).serveFederate},
	}
}

// Paths are the paths that the API answers, as patterns of http.ServeMux.
func Paths() []string {
	var paths []string
	for _, r := range routes() {
		paths = append(paths, r.path)
	}
	return paths
}

// New returns the API over cost series and those of o.Upstream. The engine evaluates queries. Paths other than Paths are answered
// with an error in Prometheus' form.
func New(own storage.SampleAndChunkQueryable, engine promql.QueryEngine, o Options) http.Handler {
	a := &api{own: own, all: own, engine: engine, o: o.withDefaults(), parser: newParser()}
	a.turns = places.New(a.o.MaxConcurrency)
	if a.o.Upstream != nil {
		a.all = a.o.Upstream.Join(own, a.o.Lookback)
	}
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.Handle(r.path, a.handler(r))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		hint := "use one of " + strings.Join(Paths(), ", ")
		if near := caret.NearestPath(strings.TrimSuffix(r.URL.Path, "/"), Paths()); near != "" {
			hint = "did you mean " + near + "?"
		}
		answerError(w, http.StatusNotFound, "not_found", fmt.Errorf("unknown path %.200q: %s", r.URL.Path, hint))
	})
	return mux
}

// newParser is the parser of expressions and selectors.
func newParser() parser.Parser { return flaglessParser{parser.NewParser(parser.Options{})} }

// flaglessParser is Prometheus' parser, whose errors name no flag that promcost does not have.
type flaglessParser struct{ parser.Parser }

// ParseExpr implements parser.Parser.
func (p flaglessParser) ParseExpr(text string) (parser.Expr, error) {
	expr, err := p.Parser.ParseExpr(text)
	return expr, withoutFlag(err)
}

// ParseMetricSelectors implements parser.Parser.
func (p flaglessParser) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	sets, err := p.Parser.ParseMetricSelectors(texts)
	return sets, withoutFlag(err)
}

// withoutFlag is an error of the parser that does not name Prometheus' flag for experimental functions.
func withoutFlag(err error) error {
	if err == nil {
		return nil
	}
	if text, ok := strings.CutSuffix(err.Error(), " and must be enabled with --enable-feature=promql-experimental-functions"); ok {
		return errors.New(text + ", and promcost does not evaluate it: use another function")
	}
	return err
}

// remedy says how a question takes less memory.
const remedy = "select fewer by labels, ask for a shorter range or a longer step, or sum them by fewer labels in the innermost expression"

// handler answers a route.
func (a *api) handler(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods := []string{http.MethodGet, http.MethodHead}
		if rt.post {
			methods = append(methods, http.MethodPost)
		}
		if rt.serveRaw == nil && !checkMethod(w, r, methods...) {
			return
		}
		r, ok := boundForm(w, r)
		if !ok {
			return
		}
		if rt.costs {
			ctx, cancel := context.WithTimeout(places.About(r.Context(), a.about(rt, r)), a.o.Timeout)
			defer cancel()
			leave, err := a.turns.Take(ctx)
			if err != nil {
				answerError(w, http.StatusServiceUnavailable, "timeout", fmt.Errorf("%d requests are being answered, as many as may be at a time: ask again later", a.o.MaxConcurrency))
				return
			}
			defer leave()
			ctx, _, release := a.o.Memory.Within(ctx, remedy)
			defer release()
			if d, err := parseDuration(r.FormValue("lookback_delta")); err == nil && d > 0 { // the engine refuses others
				ctx = upstream.WithLookback(ctx, d)
			}
			r = r.WithContext(ctx)
		}
		if rt.serveRaw != nil {
			rt.serveRaw(a, w, r)
			return
		}
		res, bad := rt.serve(a, r)
		answerResult(w, res, bad)
	})
}

// boundForm reads the parameters of a request. Where they are too long it answers with an error and returns false.
func boundForm(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if r.Header.Get("Content-Type") == readType {
		return r, true // not a form: whoever reads the body bounds it
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	// As with Prometheus, malformed parameters are ignored.
	err := errors.Join(r.ParseForm(), r.ParseMultipartForm(maxForm))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		answerError(w, http.StatusRequestEntityTooLarge, "bad_data", fmt.Errorf("the parameters in the body are longer than %d bytes: send fewer or shorter ones", maxForm))
		return nil, false
	}
	return r, true
}

// envelope is the form of all JSON answers.
type envelope struct {
	Status    string   `json:"status"`
	Data      any      `json:"data,omitempty"`
	ErrorType string   `json:"errorType,omitempty"`
	Error     string   `json:"error,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Infos     []string `json:"infos,omitempty"`
}

// answerError answers with an error.
func answerError(w http.ResponseWriter, code int, kind string, err error) {
	writeAnswer(w, code, envelope{Status: "error", ErrorType: kind, Error: allocation.Brief(err.Error())})
}

func writeAnswer(w http.ResponseWriter, code int, a envelope) {
	text, err := json.Marshal(a)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// checkMethod answers requests with a method that is not allowed, and returns false for them.
func checkMethod(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	answerError(w, http.StatusMethodNotAllowed, "bad_data", fmt.Errorf("method %s is not allowed: use %s", r.Method, strings.Join(methods, " or ")))
	return false
}
