package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log/level"
	oklogrun "github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/promcost/promcost/allocation/mcp"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/dashboards"
	"github.com/promcost/promcost/promquery"
)

// serveFlags are the flags of all commands that serve.
type serveFlags struct {
	web       *webFlags
	promql    *promqlFlags
	stored    *storedHours
	maxSeries int
	labels    []string         // that the collector of that name exports
	enabled   map[string]*bool // by collector
	cluster   string           // when metrics under OpenCost's names have that label

	// Whether the user gave --collector.label.names, and --collector.label or --no-collector.label.
	namesGiven, labelGiven bool
}

// servePreset are defaults that the commands do not share.
type servePreset struct {
	address     string
	labels      string // of --collector.label.names; any name switches --collector.label on
	recommended bool   // whether requests are recommended for metrics
}

func addServeFlags(clause *kingpin.CmdClause, preset servePreset) *serveFlags {
	f := &serveFlags{stored: addStoredHoursFlags(clause), web: addWebFlags(clause, preset.address), promql: addPromQLFlags(clause), enabled: map[string]*bool{}}
	countOf(clause, "collector.max-series", "Maximum series per collector. Above it, the cheapest are combined into __other__, so totals by cluster, label and resource stay right. PromQL over costs has all of them.", &f.maxSeries, metering.MinMaxSeries).
		Default(strconv.Itoa(metering.DefaultMaxSeries))
	names := addFlag(clause, "collector.label.names", "Labels whose values --collector.label exports the cost of, separated by commas: names as Kubernetes or as Prometheus has them, aliases such as team, nodePool for the pool of nodes, and properties of the config file. Names switch it on.", func(text string) error {
		f.labels = strings.Split(text, ",")
		return nil
	}).PlaceHolder("NAME,…")
	names.IsSetByUser(&f.namesGiven)
	if preset.labels != "" {
		names.Default(preset.labels)
	}
	for _, s := range collector.Switches() {
		on := clause.Flag("collector."+s.Name, s.Help).Default(strconv.FormatBool(s.Default || s.Name == labelCollector && preset.labels != "" || s.Name == metering.RecommendedName && preset.recommended))
		if s.Name == labelCollector {
			on.IsSetByUser(&f.labelGiven)
		}
		f.enabled[s.Name] = on.Bool()
	}
	oneOf(clause, "collector.opencost-cluster-label", "When series of --collector.opencost have the label cluster, which OpenCost does not set and dashboards join by: auto (where the source's series have it), always or never. Where there are several clusters they have it in any case.",
		&f.cluster, string(metering.ClusterAuto), string(metering.ClusterAlways), string(metering.ClusterNever))
	return f
}

// labelCollector is the collector that labels are named for.
const labelCollector = "label"

// collectors are the names of the collectors that are switched on. The one of labels is also switched on by naming labels.
func (f *serveFlags) collectors() []string {
	on := []string{}
	for _, name := range collector.Names() {
		if *f.enabled[name] || name == labelCollector && f.namesGiven && !f.labelGiven {
			on = append(on, name)
		}
	}
	return on
}

// meter is the metering of metrics under settings.
func (f *serveFlags) meter(s *config.Settings) (*metering.Metering, error) {
	if *f.enabled[labelCollector] && len(f.labels) == 0 {
		return nil, usageErrorf("--collector.label has no label to export: name some with --collector.label.names=team,app")
	}
	budgets, err := s.MeteredBudgets()
	if err != nil {
		return nil, err
	}
	m, err := metering.New(metering.Options{
		Enabled: f.collectors(), MaxSeries: f.maxSeries, LabelNames: f.labels, Known: s.LabelNames, Mapping: s.Labels, Derived: s.Derived, Budgets: budgets,
		OpenCostCluster: metering.ClusterLabel(f.cluster),
	})
	if err != nil {
		return nil, &usageError{cause: err}
	}
	return m, nil
}

// serveCommand are all flags of the serve subcommand.
type serveCommand struct {
	source  *sourceFlags
	cost    *costFlags
	serve   *serveFlags
	storage *storageFlags
	hours   *resolutionFlags
	prices  *priceSourceFlags
}

func newServeCommand(clause *kingpin.CmdClause) *serveCommand {
	c := &serveCommand{source: addSourceFlags(clause), cost: addCostFlags(clause), serve: addServeFlags(clause, servePreset{address: ":9003"}), storage: addStorageFlags(clause), hours: addResolutionFlags(clause)}
	addShardFlag(clause, c.storage)
	c.serve.promql.addPassthrough(clause)
	c.prices = addPriceSourceFlags(clause)
	clause.Flag("pricing.fetch", "Once a day, fetch what AWS, Azure and Google list for machines, volumes and load balancers in the regions where nodes run, and keep it beside the history. Without it, nothing is asked of them.").
		BoolVar(&c.prices.on)
	return c
}

// validate checks the flags against each other.
func (c *serveCommand) validate() error {
	if c.source.kind == sourceNone && c.storage.shard.Of > 1 {
		return usageErrorf("--shard has no effect with --source=none, which computes nothing: leave one of them out")
	}
	return errors.Join(c.source.validate(c.cost), c.hours.validate(c.source), c.serve.web.validate(), c.serve.promql.validate(c.source))
}

// defineServe is the serve subcommand.
func defineServe(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	c := newServeCommand(clause)
	source, cost, serve, storage := c.source, c.cost, c.serve, c.storage
	return func(ctx context.Context) error {
		l, err := newLoggers(io.err, logs)
		if err != nil {
			return err
		}
		if err := c.validate(); err != nil {
			return err
		}
		src, err := source.open()
		if err != nil {
			return err
		}
		source.announce(src, l.kit)
		svc, err := newService(src, cost, l, serviceOptions{
			now: time.Now, ledgerNow: src.clock(serve.stored.grace), stored: *serve.stored, shard: storage.shard, meter: serve.meter, priced: *serve.enabled["opencost"], resolution: c.hours,
			keep:   func() (keeping, error) { return storage.openServed(l.kit, source.kind == sourceNone) },
			prices: c.prices.used(source.kind),
		})
		if err != nil {
			return errors.Join(err, src.Close())
		}
		listeners, err := serve.web.listen() // last: problems with flags and files are reported first
		if err != nil {
			return errors.Join(err, svc.Close())
		}
		s := &server{service: svc, source: source, flags: serve, listeners: listeners, given: givenFlags(clause, logs), logs: l, ready: svc.recorder.Ready}
		return errors.Join(s.run(ctx), svc.Close())
	}
}

// server serves a service until it is told to stop.
type server struct {
	*service
	source    *sourceFlags // nil if there is no Prometheus
	flags     *serveFlags
	listeners []net.Listener    // nil if exporter-toolkit opens them
	given     map[string]string // flags and their values, without secrets
	logs      loggers
	ready     func() error     // nil once answers are complete, else why not
	actors    []actor          // what runs beside the server and the ledger's loop
	started   func(url string) // called with the URL once the server listens; may be nil
}

// actor is a part that runs until its context ends. One that returns earlier ends the process.
type actor func(ctx context.Context) error

// run starts all parts and waits until ctx ends or one of them fails; then it stops the others.
func (s *server) run(ctx context.Context) error {
	if file := *s.flags.web.toolkit.WebConfigFile; file != "" {
		kept, err := webserver.OpenKept(file, s.logs.kit)
		if err != nil {
			return errors.Join(fmt.Errorf("read --web.config.file %s: %w", file, err), closeAll(s.listeners))
		}
		defer func() { _ = kept.Close() }() // a temporary file
		s.reload.web, s.actors = kept, append(s.actors, kept.Run)
	}
	handler, err := s.handler()
	if err != nil {
		return errors.Join(err, closeAll(s.listeners))
	}
	level.Info(s.logs.kit).Log("msg", "Starting promcost", "version", version.Version, "revision", version.GetRevision(), "history", s.where)
	var group oklogrun.Group
	group.Add(oklogrun.ContextHandler(ctx))
	s.addHTTP(&group, webserver.New(handler, webserver.NewConnections(s.flags.web.most, s.memory)))
	hangups, stop := s.hangups()
	defer stop()
	hours := func(ctx context.Context) error {
		s.firstPrices(ctx)
		return s.recorder.Run(promquery.Background(ctx))
	}
	for _, a := range append([]actor{hours, hangups, s.takeBills, s.watched.Run, s.fetchPrices, s.rest}, s.actors...) {
		actorCtx, cancel := context.WithCancel(ctx)
		group.Add(func() error { return untilDone(actorCtx, a) }, func(error) { cancel() })
	}
	if s.started != nil && len(s.listeners) > 0 {
		go s.started(s.flags.web.url(s.listeners[0].Addr()))
	}
	err = group.Run()
	if ctx.Err() != nil {
		level.Info(s.logs.kit).Log("msg", "Stopped")
		return nil
	}
	return err
}

// untilDone runs an actor. If the actor ends without an error, it waits for the context, because an actor without work must not
// end the process.
func untilDone(ctx context.Context, a actor) error {
	if err := a(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// addHTTP adds the HTTP server, which ends gracefully: requests that it is answering may finish within shutdownTimeout.
func (s *server) addHTTP(group *oklogrun.Group, srv *http.Server) {
	// Once the context of its requests ends, so do the computations that only they wait for.
	requests, cancel := context.WithCancel(context.Background())
	srv.BaseContext = func(net.Listener) context.Context { return requests }
	group.Add(func() error {
		toolkit := s.flags.web.toolkit
		if s.reload.web != nil {
			name := s.reload.web.Name()
			own := *toolkit
			own.WebConfigFile, toolkit = &name, &own
		}
		var err error
		if s.listeners != nil {
			err = web.ServeMultiple(s.listeners, srv, toolkit, s.logs.slog)
		} else {
			err = web.ListenAndServe(srv, toolkit, s.logs.slog)
		}
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serve HTTP: %w", err)
	}, func(error) {
		grace, stop := context.WithTimeout(context.Background(), shutdownTimeout)
		defer stop()
		if err := srv.Shutdown(grace); err != nil {
			cancel()
			_ = srv.Close() // the connections that are left are lost either way
		}
		cancel()
	})
}

// handler makes the pages. It registers the metrics, so it can be called once.
func (s *server) handler() (http.Handler, error) {
	sizes := &recommender{service: s.service, logs: s.logs}
	if *s.flags.enabled[metering.RecommendedName] {
		s.actors = append(s.actors, sizes.run)
	}
	c := collector.New(s.recorder, collector.Config{
		Metering: s.metering, Bounds: timeline.ServedBounds, Accrued: s.recorder.Accrued, Spending: s.recorder.Spending, Outlook: s.recorder.Outlook, Recommended: sizes.list.Load, Logger: s.logs.kit,
	})
	update := c.Update
	s.changed.Store(&update)
	exposed, dropped := prometheus.NewRegistry(), prometheus.NewRegistry() // metrics of costs and of promcost itself; metrics of the cost series that PromQL does not compute
	if err := errors.Join(
		s.registry.Register(newGoMetrics()), s.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
		exposed.Register(s.registry), dropped.Register(c.Own()), dropped.Register(c.Recommended()),
	); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if s.computer.shard.Of <= 1 { // a shard has only a part of the costs
		if err := exposed.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of costs: %w", err)
		}
	}
	// Only protobuf has created timestamps: in OpenMetrics they are lines that Prometheus takes for more series.
	metrics := promhttp.HandlerFor(exposed, promhttp.HandlerOpts{Registry: s.registry, EnableOpenMetrics: true})
	promql, err := s.promql(prometheus.Gatherers{s.registry, dropped})
	if err != nil {
		return nil, err
	}
	boards := dashboardsHandler(func(r *http.Request) dashboards.Settings {
		return dashboards.Settings{Currency: s.settings().Currency, Page: s.flags.web.page(r)}
	})
	assistants := mcp.Handler(assistantConfig(bothAPIs(s.api, promql), s.memory))
	return s.flags.web.handler(pages{
		assistants: s.health.Instrument(mcpPath, assistants),
		metrics:    s.health.Instrument("/metrics", metrics), api: s.api, promql: promql, dashboards: s.health.Instrument("/dashboards/", boards),
		missing: s.health.Instrument("other", s.flags.web.missing()), ready: s.ready, behind: s.behind, reload: s.Reload,
	})
}

// behind says what is wrong with the history, the web configuration or list prices although answers are complete, nil if nothing is.
func (s *server) behind() error {
	errs := []error{s.recorder.Behind()}
	if s.gone != nil {
		errs = append(errs, s.gone())
	}
	if s.reload.web != nil {
		errs = append(errs, s.reload.web.Problem())
	}
	if s.reload.lists != nil {
		errs = append(errs, s.reload.lists.Problem())
	}
	return errors.Join(errs...)
}

// openService is the service over the source that flags name, for one query.
func openService(source *sourceFlags, cost *costFlags, w io.Writer, logs *logFlags) (*service, error) {
	if err := source.validate(cost); err != nil {
		return nil, err
	}
	if source.kind == sourceNone {
		return nil, usageErrorf("--source=none computes nothing: give a source, or --server=URL of a promcost that serves a history")
	}
	l, err := newLoggers(w, logs)
	if err != nil {
		return nil, err
	}
	terse := *logs
	if terse.level != "debug" {
		terse.level = "error" // the answer to the one request says what went wrong
	}
	quiet, err := newLoggers(w, &terse)
	if err != nil {
		return nil, err
	}
	src, err := source.open()
	if err != nil {
		return nil, err
	}
	source.announce(src, l.kit)
	svc, err := newService(src, cost, quiet, serviceOptions{now: time.Now, ledgerNow: time.Now, slow: l.kit})
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return svc, nil
}
