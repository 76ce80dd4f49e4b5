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
)

// reading collects the items of a snapshot, which may take limit bytes.
type reading struct {
	client *Client
	state  state
	key    key
	limit  int64

	items    []item
	texts    texts
	bytes    int64
	warnings []string
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

// rows asks promcost for rows of the window, with further parameters.
func (r *reading) rows(ctx context.Context, path string, more map[string]string, row func(name string, decode func(any) error) error) error {
	length, err := parseWindow(r.key.window)
	if err != nil {
		return err
	}
	where := fields.OneTermEqualSelector("spec.cluster", r.state.cluster)
	if r.key.namespace != "" {
		where = fields.AndSelectors(fields.OneTermEqualSelector("metadata.namespace", r.key.namespace), where)
	}
	end := r.state.version()
	values := url.Values{
		"window":        {fmt.Sprintf("%d,%d", end-int64(length/time.Second), end)},
		"accumulate":    {"true"},
		"fieldSelector": {where.String()},
	}
	for name, value := range more {
		values.Set(name, value)
	}
	warnings, err := r.client.rows(ctx, path, values, textFactor*r.limit, row)
	r.warnings = append(r.warnings, warnings...)
	return err
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
const perAllocation = 640

// readAllocations reads what pods cost, and which uids they had: promcost merges pods of one name, and does not say which they are.
func readAllocations(ctx context.Context, r *reading) error {
	uids, err := r.readUIDs(ctx)
	if err != nil {
		return err
	}
	return r.rows(ctx, "/model/allocation/compute", map[string]string{
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
		share := r.texts.share
		b := &allocationBody{
			spec: AllocationSpec{
				Pod: share(p.Pod), UIDs: uids[p.Namespace+"/"+p.Pod], Node: share(p.Node), ControllerKind: share(p.ControllerKind), Controller: share(p.Controller),
				Services: r.texts.shareAll(p.Services),
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
}

// readUIDs reads the uids of pods, by namespace/name.
func (r *reading) readUIDs(ctx context.Context) (map[string][]string, error) {
	uids := map[string][]string{}
	size := int64(0)
	more := map[string]string{"aggregate": "namespace,pod,uid", "idle": "false", "fields": "name"}
	err := r.rows(ctx, "/model/allocation/compute", more, func(name string, decode func(any) error) error {
		var rest json.RawMessage
		if err := decode(&rest); err != nil {
			return err
		}
		if size += int64(len(name)) + 96; size > r.limit {
			return tooMuch()
		}
		if i := strings.LastIndexByte(name, '/'); i > 0 && name[i+1:] != noValue {
			uids[name[:i]] = append(uids[name[:i]], name[i+1:])
		}
		return nil
	})
	r.warnings = nil // those of the other question are the same
	for _, list := range uids {
		slices.Sort(list)
	}
	return uids, err
}

// wireAsset is an asset as promcost sends it.
type wireAsset struct {
	Type       string
	Properties struct{ Category, Provider, Name, ProviderID string }
	Labels     map[string]string
	Start, End time.Time
	NodeType   string

	TotalCost, CPUCost, RAMCost, GPUCost, Adjustment float64
}

// assetBody is an Asset without its metadata.
type assetBody struct {
	spec   AssetSpec
	status AssetStatus
}

// perAsset is about how many bytes an item of an asset takes.
const perAsset = 480

// readAssets reads what assets cost. Those of one type and name are added up.
func readAssets(ctx context.Context, r *reading) error {
	known := map[string]*assetBody{}
	return r.rows(ctx, "/model/assets", nil, func(_ string, decode func(any) error) error {
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
			spec:   AssetSpec{Type: share(w.Type), Name: share(w.Properties.Name), Category: share(w.Properties.Category), Provider: share(w.Properties.Provider), NodeType: share(w.NodeType)},
			status: AssetStatus{Start: metav1.NewTime(w.Start), End: metav1.NewTime(w.End), Currency: r.state.currency},
		}
		b.merge(&w)
		known[name] = b
		return r.add(item{"", share(name), newLabels(w.Labels, &r.texts), b}, perAsset)
	})
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
		if err := r.answer(ctx, b); err != nil {
			b.status = ClusterAllocationStatus{Error: err.Error(), Costs: Costs{Currency: r.state.currency}}
		}
		if err := r.add(item{"", q.Name, nil, b}, 640+len(q.Query)+len(b.status.Rows)*160); err != nil {
			return err
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
func (r *reading) answer(ctx context.Context, b *clusterAllocationBody) (err error) {
	values, err := url.ParseQuery(b.spec.Query)
	if err != nil {
		return fmt.Errorf("parse query: %w", err)
	}
	for _, name := range []string{"offset", "jmespath", "explain", "csvColumns", "accumulateBy"} {
		values.Del(name)
	}
	values.Set("format", "json")
	values.Set("accumulate", "true")
	values.Set("limit", strconv.Itoa(maxRows+1))
	values.Set("fields", "name,window,"+wireCostFields)
	s := &b.status
	s.Currency = r.state.currency
	s.Warnings, err = r.client.rows(ctx, "/model/allocation", values, textFactor*r.limit, func(_ string, decode func(any) error) error {
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
