package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// newAPI is the HTTP API over the service's ledger under the given settings, its requests counted by path.
func newAPI(s *service, current *config.Settings, meter *metering.Metering) http.Handler {
	defaults := map[string]string{}
	for _, p := range current.Sharing.Parameters() {
		defaults[p[0]] = p[1]
	}
	api := costapi.New(s.ledger, s.logs.kit, costapi.Config{
		Zone: current.Zone, Now: s.now, Timeout: s.flags.timeout, Currency: current.Currency, Labels: current.Labels,
		LabelNames: current.LabelNames.And(meter.LabelTexts()...),
		Cluster:    func() costapi.ClusterInfo { return mainCluster(current, s.computer.id.known(), s.computer.seen.list()) },
		Clusters:   func() []costapi.ClusterInfo { return allClusters(current, s.computer.seen.list()) },
		Closed:     func() time.Time { return s.ledger.Clock().LastHour().End },
		Questions:  questionsOf(current),
		Budgets:    meter.Budgets,
		Spending:   s.recorder.Spending,
		Diagnose:   s.computer.Diagnose,
		Custom:     current.Rates.Custom,
		Check:      s.flags.check, Memory: s.memory, Selectable: current.Selectable,
		Defaults: defaults,
		Derived:  current.Derived,
	})
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

// questionsOf are the saved questions of the settings.
func questionsOf(current *config.Settings) []costapi.Question {
	questions := make([]costapi.Question, len(current.Questions))
	for i, q := range current.Questions {
		questions[i] = costapi.Question(q)
	}
	return questions
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
