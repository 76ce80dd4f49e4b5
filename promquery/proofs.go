package promquery

import (
	"fmt"
	"maps"
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

// prove records of what objects a series of the input proves something. shown has a set of them for each proof.
func (c *clusterTally) prove(input int, key []Symbol, p *timeline.Points) {
	list := proofs[input]
	if len(list) == 0 {
		return
	}
	if c.shown == nil {
		c.shown = make([]map[object]struct{}, len(list))
	}
	in := &Inputs[input]
	var of object
	_, elements := in.objects()
	copy(of[:], key[1:1+elements])
	for i, x := range list {
		if !x.holds(in, key, p) {
			continue
		}
		if c.shown[i] == nil {
			c.shown[i] = map[object]struct{}{}
		}
		c.shown[i][of] = struct{}{}
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

// proven is what shows that an input should be there, and of which objects.
type proven struct {
	metric  string   // that shows it
	many    string   // how the objects are called
	objects []string // by name; none where the metric's series are not of any
}

// proof is the first proof of the table that an input of a cluster should be there; nil without any.
func (f *findings) proof(in *Input, cluster Symbol) *proven {
	for _, x := range in.With {
		i := slices.IndexFunc(Inputs, func(other Input) bool { return other.Name == x.Input })
		at := slices.Index(proofs[i], x)
		for rank := range f.inputs[i] {
			for k := range f.inputs[i][rank].clusters {
				if c := &f.inputs[i][rank].clusters[k]; c.cluster == cluster && c.shown != nil && len(c.shown[at]) > 0 {
					return newProven(&Inputs[i], rank, c.shown[at])
				}
			}
		}
	}
	return nil
}

// newProven is what series of an input's alternative show of objects.
func newProven(in *Input, rank int, of map[object]struct{}) *proven {
	out := &proven{metric: in.Alternatives[rank].Metric}
	if out.many, _ = in.objects(); out.many == "" {
		return out
	}
	for x := range maps.Keys(of) {
		name := x[0].Value()
		if x[1] != none {
			name += "/" + x[1].Value()
		}
		out.objects = append(out.objects, name)
	}
	slices.Sort(out.objects)
	return out
}

// cost is what is lost without an input, and of what.
func (x *proven) cost(lost string) string {
	if x == nil || len(x.objects) == 0 {
		return lost
	}
	return lost + "; " + notices.Concerned.Text(len(x.objects), x.objects, x.metric, x.many)
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
	if e.name != kubeState {
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
