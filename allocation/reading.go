package allocation

import (
	"strings"
	"time"
)

// Reading describes what a computation read from its sources. The sets of one computation share it. It does not change after
// they are made.
type Reading struct {
	Window         Window        // of all sets of the computation
	Resolution     time.Duration // used; 0 in exact mode
	ScrapeInterval time.Duration // measured, or assumed where too few samples show one
	Total          time.Duration // duration of the whole computation
	Read           time.Duration // of which waiting for samples and decoding them
	Integrate      time.Duration // of which making costs of them
	Sources        []SourceReading
	Stages         []StageReading // in the order of reading
	Inputs         []InputReading // that were asked for, in the order of the table of inputs
}

// SourceReading is what was read from one source.
type SourceReading struct {
	Name string // how it is read: remote-read, query, blocks, …
	// From and Until bound the times that the source was asked for, half-open; a zero one is no bound. Requests that fill
	// what an older source lacks do not count.
	From, Until time.Time
	Took        time.Duration // time of reading, including the integration done meanwhile
	Requests    int64         // sent, or blocks opened
	Series      int64
	Samples     int64
	Bytes       int64 // received, or of chunks
	Retries     int64 // requests that repeat a failed one
	Errors      int64 // requests that failed, and failures to read without a request
	// Requesting is the sum of the durations of all requests. It is more than Took if requests run at the same time.
	Requesting time.Duration
	Inputs     []InputUse // by input; the sums over them are those above
}

// InputUse is what was read from a source for one input. A request for several inputs counts for the input with most bytes,
// and so does its retry or failure. Its bytes and its time are divided among them.
type InputUse struct {
	Input      string // or the name of another request
	Requests   int64
	Retries    int64
	Errors     int64
	Samples    int64
	Bytes      int64
	Requesting time.Duration   // of the time of requests, divided like their bytes
	Durations  []time.Duration // of each of Requests, undivided
}

// StageReading is what one step of a computation read; answers call it a stage. Steps run one after the other.
type StageReading struct {
	Name     string
	Took     time.Duration // including the integration done meanwhile
	Requests int64
	Samples  int64
	Bytes    int64
}

// InputReading is what was read of an input.
type InputReading struct {
	Name         string
	Alternatives []AlternativeReading // that were asked for, best first
}

// AlternativeReading is what was read of a metric.
type AlternativeReading struct {
	Metric   string
	Clusters []ClusterReading // that had any, by name
}

// ClusterReading is what was read of a metric in one cluster.
type ClusterReading struct {
	Cluster string
	Series  int64 // a series that came in several answers may count more than once
	Samples int64
}

// ResolutionText formats a resolution for answers: 1m, 30s, 1h30m; exact for 0, auto for AutoResolution.
func ResolutionText(r time.Duration) string {
	if r == 0 {
		return "exact"
	}
	if r == AutoResolution {
		return "auto"
	}
	text := r.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
