package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promcost/promcost/promquery"
)

// This file divides the time and the series of a selector into requests that the server can answer. Time is divided first, down
// to an hour, then namespaces, down to one. PromQL has no matcher for a share of the series, so namespaces are divided by their
// order: a regular expression can match those that sort at or after a name. Such divisions lose no series and double none,
// whatever namespaces there are. Series without a namespace are in the first part.

const (
	// maxPoints is how many points of a series a server returns in one answer.
	maxPoints = 11_000
	// maxRaw is how many raw samples of a series are taken from one answer: at twelve a second for a day.
	maxRaw = 1 << 20
	// hour is the time below which a request is not divided further.
	hour = int64(60 * 60 * 1000)
	// rawLong is the longest time of a request for raw samples: a day, and the lookback before it.
	rawLong = 25 * hour
	// firstPoints is how many points of a grid the first request is for if the server does not say how many samples there are; of
	// raw samples it is for an hour. If there are few, later requests span up to growth times as much as the one before.
	firstPoints = 60
	growth      = 4
)

// piece is a part of a selector's time, both ends inclusive, and of its series.
type piece struct {
	start, end int64
	step       int64 // of the grid that both ends are on; 1 if there is none
	spaces     spaces
}

// units is how many instants the piece has.
func (p piece) units() int64 { return (p.end-p.start)/p.step + 1 }

// least is the number of instants below which a piece is not divided.
func (p piece) least() int64 { return max(1, hour/p.step) }

// every divides the piece into pieces of n instants.
func (p piece) every(n int64) []piece {
	var list []piece
	for at := p.start; at <= p.end; at += n * p.step {
		part := p
		part.start, part.end = at, min(at+(n-1)*p.step, p.end)
		list = append(list, part)
	}
	return list
}

// split divides the group's time into pieces for one request each.
func (g *group) split() []piece {
	sel := g.span
	if sel.Start > sel.End {
		return nil
	}
	step := max(1, sel.Grid.Step)
	whole := piece{start: sel.End - (sel.End-sel.Start)/step*step, end: sel.End, step: step}
	if g.most == 0 {
		return whole.evenly(max(firstPoints, whole.least()))
	}
	n := max(1, int64(math.Ceil(g.samples()/float64(g.most))))
	return whole.evenly(max(whole.least(), min(g.longest(), (whole.units()+n-1)/n)))
}

// longest is how many instants a piece of the group may have.
func (g *group) longest() int64 {
	switch step := g.span.Grid.Step; {
	case step == 0:
		return rawLong
	case g.raw:
		return max(1, rawLong/step)
	}
	return maxPoints
}

// evenly divides a piece into as few pieces of the same length as have at most so many instants.
func (p piece) evenly(most int64) []piece {
	n := (p.units() + most - 1) / most
	return p.every((p.units() + n - 1) / n)
}

// spaces are the series whose label sorts at or after from and before to; a series without the label has "". An empty to
// is no bound.
type spaces struct{ label, from, to string }

// matchers are what selects the series.
func (s spaces) matchers() []promquery.Matcher {
	var list []promquery.Matcher
	if s.from != "" {
		list = append(list, promquery.Matcher{Name: s.label, Type: promquery.MatchRegexp, Value: atLeast(s.from)})
	}
	if s.to != "" {
		list = append(list, promquery.Matcher{Name: s.label, Type: promquery.MatchNotRegexp, Value: atLeast(s.to)})
	}
	return list
}

// contains reports whether name lies in s, ends included.
func (s spaces) contains(name string) bool { return name >= s.from && (s.to == "" || name < s.to) }

// atLeast is the regular expression of all strings that sort at or after s, which is not empty.
func atLeast(s string) string {
	const rest = `(?s:.)*`
	// From the end: of the last rune on, anything; before it, a greater rune and anything, or the same and what follows.
	runes := []rune(s)
	expr := fmt.Sprintf(`[\x{%x}-\x{%x}]%s`, runes[len(runes)-1], utf8.MaxRune, rest)
	for _, r := range slices.Backward(runes[:len(runes)-1]) {
		expr = regexp.QuoteMeta(string(r)) + "(?:" + expr + ")"
		if r < utf8.MaxRune {
			expr += fmt.Sprintf(`|[\x{%x}-\x{%x}]%s`, r+1, utf8.MaxRune, rest)
		}
	}
	return expr
}

// cuts are what was learned about the server's limits. Later pieces are divided the same way at once.
type cuts struct {
	units int64    // most instants of a piece, 0 if all
	label string   // whose values divide series
	names []string // the borders of the divisions, ascending
	whole bool     // a piece that could not be divided had a large answer: others may have, too
}

// apply divides a piece as was learned; one part means that it is small enough.
func (c *cuts) apply(p piece) []piece {
	if c.units > 0 && p.units() > c.units {
		return p.every(c.units)
	}
	var pieces []piece
	rest := p
	for _, name := range c.names {
		if rest.spaces.contains(name) && name != rest.spaces.from {
			part := rest
			part.spaces.label, part.spaces.to = c.label, name
			pieces = append(pieces, part)
			rest.spaces.label, rest.spaces.from = c.label, name
		}
	}
	return append(pieces, rest)
}

// widen joins pieces of rest, which follow a piece, if that had so few samples that longer ones are unlikely to have too many, and no
// estimate says so. It does not join what was too much before.
func (q *querier) widen(p piece, rest []piece, samples int64) []piece {
	if len(rest) < 2 || q.group.most > 0 || q.cuts.units > 0 || len(q.cuts.names) > 0 {
		return rest
	}
	most := min(fairAnswer, q.run.src.cfg.MaxSamples)
	longest := min(q.group.longest(), p.units()*min(growth, most/max(1, samples)))
	if longest <= p.units() {
		return rest
	}
	return piece{start: rest[0].start, end: rest[len(rest)-1].end, step: p.step}.evenly(longest)
}

// divide learns from the failure of a piece, and divides it into n pieces in time, or else into two by namespace. It fails if a
// piece cannot be divided.
func (q *querier) divide(ctx context.Context, p piece, n int64, cause error) error {
	if units := max((p.units()+n-1)/n, p.least()); units < p.units() {
		q.cuts.units = units
		return nil
	}
	names, err := q.names(ctx, p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if border, ok := middle(names, p.spaces.from == ""); ok {
		q.cuts.names = append(q.cuts.names, border)
		slices.Sort(q.cuts.names)
		return nil
	}
	where := ""
	switch {
	case err != nil && transient(err):
		return fmt.Errorf("%v: %w", q.group, err) // a server that is down is not one that has too much to do
	case err != nil:
		cause = fmt.Errorf("%w; nor can it be divided by namespace: %w", cause, err)
	case len(names) == 1 && p.spaces.from != "":
		where = fmt.Sprintf(", %s %s", q.cuts.label, names[0])
	case p.spaces.to != "":
		where = ", series without " + q.cuts.label
	}
	return fmt.Errorf("read %v from %s to %s%s: even this is too much for the server: %w; %s",
		q.group, instant(p.start), instant(p.end), where, cause, limitOf(cause))
}

// namespaceLabels is how many of the labels that divide series are namespaces. Series without them are divided by their target.
const namespaceLabels = 2

// names are the namespaces of the series of a piece, sorted. The first call chooses the label: exported_namespace if all series
// have the same namespace, which is that of their exporter; instance if they have none.
func (q *querier) names(ctx context.Context, p piece) ([]string, error) {
	candidates := []string{"namespace", "exported_namespace", "instance"}
	if q.cuts.label != "" {
		candidates = []string{q.cuts.label}
	}
	var best []string
	for i, label := range candidates {
		if i >= namespaceLabels && len(best) > 0 {
			break
		}
		params := url.Values{}
		maps.Copy(params, q.run.src.cfg.Params)
		params.Set("match[]", q.group.text(p.spaces))
		params.Set("start", seconds(p.start))
		params.Set("end", seconds(p.end))
		data, err := q.run.src.ask(ctx, get("/api/v1/label/"+label+"/values", params), q.sent)
		if err != nil {
			return nil, err
		}
		var names []string
		if err := json.Unmarshal(data, &names); err != nil {
			return nil, fmt.Errorf("read values of label %s: %w", label, err)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == "" || !p.spaces.contains(name) })
		slices.Sort(names)
		names = slices.Compact(names)
		if len(names) > len(best) {
			best, q.cuts.label = names, label
		}
	}
	return best, nil
}

// spread divides the series of pieces by namespace before they are asked for, if these have too many samples by estimate although time is
// divided as far as it is. That it cannot does no harm: what is too large is cut off.
func (q *querier) spread(ctx context.Context, todo []piece) error {
	if len(todo) == 0 || q.group.most == 0 {
		return nil
	}
	parts := int(q.estimated(todo[0])/float64(q.group.most)) + 1
	if parts == 1 {
		return nil
	}
	names, err := q.names(ctx, piece{start: q.group.span.Start, end: q.group.span.End})
	if err != nil {
		return ctx.Err()
	}
	parts = min(parts, len(names))
	for i := 1; i < parts; i++ {
		q.cuts.names = append(q.cuts.names, border(names, i*len(names)/parts))
	}
	return nil
}

// estimated is how many samples a piece has by estimate.
func (q *querier) estimated(p piece) float64 {
	return q.group.rate * float64(p.units()*p.step) / float64(len(q.cuts.names)+1)
}

// middle returns the border of sorted names in the middle; first says that there may be series without a name, too. It reports
// false if there are no two parts.
func middle(names []string, first bool) (string, bool) {
	k := len(names) / 2
	if len(names) == 0 || k == 0 && !first {
		return "", false
	}
	return border(names, k), true
}

// border returns the shortest string that divides sorted names before the k-th.
func border(names []string, k int) string {
	before := ""
	if k > 0 {
		before = names[k-1]
	}
	for i, r := range names[k] {
		if s := names[k][:i+utf8.RuneLen(r)]; s > before {
			return s
		}
	}
	panic("BUG: names are not sorted, or not distinct")
}

// tooMuch is into how many parts to divide the time of a request that failed with err: two if samples are counted, else four. It
// is 0 if a smaller request would not help.
func tooMuch(err error) int64 {
	var serr *statusError
	switch {
	case errors.Is(err, errTooMany), errors.Is(err, errLarge):
		return 2
	case errors.As(err, &serr):
		switch serr.code {
		case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden:
			return 0 // whatever the words: it is about something else
		case http.StatusRequestEntityTooLarge:
			return 2
		case http.StatusUnprocessableEntity: // whatever goes wrong while a query runs
			if serr.message == "" || tellsOfLimit(serr.message) {
				return 2
			}
			return 0
		}
		switch {
		case countsSamples(serr.message):
			return 2
		case serr.code == http.StatusServiceUnavailable || serr.code == http.StatusGatewayTimeout:
			return 4
		}
	case errors.Is(err, context.DeadlineExceeded):
		return 4
	}
	return 0
}

// countsSamples reports whether a server's message says that a limit was exceeded.
func countsSamples(message string) bool {
	return slices.ContainsFunc([]string{"too many", "maximum number of", "exceed", "limit"}, func(s string) bool { return strings.Contains(message, s) })
}

// tellsOfLimit reports whether a server's message about a query that failed may say that a limit was exceeded.
func tellsOfLimit(message string) bool {
	return countsSamples(message) ||
		slices.ContainsFunc([]string{"more than", "timed out", "timeout", "too large", "too long", "memory", "max"}, func(s string) bool { return strings.Contains(message, s) })
}

// busy reports whether the server may be able to answer the same request in a moment.
func busy(err error) bool {
	var serr *statusError
	return errors.As(err, &serr) && (serr.code == http.StatusServiceUnavailable || serr.code == http.StatusGatewayTimeout) &&
		!countsSamples(serr.message) && !strings.Contains(serr.message, "timed out")
}

// limitOf says which limit to raise.
func limitOf(err error) string {
	var serr *statusError
	switch {
	case errors.Is(err, errTooMany):
		return "raise --query.max-samples"
	case errors.Is(err, context.DeadlineExceeded):
		return "raise --query.timeout, and that of the server"
	case busy(err):
		return "it answers small questions: see its log, and what proxies between allow"
	case !errors.As(err, &serr):
	case strings.Contains(serr.message, " -") || strings.Contains(serr.message, "`-"):
		return "raise the limit that it names"
	case strings.Contains(serr.message, "timed out"):
		return "raise its limit: --query.timeout of Prometheus and Thanos, -search.maxQueryDuration of VictoriaMetrics, -querier.timeout of Mimir"
	}
	return "raise its limit: --query.max-samples of Prometheus, -search.maxSamplesPerQuery of VictoriaMetrics, -querier.max-samples of Mimir"
}
