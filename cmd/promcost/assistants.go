package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/mcp"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/costseries"
)

// mcpPath is where assistants ask.
const mcpPath = "/mcp"

// assistantConfig is what assistants get over an API.
func assistantConfig(api http.Handler, budget *memory.Budget) mcp.Config {
	return mcp.Config{API: api, Parameters: assistantParameters, Memory: budget, Metrics: metricsReference(), Version: version.Version}
}

// assistantParameters are the parameters of a path.
func assistantParameters(path string) []mcp.Parameter {
	var list []mcp.Parameter
	for _, p := range costapi.Parameters(path) {
		if !p.Ignored {
			list = append(list, mcp.Parameter{Name: p.Name, Type: p.Type, Default: p.Default, Help: p.Help})
		}
	}
	return list
}

// metricsReference lists the metrics of costs, as Markdown.
func metricsReference() string {
	var b strings.Builder
	b.WriteString("# Metrics of costs\n\nEach has a sample an hour.\n\n")
	for _, s := range metering.Subjects() {
		for _, f := range s.Families() {
			fmt.Fprintf(&b, "- `%s{%s}`: %s\n", f.Name, strings.Join(f.Labels, ","), f.Help)
		}
	}
	for _, f := range costseries.UsageFamilies() {
		fmt.Fprintf(&b, "- `%s{%s}`: %s\n", f.Name, strings.Join(f.Labels, ","), f.Help)
	}
	return b.String()
}

// bothAPIs answer the paths below /api/v1 as Prometheus, the others as the cost API.
func bothAPIs(api, promql http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/") {
			promql.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// defineMCP is the mcp subcommand, which serves assistants on standard input and output.
func defineMCP(clause *kingpin.CmdClause, _ streams, _ *logFlags) executor {
	server := serverFlag{}
	server.add(clause, "server", "PROMCOST_SERVER", "URL of the promcost to ask, such as http://localhost:9003.")
	return func(ctx context.Context) error {
		if server.url == "" {
			return usageErrorf("no promcost to ask: give --server=URL; a running promcost serves assistants at %s too", mcpPath)
		}
		client, base, err := server.client()
		if err != nil {
			return err
		}
		return mcp.Serve(ctx, assistantConfig(forward(client, base), memory.New(0)))
	}
}

// forward answers with what a promcost elsewhere says.
func forward(client *http.Client, base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unreachable := func(err error) {
			failPage(w, r, http.StatusBadGateway, fmt.Sprintf("ask --server=%s: %v: is promcost running there?", base, withoutURL(err)), "")
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, base+r.URL.RequestURI(), http.NoBody)
		if err != nil {
			unreachable(err)
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			unreachable(err)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(w, resp.Body); err != nil {
			panic(http.ErrAbortHandler) // a part must not be taken for the whole
		}
	})
}
