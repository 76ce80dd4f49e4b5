package promapi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/costseries"
)

// span is the range of instants at which an expression is evaluated.
type span struct {
	start, end time.Time
	step       time.Duration
}

// points is the number of instants, and length the time from the first to the last in milliseconds.
func (s span) points() float64 { return math.Floor(s.length()/float64(s.step.Milliseconds())) + 1 }
func (s span) length() float64 { return float64(s.end.UnixMilli()) - float64(s.start.UnixMilli()) }

// checkExpr refuses expressions that take too much to evaluate: subqueries may take maxSamples steps. It draws the memory that the
// engine takes for subqueries whatever series there are, and returns how long labels may become.
func checkExpr(ctx context.Context, expr parser.Expr, at span, maxSamples int) (*madeLabels, error) {
	expr, err := promql.PreprocessExpr(expr, at.start, at.end, at.step)
	if err != nil {
		return nil, err
	}
	steps := stepsOf(expr, at.length(), at.points(), false)
	if n := steps.kept + steps.looked; n > float64(maxSamples) {
		return nil, fmt.Errorf("%w: too many samples: subqueries take about %.0f steps, at most %d are allowed: give them a shorter range or a longer step, or raise --promql.max-samples and --query.max-memory",
			allocation.ErrTooMuch, n, maxSamples)
	}
	if err := memory.FromContext(ctx).Draw(int64(steps.kept) * costseries.PointBytes); err != nil {
		return nil, fmt.Errorf("evaluate subqueries at %.0f steps: %w", steps.kept, err)
	}
	m := &madeLabels{}
	if _, err := m.visit(expr); err != nil {
		return nil, err
	}
	return m, m.check(0)
}

// steps counts the steps of subqueries.
type steps struct {
	kept   float64 // that the engine takes memory for
	looked float64 // that functions look at, over all their ranges
}

// stepsOf counts the steps of the subqueries below a node that is evaluated so many times over a length of time in milliseconds. A
// range selector within a subquery counts as a subquery with a step of an hour, as cost has a sample an hour.
func stepsOf(node parser.Node, length, times float64, within bool) (sum steps) {
	switch n := node.(type) {
	case *parser.StepInvariantExpr:
		length, times = 0, 1
	case *parser.MatrixSelector:
		if within {
			sum.looked = times * n.Range.Hours()
		}
	case *parser.SubqueryExpr:
		step := float64(cmp.Or(n.Step, subqueryInterval).Milliseconds())
		ranged := float64(n.Range.Milliseconds())
		sum.looked = times * ranged / step
		length += ranged
		times = length/step + 1
		sum.kept, within = times, true
	}
	for child := range parser.ChildrenIter(node) {
		below := stepsOf(child, length, times, within)
		sum.kept, sum.looked = sum.kept+below.kept, sum.looked+below.looked
	}
	return sum
}

// width bounds the length of a label's value: a number of bytes plus a multiple of the length of the longest stored value.
type width struct{ bytes, stored float64 }

func (w width) add(v width, times float64) width {
	return width{w.bytes + times*v.bytes, w.stored + times*v.stored}
}

func (w width) max(v width) width { return width{max(w.bytes, v.bytes), max(w.stored, v.stored)} }

// in is the bound in bytes, given the length of the longest stored value.
func (w width) in(longest int) float64 {
	if w.stored == 0 {
		return w.bytes
	}
	return w.bytes + w.stored*float64(longest)
}

// widths are the bounds of the labels that an expression makes. Other labels are as they are stored.
type widths map[string]width

func (w widths) width(label string) width {
	if made, ok := w[label]; ok {
		return made
	}
	return width{stored: 1}
}

// widen raises the bound of a label.
func (w widths) widen(label string, to width) { w[label] = w.width(label).max(to) }

// madeLabels bounds the labels that an expression makes.
type madeLabels struct {
	text   textCheck // of the regular expressions that make them
	widest width     // bounds each
	total  width     // bounds all that are made for a series, intermediate ones included
}

// Lengths of labels that an expression makes.
const (
	maxMade      = 64 << 10 // bytes of a value, at most
	countedBytes = 400      // bytes of a number that count_values writes, at most
)

// visit returns the bounds of the labels that a node makes.
func (m *madeLabels) visit(node parser.Node) (w widths, err error) {
	for child := range parser.ChildrenIter(node) {
		more, err := m.visit(child)
		if err != nil {
			return nil, err
		}
		if w == nil {
			w = more
			continue
		}
		for label, to := range more {
			w.widen(label, to)
		}
	}
	if w == nil {
		w = widths{}
	}
	switch n := node.(type) {
	case *parser.AggregateExpr:
		if n.Op == parser.COUNT_VALUES {
			m.make(w, literal(n.Param), width{bytes: countedBytes})
		}
	case *parser.Call:
		return w, m.call(n, w)
	}
	return w, nil
}

// call adds the labels that a function call makes.
func (m *madeLabels) call(n *parser.Call, w widths) error {
	switch n.Func.Name {
	case "label_replace":
		text := literal(n.Args[2])
		refs := strings.Count(text, "$")
		m.make(w, literal(n.Args[1]), width{bytes: float64(max(0, len(text)-2*refs))}.add(w.width(literal(n.Args[3])), float64(refs)))
		return m.text.regexp(literal(n.Args[4]))
	case "label_join":
		to := width{bytes: float64(len(literal(n.Args[2])) * len(n.Args[3:]))}
		for _, src := range n.Args[3:] {
			to = to.add(w.width(literal(src)), 1)
		}
		m.make(w, literal(n.Args[1]), to)
	}
	return nil
}

// make adds a label.
func (m *madeLabels) make(w widths, label string, to width) {
	w.widen(label, to)
	m.widest, m.total = m.widest.max(to), m.total.add(to, 1)
}

// literal is the text of a string literal.
func literal(node parser.Expr) string {
	switch n := node.(type) {
	case *parser.StringLiteral:
		return n.Val
	case *parser.ParenExpr:
		return literal(n.Expr)
	case *parser.StepInvariantExpr:
		return literal(n.Expr)
	}
	return ""
}

// check refuses labels that may become too long, given the length of the longest stored value.
func (m *madeLabels) check(longest int) error {
	if n := m.widest.in(longest); n > maxMade {
		return fmt.Errorf("%w: a label that the expression makes may be %.0f bytes long, for the longest stored value has %d; at most %d are allowed: let label_replace and label_join repeat less", allocation.ErrTooMuch, n, longest, maxMade)
	}
	return nil
}

// boundedQueryable bounds the labels that an expression makes from those of its series.
type boundedQueryable struct {
	storage.Queryable
	made *madeLabels
}

// Querier implements storage.Queryable.
func (b boundedQueryable) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := b.Queryable.Querier(mint, maxt)
	return boundedQuerier{q, b.made}, err
}

type boundedQuerier struct {
	storage.Querier
	made *madeLabels
}

// Select implements storage.Querier.
func (q boundedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return &boundedSet{SeriesSet: q.Querier.Select(ctx, sorted, hints, matchers...), made: q.made, memory: memory.FromContext(ctx)}
}

// boundedSet ends with an error at a series whose labels would become too long, or which there is no memory for.
type boundedSet struct {
	storage.SeriesSet
	made   *madeLabels
	memory *memory.Account
	err    error
}

// Next implements storage.SeriesSet.
func (s *boundedSet) Next() bool {
	if s.err != nil || !s.SeriesSet.Next() {
		return false
	}
	longest := 0
	s.At().Labels().Range(func(l labels.Label) { longest = max(longest, len(l.Value)) })
	if s.err = s.made.check(longest); s.err == nil {
		s.err = s.memory.Draw(int64(s.made.total.in(longest)))
	}
	return s.err == nil
}

// Err implements storage.SeriesSet.
func (s *boundedSet) Err() error { return cmp.Or(s.err, s.SeriesSet.Err()) }

// work estimates how many bytes are copied to format a node.
type work struct {
	text    float64 // the length on one line
	oneLine float64 // to write it on one line: each node copies what is below it
	pretty  float64 // to write it on several lines: each node tries one line first
}

// maxPretty bounds the work of formatting. It takes about half a second.
const maxPretty = 4e8

// prettyWork estimates the work of formatting an expression.
func prettyWork(node parser.Node) (w work) {
	w.text = 10
	for child := range parser.ChildrenIter(node) {
		below := prettyWork(child)
		w = work{w.text + below.text, w.oneLine + below.oneLine, w.pretty + below.pretty}
	}
	if w.text == 10 {
		at := node.PositionRange()
		w.text += float64(at.End - at.Start)
	}
	w.oneLine += w.text
	w.pretty += w.oneLine
	return w
}
