package promquery

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Clusters says which cluster a series belongs to: the value of the first of Labels that it has, else Default.
type Clusters struct {
	Labels  []string
	Default string
}

// reader turns the series of one request into what the builder takes.
type reader struct {
	series    signals.Series
	elements  [][]int                // for each key element, its possible indexes in the source's key
	price     bool                   // of metrics that are prices
	own       bool                   // of metrics that promcost exposes, too
	target    [len(targetLabels)]int // the indexes of these labels in the source's key, for such metrics
	pod       int                    // key element that is the pod's name, -1 if none
	cluster   int                    // the index in the source's key of the label cluster, -1 if it is not asked for
	tail      string
	tailNames []Label // for label maps: the elements' labels
	otel      *otelReader
	key       []Symbol
	found     *tally
}

// plan is a list of requests and who reads their answers.
type plan struct {
	rs      []Request
	readers []reader
	symbols *Symbols
	cluster Symbol
	times   *frame
	named   naming // how series named their pods
	own     *ownTargets
	otel    *otel
	dropped int64    // series of a promcost
	unsure  bool     // the series that was read last is a price that may be promcost's
	doubted bool     // there was such a series
	labeled bool     // the series that was read last has the label cluster
	picked  []Symbol // scratch of read
}

var none Symbol // of ""

// objects are the key elements that a scrape without honor_labels renames to exported_….
var objects = []string{"namespace", "pod", "container", "node", "uid", "service"}

// How many metrics are asked for at once: pods have half as many series as containers, or fewer. If an input that should have few
// series has many after all, an answer is that many times as large.
const (
	manyAtOnce = 12
	podsAtOnce = 2
)

// fallbackSignals take the place of a metric that is mostly there, or go with such signals. They have many series where they are asked for.
var fallbackSignals = []signals.Signal{signals.RunningByUsage, signals.RunningByInfo, signals.PodPhaseRunning, signals.ContainerCreated}

// atOnce is how many metrics like an alternative of an input may be asked for at once. Inputs that are not about pods mostly have
// few series, and so have rare ones and alternatives of a metric that is mostly there. But an input that is asked for because that
// one is missing will have many.
func (in *Input) atOnce(rank int) int {
	key := in.Signal.Key()
	pods, containers := slices.Contains(key, "pod"), slices.Contains(key, "container")
	switch rare := rank > 0 || in.Need == Occasional; {
	case !pods && !containers, rare && !slices.Contains(fallbackSignals, in.signal(rank)):
		return manyAtOnce
	case !containers:
		return podsAtOnce
	}
	return 1
}

// allSignals are the signals of all inputs.
func allSignals() (all []signals.Signal) {
	for s := range signals.NumSignals {
		all = append(all, s)
	}
	return all
}

// signal is the signal that an alternative carries.
func (in *Input) signal(rank int) signals.Signal {
	return cmp.Or(in.Alternatives[rank].Signal, in.Signal)
}

// layout is what all requests for an alternative have in common, whatever their times.
type layout struct {
	input, rank int
	dialect     dialect
	request     Request // without times
	reader      reader  // without a key of its own
}

// newLayouts are those of all alternatives of all inputs. pattern matches the resources that are GPUs.
func newLayouts(clusterLabels []string, pattern string) (all []layout) {
	for i := range Inputs {
		in := &Inputs[i]
		for rank := range in.Alternatives {
			if in.Alternatives[rank].OTel != nil {
				all = append(all, in.otelLayouts(i, rank, clusterLabels)...)
				continue
			}
			l := layout{input: i, rank: rank}
			l.request, l.reader = in.request(rank, clusterLabels, classic)
			if k := slices.IndexFunc(l.request.Matchers, func(m Matcher) bool { return m.Value == gpus }); k >= 0 && pattern != gpus {
				l.request.Matchers = slices.Clone(l.request.Matchers)
				l.request.Matchers[k].Value = pattern
			}
			all = append(all, l)
		}
	}
	return all
}

// otelLayouts are those of an alternative of OpenTelemetry, for all its spellings.
func (in *Input) otelLayouts(i, rank int, clusterLabels []string) (all []layout) {
	for d := underscores; d < numDialects; d++ {
		request, reader := in.request(rank, clusterLabels, d)
		for _, name := range in.Alternatives[rank].spellings(d) {
			request.Metric = name
			all = append(all, layout{i, rank, d, request, reader})
		}
	}
	return all
}

// request returns the request for an alternative in a dialect, and the reader of its series.
func (in *Input) request(rank int, clusterLabels []string, d dialect) (Request, reader) {
	alt, elements := &in.Alternatives[rank], in.Signal.Key()
	request := Request{Metric: alt.Metric, Matchers: alt.Matchers, AtOnce: in.atOnce(rank), Input: in.Name}
	r := reader{
		series: signals.Series{Signal: in.signal(rank), Resource: in.Resource, Rank: in.rank(rank), Init: in.Init, Unmarked: alt.CgroupUID || alt.OTel != nil, Scale: alt.Scale},
		pod:    slices.Index(elements, "pod"), tail: in.Signal.Tail(),
	}
	var keep []Label
	place := func(name string) int {
		k := slices.IndexFunc(keep, func(l Label) bool { return l.Name == name })
		if k < 0 {
			k, keep = len(keep), append(keep, Label{Name: name})
		}
		return k
	}
	for _, element := range elements {
		labels, uid := alt.Labels[element], element == "uid" && alt.CgroupUID
		if alt.OTel != nil {
			labels = alt.attributes(element, d)
		}
		series := element == "series" && len(labels) > 0
		switch {
		case element == "cluster":
			labels = clusterLabels
		case uid:
			labels = []string{"id"}
		case labels == nil:
			labels = []string{element}
		}
		if exported := "exported_" + element; alt.OTel == nil && len(labels) > 0 && slices.Contains(objects, element) && !uid && !slices.Contains(labels, exported) {
			labels = append([]string{"exported_" + labels[0]}, labels...)
		}
		var at []int
		for _, label := range labels {
			k := place(label)
			keep[k].PodUID, keep[k].Series = keep[k].PodUID || uid, keep[k].Series || series
			at = append(at, k)
		}
		r.elements = append(r.elements, at)
	}
	if alt.OTel != nil {
		request.Matchers = d.spellAll(alt.Matchers)
		r.otel = alt.otelReader(d, elements, r.elements, place)
	}
	r.cluster = slices.IndexFunc(keep, func(l Label) bool { return l.Name == "cluster" })
	if alt.Own {
		r.own, r.price = true, alt.Price
		for i, label := range targetLabels {
			r.target[i] = place(label)
		}
	}
	if r.tail == "" {
		request.Keep = slices.Clip(keep)
	} else {
		r.tailNames = slices.Clip(keep)
	}
	return request, r
}

// question says how a plan asks.
type question struct {
	grid     Grid   // of all requests
	unmarked int64  // the lookback of series that get no staleness markers; 0 is that of the others
	raw      bool   // the source gives raw samples
	named    naming // how some series name their pods
	otel     *otel  // what is known of OpenTelemetry's receivers; nil is none
}

// naming says by which of the labels that an element may be read from, counted from the last, series name it. The last is the element's own;
// before it come exported_…, and those of containers that cAdvisor has as a DaemonSet (cadvisorLabels).
type naming [3]bool

// byExported is the place of exported_… in a naming.
const byExported = 1

// join adds the namings of others.
func (n *naming) join(others naming) {
	for i, by := range others {
		n[i] = n[i] || by
	}
}

// newPlan makes the requests for the signals of asks. It records in found what is read.
func (c *Config) newPlan(symbols *Symbols, found *findings, q question, asks ...build.Ask) *plan {
	p := &plan{symbols: symbols, cluster: symbols.Of(c.Clusters.Default), times: found.frame, otel: q.otel}
	for i := range c.layouts {
		l := &c.layouts[i]
		if !q.otel.speaks(l) {
			continue
		}
		for k := range asks {
			if slices.Contains(asks[k].Signals, l.reader.series.Signal) {
				p.add(l, &asks[k], &q, found)
			}
		}
	}
	return p
}

// add adds the requests for the samples of an alternative that an ask is for.
func (p *plan) add(l *layout, a *build.Ask, q *question, found *findings) {
	r, tally := l.request, found.tally(l.input, l.rank)
	if r.Grid = q.grid; l.reader.series.Unmarked {
		r.Grid.Lookback = q.unmarked
	}
	r.Grid.Last = a.Last
	for _, matchers := range l.named(a, q) {
		for _, span := range a.Spans {
			r.Start, r.End, r.Matchers = span.Start, span.End, slices.Concat(l.request.Matchers, matchers)
			rd := l.reader
			rd.key, rd.found = make([]Symbol, len(rd.elements)), tally
			p.rs, p.readers = append(p.rs, r), append(p.readers, rd)
		}
	}
}

// named returns matchers for the pods or containers that an ask names, one list for each request. It is one request without matchers if
// the ask names none, or if series of the alternative have no label of a pod or container. Where series may have the name in another label than
// their own, further requests ask for these.
func (l *layout) named(a *build.Ask, q *question) (out [][]Matcher) {
	element, list := "pod", a.Pods
	switch {
	case a.Containers != nil:
		element, list = "container", a.Containers
	case a.InstanceTypes != nil:
		element, list = "instance_type", a.InstanceTypes
	}
	r := &l.reader
	k := slices.Index(r.series.Signal.Key(), element)
	if list == nil || k < 0 || len(r.elements[k]) == 0 || r.otel != nil && q.otel.joined {
		return [][]Matcher{nil}
	}
	labels := l.request.Keep
	if r.tail != "" {
		labels = r.tailNames
	}
	named := q.named
	named[0] = true
	if r.series.Signal.IsMetadata() {
		named[byExported] = true // labels may be the only series that name their pods by exported_pod
	}
	for _, re := range namesOf(list, q.raw) {
		if re == "" {
			out = append(out, nil)
			continue
		}
		var empty []Matcher // of the labels that win over the next one
		for i, at := range r.elements[k] {
			if name := labels[at].Name; named[len(r.elements[k])-1-i] {
				out = append(out, append([]Matcher{matching(name, re)}, empty...))
				empty = append(empty, equal(name, ""))
			}
		}
	}
	return out
}

// The most bytes of names that a source is asked for. VictoriaMetrics refuses queries of more than 16 KiB. Prometheus keeps names in
// a table if none has a dot, which has to be quoted. Else it compiles an expression, which takes 0.1 s for 256 KiB.
const (
	mostNames       = 12 << 10
	mostRawNames    = 256 << 10 // by remote read and of blocks
	mostDottedNames = 32 << 10  // the same, if a name has a dot
)

// mostLists is into how many lists names are divided at most.
const mostLists = 4

// namesOf returns regular expressions that match the names of a list, none longer than a source takes. If the names are too many, it
// returns a single "", which stands for all names.
func namesOf(list []string, raw bool) (out []string) {
	most, lists := mostNames, mostLists
	if raw {
		if most, lists = mostRawNames, 1; slices.ContainsFunc(list, func(name string) bool { return strings.Contains(name, ".") }) {
			most = mostDottedNames
		}
	}
	var re strings.Builder
	for _, name := range list {
		name = regexp.QuoteMeta(name)
		if re.Len() > 0 && re.Len()+len("|")+len(name) > most {
			out = append(out, re.String())
			re.Reset()
		}
		if len(out) == lists || len(name) > most {
			return []string{""}
		}
		if re.Len() > 0 {
			re.WriteByte('|')
		}
		re.WriteString(name)
	}
	if re.Len() > 0 {
		out = append(out, re.String())
	}
	return out
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
				if e == r.pod {
					p.named[len(at)-1-j] = true
				}
				break
			}
		}
	}
	if r.otel != nil {
		for e, text := range r.otel.fixed {
			out[e] = p.symbols.Of(text)
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
	p.labeled = r.cluster >= 0 && labels[r.cluster] != none
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
	v, ok := p.own.judged[exposedKey(p.rs[i].Metric, labels)]
	if !ok || v == perStretch {
		exposed, err := p.own.exposed()
		if err != nil {
			return series, key, err
		}
		v = exposed.verdict(p.rs[i].Metric, key, points)
	}
	switch v {
	case repeating:
		series.Repeats = true
	case byPromcost:
		series.Signal = signals.Nothing
	case byOthers, perStretch:
	}
	return series, key, nil
}

// count counts a series for what its request is for, unless skips says that other shards use it.
func (p *plan) count(s Series, skips func(signals.Series, []Symbol) bool) error {
	return p.translate(s, func(s Series) error { return p.countOne(s, skips) })
}

func (p *plan) countOne(s Series, skips func(signals.Series, []Symbol) bool) error {
	series, key, err := p.readPoints(s.Request, s.Key, s.Points)
	if err != nil || series.Signal == signals.Nothing {
		return err
	}
	if found := p.readers[s.Request].found; skips(series, key) {
		found.skipped = true
	} else {
		found.add(key[0], s.Points)
	}
	return nil
}

// bare reports whether a series says nothing except that its object exists: kube-state-metrics has an empty list of labels for
// objects whose labels it must not export.
func (r *reader) bare(key []Symbol) bool {
	return r.tail != "" && len(key) == len(r.elements)
}

// pick appends to dst the values of names among alternating names and values.
func pick(dst, key []Symbol, labels []Label) []Symbol {
	for _, l := range labels {
		found := none
		for k := 0; k+1 < len(key); k += 2 {
			if key[k].Value() == l.Name {
				found = key[k+1]
			}
		}
		dst = append(dst, found)
	}
	return dst
}
