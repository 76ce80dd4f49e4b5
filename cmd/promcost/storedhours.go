package main

import (
	"time"

	"github.com/promcost/promcost/allocation/ledger"
)

// storedHours says when the hours of the history are computed, and what of them is stored.
type storedHours struct {
	grace  time.Duration
	levels bool // of usage
}

func addStoredHoursFlags(g flagGroup) *storedHours {
	f := &storedHours{}
	durationOf(g, "history.grace", "How long after its end an hour is computed, for samples that come late.", &f.grace, 0).
		Default(ledger.DefaultGrace.String())
	g.Flag("history.distributions", "Store how long the CPU and memory usage of each container was how high: quantiles of usage and recommended requests rest on it. Hours take up to 40 % more space.").
		Default("true").BoolVar(&f.levels)
	return f
}
