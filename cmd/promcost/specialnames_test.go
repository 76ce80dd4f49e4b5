package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/promcost/promcost/promquery/promtest"
)

// lookalikes are names that tenants may give to what is theirs and that look like those of special rows, with how they are shown.
var lookalikes = [][2]string{
	{"__idle__", `\__idle__`},
	{"__unallocated__", `\__unallocated__`},
	{"__unmounted__", `\__unmounted__`},
	{"__shared__", `\__shared__`},
	{"__external__", `\__external__`},
	{"__other__", `\__other__`},
	{"__undefined__", `\__undefined__`},
	{"__local__", `\__local__`},
	{`\__idle__`, `\\__idle__`},
	{`\\__idle__`, `\\\__idle__`},
	{"web-unmounted-pvcs", `\web-unmounted-pvcs`},
	{"of/__idle__", `of/\__idle__`},
}

// honest is the name in place of the n-th of lookalikes, where tenants are honest.
func honest(n int) string {
	name := fmt.Sprintf("tenant-%02d", n)
	if strings.Contains(lookalikes[n][0], "/") {
		return "of/" + name
	}
	return name
}

// shownAsHonest replaces the names of tenants as they are shown by the honest ones.
func shownAsHonest() *strings.Replacer {
	var pairs []string
	order := make([]int, len(lookalikes))
	for n := range order {
		order[n] = n
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(len(lookalikes[b][1]), len(lookalikes[a][1])) })
	for _, n := range order {
		pairs = append(pairs, lookalikes[n][1], honest(n), strings.ToUpper(lookalikes[n][0]), strings.ToUpper(honest(n)))
	}
	return strings.NewReplacer(pairs...)
}

// writeTenants writes the last six hours of a cluster with a tenant of each name, one without names, and what belongs to nobody.
func writeTenants(t *testing.T, now time.Time, name func(n int) string) string {
	t.Helper()
	var series []promtest.Series
	add := func(v float64, metric string, labels ...string) {
		series = append(series, promtest.Series{
			Labels:  append([]string{"__name__", metric, "job", "kube-state-metrics"}, labels...),
			Samples: promtest.Regular(now.Add(-6*time.Hour).UnixMilli(), now.UnixMilli()-1, 60_000, func(int64) float64 { return v }),
		})
	}
	for _, node := range []string{"n1", name(0)} {
		add(1, "kube_node_info", "node", node)
		add(1, "kube_node_labels", "node", node, "label_department", name(3))
		add(16, "kube_node_status_capacity", "node", node, "resource", "cpu", "unit", "core")
		add(64<<30, "kube_node_status_capacity", "node", node, "resource", "memory", "unit", "byte")
	}
	volume := func(name string, bytes float64, claim ...string) {
		add(bytes, "kube_persistentvolume_capacity_bytes", "persistentvolume", name)
		if len(claim) > 0 {
			add(1, "kube_persistentvolumeclaim_info", "namespace", claim[0], "persistentvolumeclaim", claim[1], "volumename", name, "storageclass", "ssd")
		}
	}
	volume("unclaimed", 1<<30)
	volume("of-web", 2<<30, "web", "data")
	volume(name(1), 4<<30, name(2), name(4))
	for n := range len(lookalikes) + 1 {
		of, node := []string{"namespace", "web", "pod", "nameless-0", "uid", fmt.Sprintf("36360000-0000-4000-8000-%012d", n)}, "n1"
		container := "main"
		if n < len(lookalikes) {
			of[1], of[3], container = name(n), name(n), name(n)
			add(1, "kube_pod_labels", append(of, "label_app", name(n))...)
			loud := []string{"annotation_loud", strings.ToUpper(name(n))}
			if strings.HasPrefix(lookalikes[n][0], `\`) { // it would be quiet as another one is already
				loud = nil
			}
			add(1, "kube_pod_annotations", slices.Concat(of, []string{"annotation_team", name(n)}, loud)...)
			add(1, "kube_namespace_annotations", "namespace", name(n), "annotation_owner", name(n))
			add(1, "kube_pod_owner", append(of, "owner_kind", "StatefulSet", "owner_name", name(n), "owner_is_controller", "true")...)
			add(1, "kube_service_info", "namespace", name(n), "service", name(n))
			add(1, "kube_service_spec_selector", "namespace", name(n), "service", name(n), "label_app", name(n))
		}
		if n%2 == 1 {
			node = name(0)
		}
		add(1, "kube_pod_info", append(of, "node", node)...)
		add(1, "kube_pod_container_status_running", append(of, "container", container)...)
		add(0.1*float64(n+1), "kube_pod_container_resource_requests", append(of, "container", container, "resource", "cpu", "unit", "core", "node", node)...)
		add(float64(n+1)*(1<<28), "kube_pod_container_resource_requests", append(of, "container", container, "resource", "memory", "unit", "byte", "node", node)...)
	}
	dir := t.TempDir()
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

// canonical is an answer with honest names, in an order that does not depend on names.
func canonical(v any, names *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return f
		}
		var object map[string]any
		if json.Unmarshal([]byte(v), &object) == nil { // tags in a cell
			return canonical(object, names)
		}
		return names.Replace(v)
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if key == "warnings" { // they name some of many, in the order of their names
				continue
			}
			out[names.Replace(key)] = canonical(value, names)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = canonical(value, names)
		}
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(elementName(a), elementName(b)) })
		return out
	}
	return v
}

// elementName is what tells an element of a list from others.
func elementName(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		if name, ok := v["name"].(string); ok {
			return name
		}
		text, _ := json.Marshal(v["metric"]) // of PromQL
		return string(text)
	case []any:
		var texts []string
		for _, cell := range v {
			if text, ok := cell.(string); ok {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\x00")
	}
	return ""
}

// csvCells returns the cells of a text of CSV.
func csvCells(t *testing.T, text string, comma rune) any {
	t.Helper()
	in := csv.NewReader(strings.NewReader(text))
	in.Comma, in.LazyQuotes, in.FieldsPerRecord = comma, comma != ',', -1
	records, err := in.ReadAll()
	if err != nil {
		t.Fatalf("%v: %.500s", err, text)
	}
	rows := make([]any, len(records))
	for i, record := range records {
		cells := make([]any, len(record))
		for k, cell := range record {
			cells[k] = cell
		}
		rows[i] = cells
	}
	return rows
}

// arrowCells returns the cells of a stream of Arrow.
func arrowCells(t *testing.T, text string) any {
	t.Helper()
	r, err := ipc.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	rows := []any{}
	for r.Next() {
		batch := r.RecordBatch()
		for i := range int(batch.NumRows()) {
			var cells []any
			for _, column := range batch.Columns() {
				cell := column.ValueStr(i)
				if strings.HasPrefix(cell, "[") { // a list is JSON
					cell = strings.ReplaceAll(cell, `\\`, `\`)
				}
				cells = append(cells, cell)
			}
			rows = append(rows, cells)
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return rows
}

// parquetCells returns the cells of a file of Parquet.
func parquetCells(t *testing.T, text string) any {
	t.Helper()
	f, err := parquetgo.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	rows := []any{}
	for _, group := range f.RowGroups() {
		some := make([]parquetgo.Row, group.NumRows())
		in := group.Rows()
		if n, err := in.ReadRows(some); n != len(some) {
			t.Fatalf("%d rows of %d: %v", n, len(some), err)
		}
		for _, row := range some {
			var cells []any
			for _, value := range row {
				cells = append(cells, value.String())
			}
			rows = append(rows, cells)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// TestSpecialNames compares the answers of every door where the names of tenants look like those of special rows with the answers where they
// are ordinary ones: but for the names as they are shown, all is the same. So every tenant has rows of its own, and special rows are what they were.
func TestSpecialNames(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Minute)
	end := now.Add(-30 * time.Minute).Truncate(time.Hour)
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("properties: {quiet: to_lower(annotations.loud), unit: \"annotations.team || namespace\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var bases, histories [2]string
	for i, name := range []func(n int) string{func(n int) string { return lookalikes[n][0] }, honest} {
		dir := writeTenants(t, now, name)
		histories[i] = t.TempDir()
		args := []string{"--tsdb.path=" + dir, "--config.file=" + config, "--storage.path=" + histories[i]}
		p := start(t, append([]string{"backfill", "--from=" + end.Add(-4*time.Hour).Format(time.RFC3339)}, args...)...)
		if code := <-p.code; code != exitOK {
			t.Fatalf("backfill: exit %d: %s", code, p.err.String())
		}
		bases[i] = spawn(t, append([]string{"serve", "--collector.label", "--collector.label.names=team,app", "--collector.container", "--collector.pod"}, args...)...)
		eventually(t, "it does not get ready", func() bool { code, _ := get(t, bases[i]+"/-/ready"); return code == 200 })
	}
	hours := end.Add(-2*time.Hour).Format(time.RFC3339) + "," + end.Format(time.RFC3339)
	windows := func(path string) string {
		if strings.HasPrefix(path, "/v2/") { // ACK has whole days
			return "window=" + url.QueryEscape(end.Add(-24*time.Hour).Format(time.RFC3339)+","+end.Format(time.RFC3339))
		}
		return "window=" + url.QueryEscape(hours)
	}
	compare := func(t *testing.T, hidden, plain any, special ...string) {
		t.Helper()
		text, _ := json.Marshal(plain)
		for _, name := range special {
			if !strings.Contains(string(text), name) {
				t.Errorf("there is no %s: %.2000s", name, text)
			}
		}
		names := shownAsHonest()
		if diff := gocmp.Diff(canonical(plain, names), canonical(hidden, names), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
			t.Errorf("honest names (-) and others (+) differ: %.6000s", diff)
		}
	}
	decoded := func(t *testing.T, base, path string) (v any) {
		t.Helper()
		code, body := get(t, base+path)
		if err := json.Unmarshal([]byte(body), &v); err != nil || code != 200 {
			t.Fatalf("%s: %d %.500s", path, code, body)
		}
		return v
	}
	for _, tt := range []struct {
		path    string
		special []string
	}{
		{"/model/allocation?accumulate=true&", []string{"__idle__", "__unmounted__"}},
		{"/model/allocation/compute?aggregate=namespace&step=1h&", []string{"__idle__", "__unmounted__"}},
		{"/model/allocation?aggregate=team&", []string{"__idle__", "__unallocated__"}},
		{"/model/allocation?aggregate=unit&idleByNode=true&splitIdle=true&", []string{"/n1/__idle__", "__unmounted__"}},
		{"/model/allocation?aggregate=quiet&", []string{"__idle__", "__unallocated__"}},
		{"/model/allocation?aggregate=label:app&labelNames=value&shareIdle=true&", []string{"__unallocated__"}},
		{"/model/allocation?aggregate=annotation:team,namespace&includeAggregatedMetadata=true&", []string{"__idle__", "__unmounted__"}},
		{"/model/allocation?aggregate=pod&", []string{"__idle__", "web-unmounted-pvcs", "__unmounted__"}},
		{"/model/allocation?aggregate=container&", []string{"__idle__", "__unmounted__"}},
		{"/model/allocation?aggregate=controller&", []string{"__idle__", "__unallocated__"}},
		{"/model/allocation?aggregate=service&", []string{"__idle__", "__unallocated__"}},
		{"/model/allocation?aggregate=node&includeProportionalAssetResourceCosts=true&", []string{"__idle__", "__unallocated__"}},
		{"/model/allocation/compute?aggregate=team&shareNamespaces=web&resolution=1m&", []string{"__idle__"}},
		{"/model/allocation/summary?aggregate=team&accumulate=true&", []string{"__idle__", "__unallocated__"}},
		{"/model/allocation/summary/topline?aggregate=team&", nil},
		{"/model/allocation/change?aggregate=team&drill=node&", []string{"__idle__", "__unallocated__"}},
		{"/allocation?aggregate=team&idle=true&", []string{"__idle__", "__unallocated__"}},
		{"/v2/allocation?aggregate=namespace&", []string{"__unmounted__"}},
		{"/model/assets?", []string{"__undefined__"}},
		{"/model/assets?aggregate=department&", []string{"__unallocated__"}},
		{"/model/assets?aggregate=name&", nil},
		{"/assets?", []string{"__undefined__"}},
		{"/model/allocation/autocomplete?field=namespace&", []string{"__unmounted__"}},
		{"/model/allocation/autocomplete?field=annotation:team&", nil},
		{"/model/allocation/autocomplete?field=pod&", nil},
	} {
		t.Run(tt.path, func(t *testing.T) {
			compare(t, decoded(t, bases[0], tt.path+windows(tt.path)), decoded(t, bases[1], tt.path+windows(tt.path)), tt.special...)
		})
	}
	for _, query := range []string{"promcost_namespace_hourly_cost", "promcost_label_hourly_cost", "promcost_pod_hourly_cost", "promcost_controller_hourly_cost", "promcost_idle_hourly_cost", "promcost_persistentvolume_hourly_cost"} {
		t.Run(query, func(t *testing.T) {
			path := "/api/v1/query?time=" + strconv.FormatInt(end.Unix(), 10) + "&query=" + query
			compare(t, decoded(t, bases[0], path), decoded(t, bases[1], path), `"cluster"`)
		})
	}
	for _, path := range []string{"/model/allocation?aggregate=team&", "/model/allocation?csvColumns=full&", "/model/assets?", "/v2/allocation?", "/model/allocation/change?aggregate=team&"} {
		t.Run("CSV of "+path, func(t *testing.T) {
			var got [2]any
			for i, base := range bases {
				code, body := get(t, base+path+"format=csv&"+windows(path))
				if got[i] = csvCells(t, body, ','); code != 200 {
					t.Fatalf("%d %s", code, body)
				}
			}
			compare(t, got[0], got[1])
		})
	}
	for format, cells := range map[string]func(*testing.T, string) any{"arrow": arrowCells, "parquet": parquetCells} {
		t.Run(format, func(t *testing.T) {
			var got [2]any
			for i, base := range bases {
				code, body := get(t, base+"/model/allocation?aggregate=namespace,pod&format="+format+"&"+windows(""))
				if code != 200 {
					t.Fatalf("%d %s", code, body)
				}
				got[i] = cells(t, body)
			}
			compare(t, got[0], got[1], "__idle__", "__unmounted__")
		})
	}
	for _, format := range []string{"csv", "focus"} {
		t.Run("export as "+format, func(t *testing.T) {
			var got [2]any
			for i, history := range histories {
				p := start(t, "history", "export", "--storage.path="+history, "--format="+format, "--window="+hours)
				if code := <-p.code; code != exitOK {
					t.Fatalf("exit %d: %s", code, p.err.String())
				}
				got[i] = csvCells(t, p.out.String(), ',')
			}
			compare(t, got[0], got[1], "__unmounted__")
		})
	}
	t.Run("filters", func(t *testing.T) {
		quote := strings.NewReplacer(`\`, `\\`)
		for n, name := range lookalikes {
			for _, filter := range []string{`annotation[team]:"%s"`, `team:"%s"`, `label[app]:"%s"`, `namespace:"%s"`, `pod:"%s"`, `unit:"%s"`, `controllerName:"%s"`, `services:"%s"`} {
				path := "/model/allocation?idle=false&aggregate=namespace,pod,container&" + windows("") + "&filter="
				hidden := decoded(t, bases[0], path+url.QueryEscape(fmt.Sprintf(filter, quote.Replace(name[1]))))
				compare(t, hidden, decoded(t, bases[1], path+url.QueryEscape(fmt.Sprintf(filter, honest(n)))), honest(n))
				if strings.Count(name[1], `\`) == 1 { // as it is shown
					compare(t, decoded(t, bases[0], path+url.QueryEscape(fmt.Sprintf(filter, name[1]))), hidden)
				}
			}
			path := "/model/allocation?idle=false&aggregate=namespace&" + windows("")
			compare(t, decoded(t, bases[0], path+"&filterNamespaces="+url.QueryEscape(name[1])), decoded(t, bases[1], path+"&filterNamespaces="+honest(n)), honest(n))
			compare(t, decoded(t, bases[0], path+"&fieldSelector="+url.QueryEscape("spec.namespace="+quote.Replace(name[1]))), decoded(t, bases[1], path+"&fieldSelector=spec.namespace="+honest(n)), honest(n))
		}
	})
	t.Run("warnings", func(t *testing.T) {
		var texts []string
		for _, path := range []string{"/model/allocation?aggregate=pod&", "/model/assets?"} {
			answer, _ := decoded(t, bases[0], path+windows(path)).(map[string]any)
			list, _ := answer["warnings"].([]any)
			texts = append(texts, fmt.Sprint(list...))
		}
		text := strings.Join(texts, "\n")
		if raw := regexp.MustCompile(`.{0,60}[^\\\w](__(idle|unmounted|unallocated|shared|external|other|undefined|local)__|web-unmounted-pvcs).{0,60}`).FindString(text); raw != "" || !strings.Contains(text, `\__idle__`) {
			t.Errorf("warnings name tenants as special rows are named: %q in %.2000s", raw, text)
		}
	})
	t.Run("command line", func(t *testing.T) {
		var got [2]any
		for i, base := range bases {
			p := start(t, "query", "allocation", "--server="+base, "--aggregate=team", "--window="+hours, "--output=csv")
			if code := <-p.code; code != exitOK {
				t.Fatalf("exit %d: %s", code, p.err.String())
			}
			got[i] = csvCells(t, p.out.String(), ',')
		}
		compare(t, got[0], got[1], "__idle__", "__unallocated__")
	})
	t.Run("MCP", func(t *testing.T) {
		var got [2]any
		for i, base := range bases {
			//nolint:gosec // the program is this test itself
			stdio := exec.CommandContext(t.Context(), os.Args[0], "mcp", "--server="+base)
			stdio.Env = append(os.Environ(), asProgram+"=1")
			connect(t, &mcp.CommandTransport{Command: stdio}).into(t, "allocations", map[string]any{"window": hours, "aggregate": "team", "limit": 100}, &got[i])
		}
		compare(t, got[0], got[1], "__idle__", "__unallocated__")
	})
	for _, path := range []string{"/metrics", "/federate?match[]=" + url.QueryEscape(`{__name__=~".+_hourly_cost"}`)} {
		t.Run(path, func(t *testing.T) {
			var got [2]any
			eventually(t, "no costs", func() bool {
				for i, base := range bases {
					_, body := get(t, base+path)
					var lines []any
					for line := range strings.Lines(body) {
						if name, _, _ := strings.Cut(line, "{"); strings.HasSuffix(name, "_hourly_cost") {
							series, sample, _ := strings.Cut(line, "} ")
							lines = append(lines, []any{strings.ReplaceAll(series, `\\`, `\`), strings.Fields(sample)[0]})
						}
					}
					got[i] = lines
				}
				return len(got[0].([]any)) > 20 && len(got[1].([]any)) > 20 //nolint:forcetypeassert // both are lists
			})
			compare(t, got[0], got[1], "__unmounted__", "__unallocated__")
		})
	}
}
