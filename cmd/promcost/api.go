package main

import (
	"net/http"

	"github.com/promcost/promcost/allocation/costapi"
)

// newAPI is the HTTP API over the service's ledger under the given settings, its requests counted by path.
func newAPI(s *service, current *settings) http.Handler {
	defaults := map[string]string{}
	for _, p := range current.sharing.parameters() {
		defaults[p[0]] = p[1]
	}
	api := costapi.New(s.ledger, s.logs.kit, costapi.Config{
		Zone: current.zone, Now: s.now, Timeout: s.flags.timeout, Currency: current.currency, Labels: current.labels,
		Cluster:  func() costapi.ClusterInfo { return current.cluster(s.computer.knownID()) },
		Diagnose: s.computer.Diagnose,
		Custom:   current.rates.Custom,
		Check:    s.flags.check, Selectable: current.selectable,
		Defaults: defaults,
		Derived:  current.derived,
	})
	mux := http.NewServeMux()
	for _, path := range costapi.Paths() {
		mux.Handle(path, s.health.Instrument(path, api))
	}
	// A path that a client chose is no label.
	mux.Handle("/", s.health.Instrument("other", api))
	return mux
}
