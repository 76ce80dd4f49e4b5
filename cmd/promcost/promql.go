package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/remote"
)

// promqlFlags say how PromQL over costs is answered.
type promqlFlags struct {
	passthrough    bool
	timeout        time.Duration
	maxSamples     int
	maxConcurrency int
}

func addPromQLFlags(g flagGroup) *promqlFlags {
	f := &promqlFlags{}
	durationOf(g, "promql.timeout", "Longest that a PromQL query, or a remote read, may take.", &f.timeout, time.Millisecond).
		Default(costseries.DefaultTimeout.String())
	countOf(g, "promql.max-samples", "Most samples that one PromQL query may hold in memory, and that one answer of remote read may have where it is not streamed.", &f.maxSamples, 1).
		Default(strconv.Itoa(costseries.DefaultMaxSamples))
	countOf(g, "promql.max-concurrency", "Most PromQL queries, remote reads and federations at a time; others wait.", &f.maxConcurrency, 1).
		Default(strconv.Itoa(costseries.DefaultMaxConcurrency))
	return f
}

// addPassthrough adds the flag that joins the source's own series.
func (f *promqlFlags) addPassthrough(g flagGroup) {
	g.Flag("promql.passthrough", "Let PromQL name the series of --prometheus.url beside those of cost, in one expression. Where it does not answer, cost alone does, with a warning.").
		BoolVar(&f.passthrough)
}

// validate checks the flags against those of the source.
func (f *promqlFlags) validate(source *sourceFlags) error {
	if f.passthrough && source.url == "" {
		return usageErrorf("--promql.passthrough has no Prometheus to read from: give --prometheus.url=URL, or leave it out")
	}
	return nil
}

// upstream is the server whose series PromQL may name besides; nil where it may not.
func (f *promqlFlags) upstream(source *sourceFlags, src *remote.Source, owned []string) (*costseries.Upstream, error) {
	if !f.passthrough {
		return nil, nil
	}
	base, err := url.Parse(source.url)
	if err != nil {
		return nil, errors.New("parse --prometheus.url: give a URL such as http://localhost:9090")
	}
	client, err := httpClient(source.httpConfig)
	if err != nil {
		return nil, err
	}
	return costseries.NewUpstream(costseries.UpstreamConfig{
		URL: base, Client: client, Params: source.queryParams(), Owned: owned, External: src.ExternalLabels,
		Streams: func(ctx context.Context) (bool, error) {
			mode, err := src.Mode(ctx)
			return mode == remote.ModeRemoteRead, err
		},
		Lookback: source.lookback, Timeout: source.timeout, MaxConcurrency: source.maxConcurrency,
	}), nil
}

// promql answers PromQL over the service's costs, its requests counted by path.
func (s *server) promql() (http.Handler, error) {
	mux := http.NewServeMux()
	if h := s.computer.shard; h.Of > 1 {
		mux.Handle("/", s.health.Instrument("/api/v1", shardOnly(h)))
		return mux, nil
	}
	f := s.flags.promql
	series := costseries.New(s.ledger, costseries.Options{
		Grace: s.flags.grace, Zone: s.settings().zone, Subjects: s.subjects, Spending: s.ledger.SpendingsIn, Currency: func() string { return s.settings().currency },
		Bounds: timeline.Bounds, MaxMemory: s.service.flags.maxMemory, Now: s.clock,
	})
	var owned []string
	var metadata []costseries.Metadata
	for _, family := range series.Families() {
		owned = append(owned, family.Name)
		kind := "gauge"
		if family.Counter {
			kind = "counter"
		}
		metadata = append(metadata, costseries.Metadata{Name: family.Name, Type: kind, Help: family.Help})
	}
	upstream, err := f.upstream(s.source, s.computer.source.remote, owned)
	if err != nil {
		return nil, err
	}
	engine := costseries.NewEngine(costseries.EngineOptions{Timeout: f.timeout, MaxSamples: f.maxSamples})
	api := costseries.NewAPI(series, engine, costseries.APIOptions{
		Timeout: f.timeout, MaxConcurrency: f.maxConcurrency, MaxReadSamples: f.maxSamples, Metadata: metadata,
		Config: s.configText, Started: time.Now(), Retention: "as long as the history is kept", Upstream: upstream, Now: s.now,
	})
	for _, path := range costseries.Paths() {
		mux.Handle(path, s.health.Instrument(path, api))
	}
	// A path that a client chose is no label.
	mux.Handle("/", s.health.Instrument("/api/v1", api))
	return mux, nil
}

// compatible begins the names of collectors of names that others have for what they price. Theirs are cost series only where they are asked
// for: the source may have its own.
const compatible = "opencost"

// subjects are those of cost series under the settings in use, on /metrics or not.
func (s *server) subjects() []allocation.Subject {
	return slices.DeleteFunc(s.metering().Configured(), func(subject allocation.Subject) bool {
		name := subject.Collector()
		return strings.HasPrefix(name, compatible) && !*s.flags.enabled[name]
	})
}

// configText is the settings in use without secrets, as YAML.
func (s *service) configText() string {
	current := s.settings()
	budgets := make([]string, len(current.budgets))
	for i, b := range current.budgets {
		budgets[i] = b.name
	}
	text, err := yaml.Marshal(map[string]any{
		"timeZone": current.zone.String(), "currency": current.currency, "prices": current.rates.Name(), "budgets": budgets,
		"clusters": slices.Sorted(maps.Keys(current.clusters)), "history": s.where,
	})
	if err != nil {
		return fmt.Sprintf("# %v\n", err)
	}
	return string(text)
}
