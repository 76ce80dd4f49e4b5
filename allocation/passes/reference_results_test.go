package passes_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// giveIdle shares idle. Without sharing, it cuts idle to what the selected rows would have been given.
func (s *refSet) giveIdle() {
	var left []*refRow
	filtered := s.q.filter != (naiveFilter{})
	for _, idle := range s.idle {
		var near []*refRow
		someKept := false
		for _, r := range s.rows {
			if r.built && r.Text[allocation.Cluster] == idle.Text[allocation.Cluster] && (!s.q.IdleByNode || r.Text[allocation.NodeName] == idle.Text[allocation.NodeName]) {
				near = append(near, r)
				someKept = someKept || r.kept
			}
		}
		something := false
		for res := range allocation.NumResources {
			s.giveIdleOf(res, idle, near)
			something = something || idle.Values[allocation.Cost.Of(res)] != 0 || idle.Values[allocation.Adjustment.Of(res)] != 0
		}
		if s.q.ShareIdle != passes.NoSplit && something && !filtered || s.q.ShareIdle == passes.NoSplit && (someKept || !filtered) {
			left = append(left, idle)
		}
	}
	s.idle = left
}

func (s *refSet) giveIdleOf(res allocation.Resource, idle *refRow, near []*refRow) {
	cost, adjustment := allocation.Cost.Of(res), allocation.Adjustment.Of(res)
	all, kept := 0.0, 0.0
	weights := make([]float64, len(near))
	for i, r := range near {
		weights[i] = max(0, r.Values[cost]+r.Values[adjustment])
		if s.q.ShareIdle == passes.Even {
			weights[i] = 1
		}
		all += weights[i]
		if r.kept {
			kept += weights[i]
		}
	}
	switch {
	case s.q.ShareIdle == passes.NoSplit && s.q.filter != (naiveFilter{}):
		part := 0.0
		if all > 0 {
			part = kept / all
		}
		idle.Values[cost] *= part
		idle.Values[adjustment] *= part
	case s.q.ShareIdle != passes.NoSplit && all > 0:
		for i, r := range near {
			r.Values[cost] += idle.Values[cost] * weights[i] / all
			r.Values[allocation.CostIdle.Of(res)] += idle.Values[cost] * weights[i] / all
			r.Values[adjustment] += idle.Values[adjustment] * weights[i] / all
		}
		idle.Values[cost], idle.Values[adjustment] = 0, 0
	}
}

// refKinds are the columns that are shared as each kind.
var refKinds = map[allocation.SharedKind][]allocation.Column{
	allocation.SharedCPU:          {allocation.Cost.Of(allocation.CPU), allocation.Adjustment.Of(allocation.CPU)},
	allocation.SharedGPU:          {allocation.Cost.Of(allocation.GPU), allocation.Adjustment.Of(allocation.GPU)},
	allocation.SharedRAM:          {allocation.Cost.Of(allocation.RAM), allocation.Adjustment.Of(allocation.RAM)},
	allocation.SharedPV:           {allocation.PVCost, allocation.PVCostAdjustment},
	allocation.SharedNetwork:      {allocation.NetworkCrossZoneCost, allocation.NetworkCrossRegionCost, allocation.NetworkInternetCost, allocation.NetworkCostAdjustment},
	allocation.SharedLoadBalancer: {allocation.LoadBalancerCost, allocation.LoadBalancerCostAdjustment},
	allocation.SharedExternal:     {allocation.ExternalCost},
	allocation.SharedOverhead:     {allocation.SharedCost},
}

// passOn adds the cost of shared rows to their pools.
func (s *refSet) passOn() {
	for _, r := range s.rows {
		if r.isShared {
			for kind, cols := range refKinds {
				for _, c := range cols {
					s.pools[r.pool][kind] += r.Values[c]
				}
			}
		}
	}
}

// refAnswer is the results of a set by name.
type refAnswer map[string]*refResult

// at returns the result of a name. It makes a missing one.
func (a refAnswer) at(name string) *refResult {
	if a[name] == nil {
		a[name] = &refResult{parts: map[string][allocation.NumSharedKinds]float64{}}
	}
	return a[name]
}

// results are the rows that are not dropped, by name, and the part of the pools that each name bears.
func (s *refSet) results() refAnswer {
	unfiltered, answer := map[string][]*refRow{}, refAnswer{}
	sum := 0.0
	for _, r := range s.rows {
		if r.isShared {
			continue
		}
		name := refName(r, s.q.aggregate, s.q.LabelValue)
		if r.built {
			unfiltered[name] = append(unfiltered[name], r)
			sum += r.weight
		}
		if r.kept {
			answer.at(name).rows = append(answer.at(name).rows, r)
		}
	}
	anybody := false
	for _, name := range slices.Sorted(maps.Keys(unfiltered)) {
		all, kept, rowsKept := 0.0, 0.0, 0
		for _, r := range unfiltered[name] {
			all += r.weight
			if r.kept {
				kept += r.weight
				rowsKept++
			}
		}
		part := 0.0
		switch {
		case s.q.ShareSplit != passes.Even && sum > 0:
			part, anybody = kept/sum, true
		case s.q.ShareSplit == passes.Even && all > 0:
			part, anybody = kept/all/float64(len(unfiltered)), true
		case s.q.ShareSplit == passes.Even:
			part, anybody = float64(rowsKept)/float64(len(unfiltered[name]))/float64(len(unfiltered)), true
		}
		if part != 0 {
			answer[name].bear(s.pools, part)
		}
	}
	if !anybody {
		s.leave(answer)
	}
	s.addTenancyParts(answer)
	for _, r := range s.idle {
		name := s.idleName(r)
		answer.at(name).rows = append(answer.at(name).rows, r)
	}
	return answer
}

// idleName is the name of an idle row.
func (s *refSet) idleName(r *refRow) string {
	name, node := allocation.IdleName, r.Text[allocation.NodeName]
	switch {
	case s.q.IdleByNode && strings.Contains(s.q.aggregate, "nodePool"):
		name = orEmpty(poolOf(node), allocation.UnallocatedName) + "/" + name
	case s.q.IdleByNode && s.q.SplitIdle:
		name = node + "/" + name
	}
	if s.q.SplitIdle {
		name = refCluster(r.Text[allocation.Cluster]) + "/" + name
	}
	return name
}

// bear gives a result its part of the pools.
func (r *refResult) bear(pools map[string]*[allocation.NumSharedKinds]float64, part float64) {
	for name, cost := range pools {
		for _, v := range cost {
			r.shared += v * part
		}
		if *cost != [allocation.NumSharedKinds]float64{} {
			r.addPart(name, *cost, part)
		}
	}
}

// addTenancyParts shows what rows were given of clusters' other costs as a part of its own.
func (s *refSet) addTenancyParts(answer refAnswer) {
	for _, result := range answer {
		for _, r := range result.rows {
			if v := r.Values[allocation.SharedCost]; v != 0 {
				result.addPart(allocation.TenancyName, [allocation.NumSharedKinds]float64{allocation.SharedOverhead: v}, 1)
			}
		}
	}
}

// leave makes a row of a cost that nobody can take, unless there is a filter.
func (s *refSet) leave(answer refAnswer) {
	total := 0.0
	for _, cost := range s.pools {
		for _, v := range cost {
			total += v
		}
	}
	if total == 0 || s.q.filter != (naiveFilter{}) {
		return
	}
	r := &refRow{}
	r.Special, r.Start, r.End = allocation.Shared, s.m.window.Start, s.m.window.End
	var times []*refRow
	for _, result := range answer {
		times = append(times, result.rows...)
	}
	for i, t := range append(times, s.idle...) {
		if i == 0 || t.Start.Before(r.Start) {
			r.Start = t.Start
		}
		if i == 0 || t.End.After(r.End) {
			r.End = t.End
		}
	}
	left := answer.at(allocation.SharedName)
	left.rows = append(left.rows, r)
	left.bear(s.pools, 1)
}

func refCluster(id string) string { return strings.NewReplacer("/", "_", ":", "_").Replace(id) }

// refName is the name of a row that is aggregated by the fields.
func refName(r *refRow, aggregate string, value bool) string {
	if aggregate == "" {
		return strings.Join([]string{
			refCluster(r.Text[allocation.Cluster]), r.Text[allocation.NodeName], r.Text[allocation.Namespace],
			r.Text[allocation.Pod], r.Text[allocation.Container],
		}, "/")
	}
	var parts []string
	carries := false
	for field := range strings.SplitSeq(aggregate, ",") {
		part := refPart(r, field, value)
		carries = carries || part != "" || field == "all"
		if part == "" && field != "all" {
			part = allocation.UnallocatedName
		}
		parts = append(parts, part)
	}
	if r.Special == allocation.External && !carries {
		return allocation.ExternalName
	}
	return strings.Join(parts, "/")
}

func refPart(r *refRow, field string, value bool) string {
	kind, controller := r.Text[allocation.ControllerKind], r.Text[allocation.Controller]
	switch field {
	case "cluster":
		return refCluster(r.Text[allocation.Cluster])
	case "node":
		return r.Text[allocation.NodeName]
	case "nodePool":
		return poolOf(r.Text[allocation.NodeName])
	case "namespace":
		return r.Text[allocation.Namespace]
	case "pod":
		return r.Text[allocation.Pod]
	case "container":
		return r.Text[allocation.Container]
	case "controllerKind":
		return kind
	case "controller":
		if controller != "" && kind != "" {
			return kind + ":" + controller
		}
		return controller
	case "deployment", "statefulset", "daemonset", "job":
		if kind == field {
			return controller
		}
		return ""
	case "service":
		if len(r.Services) == 0 {
			return ""
		}
		return slices.Min(r.Services)
	case "department", "environment", "owner", "product", "team":
		label := map[string]string{"environment": "env", "product": "app"}[field]
		label = cmp.Or(label, field)
		return cmp.Or(r.Labels[label], r.Annotations[label])
	}
	from, name := r.Labels, strings.TrimPrefix(field, "label:")
	if n, ok := strings.CutPrefix(field, "annotation:"); ok {
		from, name = r.Annotations, n
	}
	clean := strings.NewReplacer(".", "_", "/", "_").Replace(name)
	text, ok := from[name]
	if !ok {
		text, ok = from[clean]
	}
	if !ok {
		for k, v := range from { // one at most in the random data
			if strings.NewReplacer(".", "_", "/", "_").Replace(k) == clean {
				text = v
			}
		}
	}
	if text == "" || value {
		return text
	}
	return clean + "=" + text
}

// refMerged is a result as Apply shows it.
type refMerged struct {
	values     [allocation.NumColumns]float64
	start, end time.Time
	single     bool
	minutes    float64
	text       [allocation.Services]string
	services   string
	labels     string
	nsLabels   string
	volumes    map[string]modelShare
	balancers  map[string]modelShare
	parts      map[string][allocation.NumSharedKinds]float64
	levels     [len(allocation.LevelResources)]map[allocation.Bucket]int64
}

// refMerge merges the rows of a result by the rules that Apply documents.
func refMerge(result *refResult, metadata bool) refMerged {
	rows := result.rows
	out := refMerged{start: rows[0].Start, end: rows[0].End, single: len(rows) == 1, text: rows[0].Text, parts: result.parts}
	out.volumes, out.balancers = map[string]modelShare{}, map[string]modelShare{}
	same := rows[0].Special == allocation.Workload
	for _, r := range rows {
		for of, levels := range r.Levels {
			for _, l := range levels {
				if out.levels[of] == nil {
					out.levels[of] = map[allocation.Bucket]int64{}
				}
				out.levels[of][l.Bucket] += l.Millis
			}
		}
		for c, v := range r.Values {
			m := allocation.Column(c)
			if m == allocation.UsageMax.Of(allocation.CPU) || m == allocation.UsageMax.Of(allocation.RAM) || m == allocation.UsageMax.Of(allocation.GPU) {
				out.values[c] = max(out.values[c], v)
			} else {
				out.values[c] += v
			}
		}
		addShares(out.volumes, r.volumes)
		addShares(out.balancers, r.balancers)
		if r.Start.Before(out.start) {
			out.start = r.Start
		}
		if r.End.After(out.end) {
			out.end = r.End
		}
		for _, p := range []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.Pod, allocation.PodUID, allocation.Container} {
			same = same && r.Text[p] == rows[0].Text[p]
		}
		for p := range out.text {
			if r.Text[p] != rows[0].Text[p] {
				out.text[p] = ""
			}
		}
	}
	out.values[allocation.SharedCost] += result.shared
	out.minutes = out.end.Sub(out.start).Minutes()
	if same {
		out.minutes = out.values[allocation.RunningSeconds] / 60
	}
	out.mergeMetadata(rows, same || len(rows) == 1, metadata)
	return out
}

func (out *refMerged) mergeMetadata(rows []*refRow, one, metadata bool) {
	if one {
		out.services = fmt.Sprint(rows[0].Services)
		out.labels = fmt.Sprint(rows[0].Labels)
	}
	oneNamespace := !slices.ContainsFunc(rows, func(r *refRow) bool {
		return r.Text[allocation.Namespace] != rows[0].Text[allocation.Namespace] || r.Text[allocation.Cluster] != rows[0].Text[allocation.Cluster]
	})
	if one || oneNamespace {
		for _, r := range rows {
			if r.NSLabels != nil {
				out.nsLabels = fmt.Sprint(r.NSLabels)
			}
		}
	}
	if !one && oneNamespace && metadata {
		out.labels = fmt.Sprint(refCommon(rows))
	}
}

func addShares(sum map[string]modelShare, list []modelShare) {
	for _, s := range list {
		was := sum[s.key]
		sum[s.key] = modelShare{s.key, was.amount + s.amount, was.cost + s.cost, was.adjustment + s.adjustment}
	}
}

// refCommon is the labels that all rows but special ones have in common.
func refCommon(rows []*refRow) map[string]string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r *refRow) bool { return r.Special > allocation.Idle })
	common := map[string]string{}
	if len(rows) == 0 {
		return common
	}
	for k, v := range rows[0].Labels {
		if !slices.ContainsFunc(rows, func(r *refRow) bool { got, ok := r.Labels[k]; return !ok || got != v }) {
			common[k] = v
		}
	}
	return common
}

// refProportions are the proportions of the assets that rows are: the row's cost before idle by the asset's cost.
func refProportions(rows []*refRow, models []model, byNode bool) (list []allocation.Proportion) {
	all := map[allocation.Proportion][allocation.NumResources]float64{} // by what names an asset
	add := func(p allocation.Proportion, cost ...float64) {
		sum := all[p]
		for i, v := range cost {
			sum[i] += v
		}
		all[p] = sum
	}
	for _, m := range models {
		for _, n := range m.nodes {
			p := allocation.Proportion{Cluster: n.Cluster}
			if byNode {
				p.Name, p.Type, p.ProviderID = n.Name, "Node", strings.TrimPrefix(n.ProviderID, "aws:///eu-1/")
			}
			add(p, n.Cost[:]...)
		}
		for _, d := range m.disks {
			if !d.Local {
				add(allocation.Proportion{Cluster: d.Cluster, Name: d.Name, Type: "Disk", ProviderID: d.ProviderID}, d.Cost)
			}
		}
		for _, l := range m.balancers {
			add(allocation.Proportion{Cluster: l.Cluster, Name: l.Namespace + "/" + l.Service, Type: "LoadBalancer"}, l.Cost)
		}
	}
	part := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	for p, cost := range all {
		var own [allocation.NumResources]float64
		for _, r := range rows {
			r.addTo(&own, p)
		}
		of := p
		switch p.Type {
		case "Disk":
			of.PV = part(own[0], cost[0])
		case "LoadBalancer":
			of.LoadBalancer = part(own[0], cost[0])
		default:
			of.CPU, of.RAM, of.GPU = part(own[allocation.CPU], cost[allocation.CPU]), part(own[allocation.RAM], cost[allocation.RAM]), part(own[allocation.GPU], cost[allocation.GPU])
			of.Node = part(own[0]+own[1]+own[2], cost[0]+cost[1]+cost[2])
		}
		if of != p {
			list = append(list, of)
		}
	}
	slices.SortFunc(list, func(a, b allocation.Proportion) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return list
}

// addTo adds the cost of an asset that a row has before idle.
func (r *refRow) addTo(own *[allocation.NumResources]float64, of allocation.Proportion) {
	if !r.built || r.Text[allocation.Cluster] != of.Cluster {
		return
	}
	for _, v := range r.volumes {
		if of.Type == "Disk" && v.key == allocation.VolumeKey(of.Cluster, of.Name) {
			own[0] += v.cost
		}
	}
	for _, l := range r.balancers {
		if of.Type == "LoadBalancer" && l.key == refCluster(of.Cluster)+"/"+of.Name {
			own[0] += l.cost
		}
	}
	if of.Type == "" || of.Type == "Node" && r.Text[allocation.NodeName] == of.Name {
		for res := range allocation.NumResources {
			own[res] += r.Values[allocation.Cost.Of(res)] - r.Values[allocation.CostIdle.Of(res)]
		}
	}
}
