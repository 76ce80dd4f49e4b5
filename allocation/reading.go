package allocation

import (
	"strings"
	"time"
)

// Reading is what a computation took of its source and found there. The sets of one computation share it, and it is not
// changed once they are made.
type Reading struct {
	Window         Window        // of all sets of the computation
	Resolution     time.Duration // that was used: 0 in exact mode
	ScrapeInterval time.Duration // that was found, or assumed where too few samples show one
	Total          time.Duration // of the whole computation
	Read           time.Duration // of it, waiting for samples and decoding them
	Integrate      time.Duration // of it, making costs of them
	Sources        []SourceReading
	Stages         []StageReading // in the order they were read
	Inputs         []InputReading // those that were asked for, in the order of the table of inputs
}

// SourceReading is what was taken of one source.
type SourceReading struct {
	Name string // how it is read: remote-read, query, blocks, …
	// From and Until bound the times that the source was asked for, half-open, but for what it had to fill that an older source
	// lacks; a zero one is no bound.
	From, Until time.Time
	Took        time.Duration // of reading it, integrating what came meanwhile included
	Requests    int64         // sent, or blocks opened
	Series      int64
	Samples     int64
	Bytes       int64 // received, or of chunks
	Retries     int64 // of Requests, those that repeat one that failed
	Errors      int64 // of Requests, those that failed, and failures to read without a request
	// Requesting is how long all requests took: more than Took where several are on their way at a time.
	Requesting time.Duration
	Inputs     []InputUse // what was taken for each, by name: the sums over them are those above
}

// InputUse is what was taken of a source for one input. A request that asks for several counts for the one that it brought
// the most bytes of, with its retry or failure; its bytes and its time are shared by them.
type InputUse struct {
	Input      string // or what else was asked for
	Requests   int64
	Retries    int64
	Errors     int64
	Samples    int64
	Bytes      int64
	Requesting time.Duration   // of the time of requests, a part like that of their bytes
	Durations  []time.Duration // of Requests, each as a whole
}

// StageReading is what one of the questions took that a computation asks one after the other.
type StageReading struct {
	Name     string
	Took     time.Duration // integrating what came meanwhile included
	Requests int64
	Samples  int64
	Bytes    int64
}

// InputReading is what was read of an input.
type InputReading struct {
	Name         string
	Alternatives []AlternativeReading // those that were asked for, best first
}

// AlternativeReading is what a metric gave.
type AlternativeReading struct {
	Metric   string
	Clusters []ClusterReading // those that had any, by name
}

// ClusterReading is what a metric gave of one cluster.
type ClusterReading struct {
	Cluster string
	Series  int64 // one that came in several answers may count more than once
	Samples int64
}

// ResolutionText names a resolution in answers: 1m, 30s, 1h30m; exact for 0, auto for AutoResolution.
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
