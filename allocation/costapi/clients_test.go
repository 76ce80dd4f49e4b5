package costapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/costapi"
)

// kubectlAllocation is what kubectl-cost decodes of an allocation. Its numbers read null as 0.
type kubectlAllocation struct {
	Name       string
	Properties *struct{ Cluster, Namespace string }
	Window     struct{ Start, End *time.Time }
	Start, End time.Time

	CPUCoreRequestAverage, CPUCoreUsageAverage, CPUCost, CPUCostAdjustment    float64
	RAMBytesRequestAverage                                                    float64 `json:"ramByteRequestAverage"`
	RAMCost, GPUCost, NetworkCost, LoadBalancerCost, SharedCost, ExternalCost float64
	TotalCost                                                                 float64
	PVs                                                                       map[pvKey]struct {
		ByteHours, Cost float64
		ProviderID      string
	}
	LoadBalancers map[string]struct {
		Service     string
		Cost, Hours float64
		Private     bool
		IP          string
	} `json:"lbAllocations"`
}

// pvKey refuses keys as kubectl-cost does.
type pvKey struct{ cluster, name string }

func (k *pvKey) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	if len(parts) != 2 {
		return fmt.Errorf("%q has %d parts between colons, want 2", text, len(parts))
	}
	for i, into := range []*string{&k.cluster, &k.name} {
		_, value, ok := strings.Cut(parts[i], "=")
		if !ok {
			return fmt.Errorf("%q has no = in %q", text, parts[i])
		}
		*into = value
	}
	return nil
}

// ask asks for a path with a raw query, in which quotes stand as they are.
func ask(t *testing.T, target string) *httptest.ResponseRecorder {
	t.Helper()
	path, query, _ := strings.Cut(target, "?")
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL = &url.URL{Path: path, RawQuery: query}
	w := do(richHandler(costapi.Config{}), r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %.400s", target, w.Code, w.Body)
	}
	return w
}

// decode reads the data of an answer.
func decode(t *testing.T, target string, data any) {
	t.Helper()
	body := struct {
		Code int
		Data any
	}{Data: data}
	if err := json.Unmarshal(ask(t, target).Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	if body.Code != http.StatusOK {
		t.Errorf("%s: code %d", target, body.Code)
	}
}

// TestKubectlCost answers the requests that kubectl-cost sends, and holds what would make it panic.
func TestKubectlCost(t *testing.T) {
	for _, path := range []string{"/model/allocation", "/allocation/compute"} {
		for _, fields := range []string{"cluster,namespace", "cluster,namespace,deployment", "cluster,namespace,controller", "cluster,namespace,pod", "cluster,label:app"} {
			for _, window := range []string{"1d", "7d", "yesterday", "2026-11-20T00:00:00Z,2026-11-21T00:00:00Z"} {
				target := fmt.Sprintf("%s?accumulate=true&window=%s&aggregate=%s&includeIdle=true&idle=true&filterNamespaces=", path, window, url.QueryEscape(fields))
				var sets []map[string]kubectlAllocation
				decode(t, target, &sets)
				if len(sets) != 1 || len(sets[0]) == 0 {
					t.Fatalf("%s: %d sets, want one with rows", target, len(sets))
				}
				checkKubectlRows(t, target, sets[0], strings.Count(fields, ",")+1)
			}
		}
	}
	var nodes []map[string]struct {
		Type                        string
		Properties                  struct{ Name, Cluster string }
		Minutes                     float64
		CPUCost, RAMCost, TotalCost float64
	}
	decode(t, "/model/assets?window=1d&accumulate=true&filterTypes=Node", &nodes)
	if len(nodes) != 1 || len(nodes[0]) != 3 {
		t.Errorf("%d sets, want one with 3 nodes", len(nodes))
	}
	for key, n := range nodes[0] {
		if n.Type != "Node" || n.Properties.Name == "" || n.Properties.Cluster == "" || n.Minutes <= 0 || n.TotalCost <= 0 {
			t.Errorf("%s: %+v", key, n)
		}
	}
	var info struct{ ID string }
	decode(t, "/model/clusterInfo", &info)
	var configs struct{ CurrencyCode string }
	decode(t, "/model/getConfigs", &configs)
	if configs.CurrencyCode != "USD" {
		t.Errorf("currency %q", configs.CurrencyCode)
	}
}

// checkKubectlRows checks what kubectl-cost counts on: a name has a part a field or is idle, and costs rebuilt from their
// parts are the total.
func checkKubectlRows(t *testing.T, target string, rows map[string]kubectlAllocation, fields int) {
	t.Helper()
	for name, r := range rows {
		if name != "__idle__" && strings.Count(name, "/")+1 != fields {
			t.Errorf("%s: %q does not have %d parts", target, name, fields)
		}
		if r.Properties == nil || r.Window.Start == nil || r.Window.End == nil || r.Start.IsZero() || r.Name != name {
			t.Errorf("%s: %q is incomplete: %+v", target, name, r)
		}
		sum := r.CPUCost + r.RAMCost + r.GPUCost + r.NetworkCost + r.LoadBalancerCost + r.SharedCost + r.ExternalCost + r.CPUCostAdjustment
		for _, pv := range r.PVs {
			sum += pv.Cost
		}
		if math.Abs(sum-r.TotalCost) > 1e-9 {
			t.Errorf("%s: %q: parts cost %v, the whole %v", target, name, sum, r.TotalCost)
		}
	}
}

// suiteAllocation is what OpenCost's integration suite reads of an allocation.
type suiteAllocation struct {
	kubectlAllocation
	Minutes           float64
	RawAllocationOnly *struct {
		CPUCoreUsageMax, RAMByteUsageMax, GPUUsageMax float64
	}
	GPUAllocation *struct{ GPUDevice, GPUModel, GPUUUID string }

	CPUCoreHours, CPUCores, CPUCoreLimitAverage, RAMBytesLimitAverage, TotalEfficiency, GPUCount, GPUHours float64
}

// TestOpenCostSuite answers the requests of OpenCost's integration suite with the shapes that it decodes.
func TestOpenCostSuite(t *testing.T) {
	windows := []string{"10m", "1h", "12h", "1d", "2d", "24h", "48h", "14d", "168h", "today", "yesterday", "week", "7d", "2026-11-18T00:00:00Z,2026-11-20T00:00:00Z"}
	for _, window := range windows {
		for _, query := range []string{
			`aggregate=pod&accumulate=true&filter=controllerKind:"daemonset"|controllerKind:"deployment"|controllerKind:"statefulset"`,
			"aggregate=namespace&accumulate=false", "aggregate=cluster", "aggregate=node&includeIdle=true&accumulate=true", "aggregate=service&includeIdle=true&accumulate=true",
			"aggregate=namespace&includeIdle=true&accumulate=true", "aggregate=namespace&shareIdle=true", "aggregate=pod&includeAggregatedMetadata=true&accumulate=true",
			"aggregate=namespace&includeAggregatedMetadata=true", "aggregate=container,pod&accumulate=true", "aggregate=pod,container", "aggregate=namespace&includeProportionalAssetResourceCosts=true&includeIdle=true",
		} {
			for _, path := range []string{"/allocation", "/allocation/compute"} {
				target := path + "?window=" + url.QueryEscape(window) + "&" + query
				var sets []map[string]suiteAllocation
				decode(t, target, &sets)
				if len(sets) == 0 || len(sets[0]) == 0 {
					t.Fatalf("%s: nothing", target)
				}
				_, idle := sets[0]["__idle__"]
				if want := strings.Contains(query, "includeIdle=true"); idle != want {
					t.Errorf("%s: has idle: %t, want %t", target, idle, want)
				}
			}
		}
	}
}

func TestOpenCostSuiteDetails(t *testing.T) {
	var sets []map[string]suiteAllocation
	decode(t, "/allocation?window=24h&aggregate=container,pod&accumulate=true", &sets)
	if r, ok := sets[0]["nginx/front-1"]; !ok || r.RawAllocationOnly == nil || r.RawAllocationOnly.CPUCoreUsageMax == 0 {
		t.Errorf("no maxima of a container: %v", slices.Sorted(maps.Keys(sets[0])))
	}
	if r := sets[0]["gpu/train-0"]; r.GPUAllocation == nil || r.GPUCount != 1 {
		t.Errorf("no GPU: %+v", r)
	}
	var summary struct {
		Step   int64
		Window struct{ Start, End time.Time }
		Sets   []struct {
			Allocations map[string]map[string]any
			Window      struct{ Start, End time.Time }
		}
	}
	for _, path := range []string{"/allocation/summary", "/allocation/compute/summary", "/model/allocation/summary"} {
		decode(t, path+"?window=24h&aggregate=pod&accumulate=false", &summary)
		if len(summary.Sets) == 0 || len(summary.Sets[0].Allocations) == 0 || summary.Step <= 0 {
			t.Errorf("%s: %+v", path, summary)
		}
	}
	checkSummaryEqualsAllocations(t)
	for filter, want := range map[string]int{"node": 3, "disk": 3, "loadbalancer": 2, "network": 1, "clustermanagement": 1} {
		var list map[string]struct {
			Type       string
			Properties struct{ Name, ProviderID string }
			Labels     map[string]string

			Preemptible, CPUCost, GPUCost, RAMCost, TotalCost float64
			VolumeName, ClaimName                             string
		}
		decode(t, `/assets?window=24h&filter=assetType:"`+filter+`"`, &list)
		if len(list) != want {
			t.Errorf("%d assets of type %s, want %d", len(list), filter, want)
		}
		for key, a := range list {
			if !strings.EqualFold(a.Type, filter) || filter == "node" && math.Abs(a.CPUCost+a.RAMCost+a.GPUCost-a.TotalCost) > 1e-9 {
				t.Errorf("%s: %+v", key, a)
			}
		}
	}
	var values struct{ Data []string }
	decode(t, "/allocation/autocomplete?window=7d&field=namespace&search=we&limit=10", &values)
	decode(t, "/assets/autocomplete?window=7d&field=name&tenantId=x", &values)
	if w := ask(t, "/healthz"); w.Body.Len() != 0 {
		t.Errorf("health has a body: %s", w.Body)
	}
}

// checkSummaryEqualsAllocations compares the numbers that both answers have.
func checkSummaryEqualsAllocations(t *testing.T) {
	t.Helper()
	const query = "?window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z&aggregate=namespace&includeIdle=true"
	var sets []map[string]map[string]any
	decode(t, "/allocation"+query, &sets)
	var summary struct {
		Sets []struct{ Allocations map[string]map[string]any }
	}
	decode(t, "/allocation/summary"+query, &summary)
	for name, row := range summary.Sets[0].Allocations {
		for field, value := range row {
			if value != sets[0][name][field] {
				t.Errorf("%s of %s: %v in the summary, %v in the allocation", field, name, value, sets[0][name][field])
			}
		}
		if _, ok := row["cpuCoreLimitAverage"]; !ok {
			t.Errorf("%s has no cpuCoreLimitAverage", name)
		}
	}
}

// TestWholeSuiteWindows checks that windows in days are whole UTC days on OpenCost's paths.
func TestWholeSuiteWindows(t *testing.T) {
	for window, want := range map[string][2]string{
		"today": {"2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"}, "yesterday": {"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"},
		"7d": {"2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"}, "1d": {"2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
	} {
		var sets []map[string]kubectlAllocation
		decode(t, "/allocation?aggregate=cluster&window="+window, &sets)
		for name, r := range sets[0] {
			if got := [2]string{r.Window.Start.Format(time.RFC3339), r.Window.End.Format(time.RFC3339)}; got != want {
				t.Errorf("%s: window of %s is %v, want %v", window, name, got, want)
			}
		}
	}
}

// TestPagingClients asks for page after page as exporters do, which end where a page has fewer rows than its limit and idle. They get
// each row once, and idle with each page.
func TestPagingClients(t *testing.T) {
	for _, path := range []string{"/model/allocation", "/model/allocation/summary", "/allocation/compute"} {
		target := path + "?window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z&aggregate=pod&accumulate=true&includeIdle=true"
		whole := pageOf(t, target)
		for limit := 1; limit <= len(whole); limit++ {
			got := map[string]float64{}
			for offset := 0; offset <= len(whole)+limit; offset += limit {
				rows := pageOf(t, fmt.Sprintf("%s&limit=%d&offset=%d", target, limit, offset))
				for name, cost := range rows {
					if _, twice := got[name]; twice && name != "__idle__" {
						t.Errorf("%s: limit %d has %s twice", path, limit, name)
					}
					got[name] = cost
				}
				if len(rows) < limit+1 {
					break
				}
			}
			if !maps.Equal(got, whole) {
				t.Errorf("%s: pages of %d rows have %v, want %v", path, limit, got, whole)
			}
		}
	}
}

// pageOf are the costs of the rows of an answer.
func pageOf(t *testing.T, target string) map[string]float64 {
	t.Helper()
	var data json.RawMessage
	decode(t, target, &data)
	var summary struct {
		Sets []struct {
			Allocations map[string]struct{ TotalCost float64 }
		}
	}
	costs := map[string]float64{}
	if json.Unmarshal(data, &summary) == nil {
		for name, row := range summary.Sets[0].Allocations {
			costs[name] = row.TotalCost
		}
		return costs
	}
	var sets []map[string]struct{ TotalCost float64 }
	if err := json.Unmarshal(data, &sets); err != nil {
		t.Fatal(err)
	}
	for name, row := range sets[0] {
		costs[name] = row.TotalCost
	}
	return costs
}

// TestSummariesAsCSV compares Kubecost's CSV of a summary with that of the allocations, and its topline with the sum of both.
func TestSummariesAsCSV(t *testing.T) {
	const query = "?window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z&aggregate=namespace&format=csv"
	rows := ask(t, "/model/allocation"+query).Body.String()
	if got := ask(t, "/model/allocation/summary"+query).Body.String(); got != rows || !strings.HasPrefix(got, "Name,CPU,GPU,RAM,") {
		t.Errorf("the summary is\n%s, the allocations are\n%s", got, rows)
	}
	w := ask(t, "/model/allocation/summary/topline"+query)
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "total,") || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv") {
		t.Fatalf("the topline is %q", lines)
	}
	sum := 0.0
	for _, line := range strings.Split(strings.TrimSpace(rows), "\n")[1:] {
		sum += lastNumber(t, line)
	}
	if total := lastNumber(t, lines[1]); math.Abs(total-sum) > 1e-2 {
		t.Errorf("the topline is %v, the sum of rows %v", total, sum)
	}
}

// lastNumber is the number in the last cell of a line of CSV.
func lastNumber(t *testing.T, line string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ',')+1:], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestNamesOfPeers answers what Kubecost's page asks by names of its own, without a warning.
func TestNamesOfPeers(t *testing.T) {
	const window = "?window=2026-11-20T00:00:00Z,2026-11-21T00:00:00Z&accumulate=true&chartType=costovertime"
	for asked, like := range map[string]string{
		"/model/assets" + window + "&aggregate=assetType":     "/model/assets" + window + "&aggregate=type",
		"/model/clusterInfoMap":                               "/clusterInfoMap",
		"/model/healthz":                                      "/healthz",
		"/model/allocation" + window + "&aggregate=namespace": "/model/allocation" + strings.TrimSuffix(window, "&chartType=costovertime") + "&aggregate=namespace",
	} {
		got := ask(t, asked).Body.String()
		if want := ask(t, like).Body.String(); got != want || strings.Contains(got, "chartType") {
			t.Errorf("%s answers otherwise than %s:\n%.300s\n%.300s", asked, like, got, want)
		}
	}
}
