package costapi_test

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// busyLedger answers with sets in which a container of team a used a quarter of a core of the two that it requests, and of another one only the request is known.
type busyLedger struct{ asked []allocation.Query }

func (l *busyLedger) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	l.asked = append(l.asked, q)
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range windows {
			if !yield(busySet(w), nil) {
				return
			}
		}
	}
}

func busySet(w allocation.Window) *allocation.Set {
	const gib = 1 << 30
	s := allocation.NewSet(w, allocation.NewDict())
	s.Covered = []allocation.Covered{{Cluster: "one", Start: w.Start, End: w.End}}
	hours, known := w.Duration().Hours(), [2]float64{0.25, gib}
	for _, name := range []string{"busy", "dark"} {
		r := allocation.Row{Start: w.Start, End: w.End, Labels: map[string]string{"team": "a"}}
		r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.ControllerKind], r.Text[allocation.Controller] = "one", "web", "deployment", name
		r.Text[allocation.Pod], r.Text[allocation.PodUID], r.Text[allocation.Container], r.Text[allocation.NodeName] = name+"-1", name+"-1", "main", "n1"
		r.Values[allocation.RunningSeconds] = hours * 3600
		for _, res := range [...]allocation.Resource{allocation.CPU, allocation.RAM} {
			request := [2]float64{2, 4 * gib}[res]
			r.Values[allocation.RequestHours.Of(res)], r.Values[allocation.Hours.Of(res)] = request*hours, request*hours
			r.Values[allocation.Cost.Of(res)] = hours * [2]float64{0.06, 0.04}[res]
			if name == "busy" {
				r.Values[allocation.UsageHours.Of(res)], r.Values[allocation.UsageMax.Of(res)] = known[res]*hours, known[res]
				r.Levels[res] = []allocation.Level{{Bucket: allocation.BucketOf(known[res]), Millis: w.Duration().Milliseconds()}}
			}
		}
		s.Append(&r)
	}
	return s
}

// sizes asks for recommendations and reads the answer into a value of its shape.
func sizes[T any](t *testing.T, path string, params string) (out T, header http.Header) {
	t.Helper()
	rec := get(costapi.New(&busyLedger{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), path, strings.Split(params, "&")...)
	if rec.Code != http.StatusOK {
		t.Fatalf("%s?%s: %d: %s", path, params, rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s?%s: %v: %s", path, params, err, rec.Body)
	}
	return out, rec.Header()
}

// kubecostItem is what kubectl-cost and Kubecost's MCP server read of a recommendation.
type kubecostItem struct {
	ClusterID, Namespace, ControllerKind, ControllerName, ContainerName string
	RecommendedRequest, LatestKnownRequest                              struct{ CPU, Memory string }
	MonthlySavings, CurrentEfficiency                                   struct{ CPU, Memory, Total float64 }
	NormalizedRecommendedRequest, NormalizedMaxUsage                    struct{ CPUInMilliCores, MemoryInMiB float64 }
}

// TestKubecostSizes sends what kubectl-cost, Kubecost's page and Kubecost's MCP server send, and reads the answers as they do.
func TestKubecostSizes(t *testing.T) {
	const path = "/model/savings/requestSizingV2"
	var want kubecostItem
	want.ClusterID, want.Namespace, want.ControllerKind, want.ControllerName, want.ContainerName = "one", "web", "deployment", "busy", "main"
	want.RecommendedRequest.CPU, want.RecommendedRequest.Memory = "358m", "1469Mi" // a quarter of a core and a GiB ÷ 0.7, up to three digits
	want.LatestKnownRequest.CPU, want.LatestKnownRequest.Memory = "2000m", "4096Mi"
	want.NormalizedRecommendedRequest.CPUInMilliCores, want.NormalizedRecommendedRequest.MemoryInMiB = 358, 1540e6/(1<<20)
	want.NormalizedMaxUsage.CPUInMilliCores, want.NormalizedMaxUsage.MemoryInMiB = 250, 1024
	want.MonthlySavings.CPU = 730 * 0.03 * (2 - 0.358)
	want.MonthlySavings.Memory = 730 * 0.04 * (1 - 1540e6/(4<<30))
	want.MonthlySavings.Total = want.MonthlySavings.CPU + want.MonthlySavings.Memory
	want.CurrentEfficiency.CPU, want.CurrentEfficiency.Memory, want.CurrentEfficiency.Total = 0.125, 0.25, (0.125*0.06+0.25*0.04)/0.1
	near := cmpopts.EquateApprox(1e-9, 0)

	list, header := sizes[[]kubecostItem](t, path, "window=2d")
	if diff := cmp.Diff([]kubecostItem{want}, list, near); diff != "" {
		t.Errorf("kubectl cost savings (-want +got):\n%s", diff)
	}
	if text := strings.Join(header.Values("Warning"), " "); !strings.Contains(text, "web/dark/main") || !strings.Contains(text, "idle") {
		t.Errorf("warnings are %s, want what is not known, and what a saving is not", text)
	}
	paged, _ := sizes[struct {
		TotalMonthlySavings float64
		Count               int
		Recommendations     []kubecostItem
	}](t, path, "window=15d&algorithmCPU=quantileOfAverages&algorithmRAM=quantileOfMaxes&qCPU=0.95&qRAM=0.99&targetCPUUtilization=0.7&targetRAMUtilization=0.7&filter=&sortByOrder=descending&offset=0&limit=1000")
	if diff := cmp.Diff([]kubecostItem{want}, paged.Recommendations, near); diff != "" || paged.Count != 1 {
		t.Errorf("the MCP server gets %d (-want +got):\n%s", paged.Count, diff)
	}
	topline, _ := sizes[map[string]any](t, path+"/topline", "window=3d")
	if diff := cmp.Diff(map[string]any{"TotalMonthlySavings": want.MonthlySavings.Total, "Count": 1.0, "Recommendations": nil}, topline, near); diff != "" {
		t.Errorf("topline (-want +got):\n%s", diff)
	}
}

// envelope is the body of an answer of promcost's own.
type envelope[T any] struct {
	Data         T
	Warnings     []string
	CoveredHours float64
}

type ownSizes struct {
	Profile                    string
	Count                      int
	MonthlySaving, MonthlyRisk float64
	Notes                      []string
	Requests                   []struct {
		Controller    string
		Owner         *string
		LowConfidence bool
		Days          int
		CPU, Memory   struct {
			Request           float64
			Recommended, Low  *float64
			Exceedance        *float64
			Why               string
			MonthlySaving     *float64
			UsageAverage      *float64
			RecommendedLimit  *float64
			HighestDays       []float64
			CurrentExceedance *float64
			KnownHours        float64
		}
	}
}

// TestRequestSizes asks for promcost's own recommendations, as their parameters change them.
func TestRequestSizes(t *testing.T) {
	const path = "/model/savings/requests"
	for _, tt := range []struct {
		params  string
		profile string
		cores   float64
	}{
		{"", "balanced", 0.263},
		{"profile=tight", "tight", 0.275},
		{"algorithm=vpa", "vpa", 0.288},
		{"profile=krr&window=3d", "krr", 0.25},
		{"margin=2", "balanced", 0.5},
		{"targetCPUUtilization=0.5", "balanced", 0.5},
		{"minRecCPUMillicores=700", "balanced", 0.7},
		{"halfLife=6h&qCPU=0.5", "balanced", 0.263},
		{"profile=kubecost&algorithmCPU=quantile", "kubecost", 0.358},
		{"filter=controllerName:%22busy%22", "balanced", 0.263},
	} {
		got, _ := sizes[envelope[ownSizes]](t, path, strings.ReplaceAll(tt.params, "%22", `"`))
		busy := got.Data.Requests[0]
		if got.Data.Profile != tt.profile || *busy.CPU.Recommended != tt.cores {
			t.Errorf("%s: %s recommends %v cores, want %s %v", tt.params, got.Data.Profile, *busy.CPU.Recommended, tt.profile, tt.cores)
		}
	}
	got, _ := sizes[envelope[ownSizes]](t, path, "memoryMargin=0.5&sortBy=cpuRecommended")
	if len(got.Data.Requests) != 2 || got.Data.Count != 2 || len(got.Data.Notes) != 2 || got.CoveredHours < 14*24-1 {
		t.Fatalf("%d of %d recommendations with %d notes, of %v hours", len(got.Data.Requests), got.Data.Count, len(got.Data.Notes), got.CoveredHours)
	}
	busy, dark := got.Data.Requests[0], got.Data.Requests[1]
	if busy.Controller != "busy" || *busy.Owner != "a" || busy.LowConfidence || *busy.CPU.Exceedance != 0 || *busy.Memory.Recommended != 1620e6 || len(busy.Memory.HighestDays) != 2 {
		t.Errorf("the busy container: %+v", busy)
	}
	if dark.CPU.Recommended != nil || dark.CPU.UsageAverage != nil || dark.CPU.MonthlySaving != nil || dark.CPU.Why != "unknown" || !dark.LowConfidence || dark.CPU.KnownHours != 0 {
		t.Errorf("the container whose usage is not known: %+v", dark)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "web/dark/main") {
		t.Errorf("warnings are %q", got.Warnings)
	}
	page, _ := sizes[envelope[ownSizes]](t, path, "limit=1&offset=1&sortByOrder=ascending&window=2d")
	if len(page.Data.Requests) != 1 || page.Data.Count != 2 {
		t.Errorf("a page has %d of %d", len(page.Data.Requests), page.Data.Count)
	}
}

// TestSmallerSizes leaves out what would raise a request, and containers for which nothing is left.
func TestSmallerSizes(t *testing.T) {
	for _, tt := range []struct {
		name, params string
		count        int
		cpu, memory  string // why
	}{
		{"all", "minRecCPUMillicores=3000&filter=controllerName:\"busy\"", 1, "floor", "maximum"},
		{"one resource grows", "minRecCPUMillicores=3000&only=smaller", 1, "grows", "maximum"},
		{"both are smaller", "only=smaller", 1, "quantile", "maximum"},
		{"both grow", "minRecCPUMillicores=3000&minRecRAMBytes=9e9&only=smaller", 0, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := sizes[envelope[ownSizes]](t, "/model/savings/requests", tt.params)
			if len(got.Data.Requests) != tt.count || got.Data.Count != tt.count {
				t.Fatalf("%d recommendations, counted as %d, want %d", len(got.Data.Requests), got.Data.Count, tt.count)
			}
			if tt.count == 0 {
				return
			}
			busy := got.Data.Requests[0]
			if busy.CPU.Why != tt.cpu || busy.Memory.Why != tt.memory {
				t.Errorf("why is %s and %s, want %s and %s", busy.CPU.Why, busy.Memory.Why, tt.cpu, tt.memory)
			}
			if grows := tt.cpu == "grows"; grows != (busy.CPU.Recommended == nil) || grows != (busy.CPU.MonthlySaving == nil) || busy.Memory.Recommended == nil || busy.Memory.RecommendedLimit == nil {
				t.Errorf("%+v", busy)
			}
		})
	}
}

// TestSizeDistributions adds how usage was distributed where it is asked for, and is null where it is not known.
func TestSizeDistributions(t *testing.T) {
	type distributed struct {
		CPU, Memory struct{ Exceedance *float64 }
		Requests    []struct {
			CPU, Memory struct {
				Distribution *struct{ Levels, Shares []float64 }
			}
		}
	}
	got, _ := sizes[envelope[distributed]](t, "/model/savings/requests", "distribution=true&sortBy=cpuRecommended")
	busy, dark := got.Data.Requests[0], got.Data.Requests[1]
	if d := busy.CPU.Distribution; d == nil || !slices.Equal(d.Levels, []float64{0.2293, 0.25}) || !slices.Equal(d.Shares, []float64{1}) {
		t.Errorf("a quarter of a core: %+v", d)
	}
	if d := busy.Memory.Distribution; d == nil || !slices.Equal(d.Levels, []float64{984600000, 1074000000}) || !slices.Equal(d.Shares, []float64{1}) {
		t.Errorf("a GiB: %+v", d)
	}
	if dark.CPU.Distribution != nil || dark.Memory.Distribution != nil {
		t.Errorf("unknown usage: %+v", dark)
	}
	if got.Data.CPU.Exceedance == nil || *got.Data.CPU.Exceedance != 0 || got.Data.Memory.Exceedance == nil {
		t.Errorf("in the mean: %+v", got.Data)
	}
	small, _ := sizes[envelope[distributed]](t, "/model/savings/requests", "sortBy=cpuRecommended&margin=0.5")
	if small.Data.Requests[0].CPU.Distribution != nil {
		t.Error("nobody asked for distributions")
	}
	if e := small.Data.CPU.Exceedance; e == nil || *e != 1 {
		t.Errorf("half of what is used is exceeded for %v of the time, want 1: what is unknown does not count", e)
	}
	none, _ := sizes[envelope[distributed]](t, "/model/savings/requests", `filter=controllerName:"dark"`)
	if none.Data.CPU.Exceedance != nil {
		t.Errorf("of unknown usage: %v", *none.Data.CPU.Exceedance)
	}
}

// TestBacktest asks how presets would have done, over a load that never changes.
func TestBacktest(t *testing.T) {
	got, _ := sizes[envelope[struct {
		TrainingDays int
		Points       []struct {
			Profile                        string
			Slack, Exceedance, MemorySlack *float64
			Containers, Days               int
		}
	}]](t, "/model/savings/backtest", "window=10d")
	short, _ := sizes[envelope[struct{ Points []struct{ Slack *float64 } }]](t, "/model/savings/backtest", "window=7d")
	if len(short.Data.Points) != 6 || short.Data.Points[0].Slack != nil || !strings.Contains(strings.Join(short.Warnings, " "), "at least 8 days") {
		t.Errorf("over seven days: %+v", short)
	}
	if len(got.Data.Points) != 6 || got.Data.TrainingDays != 7 {
		t.Fatalf("%+v", got.Data)
	}
	for _, p := range got.Data.Points {
		want := map[string]float64{"tight": 1 - 1/1.1, "balanced": 1 - 1/1.05, "safe": 1 - 1/1.05, "krr": 0, "vpa": 1 - 1/1.15, "kubecost": 0.3}[p.Profile]
		if p.Containers != 1 || p.Days != 3 || math.Abs(*p.Slack-want) > 1e-9 || *p.Exceedance != 0 {
			t.Errorf("%s: slack %v, exceedance %v, %d containers and %d days, want %v, 0, 1 and 3", p.Profile, *p.Slack, *p.Exceedance, p.Containers, p.Days, want)
		}
	}
}

// TestBadSizes refuses values that would change what is recommended to something else.
func TestBadSizes(t *testing.T) {
	h := costapi.New(&busyLedger{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
	for _, tt := range []struct{ path, param, want string }{
		{"requests", "profile=best", "use tight, balanced, safe, krr, vpa, kubecost"},
		{"requests", "qCPU=1.5", "above 0, at most 1"},
		{"requests", "qRAM=NaN", "above 0, at most 1"},
		{"requests", "margin=-1", "from 0 to 10"},
		{"requests", "margin=0", "from 0 to 10"},
		{"requests", "halfLife=1m", "from 1h"},
		{"requests", "algorithmCPU=median", "use max"},
		{"requests", "sortBy=price", "use totalSavings"},
		{"requests", "format=csv", "use json"},
		{"requests", "only=larger", "use all or smaller"},
		{"requestSizingV2", "targetCPUUtilization=0", "above 0, at most 1"},
		{"requestSizingV2", "minRecRAMBytes=-1", "from 0 to 1e15"},
		{"requestSizingV2", "sortByOrder=down", "use descending"},
		{"requests", "offset=-1", "whole number"},
	} {
		rec := get(h, "/model/savings/"+tt.path, tt.param)
		if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%s?%s: %d: %s, want 400 and %q", tt.path, tt.param, rec.Code, rec.Body, tt.want)
		}
	}
}

// TestSizeNeeds reads hours with levels, a few at a time.
func TestSizeNeeds(t *testing.T) {
	l := &busyLedger{}
	get(costapi.New(l, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }}), "/model/savings/requests")
	for _, q := range l.asked {
		if q.Only == nil || !q.Only.Levels || !q.Only.WithoutAssets || !q.Stream || !q.Stored || q.Step > time.Hour {
			t.Errorf("the ledger was asked for %+v", q)
		}
	}
	if len(l.asked) == 0 {
		t.Error("the ledger was asked for nothing")
	}
}
