package promquery

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// otelReader is how series of a metric of OpenTelemetry become series of an input.
type otelReader struct {
	*OTel
	names   [][]int // lists of indexes in the source's key: what the series is about has a value of one of each
	with    [][]int // the same of what else series have that count
	without []int   // indexes in the source's key of what they do not have
	target  [len(targetLabels)]int
	fixed   map[int]string // elements of the builder's key
}

// subjects are elements that name what a series is about.
var subjects = []string{"namespace", "pod", "container", "node"}

// otelReader makes the reader of an alternative whose elements are read from these places; place returns that of a label.
func (a *Alternative) otelReader(d dialect, elements []string, at [][]int, place func(string) int) *otelReader {
	r := &otelReader{OTel: a.OTel, fixed: map[int]string{}}
	for i, element := range elements {
		switch _, own := a.Labels[element]; {
		case len(at[i]) == 0:
		case own || element == "persistentvolumeclaim":
			r.with = append(r.with, at[i])
		case slices.Contains(subjects, element) && (element != "node" || i == 1): // else it is where a pod runs
			r.names = append(r.names, at[i])
		}
		if text, ok := a.OTel.Fixed[element]; ok {
			r.fixed[i] = text
		}
	}
	for _, attribute := range a.OTel.Without {
		r.without = append(r.without, place(d.spell(attribute)))
	}
	for i, label := range targetLabels {
		r.target[i] = place(label)
	}
	return r
}

// judge reports whether a series says what it is about, and whether it is one of those that count.
func (r *otelReader) judge(key []Symbol) (named, counts bool) {
	empty := func(k int) bool { return key[k] == none }
	lacking := func(at []int) bool { return !slices.ContainsFunc(at, func(k int) bool { return !empty(k) }) }
	counts = !slices.ContainsFunc(r.with, lacking) && !slices.ContainsFunc(r.without, func(k int) bool { return !empty(k) })
	return !slices.ContainsFunc(r.names, lacking), counts
}

// sights are at which instants of a window some program was seen, as bits, and whether others than the receivers were away between them.
type sights struct {
	otel, classic uint8
	away          bool
}

// superseded reports whether programs that tell the same as a receiver were there whenever it was: then only these count.
func (s sights) superseded() bool { return s.otel != 0 && s.otel&^s.classic == 0 && !s.away }

// speaks reports whether a receiver was seen.
func (s sights) speaks() bool { return s.otel != 0 }

// counts reports whether what a receiver tells counts, at least while no other program tells it.
func (s sights) counts() bool { return s.otel != 0 && !s.superseded() }

// identity is the attributes of a target for some time, by label.
type identity struct {
	timeline.Interval

	labels map[string]Symbol
}

// otel is what is known of OpenTelemetry's receivers in a window.
type otel struct {
	dialects [numDialects]bool // that series are in
	joined   bool              // some series have no attributes: target_info has them
	seen     map[Symbol]*[numReceivers]sights
	told     map[Symbol]*[numReceivers]timeline.Intervals // by cluster: when other programs tell the same
	targets  map[target][]identity                        // ascending
	nameless bool                                         // nothing names some series
	points   timeline.Points                              // scratch of translate
	key      []Symbol
}

// see records a series of a probe.
func (o *otel) see(p *probe, cluster Symbol, instant uint8, named bool) {
	if o.seen == nil {
		o.seen = map[Symbol]*[numReceivers]sights{}
	}
	if o.seen[cluster] == nil {
		o.seen[cluster] = &[numReceivers]sights{}
	}
	s := &o.seen[cluster][p.of]
	if p.dialect == classic {
		s.classic |= instant
		return
	}
	s.otel |= instant
	o.dialects[p.dialect] = true
	o.joined = o.joined || !named
}

// alone reports whether a receiver was seen at an instant in a cluster, and no other program that tells the same.
func (o *otel) alone(r Receiver, instant uint8) bool {
	for _, of := range o.seen {
		if of[r].otel&instant != 0 && of[r].classic&instant == 0 {
			return true
		}
	}
	return false
}

// speaking reports whether any series of OpenTelemetry's receivers were seen.
func (o *otel) speaking() bool { return slices.Contains(o.dialects[:], true) }

// clusters are those of which what was seen of a receiver is so.
func (o *otel) clusters(r Receiver, is func(sights) bool) (clusters []Symbol) {
	for cluster, of := range o.seen {
		if is(of[r]) {
			clusters = append(clusters, cluster)
		}
	}
	slices.SortFunc(clusters, signals.Compare)
	return clusters
}

// any reports whether there is anything of a receiver that counts.
func (o *otel) any(r Receiver) bool { return len(o.clusters(r, sights.counts)) > 0 }

// speaks reports whether the source has series of a layout that count.
func (o *otel) speaks(l *layout) bool {
	return l.dialect == classic || o != nil && o.dialects[l.dialect] && o.any(l.reader.otel.Receiver)
}

// findOTel finds out, for windows whose clusters have series of OpenTelemetry's receivers, when other programs tell the same, and what target_info says of
// targets.
func (c *computation) findOTel(ctx context.Context) error {
	var asking []*asker
	for _, w := range c.windows {
		if a := c.askOTel(w); len(a.requests) > 0 {
			asking = append(asking, a)
		}
	}
	if len(asking) == 0 {
		return nil
	}
	if _, err := c.fetch(ctx, inputOTel, asking); err != nil {
		return fmt.Errorf("find what OpenTelemetry's receivers tell: %w", err)
	}
	for _, w := range c.windows {
		w.otel.findAway(w.query.Window)
		for _, list := range w.otel.targets {
			sortIdentities(list)
		}
	}
	return nil
}

// proofs of other programs that tell the same as a receiver.
var toldBy = [numReceivers]Request{
	ClusterReceiver: {Metric: "kube_pod_info"},
	KubeletReceiver: {Metric: "container_cpu_usage_seconds_total", Matchers: []Matcher{notEqual("container", "")}},
}

// askOTel makes the requests for a window, and for the time around it that is read as well.
func (c *computation) askOTel(w *window) *asker {
	o, span := &w.otel, Request{Start: w.query.Window.Start.Add(-time.Hour).UnixMilli(), End: w.query.Window.End.Add(time.Hour).UnixMilli(), Input: inputOTel, Grid: Grid{Step: timeline.Lookback}}
	clusters := Labels(c.cfg.Clusters.Labels...)
	var uses []func(s Series)
	a := &asker{window: w, use: func(s Series) error {
		uses[s.Request](s)
		return nil
	}}
	ask := func(metric string, matchers []Matcher, keep []Label, use func(Series)) {
		r := span
		r.Metric, r.Matchers, r.Keep = metric, matchers, keep
		a.requests, uses = append(a.requests, r), append(uses, use)
	}
	for r, told := range toldBy {
		if list := o.clusters(Receiver(r), sights.speaks); len(list) > 0 {
			ask(told.Metric, append(slices.Clone(told.Matchers), c.ofClusters(list)...), clusters, func(s Series) { o.tell(Receiver(r), c.clusterOf(s.Key), s.Points) })
		}
	}
	if o.joined && o.speaking() {
		labels := o.attributes()
		keep := Labels(slices.Concat(targetLabels[:], labels)...)
		ask("target_info", nil, keep, func(s Series) { o.identify(labels, s) })
	}
	return a
}

// ofClusters matches the series of some clusters, and perhaps others.
func (c *computation) ofClusters(list []Symbol) (matchers []Matcher) {
	var names []string
	unlabeled := len(c.cfg.Clusters.Labels) > 1 // one of them may be missing
	for _, cluster := range list {
		names = append(names, regexp.QuoteMeta(cluster.Value()))
		unlabeled = unlabeled || cluster.Value() == c.cfg.Clusters.Default
	}
	if unlabeled {
		names = append(names, "")
	}
	for _, label := range c.cfg.Clusters.Labels {
		matchers = append(matchers, matching(label, strings.Join(names, "|")))
	}
	return matchers
}

// clusterOf is the cluster that the first label with a value names.
func (c *computation) clusterOf(labels []Symbol) Symbol {
	if k := slices.IndexFunc(labels, func(s Symbol) bool { return s != none }); k >= 0 {
		return labels[k]
	}
	return c.symbols.Of(c.cfg.Clusters.Default)
}

// tell records when another program tells what a receiver does. Between its samples it does, too.
func (o *otel) tell(r Receiver, cluster Symbol, p *timeline.Points) {
	if o.told == nil {
		o.told = map[Symbol]*[numReceivers]timeline.Intervals{}
	}
	if o.told[cluster] == nil {
		o.told[cluster] = &[numReceivers]timeline.Intervals{}
	}
	in := &frame{start: math.MinInt64, end: math.MaxInt64, hole: leastHole}
	var buf [4]timeline.Interval
	of := &o.told[cluster][r]
	*of = in.addAround(*of, p, p.Holes(buf[:0], in.hole))
}

// findAway finds out whether other programs that tell the same as receivers were away in a window. Their last samples may still come.
func (o *otel) findAway(w allocation.Window) {
	start, end := w.Start.UnixMilli(), w.End.UnixMilli()
	for cluster, told := range o.told {
		for r, list := range told {
			if len(list) == 0 || o.seen[cluster] == nil {
				continue
			}
			x, within := list.Find(start)
			if _, last := list.Bounds(); x.To == last {
				x.To += leastHole
			}
			o.seen[cluster][r].away = !within || x.To < end
		}
	}
}

// attributes are the labels that target_info may have.
func (o *otel) attributes() (list []string) {
	for d := underscores; d < numDialects; d++ {
		for _, name := range OTelAttributes() {
			if o.dialects[d] {
				list = append(list, d.spell(name))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// identify records what target_info says of a target.
func (o *otel) identify(labels []string, s Series) {
	at, x := targetOf([len(targetLabels)]Symbol(s.Key)), identity{Interval: timeline.Interval{From: s.Points.First(), To: s.Points.Last()}, labels: map[string]Symbol{}}
	for i, name := range labels {
		if v := s.Key[len(targetLabels)+i]; v != none {
			x.labels[name] = v
		}
	}
	if len(x.labels) == 0 || at == (target{}) {
		return
	}
	if o.targets == nil {
		o.targets = map[target][]identity{}
	}
	o.targets[at] = append(o.targets[at], x)
}

// sortIdentities sorts what is known of a target, and lets each hold until the next one begins.
func sortIdentities(list []identity) {
	slices.SortStableFunc(list, func(a, b identity) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for i := range list {
		list[i].To = math.MaxInt64
		if i+1 < len(list) {
			list[i].To = list[i+1].From - 1
		}
	}
	list[0].From = math.MinInt64
}

// translate calls use with what a series means in the words of kube-state-metrics and cAdvisor: samples with the meanings of its values, at times at which no
// other program tells the same, for each time that target_info names it. Other series are used as they are.
func (p *plan) translate(s Series, use func(Series) error) error {
	r := &p.readers[s.Request]
	if r.otel == nil {
		return use(s)
	}
	s.Points = p.otel.meanings(r.otel, p.clusterOf(r, s.Key), s.Points)
	if s.Points.Len() == 0 {
		return nil
	}
	r.found.spelled = p.rs[s.Request].Metric
	if p.otel.joined {
		return p.join(r, s, use)
	}
	return p.otel.judged(r, s, use)
}

// clusterOf is the cluster that a series names, before it is read.
func (p *plan) clusterOf(r *reader, key []Symbol) Symbol {
	for _, k := range r.elements[0] {
		if key[k] != none {
			return key[k]
		}
	}
	return p.cluster
}

// meanings are the samples that count, with what they mean.
func (o *otel) meanings(r *otelReader, cluster Symbol, p *timeline.Points) *timeline.Points {
	var told timeline.Intervals
	if seen := o.seen[cluster]; seen != nil && seen[r.Receiver].superseded() {
		told = timeline.Intervals{{From: math.MinInt64, To: math.MaxInt64}}
	} else if of := o.told[cluster]; of != nil {
		told = of[r.Receiver]
	}
	if len(told) == 0 && r.Values == nil {
		return p
	}
	o.points.Reset()
	for t, v := range p.All() {
		if _, within := told.Find(t); within {
			continue
		}
		if r.Values != nil && !timeline.IsStale(v) {
			meant, ok := r.Values[v]
			if !ok {
				continue
			}
			v = meant
		}
		o.points.Append(t, v)
	}
	o.points.SetSeries(p.Series())
	if p.Sampled() {
		o.points.MarkSampled()
	}
	if p.Continued() {
		o.points.MarkContinued()
	}
	return &o.points
}

// join calls use with a series for each time that target_info says what it is about. A series that nothing names is left out.
func (p *plan) join(r *reader, s Series, use func(Series) error) error {
	o := p.otel
	var at [len(targetLabels)]Symbol
	for i, k := range r.otel.target {
		at[i] = s.Key[k]
	}
	list := o.targets[targetOf(at)]
	if len(list) == 0 {
		list = []identity{{Interval: timeline.Interval{From: math.MinInt64, To: math.MaxInt64}}}
	}
	for i := range list {
		o.key = append(o.key[:0], s.Key...)
		for k, label := range p.rs[s.Request].Keep {
			if v, ok := list[i].labels[label.Name]; ok && o.key[k] == none {
				o.key[k] = v
			}
		}
		part := Series{Request: s.Request, Key: o.key, Points: s.Points}
		if len(list) > 1 {
			var points timeline.Points
			s.Points.Between(&points, list[i].From, list[i].To)
			part.Points = &points
		}
		if part.Points.Len() == 0 {
			continue
		}
		if err := o.judged(r, part, use); err != nil {
			return err
		}
	}
	return nil
}

// judged calls use with a series if it counts.
func (o *otel) judged(r *reader, s Series, use func(Series) error) error {
	named, counts := r.otel.judge(s.Key)
	o.nameless = o.nameless || !named
	if !named || !counts {
		return nil
	}
	return use(s)
}
