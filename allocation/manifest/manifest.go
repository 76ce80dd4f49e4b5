package manifest

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
)

// Manifests are the objects of a text, in its order.
type Manifests struct {
	Workloads []Workload
	Claims    []Claim  // of PersistentVolumeClaims
	Scalers   []Scaler // of HorizontalPodAutoscalers
	Unpriced  []Object // of other kinds
}

// Object identifies an object.
type Object struct {
	Kind      string // as Kubernetes spells it, such as DaemonSet
	Namespace string // empty where the manifest has none
	Name      string
}

// String names the object as in Deployment web/front.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Workload is an object that makes pods run, or a pod.
type Workload struct {
	Object
	Replicas     *int // nil where the manifest does not say
	Containers   []Container
	NodeSelector map[string]string
	Claims       []Claim  // of each replica; their names are completed by that of the replica
	Notes        []string // what it asks for and nobody prices
}

// Container is a container of the pods of a workload.
type Container struct {
	Name string
	// Init containers run before the others, unless they are sidecars.
	Init bool
	// Request is in cores, bytes and devices.
	Request [allocation.NumResources]float64
}

// Request returns what a pod requests while its regular containers and its sidecars run.
func (w *Workload) Request() (sum [allocation.NumResources]float64) {
	for i := range w.Containers {
		if !w.Containers[i].Init {
			for r, amount := range w.Containers[i].Request {
				sum[r] += amount
			}
		}
	}
	return sum
}

// Claim is a claim of a volume.
type Claim struct {
	Namespace, Name string
	Class           string // the default class where it is empty
	Bytes           float64
}

// Scaler is a HorizontalPodAutoscaler.
type Scaler struct {
	Object          // that it scales
	Least, Most int // replicas; Most is 0 where it has none
}

// Error says which object of a text is wrong, where, and how.
type Error struct {
	Document int    // from 1 on
	Object   string // what is known of it; may be empty
	Field    string // may be empty
	Err      error
}

// Error names the place first.
func (e *Error) Error() string {
	text := fmt.Sprintf("document %d", e.Document)
	if e.Object != "" {
		text += " (" + e.Object + ")"
	}
	if e.Field != "" {
		text += ": " + e.Field
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
