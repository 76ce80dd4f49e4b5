package costapi_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// kept is a ledger that keeps the rich sets in files, and reads only the needed data of them, or all.
type kept struct {
	rich
	everything bool
	forgets    func(*allocation.Projection) // removes something that is needed
	projected  int                          // queries that needed less
	files      map[allocation.Window][2][]byte
}

func (k *kept) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		var only *allocation.Projection
		if p := q.Only; p != nil && !k.everything {
			k.projected++
			if only = p; k.forgets != nil {
				less := *p
				only = &less
				k.forgets(only)
			}
		}
		dict := allocation.NewDict()
		for s, err := range k.rich.Sets(ctx, q) {
			if q.Stream { // nothing may be added to yielded sets
				dict = allocation.NewDict()
			}
			if err == nil {
				s, err = k.read(s, dict, only)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// read is what is read of the files of a set, which has other nodes than those before and after it.
func (k *kept) read(s *allocation.Set, dict *allocation.Dict, only *allocation.Projection) (*allocation.Set, error) {
	files, ok := k.files[s.Window]
	if !ok {
		part, err := s.OfShard(allocation.Shard{Index: 1, Of: 1 + s.Window.Start.YearDay()%2})
		if err != nil {
			return nil, err
		}
		for i, kind := range [...]parquet.Kind{parquet.Allocations, parquet.Assets} {
			var b bytes.Buffer
			if _, err := parquet.Write(&b, part, parquet.Footer{Kind: kind, Zone: "UTC", Complete: true, Shard: 1, Shards: 1}); err != nil {
				return nil, err
			}
			files[i] = b.Bytes()
		}
		k.files[s.Window] = files
	}
	out := allocation.NewSet(s.Window, dict)
	out.Resolution, out.Warnings = s.Resolution, s.Warnings
	for i, data := range files {
		if i == 1 && only != nil && only.WithoutAssets {
			break
		}
		f, err := new(parquet.Readers).Open(data, nil)
		if err != nil {
			return nil, err
		}
		d, err := f.Decode(only)
		if err == nil {
			err = d.AppendTo(out)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func keptHandler(k *kept) http.Handler {
	return costapi.New(k, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
}

// askings are values of further parameters, which change what answers need.
var askings = map[string][]string{
	"fields":         {"", "", "name,totalCost", "totalCost,pvs", "name,minutes,cpuCores", "lbAllocations,cpuCost", "name,properties", "errorBounds", "sharedCostBreakdown", "proportionalAssetResourceCosts", "rawAllocationOnly", "name,cpuCoreUsageP95"},
	"usageQuantiles": {"", "true"},
	"filter":         {"", "", `namespace:"web"`, `label[app]:"front"|node:"n2"`, `services:"front"`, `team:"red"`, `controllerKind:"job"+pod!:"x"`, `annotation[note]:"x"`, `nodePool:"gpu"|pod:"front-1"`},
	"labelSelector":  {"", "", "app=front"},
	"fieldSelector":  {"", "", "spec.node=n1", "metadata.name=front-1"},
	"sortBy":         {"", "name", "cpuCost", "totalEfficiency", "minutes"},
	"format":         {"", "", "csv", "parquet", "arrow"},
	"csvColumns":     {"", "full"},
	"field":          {"nodePool", "cluster", "namespace", "node", "controllerKind", "pod", "service", "label", "label:app", "annotation", "namespaceLabel"},
	"names":          {"web,ml"},
	"filterTypes":    {"", "Node"},
	"limit":          {"", "3"},
	"share":          {"", "", `namespace:"kube-system"`, `label[app]:"front"`},
	"offset":         {"", "", "1"},
	"sortByOrder":    {"", "asc"},
	"costMetric":     {"", "", "daily"},
	"search":         {"", "", "w"},
	"jmespath":       {"", "", "", "length(@)"},
	"filterLabels":   {"", "", "app:front"},
	"filterServices": {"", "", "front"},
	"idle":           {"", "true", "false"},
	"accumulateBy":   {"", "", "day"},
	"labelNames":     {"", "pair", "value"},
	"propertyNames":  {"", "singular"},
	"shareCost":      {"", "", "10"},
}

// withoutFormat are parameters that requests of other formats than JSON are refused with.
var withoutFormat = []string{"fields", "usageQuantiles", "explain", "offset", "limit", "sortBy", "costMetric", "jmespath"}

// TestNeeded sends random requests to a ledger that reads only what they declare, and to one that reads everything. The answers are equal.
func TestNeeded(t *testing.T) {
	questions := soak.Of(200, 900)
	files := map[allocation.Window][2][]byte{}
	narrow, whole := &kept{files: files}, &kept{files: files, everything: true}
	paths := []string{
		"/model/allocation", "/model/allocation", "/model/allocation", "/model/allocation/summary", "/model/allocation/summary/topline", "/model/allocation/trends",
		"/model/allocation/autocomplete", "/model/assets", "/model/assets/topline", "/model/assets/autocomplete",
		"/model/anomalies", "/forecasting/forecast/allocation", "/forecasting/forecast/assets",
	}
	answered := map[string]int{} // by format
	for seed := range uint64(questions) {
		random := rand.New(rand.NewPCG(seed, 7))
		path := paths[random.IntN(len(paths))]
		params := []string{[]string{richDay, "window=3d", "window=3h"}[random.IntN(3)]}
		format := askings["format"][random.IntN(len(askings["format"]))]
		for _, p := range costapi.Parameters(path) {
			values := slices.Concat(choices[p.Name], askings[p.Name])
			switch {
			case p.Name == "format" && format != "":
				params = append(params, "format="+format)
				continue
			case len(values) == 0 || p.Ignored || p.Name == "format":
				continue
			case format != "" && slices.Contains(withoutFormat, p.Name): // it would be refused
				continue
			}
			if v := values[random.IntN(len(values))]; v != "" {
				params = append(params, p.Name+"="+v)
			}
		}
		got, want := get(keptHandler(narrow), path, params...), get(keptHandler(whole), path, params...)
		if got.Code != want.Code {
			t.Fatalf("seed %d: %s?%s: status %d, of everything %d: %.300s", seed, path, strings.Join(params, "&"), got.Code, want.Code, got.Body)
		}
		if got.Code == http.StatusOK && strings.HasPrefix(path, "/model/allocation") {
			answered[format]++
		}
		if diff := cmp.Diff(want.Body.String(), got.Body.String()); diff != "" {
			t.Fatalf("seed %d: %s?%s: what is needed and everything answer differently:\n%s", seed, path, strings.Join(params, "&"), diff)
		}
	}
	if narrow.projected < questions/6 {
		t.Errorf("only %d queries needed less than everything", narrow.projected)
	}
	for _, format := range askings["format"] {
		if answered[format] < questions/45 {
			t.Errorf("only %d questions of format %q were answered with rows", answered[format], format)
		}
	}
}

// TestNeededOfSums asks for sums of several sets, in formats with all members and with a few.
func TestNeededOfSums(t *testing.T) {
	files := map[allocation.Window][2][]byte{}
	for _, aggregate := range []string{"namespace", "cluster,namespace,pod", "label:app", "node", "nodePool", "all"} {
		for _, asked := range []string{
			"format=csv", "format=csv&csvColumns=full", "format=parquet", "format=arrow",
			"fields=name,totalCost", "fields=cpuCost,totalCost&filter=namespace:\"web\"", "fields=minutes,cpuCores&idle=false", "fields=totalCost&shareTenancyCosts=false",
		} {
			t.Run(asked+" by "+aggregate, func(t *testing.T) {
				params := slices.Concat([]string{"window=3d", "aggregate=" + aggregate}, strings.Split(asked, "&"))
				narrow := &kept{files: files}
				got := get(keptHandler(narrow), "/model/allocation", params...)
				want := get(keptHandler(&kept{files: files, everything: true}), "/model/allocation", params...)
				if got.Code != http.StatusOK || narrow.projected == 0 {
					t.Fatalf("status %d, %d queries needed less: %.300s", got.Code, narrow.projected, got.Body)
				}
				if diff := cmp.Diff(want.Body.String(), got.Body.String()); diff != "" {
					t.Errorf("of what is needed and of everything (-want +got):\n%s", diff)
				}
				if asked == "format=csv" && !strings.Contains(got.Body.String(), "__idle__") {
					t.Errorf("idle is missing:\n%s", got.Body)
				}
			})
		}
	}
}

// TestNeededOfDerived names the rows that a filter leaves by a derived property. Its warnings are about all rows.
func TestNeededOfDerived(t *testing.T) {
	d, err := allocation.NewDerived("owner", []allocation.Property{allocation.Pod}, func(properties map[string]any) (string, error) {
		pod, _ := properties["pod"].(string)
		if len(pod)%2 == 0 {
			return "", errors.New("it is even")
		}
		return "of " + pod, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files, bodies := map[allocation.Window][2][]byte{}, [2]string{}
	for i, everything := range []bool{false, true} {
		k := &kept{files: files, everything: everything}
		h := costapi.New(k, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }, Derived: []*allocation.Derived{d}})
		w := get(h, "/model/allocation", "window=3d", "aggregate=owner,pod", `filter=namespace:"web"`)
		if w.Code != http.StatusOK || everything == (k.projected > 0) {
			t.Fatalf("status %d, %d queries needed less: %.300s", w.Code, k.projected, w.Body)
		}
		bodies[i] = w.Body.String()
	}
	if diff := cmp.Diff(bodies[1], bodies[0]); diff != "" {
		t.Errorf("of what is needed and of everything (-want +got):\n%s", diff)
	}
}

// TestMergedNeeds compares what is said of rows that are merged from several containers, where the properties that tell these apart are not shown, with what is said of
// everything: one maximum of them all, or the window as an upper bound of their time, would be wrong.
func TestMergedNeeds(t *testing.T) {
	files := map[allocation.Window][2][]byte{}
	for _, field := range []string{"rawAllocationOnly", "errorBounds"} {
		for _, aggregate := range []string{"namespace", "controller", "pod", "all"} {
			var bodies [2]string
			for i, everything := range []bool{false, true} {
				w := get(keptHandler(&kept{files: files, everything: everything}), "/model/allocation", "window=3d", "aggregate="+aggregate, "accumulate=true", "fields="+field)
				if bodies[i] = w.Body.String(); w.Code != http.StatusOK || !strings.Contains(bodies[i], field) {
					t.Fatalf("status %d: %.300s", w.Code, w.Body)
				}
			}
			if diff := cmp.Diff(bodies[1], bodies[0]); diff != "" {
				t.Errorf("%s by %s of everything and of what is needed (-want +got):\n%.1000s", field, aggregate, diff)
			}
		}
	}
}

// TestUnread asks a ledger that reads less than a request declares. Each answer is an error, none is made of zeros.
func TestUnread(t *testing.T) {
	files := map[allocation.Window][2][]byte{}
	column := func(c allocation.Column) func(*allocation.Projection) {
		return func(p *allocation.Projection) {
			p.Columns = slices.DeleteFunc(slices.Clone(p.Columns), func(x allocation.Column) bool { return x == c })
		}
	}
	property := func(x allocation.Property) func(*allocation.Projection) {
		without := func(list []allocation.Property) []allocation.Property {
			return slices.DeleteFunc(slices.Clone(list), func(y allocation.Property) bool { return x == y })
		}
		return func(p *allocation.Projection) { p.Properties, p.Deferred = without(p.Properties), without(p.Deferred) }
	}
	cpu, running := allocation.Cost.Of(allocation.CPU), allocation.RunningSeconds
	for _, tc := range []struct {
		query   string
		forgets func(*allocation.Projection)
	}{
		{"aggregate=namespace", column(cpu)},
		{"aggregate=namespace&fields=cpuCost", column(cpu)},
		{"aggregate=namespace&fields=minutes", column(running)},
		{"aggregate=namespace&fields=cpuCost&sortBy=cpuCoreUsageAverage", column(allocation.UsageHours.Of(allocation.CPU))},
		{"aggregate=namespace&fields=errorBounds", column(allocation.LeastSeconds)},
		{"aggregate=namespace&fields=rawAllocationOnly", column(allocation.UsageMax.Of(allocation.RAM))},
		{"aggregate=namespace&format=csv", column(allocation.UsageHours.Of(allocation.RAM))},
		{"aggregate=namespace&format=csv&csvColumns=full", property(allocation.ProviderID)},
		{"aggregate=namespace&format=arrow", column(allocation.PVByteHours)},
		{"aggregate=namespace&format=parquet", property(allocation.Services)},
		{"aggregate=pod", property(allocation.Pod)},
		{"aggregate=cluster&filter=pod!:\"x\"", property(allocation.Pod)},
		{"aggregate=all&filter=team:\"x\"", property(allocation.Labels)},
		{"aggregate=all&fields=pvs", func(p *allocation.Projection) { p.Volumes = false }},
		{"aggregate=all&fields=lbAllocations", func(p *allocation.Projection) { p.Balancers = false }},
		{"aggregate=all&fields=gpuAllocation", property(allocation.GPUDevices)},
		{"aggregate=all&fields=properties", property(allocation.NamespaceLabels)},
	} {
		t.Run(tc.query, func(t *testing.T) {
			query := append(strings.Split(tc.query, "&"), "window=3d")
			if w := get(keptHandler(&kept{files: files}), "/model/allocation", query...); w.Code != http.StatusOK {
				t.Fatalf("status %d: %.300s", w.Code, w.Body)
			}
			if w := get(keptHandler(&kept{files: files, forgets: tc.forgets}), "/model/allocation", query...); w.Code != http.StatusInternalServerError {
				t.Errorf("status %d: %.300s", w.Code, w.Body)
			}
		})
	}
}
