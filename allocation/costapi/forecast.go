package costapi

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/expected"
	"github.com/promcost/promcost/allocation/windows"
)

// maxAhead is the most days that are forecast.
const maxAhead = 366

func parseAhead(q *request, value string) error {
	const day = 24 * time.Hour
	d, err := windows.ParseDuration(value)
	if err != nil {
		return err
	}
	if d < day || d > maxAhead*day || d%day != 0 {
		return errors.New("must be whole days, at least 1d and at most 366d: give one such as 30d")
	}
	q.timing.ahead = int(d / day)
	return nil
}

func parsePeriod(q *request, value string) error {
	if err := oneOf(value, stepWords[1:]...); err != nil {
		return err
	}
	q.timing.period = periods[value]
	return nil
}

// finishPeriod finds what the forecast is of, and which part of it is closed.
func (q *request) finishPeriod(given func(name string) bool) error {
	if q.timing.period != allocation.NoPeriod && given("predictionWindow") {
		return badRequest("parameter period: it is given beside predictionWindow: leave one of them out")
	}
	zone, end := q.api.cfg.Zone, q.lastFullHour()
	q.timing.query.Stored, q.timing.query.Resolution = true, allocation.AutoResolution
	today := allocation.Day.Round(allocation.Window{Start: end, End: end.Add(1)}, zone)
	w := allocation.Window{Start: today.End, End: expected.Before(today.End, -q.timing.ahead, zone).End}
	if q.timing.period != allocation.NoPeriod {
		w = q.timing.period.Round(allocation.Window{Start: end, End: end.Add(1)}, zone)
	} else if _, err := cutWindow(w, allocation.Day, zone); err != nil {
		return badRequest("parameter predictionWindow: %v", err)
	}
	q.timing.query.Window = w
	closed := allocation.Window{Start: today.Start, End: end}
	if w.Start.Before(closed.Start) {
		closed.Start = w.Start
	}
	list, err := cutWindow(closed, allocation.Day, zone)
	if err != nil {
		return badRequest("parameter period: %v", err)
	}
	if len(list) == 0 { // the day begins now
		list = []allocation.Window{expected.Before(end, 0, zone)}
	}
	q.timing.windows = list
	return nil
}

// prospect is what is left of a period, and what is known of the days that it is like.
type prospect struct {
	*daily
	period allocation.Window
	next   int                       // index of the day that is running, or begins now
	left   []allocation.Window       // of the period, by day; the first one may be the rest of the running day
	ahead  int                       // how many days after the running one the first of them is
	rest   map[string]*expected.Past // what the rest of the running day cost on other days, by result; nil if the day begins now
}

// prospect asks what is needed for a forecast.
func (a *api) prospect(q *request) (*prospect, error) {
	end, zone := q.timing.windows[len(q.timing.windows)-1].End, a.cfg.Zone
	d, err := a.daily(q, q.timing.windows)
	if err != nil {
		return nil, err
	}
	d.addTotal()
	p := &prospect{daily: d, period: q.timing.query.Window, next: len(d.days)}
	if !wholeDay(d.days[p.next-1], zone) {
		p.next--
		if p.rest, err = a.partly(q, d, p.next); err != nil {
			return nil, err
		}
		p.turnOver()
	}
	left := p.period
	if left.Start.Before(end) {
		left.Start = end
	}
	if left.Start.Before(left.End) {
		if p.left, err = cutWindow(left, allocation.Day, zone); err != nil {
			return nil, badRequest("parameter period: %v", err)
		}
	}
	for day := allocation.Day.Round(allocation.Window{Start: end, End: end.Add(1)}, zone); day.End.Before(left.Start) || day.End.Equal(left.Start); p.ahead++ {
		day = allocation.Day.Round(allocation.Window{Start: day.End, End: day.End.Add(1)}, zone)
	}
	return p, nil
}

// turnOver makes what days cost up to a time of the clock what the rest of them cost.
func (p *prospect) turnOver() {
	for name, past := range p.rest {
		whole := p.past(p.next, p.costs[name])
		for ago := range past {
			if ago < 7 || ago%7 == 6 {
				past[ago] = expected.Day{Cost: whole[ago].Cost - past[ago].Cost, Known: whole[ago].Known && past[ago].Known}
			}
		}
	}
}

// closed says how much of the closed part of the period has data.
func (p *prospect) closed() coverage.Coverage {
	w := p.period
	if end := p.days[len(p.days)-1].End; w.End.After(end) {
		w.End = end
	}
	return coverage.Measure(w, p.covered, time.Time{})
}

// row is the forecast of a result. Where nothing is known of what is closed, nothing is of the period.
func (p *prospect) row(name string, closed coverage.Coverage) encode.ForecastRow {
	costs := p.costs[name]
	r := encode.ForecastRow{Name: name}
	if closed.Hours == 0 && closed.Window > 0 {
		r.Closed = math.NaN()
		return r
	}
	for i, w := range p.days {
		if !w.Start.Before(p.period.Start) {
			r.Closed += costs[i]
		}
	}
	past := p.past(p.next, costs)
	likes := make([][]float64, len(p.left))
	for k := range p.left {
		likes[k] = past.Like(p.ahead + k)
		if rest := p.rest[name]; rest != nil && p.ahead+k == 0 {
			likes[k] = rest.Like(0)
		}
	}
	if r.Total, r.Known = expected.Period(r.Closed, likes); !r.Known {
		return r
	}
	for k, w := range p.left {
		day, _ := expected.Period(0, likes[k:k+1])
		r.Days = append(r.Days, encode.ForecastDay{Window: w, Forecast: day})
	}
	return r
}

// forecastBytes is about the memory that a forecast takes for a day of a result.
const forecastBytes = 128

// serveForecast answers with what a period will come to.
func (a *api) serveForecast(w http.ResponseWriter, q *request) error {
	p, err := a.prospect(q)
	if err != nil {
		return err
	}
	if err := a.checkCount(len(p.costs) * max(1, len(p.left))); err != nil {
		return err
	}
	if err := q.memory.Draw(int64(len(p.costs)*max(1, len(p.left))) * forecastBytes); err != nil {
		return err
	}
	closed := p.closed()
	f := &encode.Forecasts{Judged: p.Judged, Period: p.period, Aggregate: q.output.aggregate, Total: p.row(total, closed)}
	delete(p.costs, total)
	unknown := 0
	for _, name := range p.names() {
		if err := q.ctx.Err(); err != nil {
			return err
		}
		r := p.row(name, closed)
		f.Rows = append(f.Rows, r)
		if !r.Known {
			unknown++
		}
	}
	if unknown > 0 {
		q.warn("%d results have no forecast: fewer than four of the days before have a cost to go by", unknown)
	}
	if closed.Hours > 0 && !closed.Whole() {
		q.warn("what is closed of the period lacks costs: %s", closed.Text())
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.WriteForecasts(w, f, a.encoding(q))
}
