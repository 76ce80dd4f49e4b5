package main

import (
	"net/http"
	"time"

	"github.com/promcost/promcost/allocation/costapi"
)

// newAPI is the HTTP API over the service's ledger, its requests counted by path.
func newAPI(s *service, logs loggers, now func() time.Time) http.Handler {
	api := costapi.New(s.ledger, logs.kit, costapi.Config{
		Zone: s.flags.zone, Now: now, Timeout: s.flags.timeout, Currency: currency,
		Cluster:  func() costapi.ClusterInfo { return costapi.ClusterInfo{ID: s.computer.knownID()} },
		Diagnose: s.computer.Diagnose,
		Custom:   s.computer.rates.Custom,
	})
	mux := http.NewServeMux()
	for _, path := range costapi.Paths() {
		mux.Handle(path, s.health.Instrument(path, api))
	}
	// A path that a client chose is no label.
	mux.Handle("/", s.health.Instrument("other", api))
	return mux
}
