package costapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/jmespath"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/allocation/windows"
)

// request is the parsed parameters of a request, and the state of its answer.
type request struct {
	ctx        context.Context
	api        *api
	route      route
	now        time.Time       // when the request came
	memory     *memory.Account // the account that the request draws from
	vocabulary []filter.Option // what its filters may name, and what that means
	given      url.Values      // the parameters as they came
	timing     timing
	selection  selection
	options    passes.Options // options of the passes
	reconcile  bool           // costs are those of bills
	unbilled   string         // list or estimate: what costs are that no bill has
	assets     assets.Options
	cloud      cloudQuestion
	saving     savings.Question
	prediction prediction
	sizing     sizing
	drill      []allocation.Key // of the parts of a row
	levels     change.Levels    // of a change
	search     search
	output     output
	provenance provenance
	warnings   []string
}

// timing is the time that a request asks for, and how it is divided into sets.
type timing struct {
	window   string              // as given
	baseline string              // as given: the window to compare with
	before   []allocation.Window // of the baseline's sets, oldest first
	query    allocation.Query    // the window as asked: a part of it may be in the future
	step     setStep             // a step of the calendar, in place of the query's
	windows  []allocation.Window // of the sets, oldest first
	cut      allocation.Period   // where stored windows are cut
	// period and ahead are what a forecast is of: the running period of the calendar, or else so many days from the next midnight on.
	period allocation.Period
	ahead  int
	// maxError and minDuration choose the resolution if maxError is above 0.
	maxError    float64
	minDuration time.Duration
}

// selection is the rows that a request asks for.
type selection struct {
	v1      []v1Value  // filters of the first language
	entries []entry    // list entries that select rows
	selects []entry    // the filter of the second language and the selectors
	filters filter.And // the filter of the second language; in the end all filters that must match
	// assetFilter selects assets, nil selects all; steps bounds the work of the filters.
	assetFilter *filter.Filter
	steps       *filter.Steps
	// labels are the labels and annotations that the request asks for, each once. labelNames are their names and the configured
	// ones.
	labels     []allocation.LabelUse
	labelNames labelnames.Names
	// fieldSelector and labelSelector are Kubernetes selectors, as given.
	fieldSelector string
	labelSelector string
}

// output is how the answer looks.
type output struct {
	format    string
	fullCSV   bool
	singular  bool
	explain   bool
	nulls     bool // unknown usage is null, else 0
	quantiles bool // fields are those asked for, and quantiles of usage
	page      encode.Page
	fields    []string             // the members to write, nil for all
	jmespath  *jmespath.Expression // evaluated over the data; nil keeps the data
	rate      float64              // the hours that costs are scaled to, 0 for the window
	names     []string             // the results whose trends are asked for
	aggregate string               // the aggregation as it is given, of answers about expected costs and about nodes
	threshold float64              // the score from which on a cost is unusual
	least     float64              // the part of its cost that an asset has to change to be listed
	topics    []notices.Topic      // the topics whose warnings are sent
}

// search is a search for the values of a field.
type search struct {
	field *completion
	text  string
	most  int // values
}

// provenance is how the sets of the answer were computed.
type provenance struct {
	readings   []*allocation.Reading // each one once
	resolution time.Duration         // the longest of all sets
	known      bool                  // there is a set
	// billed is until when all sets were reconciled with bills; zero without bills.
	billed    time.Time
	estimated allocation.Estimate
	priced    allocation.Header // has what everything costs by the sources of prices
}

// add adds how a set was computed.
func (p *provenance) add(s *allocation.Set) {
	resolution := s.Resolution
	if s.Reading != nil {
		resolution = s.Reading.Resolution
		if !slices.Contains(p.readings, s.Reading) {
			p.readings = append(p.readings, s.Reading)
		}
	}
	p.priced.AddPricedBy(&p.priced, &s.Header)
	p.estimated.Add(s.Estimated)
	p.resolution, p.known = max(p.resolution, resolution), true
	if p.billed.IsZero() || s.BilledUntil.Before(p.billed) && !s.BilledUntil.IsZero() {
		p.billed = s.BilledUntil
	}
}

// leastShare is the least part of the cost that is worth a warning where it rests on defaults or estimates.
const leastShare = 0.005

// priceWarnings say how much of the cost rests on prices that nobody gave.
func (p *provenance) priceWarnings() (warnings []string) {
	defaults, estimates := rates.DefaultShare(p.priced.PricedBy())
	if defaults >= leastShare {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of this cost rests on default prices: see promcost check prices for what has them, and what would price it better", 100*defaults))
	}
	if estimates >= leastShare {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of this cost rests on estimated prices: those of another region, or of spot machines by what they cost on demand. See promcost check prices", 100*estimates))
	}
	return warnings
}

// v1Value is a filter of the first language and its value.
type v1Value struct{ name, value string }

// parse reads the parameters of a request: first each one, then those that depend on others.
func (a *api) parse(rt route, values url.Values) (*request, error) {
	q := &request{api: a, route: rt, now: a.cfg.Now(), vocabulary: a.vocabulary, given: values}
	if rt.family == ackFamily {
		q.vocabulary = append(slices.Clip(a.vocabulary), filter.WithReplicaSets())
	}
	q.options.LabelValue = rt.family == openCost
	var known []param
	for _, p := range params() {
		if p.on&rt.endpoint != 0 {
			known = append(known, p)
		}
	}
	if rt.endpoint == information {
		return q, nil
	}
	if err := q.checkNames(rt, known, values); err != nil {
		return nil, err
	}
	for _, p := range known {
		name, value, err := p.value(values, rt.family, a.cfg.Defaults)
		if err != nil {
			return nil, err
		}
		if value == "" || p.parse == nil {
			continue
		}
		if err := p.parse(q, value); err != nil {
			return nil, badRequest("parameter %s=%s: %v", name, shorten(value), err)
		}
	}
	if rt.endpoint == facts {
		return q, nil
	}
	q.concern(values, a.cfg.Defaults)
	return q, q.finish(func(name string) bool {
		return slices.ContainsFunc(values[name], func(v string) bool { return strings.TrimSpace(v) != "" })
	})
}

// value is the value given for p, by any of its names, or else its default. An empty value is not a value.
func (p *param) value(values url.Values, f family, configured map[string]string) (name, value string, err error) {
	name = p.name
	for _, n := range append([]string{p.name}, p.aliases...) {
		for _, v := range values[n] {
			if v = strings.TrimSpace(v); v == "" {
				continue
			}
			if value != "" && v != value && p.parse != nil {
				return "", "", badRequest("parameter %s is given as %s and as %s: give it once", n, shorten(value), shorten(v))
			}
			name, value = n, v
		}
	}
	if value == "" {
		value = cmp.Or(configured[p.name], p.def[f])
	}
	return name, value, nil
}

// checkNames refuses unknown names that look misspelled, and warns about the others.
func (q *request) checkNames(rt route, known []param, values url.Values) error {
	var names []string
	for _, p := range known {
		names = append(append(names, p.name), p.aliases...)
	}
	given := make([]string, 0, len(values))
	for name := range values {
		given = append(given, name)
	}
	slices.Sort(given)
	const most = 10 // warnings
	unknown := 0
	for _, name := range given {
		if slices.Contains(names, name) {
			continue
		}
		if near := caret.Nearest(name, names); near != "" {
			return badRequest("unknown parameter %q: did you mean %q?", shorten(name), near)
		}
		if unknown++; unknown <= most {
			q.warnings = append(q.warnings, fmt.Sprintf("parameter %q is not known to %s and was ignored", shorten(name), rt.path))
		}
	}
	if unknown > most {
		q.warn("%d more parameters are not known to %s and were ignored", unknown-most, rt.path)
	}
	return nil
}

// chooseResolution finds the resolution that maxError asks for, and checks the one that is given. A resolution longer than the
// window would count each container for all of it or not at all.
func (q *request) chooseResolution(given func(name string) bool, window time.Duration) error {
	switch {
	case q.timing.maxError > 0 && given("resolution"):
		return badRequest("parameter maxError: it chooses the resolution: leave it or resolution out")
	case q.timing.maxError > 0:
		q.timing.query.Resolution = windows.ResolutionFor(q.timing.maxError, q.timing.minDuration, window)
		q.timing.query.ExactBelow = q.timing.query.Resolution > 0
	case q.timing.query.Resolution > window:
		return badRequest("parameter resolution=%s: it is longer than the window of %s: give a longer window, or a resolution of at most that, or auto or exact",
			allocation.ResolutionText(q.timing.query.Resolution), allocation.ResolutionText(window))
	case given("minDuration"):
		q.warnings = append(q.warnings, "parameter minDuration has no effect without maxError")
	}
	return nil
}

// shorten cuts a client's text for use in an error.
func shorten(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// setText sets a field to the value.
func setText(field func(*request) *string) func(*request, string) error {
	return func(q *request, value string) error {
		*field(q) = value
		return nil
	}
}

// setWord sets a field to the value, which is one of words.
func setWord(field func(*request) *string, words ...string) func(*request, string) error {
	return func(q *request, value string) error {
		*field(q) = value
		return oneOf(value, words...)
	}
}

// oneOf is an error unless value is one of words.
func oneOf(value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("unknown value: use %s", strings.Join(words, " or "))
}

// setBool sets a field to a boolean.
func setBool(field func(*request) *bool) func(*request, string) error {
	return func(q *request, value string) (err error) {
		*field(q), err = parseBool(value)
		return err
	}
}

func parseBool(value string) (bool, error) {
	v, err := strconv.ParseBool(value)
	if err != nil {
		return false, errors.New("no boolean: use true or false")
	}
	return v, nil
}

func parseResolution(q *request, value string) error {
	switch value {
	case "auto":
		q.timing.query.Resolution = allocation.AutoResolution
		return nil
	case "exact":
		q.timing.query.Resolution = 0
		return nil
	}
	d, err := windows.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("%w; or auto, or exact", err)
	}
	if d < time.Second || d%time.Second != 0 {
		return errors.New("must be whole seconds, at least 1s: give one such as 1m, exact for every sample, or auto")
	}
	q.timing.query.Resolution = d
	return nil
}

func parseMaxError(q *request, value string) error {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v > 0 && v <= 1) {
		return errors.New("must be a fraction above 0, at most 1: give one such as 0.05 for 5 %")
	}
	q.timing.maxError = v
	return nil
}

func parseMinDuration(q *request, value string) error {
	d, err := windows.ParseDuration(value)
	if err != nil {
		return err
	}
	if d < time.Second {
		return errors.New("must be at least 1s: give one such as 10m")
	}
	q.timing.minDuration = d
	return nil
}
