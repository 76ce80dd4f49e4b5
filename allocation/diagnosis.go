package allocation

import "time"

// InputState is how an input is served.
type InputState string

// The states of an input.
const (
	InputFound    InputState = "found"    // by the best alternative
	InputFallback InputState = "fallback" // by a later one only
	InputSheet    InputState = "sheet"    // prices: by the price sheet that is given
	InputNone     InputState = "none"     // by none, which may be right: the cluster may have nothing of the kind
	InputMissing  InputState = "missing"  // by none
)

// Diagnosis is what a source has of each input.
type Diagnosis struct {
	Window   Window // that was looked at
	Sources  []SourceReading
	Oldest   time.Time          // of the source's samples, where it knows; else of those in the window
	Clusters []ClusterDiagnosis // by name
	Warnings []string           // of the source
}

// Complete reports whether every cluster has, in all of the window, what no computation can do without.
func (d *Diagnosis) Complete() bool {
	for i := range d.Clusters {
		if len(d.Clusters[i].Uncovered) > 0 {
			return false
		}
		for _, in := range d.Clusters[i].Inputs {
			if in.Required && in.State == InputMissing {
				return false
			}
		}
	}
	return len(d.Clusters) > 0
}

// ClusterDiagnosis is what a source has of a cluster.
type ClusterDiagnosis struct {
	Cluster        string
	ScrapeInterval time.Duration // the median over all inputs' series; 0 where no series shows one
	Oldest, Newest time.Time     // sample of any input in the window
	Uncovered      []Window      // of the window, what has no sample of some required input that is there otherwise, ascending
	Inputs         []InputDiagnosis
	Problems       []string // what is wrong with what is there: labels that are lost, targets that are gone
}

// InputDiagnosis is what a source has of an input.
type InputDiagnosis struct {
	Name           string
	State          InputState
	Required       bool // without it nothing can be computed
	Alternatives   []MetricDiagnosis
	ScrapeInterval time.Duration // 0 where no series shows one
	Oldest, Newest time.Time     // sample in the window; zero where there is none
	// Missing and Remedy say what it costs not to have the input, or that another metric stands in for the best one, and what
	// mends it; empty where it is there.
	Missing, Remedy string
}

// MetricDiagnosis is a metric that serves an input.
type MetricDiagnosis struct {
	Metric string
	Series int64
}
