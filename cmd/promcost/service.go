package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery"
)

// currency is what costs are in; prices are taken as they are given.
const currency = "USD"

// defaultCluster is the cluster's id where nothing gives one.
const defaultCluster = "cluster-one"

// costFlags say what costs are and on whose clock.
type costFlags struct {
	pricingFile  string
	zone         *time.Location
	clusterID    string
	clusterLabel string
	timeout      time.Duration
	concurrency  int
}

func addCostFlags(g flagGroup) *costFlags {
	f := &costFlags{}
	g.Flag("pricing.file", "YAML file with prices for nodes that have no price metrics.").PlaceHolder("FILE").StringVar(&f.pricingFile)
	zoneOf(g, "timezone", "Time zone on whose clock days and hours begin: an IANA name or an offset.", &f.zone)
	g.Flag("cluster.id", "Id of the cluster, where series do not carry one; else the source's external label, else "+defaultCluster+".").
		PlaceHolder("ID").StringVar(&f.clusterID)
	g.Flag("cluster.label", "Label of the series that names their cluster.").Default("cluster").StringVar(&f.clusterLabel)
	durationOf(g, "compute.timeout", "Longest that one computation may take.", &f.timeout, time.Millisecond).Default("5m")
	countOf(g, "compute.max-concurrency", "Most computations at a time; others wait.", &f.concurrency, 1).
		Default(strconv.Itoa(ledger.DefaultMaxConcurrency))
	return f
}

// clusterLabels are the labels that may name a series' cluster, the configured one first.
func (f *costFlags) clusterLabels() []string {
	return []string{f.clusterLabel, "cluster_id", "k8s_cluster"}
}

// service is what computes, however it is asked.
type service struct {
	flags    *costFlags
	source   *countedSource
	registry *prometheus.Registry
	health   *collector.Health
	ledger   *ledger.Ledger
	api      http.Handler
	closers  []io.Closer
}

// serviceOptions are what differs between the commands that compute.
type serviceOptions struct {
	now       func() time.Time // the clock of the API
	ledgerNow func() time.Time // the clock that says which hour is closed
	grace     time.Duration
}

// newService wires the computing parts over a source. It computes nothing yet.
func newService(src promquery.Source, f *costFlags, logs loggers, o serviceOptions) (*service, error) {
	sheet, err := readSheet(f.pricingFile)
	if err != nil {
		return nil, err
	}
	s := &service{flags: f, source: &countedSource{src: src}, registry: prometheus.NewRegistry()}
	if s.health, err = collector.NewHealth(s.registry, currency); err != nil {
		return nil, err
	}
	computer := &computer{source: s.source, flags: f, rates: sheet, observe: s.observe}
	if o.grace == 0 {
		o.grace = -1 // none, to the ledger
	}
	s.ledger = ledger.New(computer, logs.kit, ledger.Options{
		MaxConcurrency: f.concurrency, Timeout: f.timeout, Grace: o.grace, Zone: f.zone, Now: o.ledgerNow,
	})
	s.api = newAPI(s, computer, logs, o.now)
	return s, nil
}

// observe tells the health metrics what a computation took.
func (s *service) observe(o promquery.Observation) {
	s.health.ObserveComputation(time.Now(), o.Duration, o.Err)
	s.health.ObserveSource(collector.SourceRead{
		Took: o.Duration, Requests: o.Stats.Requests, Samples: o.Stats.Samples, Bytes: o.Stats.Bytes, Err: o.Err,
	})
}

// Close closes what the service reads, the last opened first.
func (s *service) Close() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// computer computes with the cluster's id, which it asks the source for when it is first needed: a source that is down
// at the start is no reason not to start.
type computer struct {
	source  *countedSource
	flags   *costFlags
	rates   *pricing.Sheet
	observe func(promquery.Observation)

	mu     sync.Mutex
	engine *promquery.Engine // nil until the cluster's id is known
	id     string
}

// knownID is the cluster's id, empty as long as it is not known.
func (c *computer) knownID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Compute implements ledger.Computer.
func (c *computer) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	engine, err := c.ready(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", allocation.ErrUpstream, err)
		c.observe(promquery.Observation{Query: q, Err: err})
		return nil, err
	}
	return engine.Compute(ctx, q)
}

// ready is the engine, made at the first success.
func (c *computer) ready(ctx context.Context) (*promquery.Engine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.engine != nil {
		return c.engine, nil
	}
	id, err := c.clusterID(ctx)
	if err != nil {
		return nil, err
	}
	c.id = id
	c.engine = promquery.NewEngine(c.source, promquery.Config{
		Clusters: promquery.Clusters{Labels: c.flags.clusterLabels(), Default: id},
		Rates:    c.rates,
		Observe:  c.observe,
	})
	return c.engine, nil
}

// labeled is a source whose server adds labels to what leaves it.
type labeled interface {
	ExternalLabels(ctx context.Context) (map[string]string, error)
}

// clusterID is the id of series that do not name their cluster.
func (c *computer) clusterID(ctx context.Context) (string, error) {
	if c.flags.clusterID != "" {
		return c.flags.clusterID, nil
	}
	src, ok := c.source.src.(labeled)
	if !ok {
		return defaultCluster, nil
	}
	external, err := src.ExternalLabels(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range c.flags.clusterLabels() {
		if external[name] != "" {
			return external[name], nil
		}
	}
	return defaultCluster, nil
}

// countedSource counts what passes, for the progress bar.
type countedSource struct {
	src     promquery.Source
	samples atomic.Int64
}

// Select implements promquery.Source.
func (s *countedSource) Select(ctx context.Context, sels []promquery.Selector, yield func(int, []promquery.Symbol, *timeline.Points) error) (promquery.Stats, error) {
	return s.src.Select(ctx, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		s.samples.Add(int64(p.Len()))
		return yield(i, key, p)
	})
}

// status says how much has been read.
func (s *countedSource) status() string {
	return fmt.Sprintf("%.1f million samples read", float64(s.samples.Load())/1e6)
}
