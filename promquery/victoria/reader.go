package victoria

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// shortest is the shortest window that is read as whole blocks, in milliseconds: those of a shorter one are mostly of other times.
const shortest = 2 * hour

const hour = int64(3600 * 1000)

// reader is one Select.
type reader struct {
	src      *Source
	requests []promquery.Request
	matchers [][]*labels.Matcher // of each request, without that of its metric
	yield    promquery.Yield
	stats    promquery.Stats
	keys     *chunks.Keys
	dec      *decoder
	p        timeline.Points
	account  *memory.Account
	strange  int    // series that nobody asked for
	stranger string // the first of them
}

func newReader(ctx context.Context, src *Source, rs []promquery.Request, yield promquery.Yield) (*reader, error) {
	r := &reader{src: src, requests: rs, yield: yield, matchers: make([][]*labels.Matcher, len(rs)), account: memory.FromContext(ctx)}
	for i := range rs {
		all, err := chunks.Matchers(&rs[i])
		if err != nil {
			return r, err
		}
		r.matchers[i] = all[1:]
	}
	external, err := src.ExternalLabels(ctx)
	if err != nil {
		return r, err
	}
	r.keys = chunks.NewKeys(external, chunks.NewSymbols(promquery.SymbolsOf(ctx)))
	r.dec, err = newDecoder()
	return r, err
}

// read asks for all requests.
func (r *reader) read(ctx context.Context) error {
	for _, g := range r.groups() {
		if err := r.group(ctx, g); err != nil {
			return err
		}
	}
	if r.strange > 0 {
		r.stats.Warnings = append(r.stats.Warnings, fmt.Sprintf("the server's exports have %d series that nobody asked for, such as one of %s, which are left out: look at what stands between promcost and the server", r.strange, r.stranger))
	}
	return nil
}

// group is the requests that are asked for at once, by their indexes, all about [start, end].
type group struct {
	index      []int
	start, end int64
}

// groups divides the requests: as many are asked for at once as each of them allows.
func (r *reader) groups() (list []*group) {
	for i := range r.requests {
		q := &r.requests[i]
		at := slices.IndexFunc(list, func(g *group) bool {
			return g.start == q.Start && g.end == q.End && len(g.index) < max(1, q.AtOnce) && len(g.index) < max(1, r.requests[g.index[0]].AtOnce)
		})
		if at < 0 {
			list = append(list, &group{nil, q.Start, q.End})
			at = len(list) - 1
		}
		list[at].index = append(list[at].index, i)
	}
	return list
}

// group asks for a group.
func (r *reader) group(ctx context.Context, g *group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if g.end-g.start < shortest {
		return r.lines(ctx, g, nil)
	}
	done, err := r.native(ctx, g)
	switch {
	case errors.Is(err, errLarge):
		return r.lines(ctx, g, done)
	case isFormat(err):
		r.stats.Warnings = append(r.stats.Warnings, fmt.Sprintf("%s of the server is not as promcost knows it, and its lines of JSON were read in its place, which costs it more: %v", nativePath, err))
		return r.lines(ctx, g, done)
	}
	return err
}

// native asks for stored blocks. Where that fails, done are the series that were passed on before.
func (r *reader) native(ctx context.Context, g *group) (done map[string]bool, err error) {
	var n *native
	defer func() {
		if n != nil {
			n.release()
		}
	}()
	err = r.post(ctx, nativePath, g, g.start, g.end, func(contentType string, body io.Reader) (err error) {
		if n != nil {
			n.release() // what came before the answer broke off
		}
		if contentType != nativeType {
			return formatErrorf("its content type is %q", contentType)
		}
		n, err = readNative(body, g.start, g.end, r.account)
		return err
	})
	if err != nil {
		return nil, err
	}
	var lset []label
	for i, s := range n.series {
		if lset, err = parseName(lset[:0], s.name); err == nil {
			err = r.stored(ctx, i, g, lset, s)
		}
		if isFormat(err) {
			return passed(n.series[:i]), err
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// ctxEvery is how many series pass between looks at the context.
const ctxEvery = 64

// stored decodes the i-th series and passes it on.
func (r *reader) stored(ctx context.Context, i int, g *group, lset []label, s *stored) error {
	if i%ctxEvery == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	if err := r.dec.series(&r.p, s.blocks, g.start, g.end); err != nil {
		return err
	}
	return r.hand(g, lset, true)
}

// passed are the identities of series.
func passed(list []*stored) map[string]bool {
	done := map[string]bool{}
	for _, s := range list {
		if lset, err := parseName(nil, s.name); err == nil {
			done[identity(lset)] = true
		}
	}
	return done
}

// identity is a text that only a series with these labels has.
func identity(lset []label) string {
	var b []byte
	for _, l := range slices.SortedFunc(slices.Values(lset), func(a, b label) int { return strings.Compare(a.name, b.name) }) {
		b = strconv.AppendQuote(strconv.AppendQuote(b, l.name), l.value)
	}
	return string(b)
}

// post asks for the series of a group in [start, end]. Times are rounded to whole seconds, away from each other: what is beyond them is cut off here.
func (r *reader) post(ctx context.Context, path string, g *group, start, end int64, read func(contentType string, body io.Reader) error) error {
	const second = 1000
	form := url.Values{"start": {strconv.FormatInt(start/second, 10)}, "end": {strconv.FormatInt(end/second+1, 10)}}
	for _, i := range g.index {
		form.Add("match[]", selector(&r.requests[i]))
	}
	return r.src.Post(ctx, path, form, read, func(sent promquery.Sent) {
		sent.Of = promquery.NewPortions(sent.Bytes, g.index, make([]int64, len(g.index)))
		r.stats.Ask(sent)
	})
}

// hand passes the decoded series with these labels on to all requests of a group that it answers. first says that nothing of the
// series came before.
func (r *reader) hand(g *group, lset []label, first bool) error {
	if r.p.Len() == 0 {
		return nil
	}
	wanted := false
	for _, i := range g.index {
		if !r.answers(i, lset) {
			continue
		}
		wanted = true
		r.keys.Begin(&r.requests[i])
		for _, l := range lset {
			if l.name != "__name__" && !slices.Contains(r.src.cfg.ReplicaLabels, l.name) {
				r.keys.Label(l.name, l.value)
			}
		}
		r.p.SetSeries(r.keys.Series())
		if r.stats.Samples += int64(r.p.Len()); first {
			r.stats.Series++
		}
		if err := r.yield(i, r.keys.Key(), &r.p); err != nil {
			return err
		}
	}
	if !wanted {
		if r.strange++; r.strange == 1 {
			r.stranger = fmt.Sprintf("%.100q", valueOf(lset, "__name__"))
		}
	}
	return nil
}

// answers reports whether a series with these labels is one of a request's.
func (r *reader) answers(i int, lset []label) bool {
	if valueOf(lset, "__name__") != r.requests[i].Metric {
		return false
	}
	return !slices.ContainsFunc(r.matchers[i], func(m *labels.Matcher) bool { return !m.Matches(valueOf(lset, m.Name)) })
}

// valueOf is the value of a label, "" if the series lacks it.
func valueOf(lset []label, name string) string {
	for _, l := range lset {
		if l.name == name {
			return l.value
		}
	}
	return ""
}
