package costapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strconv"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/savings"
)

// saving is an endpoint about what could cost less.
type saving struct {
	needs *allocation.Projection
	days  float64 // the default
	// find returns what the answer has as data.
	find func(q *request, sets iter.Seq2[*allocation.Set, error], of savings.Question) (any, error)
}

// savingKinds are the endpoints about savings.
func savingKinds() map[endpoint]saving {
	return map[endpoint]saving{
		unclaimedVolumes:   {savings.VolumeNeeds(), 3, findVolumes},
		abandonedWorkloads: {savings.PodNeeds(), 7, findAbandoned},
		idleGPUs:           {savings.PodNeeds(), 1, findIdleGPUs},
	}
}

// savingRoutes are the paths about what could cost less.
func savingRoutes() []route {
	return []route{
		{"/model/savings", kubecost, savingOverviews, true, true, (*api).serveSavingsOverview},
		{"/model/savings/unclaimedVolumes", kubecost, unclaimedVolumes, true, true, (*api).serveSavings},
		{"/model/savings/abandonedWorkloads", kubecost, abandonedWorkloads, true, true, (*api).serveSavings},
		{"/model/savings/idleGPUs", kubecost, idleGPUs, true, true, (*api).serveSavings},
		{"/model/savings/nodes", kubecost, nodeSavings, true, true, (*api).serveNodeSavings},
		{"/model/savings/requestSizingV2", kubecost, kubecostSizes, true, true, (*api).serveKubecostSizes},
		{"/model/savings/requestSizingV2/topline", kubecost, kubecostSizes, true, true, (*api).serveKubecostSizesTopline},
		{"/model/savings/requests", kubecost, requestSizes, true, true, (*api).serveRequestSizes},
		{"/model/savings/backtest", kubecost, backtests, true, true, (*api).serveBacktest},
	}
}

// savingParams are the parameters of endpoints about savings.
func savingParams() []param {
	const days = "For how many days it has to be so up to the end of the data, in each of them: all of the window if that is shorter."
	list := []param{
		{"window", nil, "window", all("14d"), savingOverviews, "What time to look at, in the forms of the other paths. Without it each part looks at the time that its own path does.", setText(func(q *request) *string { return &q.timing.window })},
		{"window", nil, "window", defaults{}, savingLists, "What time to look at, in the forms of the other paths. Without it: the days.", setText(func(q *request) *string { return &q.timing.window })},
		{"window", nil, "window", all("7d"), nodeSavings, "What time to look at, in the forms of the other paths.", setText(func(q *request) *string { return &q.timing.window })},
		{"aggregate", nil, "nodePool|node", all("nodePool"), nodeSavings, "Whether the answer is about pools or about single nodes of each cluster.", setWord(func(q *request) *string { return &q.output.aggregate }, "nodePool", "node")},
		{"limit", nil, "number", all("0"), nodeSavings, "Most pools or nodes, the dearest first; 0 for all. Sums are of all.", parseCount(func(q *request) *int { return &q.output.page.Limit })},
		{"threshold", nil, "number", all("500"), abandonedWorkloads, "The traffic in bytes a second, sent and received, below which a pod is abandoned.", parseTraffic},
		{"format", nil, "kubecost|json", all("kubecost"), abandonedWorkloads | predictions, "kubecost is the list alone, as Kubecost sends it; json has it as data beside warnings and hours, as jmespath does.", setWord(func(q *request) *string { return &q.output.format }, "kubecost", "json")},
	}
	for on, kind := range savingKinds() {
		list = append(list, param{"days", nil, "number", all(strconv.FormatFloat(kind.days, 'f', -1, 64)), on, days, parseDays})
	}
	return list
}

func parseDays(q *request, value string) error {
	const most = 366
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v > 0 && v <= most) {
		return fmt.Errorf("must be a number of days above 0, at most %d: give one such as 7", most)
	}
	q.saving.Days = v
	return nil
}

func parseTraffic(q *request, value string) error {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= 0 && v <= math.MaxFloat64) {
		return errors.New("must be bytes a second, 0 or more: give a number such as 500")
	}
	q.saving.Threshold = v
	return nil
}

// finishSaving makes a window of the days that something has to be unused, where none is given.
func (q *request) finishSaving() {
	if q.route.endpoint&savingLists != 0 && q.timing.window == "" {
		q.timing.window = strconv.Itoa(int(math.Ceil(q.saving.Days*dayHours))) + "h"
	}
}

const dayHours = 24

// shortenSaving looks for what was unused for all of a window that is shorter than the days asked for.
func (q *request) shortenSaving() {
	w := whole(q.timing.windows)
	if w.End.After(q.now) {
		w.End = q.now
	}
	if hours := w.Duration().Hours(); hours < q.saving.Days*dayHours {
		q.warn("the window is shorter than days=%g: what is listed has been unused for all of its %.3g hours, and perhaps no longer", q.saving.Days, hours)
		q.saving.Days = hours / dayHours
	}
}

// findSavings finds what could cost less.
func (a *api) findSavings(q *request) (data any, sets []*allocation.Set, err error) {
	q.shortenSaving()
	q.saving.Window, q.saving.Now, q.saving.Filter = whole(q.timing.windows), q.now, q.options.Filter
	matches, said := q.newMatches(), &headers{}
	data, err = savingKinds()[q.route.endpoint].find(q, said.of(a.stream(q, matches)), q.saving)
	if err != nil {
		return nil, nil, err
	}
	q.warnUnmatched(matches)
	return data, said.sets, nil
}

// serveSavings answers with what could cost less.
func (a *api) serveSavings(w http.ResponseWriter, q *request) error {
	data, sets, err := a.findSavings(q)
	if err != nil {
		return err
	}
	return q.writeAnswer(w, data, sets)
}

// headers keep of sets what answers say about them as a whole.
type headers struct{ sets []*allocation.Set }

// of are the same sets, of which it keeps that.
func (h *headers) of(sets iter.Seq2[*allocation.Set, error]) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		empty := allocation.NewDict() // that of the set would be kept
		for s, err := range sets {
			if err == nil {
				kept := allocation.NewSet(s.Window, empty)
				kept.Warnings, kept.Covered = s.Warnings, s.Covered
				h.sets = append(h.sets, kept)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// errStopped ends a stream that nobody reads to its end.
var errStopped = errors.New("nobody reads on")

// stream are the sets of a request, one after the other.
func (a *api) stream(q *request, matches *filterMatches) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		problems := a.problems(q)
		err := a.eachSet(q, q.timing.windows, func(s *allocation.Set) error {
			matches.look(s)
			for _, p := range problems {
				p.Add(s)
			}
			if !yield(s, nil) {
				return errStopped
			}
			return nil
		})
		q.warnProblems(problems)
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// writeAnswer writes data in the envelope of sets, or as Kubecost does on some paths, alone: then warnings are in the header.
func (q *request) writeAnswer(w http.ResponseWriter, data any, sets []*allocation.Set) error {
	o := q.api.encoding(q)
	if q.output.format != "kubecost" || q.output.jmespath != nil {
		w.Header().Set("Content-Type", jsonType)
		return encode.Data(w, data, sets, o)
	}
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	addWarnings(w.Header(), o.AllWarnings(sets))
	w.Header().Set("Content-Type", jsonType)
	_, err = w.Write(append(body, '\n'))
	return err
}

// volumes is the answer about unclaimed volumes, in the shape of Kubecost's.
type volumes struct {
	Count           int      `json:"count"`
	MonthlyCost     float64  `json:"monthlyCost"`
	MonthlyListCost float64  `json:"monthlyListCost"`
	Volumes         []volume `json:"volumes"`
}

type volume struct {
	VolumeName      string            `json:"volumeName"`
	MonthlyCost     float64           `json:"monthlyCost"`
	MonthlyListCost float64           `json:"monthlyListCost"`
	Bytes           float64           `json:"bytes"`
	StorageClass    string            `json:"storageClass"`
	Claim           *string           `json:"claim"`
	Properties      map[string]string `json:"properties"`
}

func findVolumes(q *request, sets iter.Seq2[*allocation.Set, error], of savings.Question) (any, error) {
	list, err := savings.UnclaimedVolumes(sets, of)
	if err != nil {
		return nil, err
	}
	out := volumes{Count: len(list), Volumes: make([]volume, len(list))}
	for i, v := range list {
		out.MonthlyCost, out.MonthlyListCost = out.MonthlyCost+v.Cost.Billed, out.MonthlyListCost+v.Cost.List
		out.Volumes[i] = volume{
			VolumeName: v.Name, MonthlyCost: v.Cost.Billed, MonthlyListCost: v.Cost.List, Bytes: v.Bytes, StorageClass: v.StorageClass,
			Properties: map[string]string{"category": "Storage", "service": "Kubernetes", "cluster": v.Cluster, "name": v.Name, "providerID": v.ProviderID},
		}
		if v.ClaimName != "" {
			claim := v.ClaimNamespace + "/" + v.ClaimName
			out.Volumes[i].Claim = &claim
		}
	}
	return out, nil
}

// abandoned is a pod in the shape of Kubecost's answer about abandoned workloads.
type abandoned struct {
	Pod                   string  `json:"pod"`
	Namespace             string  `json:"namespace"`
	Node                  string  `json:"node"`
	ClusterID             string  `json:"clusterId"`
	ClusterName           string  `json:"clusterName"`
	Owners                []owner `json:"owners"`
	IngressBytesPerSecond float64 `json:"ingressBytesPerSecond"`
	EgressBytesPerSecond  float64 `json:"egressBytesPerSecond"`
	Allocation            amounts `json:"allocation"`
	Requests              amounts `json:"requests"`
	Usage                 amounts `json:"usage"`
	MonthlySavings        float64 `json:"monthlySavings"`
	MonthlyListSavings    float64 `json:"monthlyListSavings"`
}

type owner struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// amounts are means while a pod ran; null where unknown.
type amounts struct {
	CPUCores *float64 `json:"cpuCores"`
	RAMBytes *float64 `json:"ramBytes"`
}

func findAbandoned(q *request, sets iter.Seq2[*allocation.Set, error], of savings.Question) (any, error) {
	found, doubtful, err := savings.AbandonedWorkloads(sets, of)
	if err != nil {
		return nil, err
	}
	q.warnDoubtful(doubtful, "usage or traffic of {n} {pod|pods} ({names}) is not known: {it|they} may be abandoned, and {is|are} not listed")
	list := make([]abandoned, len(found))
	for i, p := range found {
		amountsOf := func(of [allocation.NumResources]float64) amounts {
			return amounts{known(of[allocation.CPU]), known(of[allocation.RAM])}
		}
		list[i] = abandoned{
			Pod: p.Name, Namespace: p.Namespace, Node: p.Node, ClusterID: p.Cluster, ClusterName: p.Cluster, Owners: ownersOf(&p),
			IngressBytesPerSecond: p.Received, EgressBytesPerSecond: p.Sent,
			Allocation: amountsOf(p.Allocated), Requests: amountsOf(p.Requested), Usage: amountsOf(p.Used),
			MonthlySavings: p.Cost.Billed, MonthlyListSavings: p.Cost.List,
		}
	}
	return list, nil
}

func ownersOf(p *savings.Pod) []owner {
	if p.Controller == "" {
		return []owner{}
	}
	return []owner{{p.Controller, p.ControllerKind}}
}

// idlers is the answer about idle GPUs.
type idlers struct {
	Count           int     `json:"count"`
	MonthlyCost     float64 `json:"monthlyCost"`
	MonthlyListCost float64 `json:"monthlyListCost"`
	Idle            []idler `json:"idle"`
	Unknown         []idler `json:"unknown"`
}

// idler is a pod that holds GPUs.
type idler struct {
	Cluster         string   `json:"cluster"`
	Node            string   `json:"node"`
	Namespace       string   `json:"namespace"`
	Pod             string   `json:"pod"`
	ControllerKind  string   `json:"controllerKind"`
	Controller      string   `json:"controller"`
	GPUs            float64  `json:"gpus"`
	Usage           *float64 `json:"usage"` // devices; null where unknown
	MonthlyCost     float64  `json:"monthlyCost"`
	MonthlyListCost float64  `json:"monthlyListCost"`
}

func findIdleGPUs(q *request, sets iter.Seq2[*allocation.Set, error], of savings.Question) (any, error) {
	found, doubtful, err := savings.IdleGPUs(sets, of)
	if err != nil {
		return nil, err
	}
	q.warnDoubtful(doubtful, "usage of the GPUs of {n} {pod|pods} ({names}) is not known: whether {it holds|they hold} idle ones is not known, either")
	out := idlers{Count: len(found), Idle: make([]idler, len(found)), Unknown: make([]idler, len(doubtful))}
	for i, p := range found {
		out.MonthlyCost, out.MonthlyListCost = out.MonthlyCost+p.Cost.Billed, out.MonthlyListCost+p.Cost.List
		out.Idle[i] = idlerOf(&p)
	}
	for i, p := range doubtful {
		out.Unknown[i] = idlerOf(&p)
	}
	return out, nil
}

func idlerOf(p *savings.Pod) idler {
	return idler{p.Cluster, p.Node, p.Namespace, p.Name, p.ControllerKind, p.Controller, p.Requested[allocation.GPU], known(p.Used[allocation.GPU]), p.Cost.Billed, p.Cost.List}
}

// known is a number, nil for NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// warnDoubtful warns of pods of which not enough is known.
func (q *request) warnDoubtful(pods []savings.Pod, warning notices.Notice) {
	const named = 3
	if len(pods) == 0 {
		return
	}
	var names []string
	for _, p := range pods[:min(named, len(pods))] {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	q.warn("%s", warning.Text(len(pods), names))
}
