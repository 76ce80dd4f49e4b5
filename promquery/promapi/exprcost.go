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

// span is the instants at which an expression is evaluated.
type span struct {
	start, end time.Time
	step       time.Duration
}

// points are how many they are, and length is from the first to the last, in milliseconds.
func (s span) points() float64 { return math.Floor(s.length()/float64(s.step.Milliseconds())) + 1 }
func (s span) length() float64 { return float64(s.end.UnixMilli()) - float64(s.start.UnixMilli()) }

// checkExpr checks what the evaluation of an expression takes, draws what the engine makes for it of no series, and returns
// what its labels may become. Subqueries may take maxSamples steps.
func checkExpr(ctx context.Context, expr parser.Expr, at span, maxSamples int) (*made, error) {
	expr, err := promql.PreprocessExpr(expr, at.start, at.end, at.step)
	if err != nil {
		return nil, err
	}
	steps := stepsOf(expr, at.length(), at.points(), false)
	if n := steps.kept + steps.looked; n > float64(maxSamples) {
		return nil, fmt.Errorf("%w: too many samples: subqueries take about %.0f steps, at most %d are allowed: give them a shorter range or a longer step, or raise --promql.max-samples and --query.max-memory",
			allocation.ErrTooMuch, n, maxSamples)
	}
	if err := memory.Of(ctx).Draw(int64(steps.kept) * costseries.PointBytes); err != nil {
		return nil, fmt.Errorf("evaluate subqueries at %.0f steps: %w", steps.kept, err)
	}
	m := &made{}
	if _, err := m.visit(expr); err != nil {
		return nil, err
	}
	return m, m.check(0)
}

// steps are those of subqueries.
type steps struct {
	kept   float64 // that the engine makes room for
	looked float64 // that functions look at, in all their ranges
}

// stepsOf are the steps of the subqueries of a node that is evaluated so many times over a length of time in milliseconds. A
// range of series within a subquery counts as one with a step of an hour, for cost has a sample an hour.
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
		of := stepsOf(child, length, times, within)
		sum.kept, sum.looked = sum.kept+of.kept, sum.looked+of.looked
	}
	return sum
}

// width is how long the value of a label may be: so many bytes, and so many times that of the longest value that is stored.
type width struct{ bytes, stored float64 }

func (w width) add(v width, times float64) width {
	return width{w.bytes + times*v.bytes, w.stored + times*v.stored}
}

func (w width) max(v width) width { return width{max(w.bytes, v.bytes), max(w.stored, v.stored)} }

// of is the width where no value that is stored is longer than so many bytes.
func (w width) of(longest int) float64 {
	if w.stored == 0 {
		return w.bytes
	}
	return w.bytes + w.stored*float64(longest)
}

// widths are those of labels that an expression makes. Others are as they are stored.
type widths map[string]width

func (w widths) of(label string) width {
	if made, ok := w[label]; ok {
		return made
	}
	return width{stored: 1}
}

// widen notes that a label may have another value.
func (w widths) widen(label string, to width) { w[label] = w.of(label).max(to) }

// made is how long labels may become that an expression makes.
type made struct {
	text     textCheck // of regular expressions
	widest   width     // of a label
	together width     // of all labels of a series, and of those that it had on the way
}

// Limits of labels that an expression makes.
const (
	maxMade      = 64 << 10 // bytes of a value
	countedBytes = 400      // of a number as count_values writes it, at most
)

// visit returns the widths of the labels that a node makes.
func (m *made) visit(node parser.Node) (w widths, err error) {
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

// call adds what a call makes.
func (m *made) call(n *parser.Call, w widths) error {
	switch n.Func.Name {
	case "label_replace":
		text := literal(n.Args[2])
		refs := strings.Count(text, "$")
		m.make(w, literal(n.Args[1]), width{bytes: float64(max(0, len(text)-2*refs))}.add(w.of(literal(n.Args[3])), float64(refs)))
		return m.text.regexp(literal(n.Args[4]))
	case "label_join":
		to := width{bytes: float64(len(literal(n.Args[2])) * len(n.Args[3:]))}
		for _, src := range n.Args[3:] {
			to = to.add(w.of(literal(src)), 1)
		}
		m.make(w, literal(n.Args[1]), to)
	}
	return nil
}

// make notes that a label is made.
func (m *made) make(w widths, label string, to width) {
	w.widen(label, to)
	m.widest, m.together = m.widest.max(to), m.together.add(to, 1)
}

// literal is the text of a string in an expression.
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

// check refuses labels that may become too long where the longest stored value is of so many bytes.
func (m *made) check(longest int) error {
	if n := m.widest.of(longest); n > maxMade {
		return fmt.Errorf("%w: a label that the expression makes may be %.0f bytes long, for the longest stored value has %d; at most %d are allowed: let label_replace and label_join repeat less", allocation.ErrTooMuch, n, longest, maxMade)
	}
	return nil
}

// bounded is series whose labels an expression makes others of.
type bounded struct {
	storage.Queryable
	made *made
}

// Querier implements storage.Queryable.
func (b bounded) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := b.Queryable.Querier(mint, maxt)
	return boundedQuerier{q, b.made}, err
}

type boundedQuerier struct {
	storage.Querier
	made *made
}

// Select implements storage.Querier.
func (q boundedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return &boundedSet{SeriesSet: q.Querier.Select(ctx, sorted, hints, matchers...), made: q.made, memory: memory.Of(ctx)}
}

// boundedSet ends with an error at a series whose labels would become too long, or take too much together with those before.
type boundedSet struct {
	storage.SeriesSet
	made   *made
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
		s.err = s.memory.Draw(int64(s.made.together.of(longest)))
	}
	return s.err == nil
}

// Err implements storage.SeriesSet.
func (s *boundedSet) Err() error { return cmp.Or(s.err, s.SeriesSet.Err()) }

// work is about how many bytes are copied to write a node.
type work struct {
	text   float64 // of it, on one line
	plain  float64 // on one line: each node writes all that is below it
	pretty float64 // on several: each node tries one line first
}

// maxPretty is what takes about half a second.
const maxPretty = 4e8

// prettyWork is how much work it is to format an expression.
func prettyWork(node parser.Node) (w work) {
	w.text = 10
	for child := range parser.ChildrenIter(node) {
		of := prettyWork(child)
		w = work{w.text + of.text, w.plain + of.plain, w.pretty + of.pretty}
	}
	if w.text == 10 {
		at := node.PositionRange()
		w.text += float64(at.End - at.Start)
	}
	w.plain += w.text
	w.pretty += w.plain
	return w
}
