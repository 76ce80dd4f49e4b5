package main

import (
	"cmp"
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

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/cmd/promcost/internal/billwatch"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery"
)

// defaultCluster is the cluster's id if nothing sets one.
const defaultCluster = "cluster-one"

// costFlags are the flags about costs and times.
type costFlags struct {
	config.Flags
	clusterID    string
	clusterLabel string
	timeout      time.Duration
	concurrency  int
	maxSamples   int64
	maxMemory    int64 // bytes; 0 for no limit, autoSize to fit the machine
	chargeFrom   string
	check        bool
}

const (
	chargeRunning   = "running"
	chargeScheduled = "scheduled"
)

func addCostFlags(g flagGroup) *costFlags {
	f := &costFlags{}
	addConfigFlags(g, f)
	g.Flag("pricing.list", "CSV file with list prices, as \"promcost prices fetch\" writes it: they count where neither metrics nor rules have a price, before those that are fetched and those that are built in. Repeatable.").
		PlaceHolder("FILE").StringsVar(&f.PriceLists)
	zoneOf(g, "timezone", "Time zone on whose clock days and hours begin: an IANA name or an offset. It wins over timeZone of the config file.", &f.Zone).
		IsSetByUser(&f.ZoneGiven)
	g.Flag("cluster.id", "Id of the cluster, where series do not carry one; else the source's external label, else "+defaultCluster+".").
		PlaceHolder("ID").StringVar(&f.clusterID)
	g.Flag("cluster.label", "Label of the series that names their cluster.").Default("cluster").StringVar(&f.clusterLabel)
	durationOf(g, "compute.timeout", "Maximum time of one computation.", &f.timeout, time.Millisecond).Default("5m")
	countOf(g, "compute.max-concurrency", "Maximum concurrent computations; further ones queue. One extra slot is reserved for windows of up to an hour.", &f.concurrency, 1).
		Default(strconv.Itoa(ledger.DefaultMaxConcurrency))
	countOf(g, "compute.max-samples", "Maximum samples that one computation may read. 0 means no limit.", &f.maxSamples, 0).Default("0")
	addMemoryFlag(g, f)
	oneOf(g, "charge-from", "When charging a container's request begins: running (when it runs) or scheduled (when its pod is placed on a node).",
		&f.chargeFrom, chargeRunning, chargeScheduled)
	g.Flag("debug.check", "Check before and after every step of an answer that nothing was lost or made; what does not add up is an error.").BoolVar(&f.check)
	return f
}

// addConfigFlags adds the flags that name files.
func addConfigFlags(g flagGroup, f *costFlags) {
	g.Flag("config.file", "YAML file with prices, label mapping, sharing defaults, clusters, time zone, currency and budgets. Flags that are given win over it.").
		PlaceHolder("FILE").StringVar(&f.ConfigFile)
	g.Flag("pricing.file", "YAML or CSV file with prices of nodes, volumes, load balancers, control planes and traffic that have no price metrics. It wins over prices of the config file.").
		PlaceHolder("FILE").StringVar(&f.PricingFile)
}

// clusterLabels are the labels that may name a series' cluster, the configured one first.
func (f *costFlags) clusterLabels() []string {
	return []string{f.clusterLabel, "cluster_id", "k8s_cluster"}
}

// service is what computes, however it is asked.
type service struct {
	flags    *costFlags
	samples  atomic.Int64 // read so far, for the progress bar
	computer *computer
	memory   *memory.Budget
	registry *prometheus.Registry
	health   *collector.Health
	ledger   *ledger.Ledger
	recorder *recorder.Recorder
	bills    *billing.Intake
	days     *reconcile.Days
	watched  *billwatch.Watch
	api      http.Handler
	closers  []io.Closer
	where    string       // where the history is stored
	gone     func() error // says why it is no longer there; nil if it always is
	meter    func(*config.Settings) (*metering.Metering, error)
	changed  atomic.Pointer[func()] // called when metrics change; may be nil

	logs    loggers
	now     func() time.Time
	clock   func() time.Time // says which hour is closed
	zone    *time.Location   // of the ledger, which keeps it
	reload  reloading
	current atomic.Pointer[live]

	readsBills bool         // whether this process reads the files of bills
	closeBills func() error // closes their places
}

// serviceOptions are what differs between the commands that compute.
type serviceOptions struct {
	now       func() time.Time // the clock of the API
	ledgerNow func() time.Time // the clock that says which hour is closed
	stored    storedHours
	slow      log.Logger                                         // the log of slow computations; nil is the general one
	keep      func() (keeping, error)                            // opens the history; nil keeps none
	priced    bool                                               // prices are among the exposed metrics
	meter     func(*config.Settings) (*metering.Metering, error) // makes the metering of metrics; nil is the default
	shard     allocation.Shard                                   // the part that this process computes; the zero value is everything

	resolution *resolutionFlags  // of stored hours
	prices     *priceSourceFlags // by which list prices are fetched and read from the history; nil for neither
}

// newService wires the computing parts over a source. It computes nothing yet.
func newService(src *opened, f *costFlags, logs loggers, o serviceOptions) (*service, error) {
	current, err := config.Read(f.Flags)
	if err != nil {
		return nil, err
	}
	if o.meter != nil { // before anything is opened
		if _, err := o.meter(current); err != nil {
			return nil, err
		}
	}
	budget, restore := f.budget(cmp.Or(o.slow, logs.kit))
	s := &service{flags: f, memory: budget, logs: logs, now: o.now, clock: o.ledgerNow, meter: o.meter, registry: prometheus.NewRegistry(), closers: []io.Closer{src, closerFunc(restore)}}
	if s.health, err = collector.NewHealth(s.registry, current.Currency); err != nil {
		return nil, err
	}
	if s.reload.metrics, err = collector.NewReloads(s.registry); err != nil {
		return nil, err
	}
	s.reload.metrics.Observe(time.Now(), nil)
	if err := errors.Join(collector.NewMemory(s.registry, budget.Stats), collector.NewPrices(s.registry, o.now, s.priceSources), s.watchBills()); err != nil {
		return nil, err
	}
	s.computer = &computer{
		source: src, flags: f, memory: budget, progress: func(n int64) { s.samples.Add(n) }, diagnosing: make(chan struct{}, 1),
		read:    s.health.ObserveSource,
		learned: s.missClusters, now: s.now, shard: o.shard, priced: o.priced,
		observe: func(observation promquery.Observation) { s.observe(observation, cmp.Or(o.slow, logs.kit)) },
	}
	s.computer.id.fetch = s.computer.clusterID
	keeping := keeping{where: "none"}
	if o.keep != nil {
		if keeping, err = o.keep(); err != nil {
			return nil, err
		}
	}
	s.where, s.gone = keeping.where, keeping.gone
	hours := ledger.Options{
		MaxConcurrency: f.concurrency, Timeout: f.timeout, Grace: orNone(o.stored.grace), Levels: o.stored.levels, Zone: current.Zone, Now: o.ledgerNow, Memory: budget, Begin: src.begin,
	}
	o.resolution.apply(&hours)
	s.ledger, s.recorder = keeping.open(s.computer, logs.kit, hours, recorder.Options{Metering: s.metering, Bills: s.budgetBills, Changed: s.metricsChanged})
	s.computer.exposed = s.recorder.Exposed
	if keeping.closer != nil {
		s.closers = append(s.closers, keeping.closer)
	}
	s.closers = append(s.closers, s.ledger)
	if keeping.store != nil {
		if err := collector.NewStore(s.registry, s.storeState); err != nil {
			return nil, errors.Join(err, keeping.closer.Close())
		}
	}
	s.bills, s.readsBills = s.newIntake(&keeping, o.keep == nil), !keeping.readOnly && keeping.unwritable == nil && o.shard.Index <= 1
	s.days, s.closeBills = reconcile.NewDays(budget), func() error { return nil }
	s.closers = append(s.closers, closerFunc(func() error { return s.closeBills() }))
	s.api = http.HandlerFunc(s.serveAPI)
	if err := s.watchPrices(o.prices, &keeping); err != nil {
		return nil, err
	}
	return s, s.use(s.withListed(current))
}

// metricsChanged calls the function for changed metrics.
func (s *service) metricsChanged() {
	s.logLabelProblems()
	if changed := s.changed.Load(); changed != nil {
		(*changed)()
	}
}

// status says how much has been read.
func (s *service) status() string {
	return fmt.Sprintf("%.1f million samples read", float64(s.samples.Load())/1e6)
}

// Close closes what the service opened, the last opened first.
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
	source   *opened
	flags    *costFlags
	memory   *memory.Budget
	progress func(samples int64)
	observe  func(promquery.Observation)
	read     func(allocation.SourceReading) // called with what a diagnosis read
	learned  func()                         // called after each computation with new clusters
	now      func() time.Time
	clusters computedClusters
	shard    allocation.Shard
	priced   bool // prices are among the exposed metrics
	exposed  func(context.Context, allocation.Window) ([]metering.Exposure, error)
	// diagnosing holds one element while a diagnosis runs: one is enough at a time.
	diagnosing chan struct{}

	id identity

	mu     sync.Mutex
	rates  rates.Rates
	gpus   []string          // resources that are GPUs, too
	sheet  string            // the name of the price sheet that is given, "" for none
	asOf   time.Time         // when its prices were right
	engine *promquery.Engine // nil until the cluster's id is known, and once there are other rates
}

// price sets the rates, with the name of their sheet and when it was right, and which resources are GPUs, for computations that begin from now on. Running ones keep theirs.
func (c *computer) price(rates rates.Rates, sheet string, asOf time.Time, gpus []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rates, c.sheet, c.asOf, c.gpus, c.engine = rates, sheet, asOf, gpus, nil
}

// errNoSource is the error for computations with --source=none.
var errNoSource = fmt.Errorf("%w with --source=none: ask a promcost that has a source to fill the history", allocation.ErrNotComputed)

// Compute implements ledger.Computer.
func (c *computer) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	engine, err := c.ready(ctx)
	if errors.Is(err, errNoSource) {
		return nil, fmt.Errorf("%w: %w", allocation.ErrNoData, err)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", allocation.ErrUpstream, err)
		c.observe(promquery.Observation{Query: q, Err: err})
		return nil, err
	}
	if c.flags.chargeFrom == chargeScheduled {
		q.ChargeFrom = allocation.FromScheduled
	}
	q.Shard = c.shard
	sets, err := engine.Compute(ctx, q)
	if err == nil {
		c.clusters.learn(sets, c.now())
		c.learned()
	}
	return sets, err
}

// ready is the engine, made at the first success.
func (c *computer) ready(ctx context.Context) (*promquery.Engine, error) {
	if c.source.Source == nil {
		return nil, errNoSource
	}
	id, err := c.id.get(ctx)
	if err != nil && (c.source.blocks == nil || ctx.Err() != nil) {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil { // for this once
		return c.newEngine(id, fmt.Sprintf("cluster %s: its id is not known, and may be another: %v: give --cluster.id, or mend --prometheus.url", id, err)), nil
	}
	if c.engine == nil {
		c.engine = c.newEngine(id)
	}
	return c.engine, nil
}

// newEngine is an engine for a cluster with that id. All its answers have the warnings.
func (c *computer) newEngine(id string, warnings ...string) *promquery.Engine {
	return promquery.NewEngine(c.source.Source, promquery.Config{
		Clusters: promquery.Clusters{Labels: c.flags.clusterLabels(), Default: id}, Warnings: warnings, Exclude: c.source.exclude, Priced: c.priced, Exposed: c.exposed,
		Rates: c.rates, Sheet: c.sheet, GPUResources: c.gpus, MaxSamples: c.flags.maxSamples, Memory: c.memory,
		Progress: c.progress, Observe: c.observe,
	})
}

// Diagnose says which data the source has of each input, and what prices rest on.
func (c *computer) Diagnose(ctx context.Context, w allocation.Window) (*diagnosis.Diagnosis, error) {
	select {
	case c.diagnosing <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another diagnosis: %w", ctx.Err())
	}
	defer func() { <-c.diagnosing }()
	ctx, cancel := context.WithTimeout(ctx, c.flags.timeout)
	defer cancel()
	engine, err := c.ready(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", allocation.ErrUpstream, err)
	}
	d, err := engine.Diagnose(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, src := range d.Sources {
		c.read(src)
	}
	if d.Nothing {
		return d, nil
	}
	if d.Prices, err = c.prices(ctx, engine, w); err != nil { // what is there and what is missing can be said all the same
		d.Warnings = append(d.Warnings, fmt.Sprintf("nothing says what prices rest on: %v", err))
	}
	return d, nil
}

// prices are what the cost of the last hour of a window rests on; none where nothing is known of it.
func (c *computer) prices(ctx context.Context, engine *promquery.Engine, w allocation.Window) ([]diagnosis.Price, error) {
	if hour := w.End.Add(-time.Hour); hour.After(w.Start) {
		w.Start = hour
	}
	sets, err := engine.Compute(ctx, allocation.Query{Window: w, Resolution: allocation.AutoResolution, Shard: c.shard})
	switch {
	case allocation.HasNothing(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return diagnosis.Prices(sets[0], c.asOf), nil
}

// clusterID is the id of series that do not name their cluster, the default beside an error.
func (c *computer) clusterID(ctx context.Context) (string, error) {
	if c.flags.clusterID != "" {
		return c.flags.clusterID, nil
	}
	if c.source.server == nil {
		return defaultCluster, nil
	}
	external, err := c.source.server.ExternalLabels(ctx)
	if err != nil {
		return defaultCluster, err
	}
	for _, name := range c.flags.clusterLabels() {
		if external[name] != "" {
			return external[name], nil
		}
	}
	return defaultCluster, nil
}
