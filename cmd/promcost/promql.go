package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/remote"
	"github.com/promcost/promcost/promquery/selfseries"
	"github.com/promcost/promcost/promquery/upstream"
)

// promqlFlags say how PromQL over costs is answered.
type promqlFlags struct {
	passthrough    bool
	limits         upstream.Limits // of passthrough, by --promql.passthrough.match
	limited        bool            // there are some
	timeout        time.Duration
	maxSamples     int
	maxConcurrency int
}

func addPromQLFlags(g flagGroup) *promqlFlags {
	f := &promqlFlags{}
	durationOf(g, "promql.timeout", "Maximum time of a PromQL query or a remote read.", &f.timeout, time.Millisecond).
		Default(promapi.DefaultTimeout.String())
	countOf(g, "promql.max-samples", "Maximum samples that one PromQL query holds in memory, steps of its subqueries, and samples of one remote read that is not streamed.", &f.maxSamples, 1).
		Default(strconv.Itoa(promapi.DefaultMaxSamples))
	countOf(g, "promql.max-concurrency", "Maximum concurrent PromQL queries, remote reads and federations; further ones queue. One extra slot is reserved for queries about up to an hour.", &f.maxConcurrency, 1).
		Default(strconv.Itoa(promapi.DefaultMaxConcurrency))
	return f
}

// addPassthrough adds the flag that joins the source's own series.
func (f *promqlFlags) addPassthrough(g flagGroup) {
	g.Flag("promql.passthrough", "Let PromQL name the series of --prometheus.url beside those of cost, in one expression. Of metrics that both have (--collector.opencost, --collector.opencost-kube), all series are there, and the Prometheus' where labels are equal. Where it does not answer, cost alone does, with a warning. What promcost says of itself, such as promcost_source_requests_total, is then the Prometheus' to have; without, the last two hours of it are kept in memory. Whoever may ask promcost then reads the Prometheus with promcost's credentials and as its tenant: --promql.passthrough.match and --prometheus.exclude limit that.").
		BoolVar(&f.passthrough)
	eachOf(g, "promql.passthrough.match", "Selector, such as up or {namespace=~\"web|db\"}, of the series that --promql.passthrough lets through; of several, a series matches one. Names and labels of others are not listed either. Without, all but those of --prometheus.exclude.", f.limits.Allow).
		PlaceHolder("SELECTOR").IsSetByUser(&f.limited)
}

// validate checks the flags against those of the source.
func (f *promqlFlags) validate(source *sourceFlags) error {
	if !f.passthrough && f.limited {
		return usageErrorf("--promql.passthrough.match limits --promql.passthrough, which is off: give both, or leave it out")
	}
	if f.passthrough && source.prometheus.url == "" {
		return usageErrorf("--promql.passthrough has no Prometheus to read from: give --prometheus.url=URL, or leave it out")
	}
	return nil
}

// upstream is the server whose series PromQL may name in addition to cost series; nil if there is none.
func (f *promqlFlags) upstream(source *sourceFlags, src serverSource, owned, shared []string) (*upstream.Server, error) {
	if !f.passthrough {
		return nil, nil
	}
	base, client, err := source.reach()
	if err != nil {
		return nil, err
	}
	limits := f.limits
	for _, m := range source.exclude {
		if err := limits.Exclude(m); err != nil {
			return nil, fmt.Errorf("--prometheus.exclude: %w", err)
		}
	}
	return upstream.New(upstream.Config{
		URL: base, Client: client, Params: source.queryParams(), Owned: owned, Shared: shared, Limits: limits, External: src.ExternalLabels,
		Streams: func(ctx context.Context) (bool, error) {
			prometheus, ok := src.(byPrometheusAPI)
			if !ok {
				return false, nil
			}
			mode, err := prometheus.Mode(ctx)
			return mode == remote.ModeRemoteRead, err
		},
		Lookback: source.lookback, Timeout: source.timeout, MaxConcurrency: source.maxConcurrency,
	}), nil
}

// byPrometheusAPI is implemented by sources that are read by one of Prometheus' APIs, or by another one beside them.
type byPrometheusAPI interface {
	Mode(ctx context.Context) (remote.Mode, error)
}

// promql answers PromQL over the service's costs and what own has, its requests counted by path.
func (s *server) promql(own prometheus.Gatherer) (http.Handler, error) {
	mux := http.NewServeMux()
	if h := s.computer.shard; h.Of > 1 {
		mux.Handle("/", s.health.Instrument(promqlOther, shardOnly(h)))
		return mux, nil
	}
	api := &promqlAPI{server: s, started: time.Now()}
	if !s.flags.promql.passthrough { // the Prometheus has them, if it scrapes promcost
		api.self = selfseries.New(own, selfseries.Options{Now: s.now})
		s.actors = append(s.actors, api.self.Run)
	}
	if err := api.renew(s.settings()); err != nil {
		return nil, err
	}
	for _, path := range promapi.Paths() {
		var h http.Handler = api
		if path != promapi.ReadPath { // which is packed already, and streamed
			h = costapi.Compressed(api)
		}
		mux.Handle(path, s.health.Instrument(path, h))
	}
	// A path that a client chose is no label.
	mux.Handle("/", s.health.Instrument(promqlOther, api))
	return mux, nil
}

// promqlOther counts requests for paths that are not there.
const promqlOther = "/api/v1"

// promqlAPI is Prometheus' API under the settings in use.
type promqlAPI struct {
	*server
	started time.Time
	self    *selfseries.Ring // promcost's own metrics; nil if the upstream has them

	mu      sync.Mutex
	under   *config.Settings // that handler was made under
	handler http.Handler
}

// ServeHTTP implements http.Handler.
func (a *promqlAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.renew(a.settings()); err != nil {
		level.Warn(a.logs.kit).Log("msg", "PromQL goes on under the settings before", "err", err)
	}
	a.mu.Lock()
	handler := a.handler
	a.mu.Unlock()
	handler.ServeHTTP(w, r)
}

// renew replaces the handler if the settings have changed. If the new one cannot be made, the old one stays.
func (a *promqlAPI) renew(current *config.Settings) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.under == current {
		return nil
	}
	handler, err := a.handlerUnder(current)
	if err == nil || a.handler != nil {
		a.under = current // it would fail each time
	}
	if err == nil {
		a.handler = handler
	}
	return err
}

// recorded is the hours of a ledger and the spending that its recorder knows.
type recorded struct {
	*ledger.Ledger
	*recorder.Recorder
}

// handlerUnder makes the handler under settings.
func (a *promqlAPI) handlerUnder(current *config.Settings) (http.Handler, error) {
	f := a.flags.promql
	subjects := slices.DeleteFunc(a.metering().Table(), func(subject metering.Subject) bool {
		collector := subject.Collector()
		return strings.HasPrefix(collector, compatible) && !*a.flags.enabled[collector]
	})
	series := costseries.New(recorded{a.ledger, a.recorder}, costseries.Options{
		Grace: a.flags.stored.grace, Zone: a.zone, Subjects: subjects, Currency: func() string { return current.Currency },
		Bounds: timeline.ServedBounds, Now: a.clock, Billed: a.billedHours(), Outlooks: a.recorder.OutlooksIn,
	})
	var owned, shared []string // by promcost alone, and with OpenCost or kube-state-metrics
	var metadata []upstream.Metadata
	for _, family := range series.Families() {
		if strings.HasPrefix(family.Name, "promcost_") {
			owned = append(owned, family.Name)
		} else {
			shared = append(shared, family.Name)
		}
		metadata = append(metadata, upstream.Metadata{Name: family.Name, Type: family.Type, Help: family.Help})
	}
	others, err := f.upstream(a.source, a.computer.source.server, owned, shared)
	if err != nil {
		return nil, err
	}
	samples := f.maxSamples
	if most := a.memory.Most(); most > 0 { // the values that an expression makes without series are not drawn from the memory
		samples = min(samples, int(most/costseries.PointBytes))
	}
	engine := promapi.NewEngine(promapi.EngineOptions{Timeout: f.timeout, MaxSamples: samples})
	return promapi.New(a.self.Beside(series, slices.Concat(owned, shared)), engine, promapi.Options{
		Timeout: f.timeout, MaxConcurrency: f.maxConcurrency, MaxSamples: samples, Memory: a.memory, Metadata: metadata,
		Config: a.configText, Flags: a.given, Started: a.started, Retention: "as long as the history is kept", Upstream: others, Logger: a.logs.kit, Now: a.now,
	}), nil
}

// compatible is the collector of metrics under OpenCost's names for the same prices. They are cost series only if asked for,
// because the source may have OpenCost's own.
const compatible = "opencost"

// configText is the settings in use without secrets, as YAML.
func (s *service) configText() string {
	current := s.settings()
	budgets := make([]string, len(current.Budgets))
	for i, b := range current.Budgets {
		budgets[i] = b.Name
	}
	text, err := yaml.Marshal(map[string]any{
		"timeZone": current.Zone.String(), "currency": current.Currency, "prices": current.Rates.Name(), "budgets": budgets,
		"clusters": slices.Sorted(maps.Keys(current.Clusters)), "history": s.where,
	})
	if err != nil {
		return fmt.Sprintf("# %v\n", err)
	}
	return string(text)
}
