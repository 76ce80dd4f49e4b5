package allocation_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

var testStart = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// model is a set as plain rows and nodes, for the slow reference to compute with.
type model struct {
	window    allocation.Window
	rows      []allocation.Row
	nodes     []allocation.Node
	residuals []allocation.Residual
}

// set builds the set of the model.
func (m *model) set(dict *allocation.Dict) *allocation.Set {
	s := allocation.NewSet(m.window, dict)
	for i := range m.rows {
		s.Append(&m.rows[i])
	}
	s.Nodes, s.Residuals = m.nodes, m.residuals
	return s
}

// randomModels are models of hours in a row, whose pods live on from one to the next.
func randomModels(rng *rand.Rand, hours, pods int) []model {
	templates := make([]allocation.Row, pods)
	for i := range templates {
		templates[i] = randomRow(rng, i)
	}
	models := make([]model, hours)
	for h := range models {
		start := testStart.Add(time.Duration(h) * time.Hour)
		m := &models[h]
		m.window = allocation.Window{Start: start, End: start.Add(time.Hour)}
		for i := range templates {
			if rng.IntN(4) > 0 {
				m.rows = append(m.rows, runningRow(rng, templates[i], m.window))
			}
		}
		m.addNodes(rng)
	}
	return models
}

func pick(rng *rand.Rand, from ...string) string { return from[rng.IntN(len(from))] }

// randomRow is a container without times and amounts. Pods of one name are common, so are missing properties.
func randomRow(rng *rand.Rand, i int) allocation.Row {
	r := allocation.Row{Labels: map[string]string{}, Annotations: map[string]string{}}
	r.Text[allocation.Cluster] = pick(rng, "c1", "arn:aws:eks:eu/c2")
	r.Text[allocation.NodeName] = pick(rng, "n1", "n2", "n3", "", "gone")
	ns := pick(rng, "shop", "web", "kube-system")
	r.Text[allocation.Namespace] = ns
	r.Text[allocation.Pod] = fmt.Sprintf("pod-%d", rng.IntN(1+i))
	r.Text[allocation.PodUID] = fmt.Sprintf("uid-%d", i)
	r.Text[allocation.Container] = pick(rng, "main", "sidecar")
	r.Text[allocation.ControllerKind] = pick(rng, "deployment", "daemonset", "job", "")
	r.Text[allocation.Controller] = pick(rng, "api", "db", "")
	r.Text[allocation.ProviderID] = "aws:///eu-1/i-" + r.Text[allocation.NodeName]
	for _, service := range []string{"zeta", "alpha", "mid"} {
		if rng.IntN(3) == 0 {
			r.Services = append(r.Services, service)
		}
	}
	for _, label := range []string{"app", "team", "app.kubernetes.io/name", "app_kubernetes_io_name", "env"} {
		if rng.IntN(2) == 0 {
			r.Labels[label] = pick(rng, "x", "y", "x/y", "")
		}
		if rng.IntN(3) == 0 {
			r.Annotations[label] = pick(rng, "ax", "ay")
		}
	}
	r.NSLabels = map[string]string{"kubernetes_io_metadata_name": ns}
	r.NSAnnotations = map[string]string{"owner": "o-" + ns}
	if rng.IntN(20) == 0 {
		r.Special = allocation.Unmounted
	}
	return r
}

// runningRow is the container with random times and amounts inside the window.
func runningRow(rng *rand.Rand, r allocation.Row, w allocation.Window) allocation.Row {
	from := rng.IntN(60)
	minutes := 1 + rng.IntN(60-from)
	r.Start = w.Start.Add(time.Duration(from) * time.Minute)
	r.End = r.Start.Add(time.Duration(minutes) * time.Minute)
	for c := range allocation.NumColumns {
		r.Values[c] = rng.Float64()
	}
	for res := range allocation.NumResources {
		r.Values[allocation.CostIdle.Of(res)] = 0
		r.Values[allocation.RequestHours.Of(res)] *= float64(rng.IntN(2))
	}
	r.Values[allocation.RunningSeconds] = float64(minutes) * 60
	r.Values[allocation.LowerSeconds] = float64(minutes) * 60 * 0.9
	r.Values[allocation.UpperSeconds] = float64(minutes) * 60 * 1.1
	return r
}

// addNodes adds the nodes that the rows ran on, but for the one that is gone, with some idle and some residual.
func (m *model) addNodes(rng *rand.Rand) {
	for _, cluster := range []string{"arn:aws:eks:eu/c2", "c1", "empty"} {
		var residual [allocation.NumResources]float64
		for _, name := range []string{"", "gone", "n1", "n2", "n3"} {
			n := allocation.Node{
				Cluster: cluster, Name: name, ProviderID: "aws:///eu-1/i-" + name, InstanceType: "m5.large",
				Start: m.window.Start, End: m.window.End.Add(-time.Duration(rng.IntN(30)) * time.Minute),
				Labels: map[string]string{"zone": "a"},
			}
			n.RunningSeconds = n.End.Sub(n.Start).Seconds()
			for r := range allocation.NumResources {
				allocated := m.costOn(cluster, name, r)
				if name == "" || name == "gone" {
					residual[r] += allocated
					continue
				}
				n.Idle[r] = rng.Float64()
				if rng.IntN(5) == 0 && allocated > 0 {
					n.Idle[r] = 0
					over := allocated * 0.1
					allocated -= over
					residual[r] += over
				}
				n.Cost[r], n.Hours[r] = allocated+n.Idle[r], 1+rng.Float64()
			}
			if name != "" && name != "gone" {
				m.nodes = append(m.nodes, n)
			}
		}
		for r, cost := range residual {
			if cost > 0 {
				m.residuals = append(m.residuals, allocation.Residual{Cluster: cluster, Resource: allocation.Resource(r), Cost: cost})
			}
		}
	}
}

func (m *model) costOn(cluster, node string, r allocation.Resource) (sum float64) {
	for i := range m.rows {
		if m.rows[i].Text[allocation.Cluster] == cluster && m.rows[i].Text[allocation.NodeName] == node {
			sum += m.rows[i].Values[allocation.Cost.Of(r)]
		}
	}
	return sum
}

// namespaceFilter selects the rows of a namespace.
type namespaceFilter string

func (f namespaceFilter) Bind(s *allocation.Set) func(int) bool {
	return func(row int) bool { return s.Text(allocation.Namespace, row) == string(f) }
}

// refRow is a row of the reference's answer.
type refRow struct {
	values     [allocation.NumColumns]float64
	start, end time.Time
	single     bool
	minutes    float64
	text       [allocation.Services]string
	services   string
	labels     string
	nsLabels   string
}

// reference computes what Apply does, from plain rows, by the words of the definitions.
func reference(models []model, o allocation.Options, aggregate, namespace string) []map[string]refRow {
	var answers []map[string][]allocation.Row
	for i := range models {
		answer := map[string][]allocation.Row{}
		for _, r := range models[i].rows {
			if namespace == "" || r.Text[allocation.Namespace] == namespace {
				name := refName(&r, aggregate, o.LabelValue)
				answer[name] = append(answer[name], r)
			}
		}
		if o.Idle {
			for _, r := range models[i].refIdle(o, namespace) {
				name := allocation.IdleName
				if o.SplitIdle {
					name = refCluster(r.Text[allocation.Cluster])
					if o.IdleByNode {
						name += "/" + r.Text[allocation.NodeName]
					}
					name += "/" + allocation.IdleName
				}
				answer[name] = append(answer[name], r)
			}
		}
		answers = append(answers, answer)
	}
	if o.Accumulate == allocation.All {
		all := map[string][]allocation.Row{}
		for _, answer := range answers {
			for name, rows := range answer {
				all[name] = append(all[name], rows...)
			}
		}
		answers = []map[string][]allocation.Row{all}
	}
	out := make([]map[string]refRow, len(answers))
	for i, answer := range answers {
		out[i] = map[string]refRow{}
		for name, rows := range answer {
			out[i][name] = refMerge(rows, o.AggregatedMetadata)
		}
	}
	return out
}

// refIdle is the idle rows of a model, by cluster or node.
func (m *model) refIdle(o allocation.Options, namespace string) (idle []allocation.Row) {
	index := map[[2]string]int{}
	for _, n := range m.nodes {
		key := [2]string{n.Cluster}
		if o.IdleByNode {
			key[1] = n.Name
		}
		i, ok := index[key]
		if !ok {
			i = len(idle)
			index[key] = i
			r := allocation.Row{Special: allocation.Idle, Start: n.Start, End: n.End}
			r.Text[allocation.Cluster], r.Text[allocation.NodeName], r.Text[allocation.ProviderID] = key[0], key[1], key[1]
			idle = append(idle, r)
		}
		if n.End.After(idle[i].End) {
			idle[i].End = n.End
		}
		for r := range allocation.NumResources {
			idle[i].Values[allocation.Cost.Of(r)] += n.Idle[r]
		}
	}
	if namespace == "" {
		return idle
	}
	var left []allocation.Row
	for _, i := range idle {
		some := false
		for r := range allocation.NumResources {
			all, kept := 0.0, 0.0
			for _, row := range m.rows {
				if row.Text[allocation.Cluster] != i.Text[allocation.Cluster] || o.IdleByNode && row.Text[allocation.NodeName] != i.Text[allocation.NodeName] {
					continue
				}
				cost := row.Values[allocation.Cost.Of(r)] + row.Values[allocation.Adjustment.Of(r)]
				all += cost
				if row.Text[allocation.Namespace] == namespace {
					kept, some = kept+cost, true
				}
			}
			if all > 0 {
				i.Values[allocation.Cost.Of(r)] *= kept / all
			}
		}
		if some {
			left = append(left, i)
		}
	}
	return left
}

func refCluster(id string) string { return strings.NewReplacer("/", "_", ":", "_").Replace(id) }

// refName is the name of a row that is aggregated by the fields.
func refName(r *allocation.Row, aggregate string, value bool) string {
	if aggregate == "" {
		return strings.Join([]string{
			refCluster(r.Text[allocation.Cluster]), r.Text[allocation.NodeName], r.Text[allocation.Namespace],
			r.Text[allocation.Pod], r.Text[allocation.Container],
		}, "/")
	}
	var parts []string
	for field := range strings.SplitSeq(aggregate, ",") {
		part := refPart(r, field, value)
		if part == "" && field != "all" {
			part = allocation.UnallocatedName
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/")
}

func refPart(r *allocation.Row, field string, value bool) string {
	kind, controller := r.Text[allocation.ControllerKind], r.Text[allocation.Controller]
	switch field {
	case "cluster":
		return refCluster(r.Text[allocation.Cluster])
	case "node":
		return r.Text[allocation.NodeName]
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

// refMerge merges rows by the rules of SHAPES §2.
func refMerge(rows []allocation.Row, metadata bool) refRow {
	out := refRow{start: rows[0].Start, end: rows[0].End, single: len(rows) == 1, text: rows[0].Text}
	same := rows[0].Special == allocation.Workload
	for _, r := range rows {
		for c, v := range r.Values {
			m := allocation.Column(c)
			if m == allocation.UsageMax.Of(allocation.CPU) || m == allocation.UsageMax.Of(allocation.RAM) || m == allocation.UsageMax.Of(allocation.GPU) {
				out.values[c] = max(out.values[c], v)
			} else {
				out.values[c] += v
			}
		}
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
	out.minutes = out.end.Sub(out.start).Minutes()
	if same {
		out.minutes = out.values[allocation.RunningSeconds] / 60
	}
	one := same || len(rows) == 1
	if one {
		out.services = fmt.Sprint(rows[0].Services)
		out.labels = fmt.Sprint(rows[0].Labels)
	}
	oneNamespace := !slices.ContainsFunc(rows, func(r allocation.Row) bool {
		return r.Text[allocation.Namespace] != rows[0].Text[allocation.Namespace] || r.Text[allocation.Cluster] != rows[0].Text[allocation.Cluster]
	})
	if one || oneNamespace {
		out.nsLabels = fmt.Sprint(rows[0].NSLabels)
	}
	if !one && oneNamespace && metadata {
		out.labels = fmt.Sprint(refCommon(rows))
	}
	return out
}

// refCommon is the labels that all rows have in common, those of unmounted volumes aside.
func refCommon(rows []allocation.Row) map[string]string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r allocation.Row) bool { return r.Special == allocation.Unmounted })
	common := map[string]string{}
	if len(rows) == 0 {
		return common
	}
	for k, v := range rows[0].Labels {
		if !slices.ContainsFunc(rows, func(r allocation.Row) bool { got, ok := r.Labels[k]; return !ok || got != v }) {
			common[k] = v
		}
	}
	return common
}
