package encode

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// undefined stands for what is missing in the key of an asset.
const undefined = "__undefined__"

// Assets writes the assets of the sets as Kubecost sends them: an array of maps, one a set. No sets are one empty map.
func Assets(w io.Writer, sets []*allocation.Set, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":[`...)
	if len(sets) == 0 {
		s.b = append(s.b, "{}"...)
	}
	for i, set := range sets {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		writeAssets(s, set, o.location())
	}
	s.b = o.end(append(s.b, ']'), sets)
	return s.close()
}

// AssetMap writes the assets of one set as OpenCost sends them: one map.
func AssetMap(w io.Writer, set *allocation.Set, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":`...)
	writeAssets(s, set, o.location())
	s.b = o.end(s.b, []*allocation.Set{set})
	return s.close()
}

// asset is a node and what its key is made of.
type asset struct {
	key                   string
	node                  *allocation.Node
	provider, project, id string
}

// describe derives the provider, its project and the key from a node.
func describe(n *allocation.Node) asset {
	a := asset{node: n}
	a.provider, a.id = providerID(n.ProviderID)
	if rest, ok := strings.CutPrefix(n.ProviderID, "gce://"); ok {
		a.project, _, _ = strings.Cut(rest, "/")
	}
	parts := []string{a.provider, "", a.project, "Compute", n.Cluster, "Node", "Kubernetes", a.id, n.Name}
	for i, part := range parts {
		parts[i] = cmp.Or(part, undefined)
	}
	a.key = strings.Join(parts, "/")
	return a
}

// providerID reads the provider of a node from the id that Kubernetes has for it, and the id that the provider's bill and
// tools have. Both are as given where the form is unknown.
func providerID(full string) (provider, id string) {
	scheme, rest, ok := strings.Cut(full, "://")
	if !ok {
		return "", full
	}
	switch scheme {
	case "aws", "gce":
		// aws:///zone/instance and gce://project/zone/instance
		provider = map[string]string{"aws": "AWS", "gce": "GCP"}[scheme]
		return provider, rest[strings.LastIndexByte(rest, '/')+1:]
	case "azure":
		return "Azure", full
	}
	return "", full
}

// writeAssets appends the map of a set's assets, by key.
func writeAssets(s *stream, set *allocation.Set, in *time.Location) {
	assets := make([]asset, len(set.Nodes))
	for i := range set.Nodes {
		assets[i] = describe(&set.Nodes[i])
	}
	slices.SortStableFunc(assets, func(a, b asset) int { return strings.Compare(a.key, b.key) })
	window := appendWindow(nil, set.Window, in)
	s.b = append(s.b, '{')
	for i := range assets {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = assets[i].append(s.b, window, in)
		s.checkpoint()
	}
	s.b = append(s.b, '}')
}

// append appends the asset with its key.
func (a *asset) append(b, window []byte, in *time.Location) []byte {
	n := a.node
	b = append(appendString(b, a.key), `:{"type":"Node","properties":{`...)
	b = a.appendProperties(b)
	b = appendLabels(append(b, `},"labels":`...), n.Labels)
	b = append(append(b, `,"window":`...), window...)
	b = appendTime(append(b, `,"start":`...), n.Start.In(in))
	b = appendTime(append(b, `,"end":`...), n.End.In(in))
	b = appendString(append(b, `,"nodeType":`...), n.InstanceType)
	if n.Pool != "" && a.provider != "" {
		b = appendString(append(b, `,"pool":`...), n.Pool)
	}
	for _, f := range a.numbers() {
		b = append(append(append(b, `,"`...), f.name...), `":`...)
		b = appendNumber(b, f.value)
	}
	const breakdown = `{"idle":0,"other":0,"system":0,"user":0}`
	return append(b, `,"cpuBreakdown":`+breakdown+`,"ramBreakdown":`+breakdown+`}`...)
}

// number is a named number of an asset.
type number struct {
	name  string
	value float64
}

// numbers are the numeric fields of the asset.
func (a *asset) numbers() []number {
	n := a.node
	minutes := n.End.Sub(n.Start).Minutes()
	average := func(r allocation.Resource) float64 {
		if minutes <= 0 {
			return 0
		}
		return n.Hours[r] / (minutes / 60)
	}
	preemptible := 0.0
	if n.Spot {
		preemptible = 1
	}
	return []number{
		{"minutes", minutes},
		{"cpuCores", average(allocation.CPU)},
		{"ramBytes", average(allocation.RAM)},
		{"cpuCoreHours", n.Hours[allocation.CPU]},
		{"ramByteHours", n.Hours[allocation.RAM]},
		{"GPUHours", n.Hours[allocation.GPU]},
		{"preemptible", preemptible},
		{"discount", 0},
		{"cpuCost", n.Cost[allocation.CPU]},
		{"gpuCost", n.Cost[allocation.GPU]},
		{"gpuCount", average(allocation.GPU)},
		{"ramCost", n.Cost[allocation.RAM]},
		{"adjustment", 0},
		{"totalCost", n.TotalCost()},
	}
}

// appendProperties appends the members of the asset's properties that are not empty.
func (a *asset) appendProperties(b []byte) []byte {
	b = append(b, `"category":"Compute"`...)
	for _, p := range [...]struct{ key, value string }{
		{"provider", a.provider},
		{"project", a.project},
		{"service", "Kubernetes"},
		{"cluster", a.node.Cluster},
		{"name", a.node.Name},
		{"providerID", a.id},
	} {
		if p.value != "" {
			b = append(append(append(b, `,"`...), p.key...), `":`...)
			b = appendString(b, p.value)
		}
	}
	return b
}

// appendLabels appends labels in the order of their names.
func appendLabels(b []byte, labels map[string]string) []byte {
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendString(b, labels[name])
	}
	return append(b, '}')
}
