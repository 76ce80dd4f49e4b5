package manifest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
)

// controllerSpec is what the specs of controllers have.
type controllerSpec struct {
	Replicas             *int
	Template             template
	VolumeClaimTemplates []struct {
		Metadata struct{ Name string }
		Spec     claimSpec
	} `yaml:"volumeClaimTemplates"`
	WorkloadRef *yaml.Node `yaml:"workloadRef"` // of Rollouts, in place of a template
}

type template struct{ Spec podSpec }

// podSpec is what decides what a pod costs.
type podSpec struct {
	Containers     []container
	InitContainers []container       `yaml:"initContainers"`
	NodeSelector   map[string]string `yaml:"nodeSelector"`
	Resources      resources
	Affinity       struct {
		NodeAffinity struct {
			Required *yaml.Node `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
		} `yaml:"nodeAffinity"`
	}
	Volumes []struct {
		Name      string
		Ephemeral *yaml.Node
	}
}

type container struct {
	Name          string
	RestartPolicy string `yaml:"restartPolicy"`
	Resources     resources
}

type resources struct {
	Requests, Limits map[string]quantity
	Claims           []yaml.Node
}

type claimSpec struct {
	StorageClassName string `yaml:"storageClassName"`
	Resources        resources
}

// decode decodes a part of an object.
func (p *parser) decode(id Object, field string, n *yaml.Node, to any) error {
	if n.Kind == 0 {
		return p.fail(id, field, errors.New("it is missing: give one"))
	}
	if err := n.Decode(to); err != nil {
		return p.fail(id, field, fmt.Errorf("it cannot be read: %s: write it as Kubernetes has it", plain(err)))
	}
	return nil
}

// replicated reads a controller with a template of its pods.
func (p *parser) replicated(id Object, n *yaml.Node) error {
	var spec controllerSpec
	if err := p.decode(id, "spec", n, &spec); err != nil {
		return err
	}
	if spec.WorkloadRef != nil {
		p.out.Unpriced = append(p.out.Unpriced, id)
		return nil
	}
	if n := spec.Replicas; n != nil && (*n < 0 || *n > math.MaxInt32) {
		return p.fail(id, "spec.replicas", fmt.Errorf("%d is below 0 or above %d: give a number such as 3", *n, math.MaxInt32))
	}
	w, err := p.workload(id, "spec.template.spec", &spec.Template.Spec)
	if err != nil {
		return err
	}
	w.Replicas = spec.Replicas
	if n := len(spec.VolumeClaimTemplates); n > MaxContainers {
		return p.fail(id, "spec.volumeClaimTemplates", fmt.Errorf("there are %d, at most %d are allowed: split them", n, MaxContainers))
	}
	for i, c := range spec.VolumeClaimTemplates {
		claim, err := p.claimOf(id, fmt.Sprintf("spec.volumeClaimTemplates[%d].spec", i), &c.Spec)
		if err != nil {
			return err
		}
		claim.Namespace, claim.Name = id.Namespace, c.Metadata.Name+"-"+id.Name
		w.Claims = append(w.Claims, claim)
	}
	p.out.Workloads = append(p.out.Workloads, *w)
	return nil
}

// cronJob reads a CronJob.
func (p *parser) cronJob(id Object, n *yaml.Node) error {
	var spec struct {
		JobTemplate struct{ Spec controllerSpec } `yaml:"jobTemplate"`
	}
	if err := p.decode(id, "spec", n, &spec); err != nil {
		return err
	}
	w, err := p.workload(id, "spec.jobTemplate.spec.template.spec", &spec.JobTemplate.Spec.Template.Spec)
	if err == nil {
		p.out.Workloads = append(p.out.Workloads, *w)
	}
	return err
}

// pod reads a pod of its own.
func (p *parser) pod(id Object, n *yaml.Node) error {
	var spec podSpec
	if err := p.decode(id, "spec", n, &spec); err != nil {
		return err
	}
	w, err := p.workload(id, "spec", &spec)
	if err == nil {
		one := 1
		w.Replicas = &one
		p.out.Workloads = append(p.out.Workloads, *w)
	}
	return err
}

// workload reads the spec of pods.
func (p *parser) workload(id Object, field string, spec *podSpec) (*Workload, error) {
	if len(spec.Containers) == 0 {
		return nil, p.fail(id, field+".containers", errors.New("there are none: a pod has at least one"))
	}
	if n := len(spec.Containers) + len(spec.InitContainers); n > MaxContainers {
		return nil, p.fail(id, field+".containers", fmt.Errorf("there are %d, at most %d are allowed: split the pod", n, MaxContainers))
	}
	for key := range spec.NodeSelector {
		p.selectors[key] = true
	}
	if n := len(p.selectors); n > MaxSelectors {
		return nil, p.fail(id, field+".nodeSelector", fmt.Errorf("with those before there are %d different labels, at most %d are allowed: split the manifests", n, MaxSelectors))
	}
	w := &Workload{Object: id, NodeSelector: spec.NodeSelector}
	for i, c := range spec.InitContainers {
		if err := p.container(w, fmt.Sprintf("%s.initContainers[%d]", field, i), c, c.RestartPolicy != "Always"); err != nil {
			return nil, err
		}
	}
	first := len(w.Containers)
	for i, c := range spec.Containers {
		if err := p.container(w, fmt.Sprintf("%s.containers[%d]", field, i), c, false); err != nil {
			return nil, err
		}
	}
	pod, _, err := p.requests(id, field+".resources", &spec.Resources)
	if err != nil {
		return nil, err
	}
	w.reserve(pod, first)
	w.noteInits()
	if spec.Affinity.NodeAffinity.Required != nil {
		w.note("node affinity is not looked at: prices are those of all nodes that the nodeSelector selects")
	}
	for _, v := range spec.Volumes {
		if v.Ephemeral != nil {
			w.note("the ephemeral volume " + shorten(v.Name) + " is not priced")
		}
	}
	return w, nil
}

// note adds a note, once, unless there are many.
func (w *Workload) note(text string) {
	if len(w.Notes) < maxNotes && !slices.Contains(w.Notes, text) {
		w.Notes = append(w.Notes, text)
	}
}

// container adds a container.
func (p *parser) container(w *Workload, field string, c container, init bool) error {
	if c.Name == "" {
		return p.fail(w.Object, field+".name", errors.New("it is missing: give one"))
	}
	if slices.ContainsFunc(w.Containers, func(o Container) bool { return o.Name == c.Name }) {
		return p.fail(w.Object, field+".name", fmt.Errorf("%q is the name of another container: give each its own", shorten(c.Name)))
	}
	request, others, err := p.requests(w.Object, field+" ("+shorten(c.Name)+"): resources", &c.Resources)
	if err != nil {
		return err
	}
	for _, name := range others {
		w.note("requests of " + shorten(name) + " are not priced")
	}
	if len(c.Resources.Claims) > 0 {
		w.note("claims of devices are not priced")
	}
	w.Containers = append(w.Containers, Container{Name: c.Name, Init: init, Request: request})
	return nil
}

// reserve adds what a pod requests as a whole beyond its containers, evenly to those that run all the time.
func (w *Workload) reserve(pod [allocation.NumResources]float64, first int) {
	sum := w.Request()
	for r := range pod {
		if more := pod[r] - sum[r]; pod[r] > 0 && more > 0 {
			for i := range w.Containers[first:] {
				w.Containers[first+i].Request[r] += more / float64(len(w.Containers)-first)
			}
		}
	}
}

// noteInits notes an init container for which the scheduler reserves more than for the others, as long as it runs.
func (w *Workload) noteInits() {
	most, before := w.Request(), [allocation.NumResources]float64{}
	for _, c := range w.Containers {
		for r := range c.Request {
			if c.Init && before[r]+c.Request[r] > most[r] {
				w.note("init container " + shorten(c.Name) + " requests more than the pod does later: that is counted only as long as it was seen to run")
			}
			if !c.Init {
				before[r] += c.Request[r]
			}
		}
	}
}

// claim reads a PersistentVolumeClaim.
func (p *parser) claim(id Object, n *yaml.Node) error {
	var spec claimSpec
	if err := p.decode(id, "spec", n, &spec); err != nil {
		return err
	}
	claim, err := p.claimOf(id, "spec", &spec)
	if err == nil {
		claim.Namespace, claim.Name = id.Namespace, id.Name
		p.out.Claims = append(p.out.Claims, claim)
	}
	return err
}

func (p *parser) claimOf(id Object, field string, spec *claimSpec) (Claim, error) {
	size, ok := spec.Resources.Requests["storage"]
	if !ok {
		return Claim{}, p.fail(id, field+".resources.requests.storage", errors.New("it is missing: give one such as 10Gi"))
	}
	n, err := size.parse("storage")
	if err != nil {
		return Claim{}, p.fail(id, field+".resources.requests.storage", err)
	}
	return Claim{Class: spec.StorageClassName, Bytes: n}, nil
}

// scaler reads a HorizontalPodAutoscaler.
func (p *parser) scaler(id Object, n *yaml.Node) error {
	var spec struct {
		Target struct{ Kind, Name string } `yaml:"scaleTargetRef"`
		Min    *int                        `yaml:"minReplicas"`
		Max    int                         `yaml:"maxReplicas"`
	}
	if err := p.decode(id, "spec", n, &spec); err != nil {
		return err
	}
	s := Scaler{Object: Object{spec.Target.Kind, id.Namespace, spec.Target.Name}, Least: 1, Most: max(0, spec.Max)}
	if spec.Min != nil {
		s.Least = max(0, *spec.Min)
	}
	p.out.Scalers = append(p.out.Scalers, s)
	return nil
}

// gpuResources are the extended resources that are whole GPUs.
var gpuResources = []string{"nvidia.com/gpu", "amd.com/gpu"}

// requests are what is requested: of what has only a limit, as much as that. others are resources that nobody prices.
func (p *parser) requests(id Object, field string, r *resources) (amounts [allocation.NumResources]float64, others []string, err error) {
	all := map[string]float64{}
	for _, list := range []struct {
		name string
		of   map[string]quantity
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for _, name := range slices.Sorted(maps.Keys(list.of)) {
			if all[name], err = list.of[name].parse(name); err != nil {
				return amounts, nil, p.fail(id, field+"."+list.name+"."+shorten(name), err)
			}
		}
	}
	amounts[allocation.CPU], amounts[allocation.RAM] = all["cpu"], all["memory"]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case slices.Contains(gpuResources, name):
			amounts[allocation.GPU] += all[name]
		case !slices.Contains(freeResources, name) && all[name] > 0:
			others = append(others, name)
		}
	}
	return amounts, others, nil
}

// freeResources are resources that need no note: they have a price, or none of their own.
var freeResources = []string{"cpu", "memory", "ephemeral-storage"}
