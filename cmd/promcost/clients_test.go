package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// clientsNow is the time at which the demo of the clients' sessions ends.
var clientsNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// clientsDemo are the flags of the demo that clients ask.
func clientsDemo() []string {
	return slices.Concat([]string{"demo", "--web.listen-address=127.0.0.1:0", "--demo.end=" + clientsNow.Format(time.RFC3339)}, longDemo)
}

// session is what a client of promcost asked, in a file below testdata/clients.
type session struct {
	// Client is the program, Source its repository at the commit that was run or read, and How how the requests were had.
	Client, Source, How string
	Requests            []clientRequest
}

// clientRequest is one request as it reached promcost.
type clientRequest struct {
	Method, Path, Query string
	Header              map[string]string `json:",omitempty"`
	Body                string            `json:",omitempty"`
	// Status is what the client expects; 0 is 200.
	Status int `json:",omitempty"`
}

func (r clientRequest) String() string {
	return fmt.Sprintf("%s %s?%s %s", r.Method, r.Path, r.Query, r.Body)
}

// clientChecks say, by the beginning of a path, what clients read of its answers. The longest one that fits holds.
var clientChecks = map[string]func(t *testing.T, body []byte){
	"/allocation/compute":      checkAllocations,
	"/model/allocation":        checkAllocations,
	"/allocation/autocomplete": checkSuggestions,
	"/assets/autocomplete":     checkSuggestions,
	"/assets":                  func(t *testing.T, body []byte) { checkAssets(t, dataOf[map[string]clientAsset](t, body)) },
	"/model/assets":            func(t *testing.T, body []byte) { checkAssets(t, dataOf[[]map[string]clientAsset](t, body)...) },
	"/model/clusterInfo":       func(t *testing.T, body []byte) { checkText(t, body, "id") },
	"/model/getConfigs":        func(t *testing.T, body []byte) { checkText(t, body, "currencyCode") },
	"/model/prediction":        checkPrediction,

	"/model/savings":                    checkSavingsOverview,
	"/model/savings/requestSizingV2":    checkSavings,
	"/model/savings/abandonedWorkloads": checkAbandoned,
	"/model/savings/unclaimedVolumes":   checkUnclaimed,

	"/cloudCost":               checkCloudCosts,
	"/cloudCost/status":        checkBillStatus,
	"/cloudCost/view/graph":    checkCloudGraph,
	"/cloudCost/view/table":    checkCloudTable,
	"/cloudCost/view/totals":   checkCloudTotals,
	"/customCost/total":        func(t *testing.T, body []byte) { checkCustomCosts(t, dataOf[clientCustomCosts](t, body)) },
	"/customCost/timeseries":   checkCustomSeries,
	"/api/v1/query":            checkSamples,
	"/api/v1/query_exemplars":  func(t *testing.T, body []byte) { dataOf[[]any](t, body) },
	"/api/v1/series":           func(t *testing.T, body []byte) { checkSome(t, dataOf[[]map[string]string](t, body)) },
	"/api/v1/labels":           func(t *testing.T, body []byte) { checkSome(t, dataOf[[]string](t, body)) },
	"/api/v1/label/":           func(t *testing.T, body []byte) { checkSome(t, dataOf[[]string](t, body)) },
	"/api/v1/rules":            func(t *testing.T, body []byte) { dataOf[struct{ Groups []any }](t, body) },
	"/api/v1/metadata":         checkMetadata,
	"/api/v1/status/buildinfo": checkBuild,
}

// TestClientSessions replays what real clients asked: each request answers as the source of its client expects.
func TestClientSessions(t *testing.T) {
	t.Parallel()
	base := start(t, clientsDemo()...).url(t)
	eventually(t, "the demo does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	files, err := filepath.Glob("testdata/clients/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	t.Run("pages", func(t *testing.T) { testPagingExporter(t, base) })
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s session
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			if s.Client == "" || s.Source == "" || s.How == "" || len(s.Requests) == 0 {
				t.Errorf("%s does not say whose requests it has: %+v", file, s)
			}
			for _, r := range s.Requests {
				t.Run(r.String(), func(t *testing.T) { replay(t, base, r) })
			}
		})
	}
}

// replay sends a request and checks its answer.
func replay(t *testing.T, base string, r clientRequest) {
	req, err := http.NewRequestWithContext(t.Context(), r.Method, base+r.Path+"?"+r.Query, strings.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(unpacked(t, resp))
	if err != nil {
		t.Fatal(err)
	}
	want := r.Status
	if want == 0 {
		want = http.StatusOK
	}
	if resp.StatusCode != want {
		t.Fatalf("status %d, want %d: %.400s", resp.StatusCode, want, body)
	}
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		t.Errorf("content type %q, want JSON", kind)
	}
	longest := ""
	for prefix := range clientChecks {
		if strings.HasPrefix(r.Path, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	switch check := clientChecks[longest]; {
	case want != http.StatusOK:
		checkRefusal(t, body)
	case check == nil:
		t.Errorf("nobody says what a client reads of %s", r.Path)
	default:
		check(t, body)
		checkAsked(t, r, body)
	}
}

// unpacked is the body of an answer: Go's client unpacks only what it asked for by itself.
func unpacked(t *testing.T, resp *http.Response) io.Reader {
	t.Helper()
	var r io.Reader
	var err error
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "":
		return resp.Body
	case "gzip":
		r, err = gzip.NewReader(resp.Body)
	case "zstd":
		r, err = zstd.NewReader(resp.Body)
	default:
		t.Fatalf("nobody can unpack %s", encoding)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dataOf decodes the data of an answer.
func dataOf[T any](t *testing.T, body []byte) (data T) {
	t.Helper()
	answer := struct {
		Status string
		Data   *T
	}{Data: &data}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v: %.400s", err, body)
	}
	if answer.Status != "success" {
		t.Errorf("status %q", answer.Status)
	}
	return data
}

func checkSome[T any](t *testing.T, data []T) {
	t.Helper()
	if len(data) == 0 {
		t.Error("nothing, want some")
	}
}

// allocationNumbers are the fields that OpenCost's page and kubectl-cost add up, and those that other clients take for numbers.
var allocationNumbers = []string{
	"cpuCost", "gpuCost", "ramCost", "pvCost", "networkCost", "loadBalancerCost", "sharedCost", "externalCost", "totalCost", "minutes",
	"cpuEfficiency", "ramEfficiency", "totalEfficiency", "cpuCoreUsageAverage", "ramByteUsageAverage",
}

// checkAllocations wants sets of rows with names, times and numbers.
func checkAllocations(t *testing.T, body []byte) {
	sets := dataOf[[]map[string]map[string]any](t, body)
	rows := 0
	for _, set := range sets {
		for key, row := range set {
			rows++
			if row["name"] != key {
				t.Errorf("the row of %q is named %v", key, row["name"])
			}
			for _, field := range allocationNumbers {
				if _, ok := row[field].(float64); !ok {
					t.Errorf("%s: %s is %v, want a number", key, field, row[field])
				}
			}
			window, _ := row["window"].(map[string]any)
			checkTimes(t, key, window["start"], window["end"], row["start"], row["end"])
		}
	}
	if rows == 0 {
		t.Errorf("%d sets without rows", len(sets))
	}
}

func checkTimes(t *testing.T, key string, times ...any) {
	t.Helper()
	for _, value := range times {
		text, _ := value.(string)
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// clientAsset is what clients read of an asset. They leave one without a type or a cost out.
type clientAsset struct {
	Type       *string
	TotalCost  *float64
	Start, End any
	Properties struct{ Name, Cluster, Category, Provider string }

	Minutes, CPUCost, RAMCost *float64 // of nodes
}

func checkAssets(t *testing.T, sets ...map[string]clientAsset) {
	t.Helper()
	if len(sets) == 0 || len(sets[0]) == 0 {
		t.Fatal("no assets")
	}
	for _, set := range sets {
		for key, a := range set {
			if a.Type == nil || a.TotalCost == nil || a.Properties.Cluster == "" && *a.Type != "Cloud" || a.Properties.Category == "" {
				t.Errorf("%s: %+v", key, a)
				continue
			}
			checkTimes(t, key, a.Start, a.End)
			if *a.Type == "Node" && (a.Properties.Name == "" || a.Minutes == nil || a.CPUCost == nil || a.RAMCost == nil) {
				t.Errorf("%s: %+v", key, a)
			}
		}
	}
}

// checkSuggestions wants a list of strings.
func checkSuggestions(t *testing.T, body []byte) {
	data := dataOf[struct{ Data []string }](t, body)
	if data.Data == nil {
		t.Errorf("no list: %s", body)
	}
}

// checkAsked wants what a request asks for by its parameters: assets of the type of its filter, and suggestions of each field that the demo has.
func checkAsked(t *testing.T, r clientRequest, body []byte) {
	t.Helper()
	query, err := url.ParseQuery(r.Query)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case strings.HasSuffix(r.Path, "/autocomplete"):
		list := dataOf[struct{ Data []string }](t, body).Data
		if field, search := query.Get("field"), query.Get("search"); search == "" && field != "account" {
			checkSome(t, list)
		} else if i := slices.IndexFunc(list, func(s string) bool { return !strings.Contains(s, search) }); i >= 0 {
			t.Errorf("%s is suggested for %s", list[i], search)
		}
	case r.Path == "/model/allocation" && query.Has("limit"):
		checkPage(t, query, dataOf[[]map[string]any](t, body))
	case r.Path == "/assets" && strings.HasPrefix(query.Get("filter"), "type:"):
		for key, a := range dataOf[map[string]clientAsset](t, body) {
			if a.Type == nil || query.Get("filter") != fmt.Sprintf("type:%q", *a.Type) {
				t.Errorf("%s is not filtered out: %+v", key, a)
			}
		}
	}
}

// checkPage wants at most so many rows of each set as the limit says, and idle beside them, also on later pages: exporters of Kubecost take a page
// without idle for the last one.
func checkPage(t *testing.T, query url.Values, sets []map[string]any) {
	t.Helper()
	most, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		_, idle := set["__idle__"]
		if shared := query.Get("shareIdle") == "true"; idle == shared {
			t.Errorf("idle is a row: %v", idle)
		}
		if delete(set, "__idle__"); len(set) > most || len(set) == 0 {
			t.Errorf("%d rows besides idle, want 1 to %d", len(set), most)
		}
	}
}

// testPagingExporter asks for the pods of a day as an exporter does, and stops where it does. It gets each once, and their whole cost.
func testPagingExporter(t *testing.T, base string) {
	const day = "/model/allocation?window=2026-11-21T00:00:00Z,2026-11-22T00:00:00Z&aggregate=cluster,namespace,pod&accumulate=true&step=1d&idle=true"
	page := func(more string) map[string]any {
		_, body := get(t, base+day+more)
		return dataOf[[]map[string]any](t, []byte(body))[0]
	}
	const size = 7
	whole, got := page(""), map[string]any{}
	pages := 0
	for more := true; more; pages++ {
		rows := page(fmt.Sprintf("&limit=%d&offset=%d", size, pages*size))
		more = len(rows) >= size+1
		for name, row := range rows {
			if _, twice := got[name]; twice && name != "__idle__" {
				t.Errorf("%s is on two pages", name)
			}
			got[name] = row
		}
	}
	if diff := cmp.Diff(whole, got); diff != "" || pages < 3 {
		t.Errorf("%d pages (-whole +paged):\n%s", pages, diff)
	}
}

func checkText(t *testing.T, body []byte, field string) {
	t.Helper()
	if text, _ := dataOf[map[string]any](t, body)[field].(string); text == "" {
		t.Errorf("no %s: %s", field, body)
	}
}

// checkRefusal wants an error of the API's shape.
func checkRefusal(t *testing.T, body []byte) {
	var answer struct{ Message, Error string }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Message+answer.Error == "" {
		t.Errorf("%v: an error without a message: %.400s", err, body)
	}
}

// checkSamples wants a result of one of the types that Grafana knows, and samples of it as Grafana reads them.
func checkSamples(t *testing.T, body []byte) {
	type series struct {
		Metric map[string]string
		Value  clientSample
		Values []clientSample
	}
	data := dataOf[struct {
		ResultType string
		Result     json.RawMessage
	}](t, body)
	var list []series
	switch data.ResultType {
	case "scalar", "string":
		list = []series{{Metric: map[string]string{}}}
		decode(t, data.Result, &list[0].Value)
	case "vector", "matrix":
		decode(t, data.Result, &list)
	default:
		t.Errorf("result type %q", data.ResultType)
	}
	checkSome(t, list)
	for _, s := range list {
		if s.Metric == nil || (len(s.Values) > 0) != (data.ResultType == "matrix") || (s.Value.time > 0) == (data.ResultType == "matrix") {
			t.Errorf("no %s: %+v", data.ResultType, s)
		}
	}
}

// clientSample is a time in seconds and a number as text.
type clientSample struct{ time, value float64 }

// UnmarshalJSON implements json.Unmarshaler.
func (s *clientSample) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &[2]any{&s.time, &value}); err != nil {
		return err
	}
	var err error
	s.value, err = strconv.ParseFloat(value, 64)
	return err
}

func decode(t *testing.T, text []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Errorf("%v: %.400s", err, text)
	}
}

func checkMetadata(t *testing.T, body []byte) {
	all := dataOf[map[string][]struct{ Type, Help string }](t, body)
	if len(all) == 0 {
		t.Error("no metadata")
	}
	for name, m := range all {
		if len(m) == 0 || m[0].Type == "" || m[0].Help == "" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// checkBuild wants no features: Grafana takes who has them for Mimir.
func checkBuild(t *testing.T, body []byte) {
	if b := dataOf[map[string]any](t, body); b["version"] == "" || b["features"] != nil {
		t.Errorf("%v", b)
	}
}
