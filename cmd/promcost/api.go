package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// newAPI is the HTTP API over the service's ledger under the given settings, its requests counted by path.
func newAPI(s *service, current *config.Settings, meter *metering.Metering, bills *reconcile.Reconciler) http.Handler {
	cfg := vocabularyOf(current)
	cfg.Now, cfg.Timeout, cfg.Currency, cfg.Check, cfg.Memory = s.now, s.flags.timeout, current.Currency, s.flags.check, s.memory
	cfg.LabelNames = current.LabelNames.And(meter.LabelTexts()...)
	cfg.Cluster = func() costapi.ClusterInfo {
		return mainCluster(current, s.computer.id.known(), s.computer.clusters.list())
	}
	cfg.Clusters = func() []costapi.ClusterInfo { return allClusters(current, s.computer.clusters.list()) }
	cfg.Closed = func() time.Time { return s.ledger.Clock().LastHour().End }
	cfg.NextClosed = func() time.Time { return s.ledger.Clock().NextClosed() }
	cfg.Budgets, cfg.Spending, cfg.Diagnose, cfg.Custom = meter.Budgets, s.recorder.Spending, s.computer.Diagnose, current.Rates.Custom
	cfg.Bills = s.apiBills(current)
	var ledger costapi.Ledger = s.ledger
	if bills != nil {
		ledger = bills
	}
	api := costapi.New(ledger, s.logs.kit, cfg)
	mux := http.NewServeMux()
	if h := s.computer.shard; h.Of > 1 {
		mux.Handle("/", s.health.Instrument("other", shardOnly(h)))
		return mux
	}
	for _, path := range costapi.Paths() {
		mux.Handle(path, s.health.Instrument(path, api))
	}
	// A path that a client chose is no label.
	mux.Handle("/", s.health.Instrument("other", api))
	return mux
}

// vocabularyOf is what requests may name under the settings, and the saved questions, which are such requests.
func vocabularyOf(current *config.Settings) costapi.Config {
	cfg := costapi.Config{Zone: current.Zone, Labels: current.Labels, Selectable: current.Selectable, Derived: current.Derived, Defaults: map[string]string{}}
	for _, p := range current.Sharing.Parameters() {
		cfg.Defaults[p[0]] = p[1]
	}
	for _, q := range current.Questions {
		cfg.Questions = append(cfg.Questions, costapi.Question(q))
	}
	for _, v := range current.Views {
		cfg.Views = append(cfg.Views, costapi.View(v))
	}
	return cfg
}

// checkSettings checks the saved questions of the settings, and that budgets by bill have bills.
func checkSettings(s *config.Settings) error {
	if err := costapi.CheckQuestions(vocabularyOf(s)); err != nil {
		return fmt.Errorf("read --config.file: %w", err)
	}
	return s.CheckBudgets()
}

// shardOnly answers the paths that a shard cannot answer, because it has only a part of the data.
func shardOnly(h allocation.Shard) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotImplemented)
		// A client that has gone needs no answer.
		_ = encode.Error(w, http.StatusNotImplemented, fmt.Sprintf("this promcost computes only shard %d of %d: ask one that reads the same history with --source=none", h.Index, h.Of))
	})
}
