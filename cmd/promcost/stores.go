package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
	"github.com/promcost/promcost/promquery/thanos"
	"github.com/promcost/promcost/promquery/victoria"
)

// serverSource is an opened store: a Source that also says when its data begin and which labels all of its series have.
type serverSource interface {
	promquery.Source
	// DataBegin returns when the data of metrics begin within [from, to), to if there are none.
	DataBegin(ctx context.Context, metrics []string, from, to time.Time) (time.Time, error)
	// ExternalLabels returns the labels that all series have outside of the store, such as the cluster's name.
	ExternalLabels(ctx context.Context) (map[string]string, error)
}

// store is a way of reading a server that has series of clusters.
type store struct {
	name string                                     // the value of --source
	open func(f *sourceFlags) (serverSource, error) // sends nothing yet
}

// stores are the ways of reading the server at --prometheus.url, one for each value of --source that names a server. The first one is the
// default.
var stores = []store{
	{sourceAuto, openAuto},
	{sourceRemoteRead, openPrometheus},
	{sourceQuery, openPrometheus},
	{sourceVictoria, openVictoria},
	{sourceThanos, openThanos},
	{sourceBucket, openBucketAlone},
}

// storeNames are the values of --source that name a store.
func storeNames() []string {
	names := make([]string, len(stores))
	for i := range stores {
		names[i] = stores[i].name
	}
	return names
}

// storeOf is the store with a name, which the flag has checked.
func storeOf(name string) *store {
	return &stores[slices.IndexFunc(stores, func(s store) bool { return s.name == name })]
}

// openPrometheus opens a server with Prometheus' HTTP API.
func openPrometheus(f *sourceFlags) (serverSource, error) {
	src, err := f.openRemote(remote.Mode(f.kind))
	if err != nil {
		return nil, err
	}
	return src, nil
}

// openAuto opens a server that is read by what it has: remote read, VictoriaMetrics' exports, or the query API.
func openAuto(f *sourceFlags) (serverSource, error) { return f.openExports(false) }

// openVictoria opens a server that is read by VictoriaMetrics' exports.
func openVictoria(f *sourceFlags) (serverSource, error) { return f.openExports(true) }

// openThanos opens servers with Thanos' StoreAPI.
func openThanos(f *sourceFlags) (serverSource, error) {
	cfg, err := httpclient.ReadConfig("--prometheus.http-config", f.httpConfig)
	if err != nil {
		return nil, err
	}
	secure, err := promconfig.NewTLSConfig(&cfg.HTTP.TLSConfig)
	if err != nil {
		return nil, fmt.Errorf("read --prometheus.http-config: %w", err)
	}
	src, err := thanos.New(thanos.Config{Stores: f.thanosStores, TLS: secure, ReplicaLabels: f.replicas, Whole: f.partial == "false", Timeout: f.timeout})
	if err != nil {
		return nil, err
	}
	return src, nil
}

func (f *sourceFlags) openExports(insist bool) (serverSource, error) {
	src, err := f.openRemote(remote.ModeAuto)
	if err != nil {
		return nil, err
	}
	return victoria.New(victoria.Config{Server: src, ReplicaLabels: f.replicas, Insist: insist}), nil
}

func (f *sourceFlags) openRemote(mode remote.Mode) (*remote.Source, error) {
	base, client, err := f.reach()
	if err != nil {
		return nil, err
	}
	return remote.New(remote.Config{
		URL: base.String(), Client: client, Mode: mode, MaxConcurrency: f.maxConcurrency, MaxSamples: f.maxSamples,
		Timeout: f.timeout, ExternalLabels: f.external, ReplicaLabels: f.replicas,
		Params: f.queryParams(), Lookback: f.lookback, Compression: remote.Compression(f.compression),
	})
}
