package promquery

import (
	"regexp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Clusters says which cluster a series belongs to: the value of the first of Labels that it has, else Default.
type Clusters struct {
	Labels  []string
	Default string
}

// stage says which alternatives a question is for.
type stage uint8

const (
	always   stage = iota // all but what follows
	standIn               // usage that stands in for a missing running signal
	infos                 // infos of containers, which stand in for it, too
	phases                // phases of pods, which infos need
	lazily                // starts, which go with any of these
	levels                // usage by gauges, which finds containers that nothing else knows
	counters              // usage by counters
	moving                // counters of pods' bytes
	borders               // counters of nodes, which matter only at the borders of sets
	waiting               // when pods waited for their containers
	priced                // what things cost, and which nodes are spot
	starts                // when init containers started
	disks                 // how full volumes and nodes' own disks are
	unseen                // what became of pods that no scrape saw running
	restarts              // how often containers of pods with unknown starts were restarted
	owners                // who owns pods
	metadata              // labels and annotations of pods
	numStages
)

// stageNames name the stages in readings and errors.
var stageNames = [numStages]string{always: "inputs", standIn: "inputs that stand in for the running signal", infos: "infos that stand in for the running signal", phases: "phases of pods", lazily: "inputs that go with those", levels: "levels of usage", counters: "counters of usage", moving: "counters of bytes", disks: "levels of disks", borders: "counters of nodes", waiting: "pods that wait", priced: "prices", starts: "starts of init containers", unseen: "pods that no scrape saw running", restarts: "restarts of containers", owners: "owners of pods", metadata: "labels and annotations of pods"}

// allStages are all stages, for questions about everything.
func allStages() (all []stage) {
	for s := range numStages {
		all = append(all, s)
	}
	return all
}

// reader turns the series of one selector into what the builder takes.
type reader struct {
	series    signals.Series
	elements  [][]int                // for each key element, its possible indexes in the source's key
	price     bool                   // of metrics that are prices
	own       bool                   // of metrics that promcost exposes, too
	target    [len(targetLabels)]int // the indexes of these labels in the source's key, for such metrics
	pod       int                    // key element that is the pod's name, -1 if none
	tail      string
	tailNames []string // for label maps: the names of the elements' labels
	key       []Symbol
	found     *tally
}

// plan is a question: selectors and who reads their answers.
type plan struct {
	sels    []Selector
	readers []reader
	symbols *Symbols
	cluster Symbol
	times   *frame
	// exported is set once a series named its pod by exported_pod.
	exported bool
	own      *ownTargets
	dropped  int64    // series of a promcost
	unsure   bool     // the series that was read last is a price that may be promcost's
	doubted  bool     // there was such a series
	picked   []Symbol // scratch of read
}

var none Symbol // of ""

// objects are the key elements that a scrape without honor_labels renames to exported_….
var objects = []string{"namespace", "pod", "container", "node", "uid", "service"}

// stageOf is the stage that an alternative of an input belongs to.
func (in *Input) stageOf(rank int) stage {
	switch {
	case in.Signal == signals.ContainerLevel:
		return levels
	case in.Signal == signals.ContainerUse:
		return counters
	case in.Signal == signals.PodTransmitted, in.Signal == signals.PodReceived, in.Signal == signals.PodEgress:
		return moving
	case in.Signal == signals.NodeDiskUsed, in.Signal == signals.ClaimUsed:
		return disks
	case in.Signal == signals.NodeTime:
		return borders
	case in.Alternatives[rank].Price:
		return priced
	case in.Signal == signals.PodScheduled, in.Signal == signals.PodPending:
		return waiting
	case in.Lazy == lazyStarts:
		return starts
	case in.Lazy == lazyUnseen:
		return unseen
	case in.Lazy == lazyRestarts:
		return restarts
	case in.Lazy == lazyOwners:
		return owners
	case in.Lazy == lazyOnly || in.Lazy > 0 && rank >= in.Lazy:
		switch {
		case in.Signal == signals.PodPhaseRunning:
			return phases
		case in.Signal != signals.ContainerRunning:
			return lazily
		case in.Alternatives[rank].CgroupUID:
			return standIn
		}
		return infos
	case in.Signal.IsMetadata():
		return metadata
	}
	return always
}

// How many metrics are asked for at once: pods have half as many series as containers, or fewer. If an input that should have few
// series has many after all, an answer is that many times as large.
const (
	manyAtOnce = 12
	podsAtOnce = 2
)

// atOnce is how many metrics like an alternative of an input may be asked for at once. Inputs that are not about pods mostly have
// few series, and so have rare ones and stand-ins for a metric that is mostly there. But an input that is asked for because that
// one is missing will have many.
func (in *Input) atOnce(rank int) int {
	key := in.Signal.Key()
	pods, containers := slices.Contains(key, "pod"), slices.Contains(key, "container")
	switch rare := rank > 0 || in.Need == Occasional; {
	case !pods && !containers, rare && !slices.Contains([]stage{standIn, infos, phases, lazily}, in.stageOf(rank)):
		return manyAtOnce
	case !containers:
		return podsAtOnce
	}
	return 1
}

// layout is what the question of an alternative has whatever the times it is asked for.
type layout struct {
	input, rank int
	stage       stage
	sel         Selector // without times
	reader      reader   // without a key of its own
}

// newLayouts are those of all alternatives of all inputs.
func newLayouts(clusterLabels []string) (all []layout) {
	for i := range Inputs {
		in := &Inputs[i]
		for rank := range in.Alternatives {
			l := layout{input: i, rank: rank, stage: in.stageOf(rank)}
			l.sel, l.reader = in.ask(rank, clusterLabels)
			all = append(all, l)
		}
	}
	return all
}

// ask is an alternative's selector and reader.
func (in *Input) ask(rank int, clusterLabels []string) (Selector, reader) {
	alt, elements := &in.Alternatives[rank], in.Signal.Key()
	sel := Selector{Metric: alt.Metric, Matchers: alt.Matchers, AtOnce: in.atOnce(rank), Input: in.Name}
	r := reader{
		series: signals.Series{Signal: in.Signal, Resource: in.Resource, Rank: in.Rank + rank, Init: in.Init, Unmarked: alt.CgroupUID, Scale: alt.Scale},
		pod:    slices.Index(elements, "pod"), tail: in.Signal.Tail(),
	}
	var keep []string
	for _, element := range elements {
		labels := alt.Labels[element]
		switch {
		case element == "cluster":
			labels = clusterLabels
		case element == "uid" && alt.CgroupUID:
			labels, sel.Cgroup = []string{"id"}, "id"
		case element == "series" && labels != nil:
			sel.Series = labels[0]
		case labels == nil:
			labels = []string{element}
		}
		if slices.Contains(objects, element) && (element != "uid" || !alt.CgroupUID) {
			labels = append([]string{"exported_" + labels[0]}, labels...)
		}
		var at []int
		for _, label := range labels {
			k := slices.Index(keep, label)
			if k < 0 {
				k, keep = len(keep), append(keep, label)
			}
			at = append(at, k)
		}
		r.elements = append(r.elements, at)
	}
	if alt.Own {
		r.own, r.price = true, alt.Price
		for i, label := range targetLabels {
			k := slices.Index(keep, label)
			if k < 0 {
				k, keep = len(keep), append(keep, label)
			}
			r.target[i] = k
		}
	}
	if r.tail == "" {
		sel.Keep = slices.Clip(keep)
	} else {
		r.tailNames = slices.Clip(keep)
	}
	return sel, r
}

// newPlan makes the question of some stages, for the times and on the grids of sels. It records in found what is read. Keys are made of
// symbols.
func (c *Config) newPlan(symbols *Symbols, found *findings, sels []Selector, stages ...stage) *plan {
	var layouts []*layout
	for i := range c.layouts {
		if l := &c.layouts[i]; slices.Contains(stages, l.stage) {
			layouts = append(layouts, l)
		}
	}
	n := len(layouts) * len(sels)
	p := &plan{symbols: symbols, cluster: symbols.Of(c.Clusters.Default), times: found.frame, sels: make([]Selector, 0, n), readers: make([]reader, 0, n)}
	for _, l := range layouts {
		for _, times := range sels {
			sel, r := l.sel, l.reader
			sel.Start, sel.End, sel.Step, sel.Last = times.Start, times.End, times.Step, times.Last
			r.key, r.found = make([]Symbol, len(r.elements)), found.tally(l.input, l.rank)
			p.sels, p.readers = append(p.sels, sel), append(p.readers, r)
		}
	}
	return p
}

// names are a regular expression of the names of some pods or containers.
type names struct{ element, re string }

// The most bytes of names that a source is asked for. VictoriaMetrics refuses queries of more than 16 KiB. Prometheus keeps names in
// a table if none has a dot, which has to be quoted. Else it compiles an expression, which takes 0.1 s for 256 KiB.
const (
	mostNames       = 12 << 10
	mostRawNames    = 256 << 10 // by remote read and of blocks
	mostDottedNames = 32 << 10  // the same, if a name has a dot
)

// mostLists is how many lists of names a server is asked for at most, one after the other.
const mostLists = 4

// namesOf are the names of a list, as lists of up to most bytes each; all names if those were more than lists.
func namesOf(element string, list []string, most, lists int) (out []names) {
	var re strings.Builder
	take := func() {
		if re.Len() > 0 {
			out = append(out, names{element, re.String()})
			re.Reset()
		}
	}
	for _, name := range list {
		name = regexp.QuoteMeta(name)
		if re.Len()+len("|")+len(name) > most {
			take()
		}
		if len(out) == lists || len(name) > most {
			return []names{{}}
		}
		if re.Len() > 0 {
			re.WriteByte('|')
		}
		re.WriteString(name)
	}
	take()
	return out
}

// onlyNamed leaves out the series of all pods or containers but those of some names. If exported, some series may have the names in the
// label exported_…: then there is another selector for these.
func (p *plan) onlyNamed(n names, exported bool) {
	for i := range p.sels {
		sel, r := &p.sels[i], &p.readers[i]
		k := slices.Index(r.series.Signal.Key(), n.element)
		if k < 0 {
			continue
		}
		labels := sel.Keep
		if r.tail != "" {
			labels = r.tailNames
		}
		with := func(m ...Matcher) []Matcher { return slices.Concat(sel.Matchers, m) }
		own, other := labels[r.elements[k][1]], labels[r.elements[k][0]]
		if !exported {
			sel.Matchers = with(matching(own, n.re))
			continue
		}
		renamed, reads := *sel, *r
		renamed.Matchers, reads.key = with(matching(other, n.re)), make([]Symbol, len(r.elements))
		sel.Matchers = with(matching(own, n.re), equal(other, ""))
		p.sels, p.readers = append(p.sels, renamed), append(p.readers, reads)
	}
}

// lookBack shortens the lookback of series that get no staleness markers.
func (p *plan) lookBack(lookback int64) {
	for i := range p.sels {
		if p.readers[i].series.Unmarked {
			p.sels[i].Lookback = lookback
		}
	}
}

// read makes the builder's key of a source's key. A series of a promcost says Nothing.
func (p *plan) read(i int, key []Symbol) (signals.Series, []Symbol) {
	r := &p.readers[i]
	labels := key
	if r.tail != "" {
		p.picked = pick(p.picked[:0], key, r.tailNames)
		labels = p.picked
	}
	out := r.key[:len(r.elements)]
	for e, at := range r.elements {
		out[e] = none
		for j, k := range at {
			if labels[k] != none {
				out[e] = labels[k]
				p.exported = p.exported || e == r.pod && j == 0
				break
			}
		}
	}
	series := r.series
	p.unsure = false
	if r.own {
		var at [len(targetLabels)]Symbol
		for k := range at {
			at[k] = labels[r.target[k]]
		}
		switch p.own.origin(out[0], targetOf(at), r.price) {
		case fromPromcost:
			series.Signal = signals.Nothing
		case fromEither:
			p.unsure = true
		case fromOthers:
		}
	}
	if out[0] == none {
		out[0] = p.cluster
	}
	if r.tail != "" {
		for k := 0; k+1 < len(key); k += 2 {
			if name, ok := strings.CutPrefix(key[k].Value(), r.tail); ok {
				out = append(out, p.symbols.Of(name), key[k+1])
			}
		}
		r.key = out[:len(r.elements)]
	}
	return series, out
}

// readPoints is read of a series whose samples are known: a price that may be promcost's is one if it is what promcost exposed.
func (p *plan) readPoints(i int, labels []Symbol, points *timeline.Points) (signals.Series, []Symbol, error) {
	series, key := p.read(i, labels)
	if !p.unsure {
		return series, key, nil
	}
	p.doubted = true
	v, ok := p.own.judged[exposedKey(p.sels[i].Metric, labels)]
	if !ok || v == perStretch {
		exposed, err := p.own.exposed()
		if err != nil {
			return series, key, err
		}
		v = exposed.verdict(p.sels[i].Metric, key, points)
	}
	switch v {
	case repeating:
		series.Repeats = true
	case ofPromcost:
		series.Signal = signals.Nothing
	case ofOthers, perStretch:
	}
	return series, key, nil
}

// note counts what a source yields for inputs.
func (p *plan) note(i int, key []Symbol, points *timeline.Points) error {
	series, key, err := p.readPoints(i, key, points)
	if err == nil && series.Signal != signals.Nothing {
		p.readers[i].found.add(key[0], points)
	}
	return err
}

// bare reports whether a series says nothing except that its object exists: kube-state-metrics has an empty list of labels for
// objects whose labels it must not export.
func (r *reader) bare(key []Symbol) bool {
	return r.tail != "" && len(key) == len(r.elements)
}

// pick appends to dst the values of names among alternating names and values.
func pick(dst, key []Symbol, names []string) []Symbol {
	for _, name := range names {
		found := none
		for k := 0; k+1 < len(key); k += 2 {
			if key[k].Value() == name {
				found = key[k+1]
			}
		}
		dst = append(dst, found)
	}
	return dst
}
