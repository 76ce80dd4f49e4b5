package promapi

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/version"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/features"

	"github.com/promcost/promcost/promquery/upstream"
)

// apiVersion is the version of Prometheus that the API is compatible with. Clients such as Grafana decide by it what to ask.
const apiVersion = "3.15.0"

// serveBuildInfo answers /api/v1/status/buildinfo.
func (*api) serveBuildInfo(*http.Request) (result, *apiError) {
	return result{data: map[string]string{
		"version": apiVersion, "revision": version.Revision, "branch": version.Branch, "buildUser": version.BuildUser, "buildDate": version.BuildDate,
		"goVersion": version.GoVersion,
	}}, nil
}

// serveRuntimeInfo answers /api/v1/status/runtimeinfo.
func (a *api) serveRuntimeInfo(*http.Request) (result, *apiError) {
	at, ok := a.o.Reloaded()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return result{data: map[string]any{
		"startTime": a.o.Started.UTC(), "CWD": "", "hostname": host, "serverTime": time.Now().UTC(), "reloadConfigSuccess": ok, "lastConfigTime": at.UTC(),
		"corruptionCount": 0, "goroutineCount": runtime.NumGoroutine(), "GOMAXPROCS": runtime.GOMAXPROCS(0), "GOMEMLIMIT": debug.SetMemoryLimit(-1),
		"GOGC": "", "GODEBUG": "", "storageRetention": a.o.Retention,
	}}, nil
}

// serveConfig answers /api/v1/status/config.
func (a *api) serveConfig(*http.Request) (result, *apiError) {
	return result{data: map[string]string{"yaml": a.o.Config()}}, nil
}

// serveFeatures answers /api/v1/features with what the engine and the API can do, in Prometheus' names.
func (a *api) serveFeatures(*http.Request) (result, *apiError) {
	r := features.NewRegistry()
	NewEngine(EngineOptions{Features: r})
	r.Enable(features.Prometheus, "server_mode")
	r.Disable(features.Prometheus, "agent_mode")
	for _, name := range [...]string{"label_values_match", "query_stats", "query_warnings", "time_range_labels", "time_range_series", "exclude_alerts"} {
		r.Enable(features.API, name)
	}
	for _, name := range [...]string{"admin", "openapi_3.1", "openapi_3.2", "otlp_write_receiver", "remote_write_receiver", "search"} {
		r.Disable(features.API, name)
	}
	r.Set(features.API, "lifecycle", a.o.Flags["web.enable-lifecycle"] == "true")
	return result{data: r.Get()}, nil
}

// always returns a handler with a fixed answer.
func always(data any) func(*api, *http.Request) (result, *apiError) {
	return func(*api, *http.Request) (result, *apiError) { return result{data: data}, nil }
}

// none is an empty list of that name.
func none(name string) map[string]any { return map[string]any{name: []string{}} }

// serveRules answers /api/v1/rules: there are none, of any kind.
func (a *api) serveRules(r *http.Request) (result, *apiError) {
	if _, err := a.matcherSets(r); err != nil {
		return result{}, badData(err)
	}
	if kind := strings.ToLower(r.FormValue("type")); kind != "" && kind != "alert" && kind != "record" {
		return result{}, badParam("type", fmt.Errorf("not supported value %q", kind))
	}
	return result{data: none("groups")}, nil
}

// serveTargets answers /api/v1/targets: there are none, in any state.
func (*api) serveTargets(r *http.Request) (result, *apiError) {
	data := map[string]any{"activeTargets": []string{}, "droppedTargets": []string{}, "droppedTargetCounts": map[string]int{}}
	if strings.ToLower(r.FormValue("state")) == "active" {
		data["droppedTargetCounts"] = nil
	}
	return result{data: data}, nil
}

// serveTargetMetadata answers /api/v1/targets/metadata: there are no targets.
func (a *api) serveTargetMetadata(r *http.Request) (result, *apiError) {
	if _, err := limitOf(r, "limit"); err != nil {
		return result{}, badData(err)
	}
	return result{data: []string{}}, nil
}

// serveMetadata answers /api/v1/metadata with the cost series, then the other series of the upstream.
func (a *api) serveMetadata(r *http.Request) (result, *apiError) {
	limit, err := limitOf(r, "limit")
	if err == nil {
		_, err = limitOf(r, "limit_per_metric") // each metric has one description
	}
	if err != nil {
		return result{}, badData(err)
	}
	metric := r.FormValue("metric")
	found := map[string][]upstream.Metadata{}
	for _, m := range a.o.Metadata {
		if (metric == "" || metric == m.Name) && (limit < 0 || len(found) < limit) {
			found[m.Name] = []upstream.Metadata{m}
		}
	}
	var notes annotations.Annotations
	if a.o.Upstream != nil && (limit < 0 || len(found) < limit) {
		for _, w := range a.o.Upstream.Metadata(r.Context(), metric, limit, found) {
			notes = notes.Add(errors.New(w))
		}
	}
	return result{data: found, notes: notes}, nil
}

// limitOf is a limit in a request, -1 for none. As with Prometheus, a negative limit is none.
func limitOf(r *http.Request, name string) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return -1, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New(name + " must be a number")
	}
	return max(limit, -1), nil
}
