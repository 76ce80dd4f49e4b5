package promquery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// proofs are the different ones of the table, by the number of the input whose series they are.
var proofs = distinctProofs()

func distinctProofs() [][]Proof {
	out := make([][]Proof, len(Inputs))
	for i := range Inputs {
		for k := range Inputs {
			for _, x := range Inputs[k].With {
				if x.Input == Inputs[i].Name && !slices.Contains(out[i], x) {
					out[i] = append(out[i], x)
				}
			}
		}
	}
	return out
}

// object is what a series is about: the elements of its key after the cluster, as far as they name it.
type object [2]Symbol

// namings are the elements of keys that name objects, and how objects are called.
var namings = []struct {
	last string // element; a namespace comes before it unless global
	many string
	one  bool // the element alone is the name
}{
	{"pod", "pods", false},
	{"persistentvolumeclaim", "claims", false},
	{"service", "services", false},
	{"persistentvolume", "volumes", true},
	{"node", "nodes", true},
}

// objects says how the objects of an input are called, and how many elements of its keys after the cluster name them; 0 for none.
func (in *Input) objects() (many string, elements int) {
	key := in.Signal.Key()
	for _, x := range namings {
		elements = 2
		if x.one {
			elements = 1
		}
		if len(key) > elements && key[elements] == x.last {
			return x.many, elements
		}
	}
	return "", 0
}

// evidence is what series of an input prove by one of its proofs.
type evidence struct {
	objects map[object]struct{} // of which something should be there
	sampled timeline.Intervals  // when there were samples; none of series that prove by their value, which may have changed
}

// prove records what a series of the input proves. The time of its holes is not part of that.
func (c *clusterTally) prove(f *frame, input int, key []Symbol, p *timeline.Points, holes timeline.Intervals) {
	list := proofs[input]
	if len(list) == 0 {
		return
	}
	if c.evidence == nil {
		c.evidence = make([]evidence, len(list))
	}
	in := &Inputs[input]
	var of object
	_, elements := in.objects()
	copy(of[:], key[1:1+elements])
	for i, x := range list {
		if !x.holds(in, key, p) {
			continue
		}
		s := &c.evidence[i]
		if s.objects == nil {
			s.objects = map[object]struct{}{}
		}
		s.objects[of] = struct{}{}
		if !x.Positive {
			s.sampled = f.addAround(s.sampled, p, holes)
		}
	}
}

// holds reports whether a series of the proof's input is one.
func (x *Proof) holds(in *Input, key []Symbol, p *timeline.Points) bool {
	if x.Label != "" {
		k := slices.Index(in.Signal.Key(), x.Label)
		if key[k] == none || x.Value != "" && key[k].Value() != x.Value {
			return false
		}
	}
	if x.Without != "" && key[slices.Index(in.Signal.Key(), x.Without)] != none {
		return false
	}
	v, ok := p.LastUsable()
	return ok && (!x.Positive || v > 0)
}

// proven is what shows that an input should be there.
type proven struct {
	in     *Input // that shows it
	rank   int    // of the alternative
	series *evidence
}

// proofs are those of the table that hold for an input of a cluster.
func (f *findings) proofs(in *Input, cluster Symbol) (list []proven) {
	for _, x := range in.With {
		i := slices.IndexFunc(Inputs, func(other Input) bool { return other.Name == x.Input })
		at := slices.Index(proofs[i], x)
		for rank := range f.inputs[i] {
			for k := range f.inputs[i][rank].clusters {
				if c := &f.inputs[i][rank].clusters[k]; c.cluster == cluster && c.evidence != nil && len(c.evidence[at].objects) > 0 {
					list = append(list, proven{&Inputs[i], rank, &c.evidence[at]})
				}
			}
		}
	}
	return list
}

// proof is the first proof of the table that holds for an input of a cluster; nil without any.
func (f *findings) proof(in *Input, cluster Symbol) *proven {
	if list := f.proofs(in, cluster); len(list) > 0 {
		return &list[0]
	}
	return nil
}

// metric is the one that shows it.
func (x *proven) metric() string { return x.in.Alternatives[x.rank].Metric }

// objects are the names of what it shows it of, and how they are called; none where the metric's series are not of any.
func (x *proven) objects() (names []string, many string) {
	if many, _ = x.in.objects(); many == "" {
		return nil, ""
	}
	for o := range x.series.objects {
		name := o[0].Name()
		if o[1] != none {
			name += "/" + o[1].Name()
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, many
}

// cost is what is lost without an input, and of what.
func (x *proven) cost(lost string) string {
	if x == nil {
		return lost
	}
	names, many := x.objects()
	if len(names) == 0 {
		return lost
	}
	return lost + "; " + notices.Concerned.Text(len(names), names, x.metric(), many)
}

// resources are how --resources of kube-state-metrics calls what its metrics are about, by their prefixes.
var resources = []struct{ prefix, name string }{
	{"kube_pod_", "pods"},
	{"kube_node_", "nodes"},
	{"kube_namespace_", "namespaces"},
	{"kube_service_", "services"},
	{"kube_replicaset_", "replicasets"},
	{"kube_job_", "jobs"},
	{"kube_persistentvolumeclaim_", "persistentvolumeclaims"},
	{"kube_persistentvolume_", "persistentvolumes"},
	{"kube_endpoint_", "endpoints"},
	{"kube_endpointslice_", "endpointslices"},
}

// keep says how a program that is scraped, or what stands between it and Prometheus, is brought to keep a metric.
func (e *program) keep(metric string) string {
	if e.name != KubeStateMetrics {
		return e.dropped
	}
	kind := ""
	for _, r := range resources {
		if strings.HasPrefix(metric, r.prefix) {
			kind = r.name
		}
	}
	return fmt.Sprintf("add %s to its --metric-allowlist and %s to its --resources where it has these flags, and the metric to the keep list of a managed Prometheus or of metricRelabelings", metric, kind)
}
