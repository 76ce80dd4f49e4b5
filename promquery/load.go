package promquery

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
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
	always  stage = iota // all but usage
	lazily               // what stands in for a missing running signal
	measure              // usage
)

// reader turns the series of one selector into what the builder takes.
type reader struct {
	series    allocation.Series
	elements  [][]int // for each key element, where it may be in the source's key
	uid       int     // key element that is to be parsed from the cgroup path, -1 if none
	tail      string
	tailNames []string // for label maps: the names of the elements' labels
	key       []Symbol
}

// plan is a question: selectors and who reads their answers.
type plan struct {
	sels    []Selector
	readers []reader
	cluster Symbol
}

var none = allocation.Sym("")

// objects are the key elements that a scrape without honor_labels renames to exported_….
var objects = []string{"namespace", "pod", "container", "node", "uid"}

// newPlan makes the question of a stage for the samples in [start, end] on a grid of step.
func newPlan(st stage, clusters Clusters, start, end, step int64) *plan {
	p := &plan{cluster: allocation.Sym(clusters.Default)}
	for i := range Inputs {
		in := &Inputs[i]
		usage := in.Signal == allocation.ContainerUse || in.Signal == allocation.ContainerLevel
		for rank := range in.Alternatives {
			lazy := in.Lazy == lazyOnly || in.Lazy > 0 && rank >= in.Lazy
			if st == measure != usage || !usage && (st == lazily) != lazy {
				continue
			}
			p.add(in, rank, clusters.Labels, Selector{Start: start, End: end, Step: step})
		}
	}
	return p
}

// add appends an alternative's selector and reader; sel has the range.
func (p *plan) add(in *Input, rank int, clusterLabels []string, sel Selector) {
	alt := &in.Alternatives[rank]
	sel.Metric, sel.Matchers = alt.Metric, alt.Matchers
	r := reader{
		series: allocation.Series{Signal: in.Signal, Resource: in.Resource, Rank: rank},
		uid:    -1, tail: in.Signal.Tail(), key: make([]Symbol, len(in.Signal.Key())),
	}
	var keep []string
	for i, element := range in.Signal.Key() {
		labels := alt.Labels[element]
		switch {
		case element == "cluster":
			labels = clusterLabels
		case element == "uid" && alt.CgroupUID:
			labels, r.uid = []string{"id"}, i
		case labels == nil:
			labels = []string{element}
		}
		if slices.Contains(objects, element) && r.uid != i {
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
	if r.tail == "" {
		sel.Keep = keep
	} else {
		r.tailNames = keep
	}
	p.sels, p.readers = append(p.sels, sel), append(p.readers, r)
}

// read makes the builder's key of a source's key.
func (p *plan) read(i int, key []Symbol) (allocation.Series, []Symbol) {
	r := &p.readers[i]
	labels := key
	if r.tail != "" {
		labels = pick(key, r.tailNames)
	}
	out := r.key[:len(r.elements)]
	for e, at := range r.elements {
		out[e] = none
		for _, k := range at {
			if labels[k] != none {
				out[e] = labels[k]
				break
			}
		}
	}
	if out[0] == none {
		out[0] = p.cluster
	}
	if r.uid >= 0 {
		out[r.uid] = cgroupUID(out[r.uid])
	}
	if r.tail != "" {
		for k := 0; k+1 < len(key); k += 2 {
			if name, ok := strings.CutPrefix(key[k].Value(), r.tail); ok {
				out = append(out, allocation.Sym(name), key[k+1])
			}
		}
		r.key = out[:len(r.elements)]
	}
	return r.series, out
}

// pick finds the values of names among alternating names and values.
func pick(key []Symbol, names []string) []Symbol {
	out := make([]Symbol, len(names))
	for i, name := range names {
		out[i] = none
		for k := 0; k+1 < len(key); k += 2 {
			if key[k].Value() == name {
				out[i] = key[k+1]
			}
		}
	}
	return out
}

// uidLength is the length of a UID in text.
const uidLength = 36

// cgroupUID is the pod's UID in a cgroup path, "" where there is none (static pods have a hash there). Under systemd its
// dashes are underscores:
//
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f2d3c1a_….slice/cri-containerd-….scope
//	/kubepods/burstable/pod0f2d3c1a-…/…
func cgroupUID(path Symbol) Symbol {
	text := path.Value()
	for i := strings.Index(text, "pod"); i >= 0; {
		uid := text[i+len("pod"):]
		if len(uid) >= uidLength {
			if uid = strings.ReplaceAll(uid[:uidLength], "_", "-"); isUID(uid) {
				return allocation.Sym(uid)
			}
		}
		next := strings.Index(text[i+1:], "pod")
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return none
}

// isUID reports whether s is written like a UID: 8-4-4-4-12 hexadecimal digits.
func isUID(s string) bool {
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}

// Load reads what the builder needs from src and settles it. Nothing found at all is allocation.ErrNoData.
func Load(ctx context.Context, src Source, clusters Clusters, b *allocation.Builder) (Stats, error) {
	var stats Stats
	s := b.Sampling()
	ask := func(st stage, start, end int64) error {
		p := newPlan(st, clusters, start, end, s.Step)
		got, err := src.Select(ctx, p.sels, func(i int, key []Symbol, points *timeline.Points) error {
			series, key := p.read(i, key)
			return b.Add(series, key, points)
		})
		for _, w := range got.Warnings {
			b.Warn(w)
		}
		stats.Add(got)
		return err
	}
	if err := ask(always, s.LoadStart(), s.End); err != nil {
		return stats, fmt.Errorf("read inputs: %w", err)
	}
	for _, span := range b.Blind() {
		if err := ask(lazily, span.Start, span.End); err != nil {
			return stats, fmt.Errorf("read inputs that stand in for the running signal: %w", err)
		}
	}
	if stats.Series == 0 {
		return stats, fmt.Errorf("%w: none of the metrics that promcost reads has samples in the window; is this the Prometheus that scrapes kube-state-metrics and the kubelets, and does its retention cover the window?", allocation.ErrNoData)
	}
	if err := b.Resolve(); err != nil {
		return stats, err
	}
	if err := ask(measure, s.LoadStart(), s.End); err != nil {
		return stats, fmt.Errorf("read usage: %w", err)
	}
	again, err := b.Settle()
	if err != nil || again == nil {
		return stats, err
	}
	end := again.End
	if s.Exact() {
		end = min(s.End, end+s.Lookback)
	}
	if err := ask(measure, again.Start-s.Start+s.LoadStart(), end); err != nil {
		return stats, fmt.Errorf("read usage of overcommitted time: %w", err)
	}
	_, err = b.Settle()
	return stats, err
}
