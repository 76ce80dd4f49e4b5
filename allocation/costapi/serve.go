package costapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
)

// serveAllocations answers with allocations.
func (a *api) serveAllocations(w http.ResponseWriter, q *request) error {
	sets, err := a.results(q)
	if err != nil {
		return err
	}
	q.warnSharedAtOnce(sets)
	o := a.encoding(q)
	if err := q.checkRows(sets); err != nil {
		return err
	}
	if q.output.format == "csv" {
		q.startFile(w, o.AllWarnings(sets))
		if q.output.fullCSV {
			return encode.FullCSV(w, sets[0], o)
		}
		return encode.CSV(w, sets[0], o)
	}
	if columnar(q.output.format) {
		q.startFile(w, o.AllWarnings(sets))
		return writeColumnarSets(w, q.output.format, sets, o)
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.Allocations(w, sets, o)
}

// warnSharedAtOnce warns that costs are shared over a set of several days at once, where stored sets share them day by day: rows differ.
func (q *request) warnSharedAtOnce(sets []*allocation.Set) {
	o := &q.options
	rows := slices.ContainsFunc(sets, func(s *allocation.Set) bool { return s.Len() > 0 })
	shares := rows && (len(o.Share) > 0 || o.SharedCost != 0 || o.ShareLoadBalancers || o.ShareIdle != passes.NoSplit)
	days := slices.ContainsFunc(q.timing.windows, func(w allocation.Window) bool { return w.Duration() > 25*time.Hour })
	if shares && days && q.route.family == kubecost && !q.timing.query.Stored {
		q.warn("costs are shared over a whole set at once, and day by day by /model/allocation, which gives other rows: step=1d with accumulate=true shares day by day here, too")
	}
}

// startFile sets the header of an answer that is a file. Warnings go there.
func (q *request) startFile(w http.ResponseWriter, warnings []string) {
	header := w.Header()
	header.Set("Content-Type", cmp.Or(columnarTypes[q.output.format], csvType))
	header.Set("Content-Disposition", `attachment; filename="`+q.fileName()+`"`)
	addWarnings(header, warnings)
}

// addWarnings adds warnings to the header of an answer that has no place for them. Their code is the one that kubectl shows.
func addWarnings(header http.Header, warnings []string) {
	for _, text := range warnings {
		header.Add("Warning", "299 promcost "+strconv.Quote(text))
	}
}

// fileName names the content and the window of the answer.
func (q *request) fileName() string {
	const most = 100 // bytes of the window, which may be any text that can be parsed
	kind := "allocation"
	if q.route.endpoint&listed != 0 {
		kind = "assets"
	}
	if q.route.endpoint&billed != 0 {
		kind = "cloud-costs"
	}
	window := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-+.", r)) {
			return r
		}
		return '_'
	}, q.timing.window)
	extension := q.output.format
	if extension == "arrow" {
		extension = "arrows" // the extension of Arrow streams
	}
	return kind + "-" + window[:min(len(window), most)] + "." + extension
}

// serveSummary answers with the costs of allocations and little else.
func (a *api) serveSummary(w http.ResponseWriter, q *request) error {
	sets, err := a.results(q)
	if err != nil {
		return err
	}
	if err := q.checkRows(sets); err != nil {
		return err
	}
	if q.output.format == "csv" {
		o := a.encoding(q)
		q.startFile(w, o.AllWarnings(sets))
		return encode.CSV(w, sets[0], o)
	}
	step := sets[len(sets)-1].Window.Duration()
	if len(sets) > 1 { // the last one may still be running, the first may be shorter
		step = sets[1].Window.Start.Sub(sets[0].Window.Start)
		step = max(step, sets[len(sets)-1].Window.Duration())
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.Summary(w, sets, step, a.encoding(q))
}

// serveTopline answers with the total of all allocations of the window.
func (a *api) serveTopline(w http.ResponseWriter, q *request) error {
	q.options.Accumulate = allocation.All
	sets, err := a.results(q)
	if err != nil {
		return err
	}
	o := a.encoding(q)
	if q.output.format == "csv" {
		q.startFile(w, o.AllWarnings(sets))
		return encode.ToplineCSV(w, sets[0], o)
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.Topline(w, sets[0], o)
}

// serveTrends answers with how costs changed since the window before. A window that has not ended is compared with an equally long
// part of the one before.
func (a *api) serveTrends(w http.ResponseWriter, q *request) error {
	current := q.timing.windows[0]
	length := current.Duration()
	before := allocation.Window{Start: current.Start.Add(-length), End: current.Start}
	if current.End.After(q.now) {
		before.End = before.Start.Add(q.now.Sub(current.Start).Truncate(time.Millisecond))
	}
	var sets []*allocation.Set
	costs := [2]map[string]float64{{}, {}} // of an hour that has data
	var sides [2]change.Side
	for i, window := range [...]allocation.Window{before, current} {
		if window.Duration() <= 0 {
			continue
		}
		raw, err := a.sets(q, []allocation.Window{window})
		if err != nil {
			return err
		}
		got, err := q.apply(raw, q.options)
		if err != nil {
			return err
		}
		sides[i] = change.Side{Set: got[0], Covered: coverage.Measure(window, got[0].Covered, q.now)}
		for row := range got[0].Len() {
			costs[i][got[0].Name(row)] = got[0].TotalCost(row) * sides[i].Covered.Factor(1)
		}
		sets = append(sets, got...)
	}
	text, ok := change.Comparable(sides[0], sides[1])
	lacking := !ok && sides[0].Covered.Hours+sides[1].Covered.Hours > 0
	if lacking {
		q.warn("not comparable: %s", text)
	}
	list := make([]encode.Trend, len(q.output.names))
	for i, name := range q.output.names {
		list[i] = encode.Trend{Name: name, Previous: costs[0][name], Current: costs[1][name]}
		if lacking {
			list[i] = encode.Trend{Name: name}
		}
	}
	slices.SortFunc(list, func(a, b encode.Trend) int { return strings.Compare(a.Name, b.Name) })
	w.Header().Set("Content-Type", jsonType)
	return encode.Trends(w, current, list, sets, a.encoding(q))
}

// encoding is how sets are written, with the provenance of the answer.
func (a *api) encoding(q *request) encode.Options {
	o := encode.Options{
		Location: a.cfg.Zone, SingularProperties: q.output.singular, Warnings: append(slices.Clip(q.warnings), q.provenance.priceWarnings()...), Page: q.output.page, Fields: q.output.fields, Concerns: q.concerns,
		RateHours: q.output.rate, Now: q.now.Truncate(time.Second), UnknownIsZero: !q.output.nulls,
	}
	if len(q.timing.windows) > 0 {
		o.Asked = whole(q.timing.windows)
	}
	resolution := q.timing.query.Resolution
	if q.provenance.known {
		resolution = q.provenance.resolution
	}
	o.Resolution, o.BilledUntil = allocation.ResolutionText(resolution), q.provenance.billed
	o.EstimatedFrom, o.EstimatedShare = q.provenance.estimated.From, q.provenance.estimated.Share()
	if q.output.explain {
		o.Explain, o.PricedBy = append([]*allocation.Reading{}, q.provenance.readings...), q.provenance.priced.PricedBy()
	}
	return o
}

// serveDiagnosis answers with the data that there is of each input.
func (a *api) serveDiagnosis(w http.ResponseWriter, q *request) error {
	window := q.timing.query.Window
	if window.End.After(q.now) {
		window.End = q.now
	}
	d, err := a.cfg.Diagnose(q.ctx, window)
	switch {
	case allocation.HasNothing(err):
		q.warn("%s", addGap(nil, []allocation.Window{window}, err)[0].text())
		d = &diagnosis.Diagnosis{Window: window}
	case err != nil:
		return err
	case d.Nothing:
		q.warn("no data from %s to %s: none of the metrics that promcost needs has samples", window.Start.Format(time.RFC3339), window.End.Format(time.RFC3339))
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.Diagnosis(w, d, encode.Options{Location: a.cfg.Zone, Warnings: q.warnings})
}

// serveClusterInfo answers with the description of the cluster.
func (a *api) serveClusterInfo(w http.ResponseWriter, q *request) error {
	return q.writeData(w, a.clusterInfo())
}

// serveClusterInfoMap answers with all clusters.
func (a *api) serveClusterInfoMap(w http.ResponseWriter, q *request) error {
	return q.writeData(w, a.clusterInfoMap())
}

func (a *api) serveConfigs(w http.ResponseWriter, q *request) error {
	return q.writeData(w, map[string]string{"currencyCode": a.cfg.Currency, "timeZone": a.cfg.Zone.String()})
}

// serveViews answers with the saved views of the page, in the order of the configuration.
func (a *api) serveViews(w http.ResponseWriter, q *request) error {
	return q.writeData(w, append([]View{}, a.cfg.Views...))
}

// View is a saved view of the page.
type View struct {
	Name  string `json:"name"`
	Query string `json:"query"` // of the page's address
}

// serveQuestions answers with the saved questions, in the order of the configuration.
func (a *api) serveQuestions(w http.ResponseWriter, q *request) error {
	return q.writeData(w, append([]Question{}, a.cfg.Questions...))
}

// budget is how a budget stands, in the currency of the costs. What is not known is null.
type budget struct {
	Name     string      `json:"name"`
	Period   string      `json:"period"`
	Amount   float64     `json:"amount"`
	Cost     string      `json:"cost"` // list or billed
	Spent    *float64    `json:"spent"`
	Forecast *float64    `json:"forecast"` // what will be spent by the end of the period
	Window   *timeWindow `json:"window"`   // the period so far
	// CoveredHours are the hours of the window that have costs, WindowHours all of them: Spent lacks the others.
	CoveredHours *float64 `json:"coveredHours"`
	WindowHours  *float64 `json:"windowHours"`
	// BilledUntil is until when bills reach, SpentUnbilled what was spent after that, as bills let one estimate. Budgets at list price have neither.
	BilledUntil   *time.Time `json:"billedUntil"`
	SpentUnbilled *float64   `json:"spentUnbilled"`
}

// timeWindow is a window in small answers.
type timeWindow struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// serveBudgets answers with the budgets, in the order of the configuration, as they stood at the end of the last closed hour.
func (a *api) serveBudgets(w http.ResponseWriter, q *request) error {
	states := map[string]*metering.BudgetState{}
	if spending := a.cfg.Spending(); spending != nil {
		for i := range spending.States {
			states[spending.States[i].Budget.Name] = &spending.States[i]
		}
	}
	list := []budget{}
	for _, b := range a.cfg.Budgets() {
		answer := budget{Name: b.Name, Period: string(b.Period), Amount: b.Amount, Cost: "list"}
		if b.Billed {
			answer.Cost = "billed"
		}
		if state := states[b.Name]; state == nil {
			q.warn("budget %q: what is spent of it is not known yet: hours of its period have to be computed, see promcost backfill", b.Name)
		} else {
			answer.Spent = &state.Spent
			answer.Window = &timeWindow{state.Window.Start.In(a.cfg.Zone), state.Window.End.In(a.cfg.Zone)}
			covered, all := state.Known.Hours(), state.Window.Duration().Hours()
			if answer.CoveredHours, answer.WindowHours = &covered, &all; covered < all {
				q.warn("budget %q: %s: what the others cost is not in what is spent. promcost backfill adds them, as far as the source has samples of them", b.Name, (&coverage.Coverage{Hours: covered, Window: all}).Text())
			}
			if state.Forecast >= 0 {
				answer.Forecast = &state.Forecast
			}
			a.addBills(q, state, &answer)
		}
		list = append(list, answer)
	}
	return q.writeData(w, list)
}

// addBills adds to the answer how far a budget is by bill.
func (a *api) addBills(q *request, state *metering.BudgetState, answer *budget) {
	if !state.Budget.Billed {
		return
	}
	answer.SpentUnbilled = &state.SpentUnbilled
	if state.BilledUntil.IsZero() {
		answer.SpentUnbilled = &state.Spent
		q.warn("budget %q: no bill has final charges yet: all of it is at list prices", state.Budget.Name)
		return
	}
	until := state.BilledUntil.In(a.cfg.Zone)
	if answer.BilledUntil = &until; until.Before(state.Window.End) {
		q.warn("budget %q: what was spent from %s on is estimated from the last billed days: bills have no final charges of it yet", state.Budget.Name, until.Format(time.RFC3339))
	}
}

// serveHealth answers that the process is alive.
func (a *api) serveHealth(w http.ResponseWriter, _ *request) error {
	w.Header().Set("Content-Type", textType)
	w.WriteHeader(http.StatusOK)
	return nil
}

// writeData writes the envelope around small data.
func (q *request) writeData(w http.ResponseWriter, data any) error {
	body, err := json.Marshal(struct {
		Code     int      `json:"code"`
		Status   string   `json:"status"`
		Data     any      `json:"data"`
		Warnings []string `json:"warnings,omitempty"`
	}{http.StatusOK, "success", data, q.warnings})
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", jsonType)
	_, err = w.Write(append(body, '\n'))
	return err
}
