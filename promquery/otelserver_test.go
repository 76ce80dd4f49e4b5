package promquery_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/otlptranslator"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// attributesOf are attributes in OTLP's JSON.
func attributesOf(list map[string]string) (out []any) {
	for k, v := range list {
		out = append(out, map[string]any{"key": k, "value": map[string]any{"stringValue": v}})
	}
	return out
}

// otlp is series between two times in OTLP's JSON.
func otlp(sent []otelSeries, from, to time.Time) any {
	var resources []any
	for i := range sent {
		x := &sent[i]
		var points []any
		for _, s := range x.samples {
			if s.T >= from.UnixMilli() && s.T < to.UnixMilli() {
				points = append(points, map[string]any{"timeUnixNano": strconv.FormatInt(s.T*1e6, 10), "asDouble": s.V, "attributes": attributesOf(x.point)})
			}
		}
		metric := map[string]any{"name": x.metric.Name, "unit": x.metric.Unit, "gauge": map[string]any{"dataPoints": points}}
		if x.metric.Type == otlptranslator.MetricTypeMonotonicCounter {
			metric = map[string]any{"name": x.metric.Name, "unit": x.metric.Unit, "sum": map[string]any{"dataPoints": points, "isMonotonic": true, "aggregationTemporality": 2}}
		}
		if len(points) > 0 {
			resources = append(resources, map[string]any{
				"resource":     map[string]any{"attributes": attributesOf(x.resource)},
				"scopeMetrics": []any{map[string]any{"metrics": []any{metric}}},
			})
		}
	}
	return map[string]any{"resourceMetrics": resources}
}

// sendOTLP sends series to a Prometheus, as a Collector does.
func sendOTLP(t *testing.T, url string, sent []otelSeries, from, to time.Time) {
	t.Helper()
	const slice = 15 * time.Minute
	for at := from; at.Before(to); at = at.Add(slice) {
		body, err := json.Marshal(otlp(sent, at, at.Add(slice)))
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/otlp/v1/metrics", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		_, _ = text.ReadFrom(resp.Body) // it is for the message
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, text.String())
		}
	}
}

// TestOpenTelemetryInPrometheus sends a cluster to a real Prometheus by OTLP: whatever it makes of the names, rows are those of kube-state-metrics and cAdvisor.
func TestOpenTelemetryInPrometheus(t *testing.T) {
	t.Parallel()
	end := time.Now().UTC().Truncate(time.Hour)
	c, _ := newDemoBlocks(t, democluster.Config{End: end, Duration: 4 * time.Hour, Nodes: 4, Pods: 40, Seed: 5})
	all, sent := inBoth(t, seriesOfCluster(t, c))
	some := func(namespace string) bool { return namespace == "" || namespace == "payments" }
	all = slices.DeleteFunc(all, func(s promtest.Series) bool { return !some(label(&s, "namespace")) })
	sent = slices.DeleteFunc(sent, func(s otelSeries) bool { return !some(s.resource["k8s.namespace.name"]) })
	q := allocation.Query{Window: allocation.Window{Start: end.Add(-3 * time.Hour), End: end.Add(-time.Hour)}}
	want := otelRows(compute(t, blocksOf(t, all), q)[0])
	if len(want) < 10 {
		t.Fatalf("%d rows, too few to show anything", len(want))
	}
	for _, strategy := range strategies {
		for _, promoted := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s promoted=%t", strategy, promoted), func(t *testing.T) {
				t.Parallel()
				from, yaml := sent, fmt.Sprintf("otlp: {translation_strategy: %s}\n", strategy)
				if promoted {
					yaml = fmt.Sprintf("otlp: {translation_strategy: %s, promote_resource_attributes: [%s]}\n", strategy, strings.Join(promquery.OTelAttributes(), ", "))
				} else {
					from = asServices(sent)
				}
				url := promtest.Start(t, "", promtest.Config{Flags: []string{"--web.enable-otlp-receiver"}, YAML: yaml})
				sendOTLP(t, url, from, c.Start(), end)
				for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
					src, err := remote.New(remote.Config{URL: url, Mode: mode})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, otelRows(compute(t, src, q)[0]), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
						t.Errorf("%v: %d rows (-classic +OpenTelemetry):\n%.2000s", mode, len(want), diff)
					}
				}
			})
		}
	}
}

// asServices gives resources the attributes that job and instance are made of.
func asServices(sent []otelSeries) []otelSeries {
	sent = slices.Clone(sent)
	for i := range sent {
		instance := fmt.Sprint(sent[i].resource)
		sent[i].resource = merged(sent[i].resource, map[string]string{"service.name": "kubernetes", "service.instance.id": instance})
	}
	return sent
}
