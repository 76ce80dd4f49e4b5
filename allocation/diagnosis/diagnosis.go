package diagnosis

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// State is how an input is served.
type State string

// The states of an input.
const (
	Found    State = "found"    // by the best alternative
	Fallback State = "fallback" // by a later one only
	Sheet    State = "sheet"    // prices: by the price sheet that is given
	None     State = "none"     // by none, which may be right: the cluster may have nothing of the kind
	Missing  State = "missing"  // by none
)

// Diagnosis says which inputs a source has.
type Diagnosis struct {
	Window   allocation.Window // that was looked at
	Sources  []allocation.SourceReading
	Oldest   time.Time // oldest sample of the source if it knows, otherwise of the window
	Clusters []Cluster // by name
	// Nothing says that the source has no input at all. Clusters then has one cluster, with the inputs that must be there, and Jobs are what
	// the source scrapes instead, by name.
	Nothing  bool
	Jobs     []Job
	Warnings []string // of the source
	Prices   []Price  // of the last hour of the window, dearest first; empty where nothing is known to cost anything
}

// Job is a job that a Prometheus scrapes.
type Job struct {
	Name        string
	Targets, Up int // how many targets it has, and how many of them are up
}

// Complete reports whether every cluster has, in all of the window, what no computation can do without.
func (d *Diagnosis) Complete() bool {
	for i := range d.Clusters {
		if len(d.Clusters[i].Uncovered) > 0 {
			return false
		}
		for _, in := range d.Clusters[i].Inputs {
			if in.Required && in.State == Missing {
				return false
			}
		}
	}
	return len(d.Clusters) > 0
}

// Cluster says what a source has of one cluster.
type Cluster struct {
	Cluster        string
	ScrapeInterval time.Duration       // the median over all inputs' series; 0 where no series shows one
	Oldest, Newest time.Time           // sample of any input in the window
	Uncovered      []allocation.Window // parts of the window in which some required input has no sample although it has some elsewhere, ascending
	Inputs         []Input
	Problems       []string // what is wrong with the inputs that exist: lost labels, failing targets
}

// Input says what a source has of an input.
type Input struct {
	Name           string
	State          State
	Required       bool // without it nothing can be computed
	Alternatives   []Metric
	ScrapeInterval time.Duration // 0 where no series shows one
	Oldest, Newest time.Time     // sample in the window; zero where there is none
	// Missing says what is lost without the input, or that another metric replaces the best one. Remedy says how to mend it.
	// Both are empty where the input is complete.
	Missing, Remedy string
}

// Metric is a metric that serves an input.
type Metric struct {
	Metric string
	Series int64
}
