package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/pricewatch"
	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
	"github.com/promcost/promcost/collector"
)

// live is what requests are answered by: the settings in use, and the API under them.
type live struct {
	settings *config.Settings
	api      http.Handler
	metering *metering.Metering
	// reconciler has the sets that the API answers with, and PromQL's costs by bill; nil where there are no bills.
	reconciler *reconcile.Reconciler
	logged     sync.Once // a problem with labels of metrics is logged once
}

// reloading is what reading the settings again needs.
type reloading struct {
	mu      sync.Mutex // one at a time
	metrics *collector.Reloads
	web     *webserver.KeptConfig // nil without a web configuration
	lists   *pricewatch.Watch     // nil where no list prices are fetched
}

// serveAPI answers a request under the settings in use when it came.
func (s *service) serveAPI(w http.ResponseWriter, r *http.Request) {
	s.current.Load().api.ServeHTTP(w, r)
}

// settings are those in use.
func (s *service) settings() *config.Settings { return s.current.Load().settings }

// metering is that under the settings in use.
func (s *service) metering() *metering.Metering { return s.current.Load().metering }

// use applies other settings to everything that begins from now on, or nothing if they cannot be applied.
func (s *service) use(next *config.Settings) error {
	if err := checkSettings(next); err != nil {
		return err
	}
	meter := metering.Default()
	if s.meter != nil {
		var err error
		if meter, err = s.meter(next); err != nil {
			return err
		}
	}
	sources, closeBills, err := s.openBills(next)
	if err != nil {
		return err
	}
	before := s.closeBills
	s.closeBills = closeBills
	s.bills.Set(sources, next.Zone)
	if err := before(); err != nil {
		level.Warn(s.logs.kit).Log("msg", "Closing the object stores of bills failed", "err", err)
	}
	s.computer.price(next.Pricer(), next.SheetName(), next.RatesFrom, next.GPUResources)
	s.health.SetCurrency(next.Currency)
	bills := s.newReconciler(next)
	s.current.Store(&live{settings: next, api: newAPI(s, next, meter, bills), metering: meter, reconciler: bills})
	for _, w := range next.PriceWarnings(time.Now()) {
		level.Warn(s.logs.kit).Log("msg", "Odd price", "warning", w)
	}
	if len(next.Overridden) > 0 {
		level.Info(s.logs.kit).Log("msg", "Flags win over the config file", "keys", strings.Join(next.Overridden, ","))
	}
	return nil
}

// Reload reads the config file, the prices and the web configuration again and applies them. If any of it is wrong, nothing changes.
func (s *service) Reload() error {
	s.reload.mu.Lock()
	defer s.reload.mu.Unlock()
	var before *config.Settings
	next, err := config.Read(s.flags.Flags)
	if err == nil && s.reload.web != nil {
		err = s.reload.web.Look()
	}
	if err == nil {
		before = s.settings()
		next = s.withListed(next)
		err = s.use(next)
	}
	s.reload.metrics.Observe(time.Now(), err)
	if err != nil {
		level.Error(s.logs.kit).Log("msg", "Reloading the configuration failed: it stays as it was", "err", err)
		return fmt.Errorf("reload: %w; the configuration stays as it was", err)
	}
	s.recorder.Refresh()
	level.Info(s.logs.kit).Log("msg", "Reloaded the configuration", "config.file", s.flags.ConfigFile, "prices", next.Rates.Name(), "rules", next.Rates.Rules())
	s.logLostProperties(before, next)
	s.logLabelProblems()
	if before.Zone.String() != next.Zone.String() {
		level.Warn(s.logs.kit).Log("msg", "The time zone of answers has changed; hours of /metrics keep beginning on the clock of the old one until a restart",
			"old", before.Zone, "new", next.Zone)
	}
	return nil
}

// hangups returns an actor that reloads at each SIGHUP. The signal is taken from this call on: before, it ends the process.
func (s *service) hangups() (run actor, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-signals:
				_ = s.Reload() // it has logged what went wrong
			}
		}
	}, func() { signal.Stop(signals) }
}

// reloadHandler answers /-/reload if that is switched on. It refuses in Prometheus' words.
func (f *webFlags) reloadHandler(reload func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost && r.Method != http.MethodPut {
			w.Header().Set("Allow", "POST, PUT")
			webserver.Text(w, http.StatusMethodNotAllowed, "Only POST or PUT requests allowed")
			return
		}
		if !f.reloads {
			webserver.Text(w, http.StatusForbidden, "Lifecycle API is not enabled. Start promcost with --web.enable-lifecycle, or send it a SIGHUP.")
			return
		}
		if err := reload(); err != nil {
			webserver.Text(w, http.StatusInternalServerError, "Failed to "+err.Error())
			return
		}
		webserver.Text(w, http.StatusOK, "promcost has reloaded its configuration.")
	})
}

// priceSources are the sources of prices: the sheet, and the metrics, exporters and price lists that priced something in the last closed hour.
func (s *service) priceSources() []collector.PriceSource {
	current := s.settings()
	sheet := collector.PriceSource{Kind: "sheet", Name: current.Rates.Name(), Currency: current.Currency, AsOf: current.RatesFrom}
	if sheet.AsOf.IsZero() {
		sheet.Kind = "built-in"
	}
	sources := []collector.PriceSource{sheet}
	set, _, _ := s.recorder.Latest()
	if set == nil {
		return sources
	}
	for _, by := range set.PricedBy() {
		x := collector.PriceSource{Kind: string(rates.Kind(by.Source)), Name: by.Source, Currency: current.Currency, AsOf: set.Window.End}
		switch rates.Kind(by.Source) {
		case rates.ListSource, rates.EstimateSource:
			x.AsOf, _ = rates.AsOf(by.Source)
		case rates.MetricSource, rates.ExporterSource:
		case rates.SheetSource, rates.DefaultSource, rates.UnknownSource:
			continue // the sheet has them, rule by rule
		}
		sources = append(sources, x)
	}
	return sources
}
