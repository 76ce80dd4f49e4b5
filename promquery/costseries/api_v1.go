package costseries

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/common/promslog"
	promroute "github.com/prometheus/common/route"
	"github.com/prometheus/common/version"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/promcost/promcost/allocation"
)

// speaks is the version of Prometheus whose API this is: Grafana and others choose by it what they ask.
const speaks = "3.15.0"

// newV1 is Prometheus' own handlers over queryable. Of what a server that scrapes and alerts has, there is nothing.
func (a *api) newV1(queryable storage.SampleAndChunkQueryable, engine promql.QueryEngine) http.Handler {
	none := nothing{}
	handlers := v1.NewAPI(engine, queryable,
		nil, nil, // appendables
		none,
		func(context.Context) v1.ScrapePoolsRetriever { return none },
		func(context.Context) v1.TargetRetriever { return none },
		func(context.Context) v1.AlertmanagerRetriever { return none },
		func() config.Config { return config.Config{} },
		map[string]string{}, // flags: they may hold what is secret
		v1.GlobalURLOptions{},
		func(f http.HandlerFunc) http.HandlerFunc { return f },
		nil, "", // database and its directory
		false, false, 0, // admin and search
		promslog.NewNopLogger(),
		func(context.Context) v1.RulesRetriever { return none },
		a.o.MaxReadSamples, a.o.MaxConcurrency, maxFrame,
		false, // agent
		nil,   // origins: boundForm takes them out
		a.runtimeInfo,
		&v1.PrometheusVersion{
			Version: speaks, Revision: version.Revision, Branch: version.Branch, BuildUser: version.BuildUser, BuildDate: version.BuildDate,
			GoVersion: version.GoVersion,
		},
		nil, nil, // notifications
		nil, nil, // metrics
		nil,        // statistics as Prometheus shows them
		false, nil, // remote write
		false, false, false, // OTLP
		false, a.o.Lookback, false, false,
		busyStatus,
		nil, // features
		// No document of the API: promcost has one of its own.
		v1.OpenAPIOptions{IncludePaths: []string{"/none"}},
		newParser(),
	)
	router := promroute.New()
	handlers.Register(router)
	return http.StripPrefix(prefix, router)
}

// busyStatus is the status of errors for which Prometheus has none. The type of their kinds is Prometheus' own.
func busyStatus[K any](_ K, err error) (code int, override bool) {
	return http.StatusServiceUnavailable, errors.Is(err, allocation.ErrBusy)
}

// runtimeInfo is what Grafana and promtool show of a server.
func (a *api) runtimeInfo() (v1.RuntimeInfo, error) {
	at, ok := a.o.Reloaded()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return v1.RuntimeInfo{
		StartTime: a.o.Started, Hostname: host, ServerTime: time.Now().UTC(),
		ReloadConfigSuccess: ok, LastConfigTime: at,
		GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), GOMEMLIMIT: debug.SetMemoryLimit(-1),
		StorageRetention: a.o.Retention,
	}, nil
}

// nothing is what promcost has of targets, rules, alerts and exemplars.
type nothing struct{}

func (nothing) ScrapePools() []string                       { return []string{} }
func (nothing) TargetsActive() map[string][]*scrape.Target  { return nil }
func (nothing) TargetsDropped() map[string][]*scrape.Target { return nil }
func (nothing) TargetsDroppedCounts() map[string]int        { return map[string]int{} }
func (nothing) Alertmanagers() []*url.URL                   { return nil }
func (nothing) DroppedAlertmanagers() []*url.URL            { return nil }
func (nothing) RuleGroups() []*rules.Group                  { return nil }
func (nothing) AlertingRules() []*rules.AlertingRule        { return nil }
func (nothing) ScrapePoolConfig(string) (*config.ScrapeConfig, error) {
	return nil, errors.New("promcost scrapes nothing")
}

// ExemplarQuerier implements storage.ExemplarQueryable.
func (n nothing) ExemplarQuerier(context.Context) (storage.ExemplarQuerier, error) { return n, nil }

// Select implements storage.ExemplarQuerier.
func (nothing) Select(int64, int64, ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	return []exemplar.QueryResult{}, nil
}
