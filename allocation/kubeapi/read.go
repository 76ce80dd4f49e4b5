package kubeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/promcost/promcost/allocation/coverage"
)

// reading collects the items of a snapshot, which may take limit bytes.
type reading struct {
	client   *Client
	state    state
	key      key
	limit    int64
	patience time.Duration // with what an answer can do without

	items    []item
	texts    texts
	bytes    int64
	warnings []string // promcost's
	notices  []string // for everyone
	covered  coverage.Coverage
}

// add adds an item of about that many bytes, its texts not counted.
func (r *reading) add(it item, bytes int) error {
	r.items = append(r.items, it)
	r.bytes += int64(bytes + len(it.labels)*32)
	if r.bytes+r.texts.bytes > r.limit {
		return tooMuch()
	}
	return nil
}

// textFactor is how many bytes of JSON promcost may send for each that may be kept.
const textFactor = 8

// span is a time with a begin and an end.
type span struct{ start, end time.Time }

// length is how long it is.
func (w span) length() time.Duration { return w.end.Sub(w.start) }

// window is the window of the snapshot: it ends with the newest closed hour.
func (r *reading) window() span {
	length, err := parseWindow(r.key.window)
	if err != nil {
		panic("BUG: a snapshot of " + r.key.window + ": " + err.Error())
	}
	return span{r.state.closed.Add(-length), r.state.closed}
}

// rows asks promcost for rows of the window of the snapshot, with further parameters, and keeps what is said of the window.
func (r *reading) rows(ctx context.Context, path string, more map[string]string, row func(name string, decode func(any) error) error) (err error) {
	r.covered, r.warnings, err = r.ask(ctx, question{path, r.window(), r.key.namespace, more}, row)
	return err
}

// question is what promcost is asked: about a window, and a namespace or all of them ("").
type question struct {
	path      string
	window    span
	namespace string
	more      map[string]string // further parameters
}

// ask asks promcost for rows. covered says how much of the window has data of the cluster.
func (r *reading) ask(ctx context.Context, q question, row func(name string, decode func(any) error) error) (covered coverage.Coverage, warnings []string, err error) {
	where := fields.OneTermEqualSelector("spec.cluster", r.state.cluster)
	if q.namespace != "" {
		where = fields.AndSelectors(fields.OneTermEqualSelector("metadata.namespace", q.namespace), where)
	}
	values := url.Values{
		"window":        {fmt.Sprintf("%d,%d", q.window.start.Unix(), q.window.end.Unix())},
		"accumulate":    {"true"},
		"fieldSelector": {where.String()},
	}
	for name, value := range q.more {
		values.Set(name, value)
	}
	hours := q.window.length().Hours()
	a, err := r.client.rows(ctx, q.path, values, textFactor*r.limit, row)
	if noData(err) {
		return coverage.Coverage{Window: hours}, nil, nil
	}
	covered = a.coverage(hours)
	if len(a.clusters) > 0 {
		covered.Hours = a.clusters[r.state.cluster]
		covered.Clusters = []coverage.Cluster{{Name: r.state.cluster, Hours: covered.Hours}}
	}
	return covered, a.warnings, err
}

// coverage says how much of a window of so many hours has data.
func (a *answer) coverage(hours float64) coverage.Coverage {
	if a.covered == nil || a.window == nil {
		return coverage.Coverage{Hours: hours, Window: hours}
	}
	return coverage.Coverage{Hours: *a.covered, Window: *a.window}
}

// wireCosts are the costs of a row of promcost.
type wireCosts struct {
	TotalCost, CPUCost, RAMCost, GPUCost, PVCost, NetworkCost, LoadBalancerCost, SharedCost, ExternalCost float64

	CPUCostAdjustment, RAMCostAdjustment, GPUCostAdjustment, PVCostAdjustment, NetworkCostAdjustment, LoadBalancerCostAdjustment float64
}

// wireCostFields are the members of rows that wireCosts takes.
const wireCostFields = "totalCost,cpuCost,cpuCostAdjustment,ramCost,ramCostAdjustment,gpuCost,gpuCostAdjustment,pvCost,pvCostAdjustment," +
	"networkCost,networkCostAdjustment,loadBalancerCost,loadBalancerCostAdjustment,sharedCost,externalCost"

// costs are the costs with their adjustments.
func (w *wireCosts) costs(currency string) Costs {
	return Costs{
		Currency: currency, TotalCost: w.TotalCost, CPUCost: w.CPUCost + w.CPUCostAdjustment, RAMCost: w.RAMCost + w.RAMCostAdjustment,
		GPUCost: w.GPUCost + w.GPUCostAdjustment, PVCost: w.PVCost + w.PVCostAdjustment, NetworkCost: w.NetworkCost + w.NetworkCostAdjustment,
		LoadBalancerCost: w.LoadBalancerCost + w.LoadBalancerCostAdjustment, SharedCost: w.SharedCost, ExternalCost: w.ExternalCost,
	}
}

// wireAllocation is a row of promcost about a pod.
type wireAllocation struct {
	Properties struct {
		Namespace, Pod, Node, Controller, ControllerKind string
		Services                                         []string
		Labels                                           map[string]string
	}
	Start, End time.Time
	wireCosts
	CPUCores, CPUCoreRequestAverage, RAMBytes, RAMByteRequestAverage, GPUCount float64
	CPUCoreUsageAverage, RAMByteUsageAverage, TotalEfficiency                  *float64
	ErrorBounds                                                                *Bounds
}

// allocationBody is an Allocation without its metadata.
type allocationBody struct {
	spec   AllocationSpec
	status AllocationStatus
}

// noValue is how promcost names what is missing, and noNamespaces are the namespaces of rows that belong to none. No pod has these: what looks
// like them in a cluster has a backslash before it.
const noValue = "__unallocated__"

var noNamespaces = []string{noValue, "__unmounted__"}

// perAllocation is about how many bytes an item of a pod takes, its labels and texts not counted.
const perAllocation = 688

// allocationPath is where promcost says what pods cost.
const allocationPath = "/model/allocation/compute"

// readAllocations reads what pods cost, how that changed, and which uids and owners they had: promcost merges pods of one name, and does not
// say which they are.
func readAllocations(ctx context.Context, r *reading) error {
	known, err := r.readIdentities(ctx)
	if err != nil {
		return err
	}
	err = r.rows(ctx, allocationPath, map[string]string{
		"aggregate": "namespace,pod", "idle": "false", "includeAggregatedMetadata": "true",
		"fields": "properties,start,end,cpuCores,cpuCoreRequestAverage,cpuCoreUsageAverage,ramBytes,ramByteRequestAverage,ramByteUsageAverage,gpuCount,totalEfficiency,errorBounds," + wireCostFields,
	}, func(_ string, decode func(any) error) error {
		var w wireAllocation
		if err := decode(&w); err != nil {
			return err
		}
		p := &w.Properties
		if p.Pod == "" || p.Namespace == "" || slices.Contains(noNamespaces, p.Namespace) || r.key.namespace != "" && p.Namespace != r.key.namespace {
			return nil // what belongs to no namespace is in assets
		}
		share, id := r.texts.share, known[p.Namespace+"/"+p.Pod]
		b := &allocationBody{
			spec: AllocationSpec{
				Pod: share(p.Pod), UIDs: id.uids, Node: share(p.Node), ControllerKind: share(p.ControllerKind), Controller: share(p.Controller),
				Owner: share(id.owner()), Services: r.texts.shareAll(p.Services),
			},
			status: AllocationStatus{
				Start: metav1.NewTime(w.Start), End: metav1.NewTime(w.End), Costs: w.costs(r.state.currency),
				CPUCores: w.CPUCores, CPUCoreRequestAverage: w.CPUCoreRequestAverage, CPUCoreUsageAverage: w.CPUCoreUsageAverage,
				RAMBytes: w.RAMBytes, RAMByteRequestAverage: w.RAMByteRequestAverage, RAMByteUsageAverage: w.RAMByteUsageAverage,
				GPUCount: w.GPUCount, Efficiency: w.TotalEfficiency, ErrorBounds: w.ErrorBounds,
			},
		}
		it := item{share(p.Namespace), b.spec.Pod, newLabels(p.Labels, &r.texts), b}
		return r.add(it, perAllocation+64*len(b.spec.UIDs)+16*len(p.Services))
	})
	if err != nil {
		return err
	}
	r.notice(ctx)
	before := map[string]string{"aggregate": "namespace,pod", "idle": "false", "fields": "totalCost"}
	r.compare(ctx, allocationPath, before, func(name string, decode func(any) error) (string, float64, error) {
		var w struct{ TotalCost float64 }
		err := decode(&w)
		return name, w.TotalCost, err
	})
	return nil
}

// identity is what the pods of a name were in the window.
type identity struct{ uids, owners []string }

// owner is the owners, if there are several with commas between.
func (id identity) owner() string { return strings.Join(id.owners, ",") }

// identityKeys are what pods are told apart by. Nothing stands between two slashes for all, so that the names of teams and owners, which may have slashes,
// can be told apart.
const identityKeys = "namespace,pod,uid,team,all,owner"

// readIdentities reads the uids and the owners of pods, by namespace/name.
func (r *reading) readIdentities(ctx context.Context) (map[string]identity, error) {
	known := map[string]identity{}
	size := int64(0)
	more := map[string]string{"aggregate": identityKeys, "idle": "false", "fields": "name", "labelNames": "value"}
	_, _, err := r.ask(ctx, question{allocationPath, r.window(), r.key.namespace, more}, func(name string, decode func(any) error) error {
		var rest json.RawMessage
		if err := decode(&rest); err != nil {
			return err
		}
		if size += int64(len(name)) + 96; size > r.limit {
			return tooMuch()
		}
		parts := strings.SplitN(name, "/", 4)
		if len(parts) < 4 {
			return nil
		}
		key := parts[0] + "/" + parts[1]
		id := known[key]
		id.uids, id.owners = inserted(id.uids, parts[2]), inserted(id.owners, ownerInName(parts[3]))
		known[key] = id
		return nil
	})
	return known, err
}

// inserted is a sorted list with a text that is no mark for what is missing, once.
func inserted(list []string, text string) []string {
	if i, found := slices.BinarySearch(list, text); !found && text != "" && text != noValue {
		list = slices.Insert(list, i, text)
	}
	return list
}

// ownerInName is the team in the rest of the name of a row, else the owner (SEMANTICS §9), "" if there is neither. The two slashes between them are not those of
// an URL.
func ownerInName(rest string) string {
	team, owner := rest, ""
	for i := 1; i < len(rest); i++ {
		if strings.HasPrefix(rest[i:], "//") && rest[i-1] != ':' {
			team, owner = rest[:i], rest[i+2:]
			break
		}
	}
	return cmp.Or(withoutMarks(team), withoutMarks(owner))
}

// withoutMarks is the value of an alias without the parts that are missing: it has a part for each label that the alias stands for.
func withoutMarks(value string) string {
	if !strings.Contains(value, noValue) {
		return value
	}
	parts := slices.DeleteFunc(strings.Split(value, "/"), func(part string) bool { return part == noValue })
	return strings.Join(parts, "/")
}

// wireAsset is an asset as promcost sends it.
type wireAsset struct {
	Type       string
	Properties struct{ Category, Provider, Name, ProviderID string }
	Labels     map[string]string
	Start, End time.Time
	NodeType   string
	Pool       string

	TotalCost, CPUCost, RAMCost, GPUCost, Adjustment float64
}

// assetBody is an Asset without its metadata.
type assetBody struct {
	spec   AssetSpec
	status AssetStatus
}

// perAsset is about how many bytes an item of an asset takes.
const perAsset = 520

// readAssets reads what assets cost. Those of one type and name are added up.
func readAssets(ctx context.Context, r *reading) error {
	const path = "/model/assets"
	known := map[string]*assetBody{}
	err := r.rows(ctx, path, nil, func(_ string, decode func(any) error) error {
		var w wireAsset
		if err := decode(&w); err != nil {
			return err
		}
		name := assetName(w.Type, w.Properties.Name)
		if b := known[name]; b != nil {
			b.merge(&w)
			return nil
		}
		share := r.texts.share
		b := &assetBody{
			spec:   AssetSpec{Type: share(w.Type), Name: share(w.Properties.Name), Category: share(w.Properties.Category), Provider: share(w.Properties.Provider), NodeType: share(w.NodeType), NodePool: share(w.Pool)},
			status: AssetStatus{Start: metav1.NewTime(w.Start), End: metav1.NewTime(w.End), Currency: r.state.currency},
		}
		b.merge(&w)
		known[name] = b
		return r.add(item{"", share(name), newLabels(w.Labels, &r.texts), b}, perAsset)
	})
	if err != nil {
		return err
	}
	r.notice(ctx)
	r.compare(ctx, path, nil, func(_ string, decode func(any) error) (string, float64, error) {
		var w wireAsset
		err := decode(&w)
		return "/" + assetName(w.Type, w.Properties.Name), w.TotalCost, err
	})
	return nil
}

// merge adds an asset of the same type and name.
func (b *assetBody) merge(w *wireAsset) {
	s := &b.status
	s.TotalCost += w.TotalCost
	s.CPUCost += w.CPUCost
	s.RAMCost += w.RAMCost
	s.GPUCost += w.GPUCost
	s.Adjustment += w.Adjustment
	if w.Start.Before(s.Start.Time) {
		s.Start.Time = w.Start
	}
	if w.End.After(s.End.Time) {
		s.End.Time = w.End
	}
	if id := w.Properties.ProviderID; id != "" && !slices.Contains(b.spec.ProviderIDs, id) {
		b.spec.ProviderIDs = append(b.spec.ProviderIDs, id)
		slices.Sort(b.spec.ProviderIDs)
	}
	if b.spec.NodeType != w.NodeType {
		b.spec.NodeType = ""
	}
	if b.spec.NodePool != w.Pool {
		b.spec.NodePool = ""
	}
}

// assetName is the name of an asset's object: its type and its name, without what paths give a meaning.
func assetName(kind, name string) string {
	return strings.NewReplacer("/", ".", "%", ".", ":", ".").Replace(strings.ToLower(kind) + "." + name)
}

// maxRows is how many rows of the answer to a saved question are shown.
const maxRows = 1000

// clusterAllocationBody is a ClusterAllocation without its metadata.
type clusterAllocationBody struct {
	spec   ClusterAllocationSpec
	status ClusterAllocationStatus
}

// readClusterAllocations asks all saved questions. One that fails has its error in place of an answer.
func readClusterAllocations(ctx context.Context, r *reading) error {
	list, err := r.client.questions(ctx)
	if err != nil {
		return err
	}
	for _, q := range list {
		b := &clusterAllocationBody{spec: ClusterAllocationSpec{q.Query}}
		if err := r.answer(ctx, q.Name, b); err != nil {
			b.status = ClusterAllocationStatus{Error: err.Error(), Costs: Costs{Currency: r.state.currency}}
		}
		if err := r.add(item{"", q.Name, nil, b}, 640+len(q.Query)+len(b.status.Rows)*160); err != nil {
			return err
		}
	}
	soon, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	for i := range r.items {
		if b := r.items[i].body.(*clusterAllocationBody); b.status.Error == "" { //nolint:forcetypeassert // they were added above
			b.status.Comparison = r.changed(soon, b.spec.Query)
		}
	}
	return ctx.Err() // of a question that could not be asked any more, nothing is known
}

// wireRow is a row of the answer to a saved question.
type wireRow struct {
	Name   string
	Window struct{ Start, End time.Time }
	wireCosts
}

// answer asks a saved question.
func (r *reading) answer(ctx context.Context, name string, b *clusterAllocationBody) error {
	values, err := savedParameters(b.spec.Query)
	if err != nil {
		return fmt.Errorf("parse query: %w", err)
	}
	values.Set("accumulate", "true")
	values.Set("limit", strconv.Itoa(maxRows+1))
	values.Set("fields", "name,window,"+wireCostFields)
	s := &b.status
	s.Currency = r.state.currency
	a, err := r.client.rows(ctx, "/model/allocation", values, textFactor*r.limit, func(_ string, decode func(any) error) error {
		var w wireRow
		if err := decode(&w); err != nil {
			return err
		}
		s.Start, s.End = &metav1.Time{Time: w.Window.Start}, &metav1.Time{Time: w.Window.End}
		s.Rows = append(s.Rows, ClusterAllocationRow{r.texts.share(w.Name), w.costs(r.state.currency)})
		return nil
	})
	slices.SortStableFunc(s.Rows, func(a, b ClusterAllocationRow) int {
		return cmp.Or(cmp.Compare(b.TotalCost, a.TotalCost), cmp.Compare(a.Name, b.Name))
	})
	if s.Truncated = len(s.Rows) > maxRows; s.Truncated {
		s.Rows = s.Rows[:maxRows]
	}
	for i := range s.Rows {
		s.add(&s.Rows[i].Costs)
	}
	s.Warnings = a.warnings
	if covered := a.coverage(0); err == nil && !covered.Whole() {
		r.notices = append(r.notices, name+": "+covered.Text())
	}
	return err
}

// add adds costs.
func (c *Costs) add(o *Costs) {
	c.TotalCost += o.TotalCost
	c.CPUCost += o.CPUCost
	c.RAMCost += o.RAMCost
	c.GPUCost += o.GPUCost
	c.PVCost += o.PVCost
	c.NetworkCost += o.NetworkCost
	c.LoadBalancerCost += o.LoadBalancerCost
	c.SharedCost += o.SharedCost
	c.ExternalCost += o.ExternalCost
}
