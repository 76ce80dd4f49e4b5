package encode

import (
	"encoding/json"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
)

// The member explain of an answer, one element a computation: an answer about a window that has not ended is made of
// several. What a source was asked for is summed by input: a request for several counts for the one that it brought the
// most bytes of, its bytes and its seconds are shared. requestSeconds are of all requests, which may be on their way at a
// time.
//
//	{"computations": [{
//	  "window": {"start": …, "end": …}, "resolution": "1m", "scrapeInterval": "30s",
//	  "seconds": {"total": 0.31, "read": 0.2, "integrate": 0.1},
//	  "sources": [{"name": "blocks", "until": …, "seconds": …, "requests": …, "samples": …, "bytes": …, "retries": …, "errors": …, "requestSeconds": …, "series": …,
//	    "inputs": [{"name": "cpu usage", "requests": …, "samples": …, "bytes": …, "retries": …, "errors": …, "requestSeconds": …}, …]}, …],
//	  "stages": [{"name": "inputs", "seconds": …, "requests": …, "samples": …, "bytes": …}, …],
//	  "inputs": [{"name": "running", "alternatives": [{"metric": …, "series": …, "samples": …, "clusters":
//	    [{"cluster": …, "series": …, "samples": …}]}]}, …]}],
//	 "prices": [{"source": "node_cpu_hourly_cost", "kind": "metric", "cost": …, "share": 0.6}, …]}
//
// prices say what everything in the window costs by the sources of prices, dearest first, at list price, whatever the answer selects: see rates.SourceKind
// for their kinds.
type (
	explanation struct {
		Computations []computation `json:"computations"`
		Prices       []pricedBy    `json:"prices"`
	}
	pricedBy struct {
		Source string           `json:"source"`
		Kind   rates.SourceKind `json:"kind"`
		Cost   float64          `json:"cost"`
		Share  float64          `json:"share"`
	}
	computation struct {
		Window         window   `json:"window"`
		Resolution     string   `json:"resolution"`
		ScrapeInterval string   `json:"scrapeInterval"`
		Seconds        seconds  `json:"seconds"`
		Sources        []source `json:"sources"`
		Stages         []stage  `json:"stages"`
		Inputs         []input  `json:"inputs"`
	}
	window struct {
		Start time.Time `json:"start"`
		End   time.Time `json:"end"`
	}
	// seconds are how long the computation took in total, and how much of that it waited for samples (read) and computed costs
	// (integrate).
	seconds struct {
		Total     float64 `json:"total"`
		Read      float64 `json:"read"`
		Integrate float64 `json:"integrate"`
	}
	// source is what one source was asked for. From and until are there if it was asked for a part of the time only.
	source struct {
		Name  string     `json:"name"`
		From  *time.Time `json:"from,omitempty"`
		Until *time.Time `json:"until,omitempty"`
		taken
		requests
		Series int64 `json:"series"`
		Inputs []use `json:"inputs"`
	}
	// use is what was read from a source for an input.
	use struct {
		Name     string `json:"name"`
		Requests int64  `json:"requests"`
		Samples  int64  `json:"samples"`
		Bytes    int64  `json:"bytes"`
		requests
	}
	requests struct {
		Retries    int64   `json:"retries"`
		Errors     int64   `json:"errors"`
		Requesting float64 `json:"requestSeconds"`
	}
	stage struct {
		Name string `json:"name"`
		taken
	}
	taken struct {
		Seconds  float64 `json:"seconds"`
		Requests int64   `json:"requests"`
		Samples  int64   `json:"samples"`
		Bytes    int64   `json:"bytes"`
	}
	input struct {
		Name         string        `json:"name"`
		Alternatives []alternative `json:"alternatives"`
	}
	alternative struct {
		Metric   string    `json:"metric"`
		Series   int64     `json:"series"`
		Samples  int64     `json:"samples"`
		Clusters []cluster `json:"clusters"`
	}
	cluster struct {
		Cluster string `json:"cluster"`
		Series  int64  `json:"series"`
		Samples int64  `json:"samples"`
	}
)

// explain is the JSON of the member explain.
func (o *Options) explain() []byte {
	e := explanation{Computations: []computation{}, Prices: []pricedBy{}}
	for _, r := range o.Explain {
		e.Computations = append(e.Computations, explainOne(r, o.location()))
	}
	total := 0.0
	for _, x := range o.PricedBy {
		total += x.Cost
	}
	for _, x := range o.PricedBy {
		e.Prices = append(e.Prices, pricedBy{x.Source, rates.Kind(x.Source), x.Cost, x.Cost / total})
	}
	return marshal(e)
}

// marshal encodes values that cannot fail to encode.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: encode " + err.Error())
	}
	return b
}

func explainOne(r *allocation.Reading, in *time.Location) computation {
	c := computation{
		Window:     window{r.Window.Start.In(in), r.Window.End.In(in)},
		Resolution: allocation.ResolutionText(r.Resolution), ScrapeInterval: interval(r.ScrapeInterval),
		Seconds: seconds{r.Total.Seconds(), r.Read.Seconds(), r.Integrate.Seconds()},
		Sources: explainSources(r.Sources, in), Stages: []stage{}, Inputs: []input{},
	}
	for _, s := range r.Stages {
		c.Stages = append(c.Stages, stage{s.Name, taken{s.Took.Seconds(), s.Requests, s.Samples, s.Bytes}})
	}
	for _, i := range r.Inputs {
		x := input{Name: i.Name}
		for _, a := range i.Alternatives {
			y := alternative{Metric: a.Metric, Clusters: []cluster{}}
			for _, k := range a.Clusters {
				y.Series, y.Samples = y.Series+k.Series, y.Samples+k.Samples
				y.Clusters = append(y.Clusters, cluster(k))
			}
			x.Alternatives = append(x.Alternatives, y)
		}
		c.Inputs = append(c.Inputs, x)
	}
	return c
}

func explainSources(sources []allocation.SourceReading, in *time.Location) []source {
	out := []source{}
	for _, s := range sources {
		x := source{
			Name: s.Name, From: instant(s.From, in), Until: instant(s.Until, in), Series: s.Series, Inputs: []use{},
			taken: taken{s.Took.Seconds(), s.Requests, s.Samples, s.Bytes}, requests: requests{s.Retries, s.Errors, s.Requesting.Seconds()},
		}
		for _, i := range s.Inputs {
			x.Inputs = append(x.Inputs, use{i.Input, i.Requests, i.Samples, i.Bytes, requests{i.Retries, i.Errors, i.Requesting.Seconds()}})
		}
		out = append(out, x)
	}
	return out
}

// instant is t in a time zone, nil for the zero time.
func instant(t time.Time, in *time.Location) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.In(in)
	return &t
}
