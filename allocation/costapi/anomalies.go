package costapi

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/expected"
)

func parseThreshold(q *request, value string) error {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v > 0 && v <= math.MaxFloat64) {
		return errors.New("must be a number above 0: give one such as 4")
	}
	q.output.threshold = v
	return nil
}

// parseJudged reads an aggregation, and keeps its text, which the answer has.
func parseJudged(parse func(*request, string) error) func(*request, string) error {
	return func(q *request, value string) error {
		q.output.aggregate = value
		return parse(q, value)
	}
}

// serveAnomalies answers with the days on which results cost unusually much or little, those with the most money at stake first.
func (a *api) serveAnomalies(w http.ResponseWriter, q *request) error {
	windows := q.timing.windows
	if len(windows) == 0 {
		return a.writeUnusual(w, q, nil, &encode.Unusual{Window: q.timing.query.Window, Threshold: q.output.threshold})
	}
	d, err := a.daily(q, windows)
	if err != nil {
		return err
	}
	u := &encode.Unusual{Judged: d.Judged, Window: whole(windows), Threshold: q.output.threshold}
	last := len(d.days) - 1
	running := map[string]*expected.Past{}
	if !wholeDay(d.days[last], a.cfg.Zone) {
		if running, err = a.partly(q, d, last); err != nil {
			return err
		}
	}
	for _, name := range d.names() {
		if err := q.ctx.Err(); err != nil {
			return err
		}
		costs := d.costs[name]
		for i := len(d.days) - len(windows); i <= last; i++ {
			past := d.past(i, costs)
			if p := running[name]; p != nil && i == last {
				past = *p
			}
			of, ok := expected.Of(past.Like(0))
			score := of.Score(costs[i])
			switch {
			case !ok || !d.known[i]:
				if costs[i] != 0 {
					u.Unknown++
				}
			case math.Abs(score) >= u.Threshold && !math.IsInf(score, 0):
				u.Rows = append(u.Rows, encode.UnusualRow{Name: name, Day: d.days[i], Cost: costs[i], Of: of, Score: score})
			}
		}
	}
	slices.SortStableFunc(u.Rows, func(a, b encode.UnusualRow) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Cost-b.Of.Expected), math.Abs(a.Cost-a.Of.Expected)), b.Day.Start.Compare(a.Day.Start))
	})
	return a.writeUnusual(w, q, d, u)
}

// wholeDay reports whether a window is a day of the calendar.
func wholeDay(w allocation.Window, zone *time.Location) bool {
	return allocation.Day.Round(allocation.Window{Start: w.Start, End: w.Start.Add(1)}, zone).End.Equal(w.End)
}

// writeUnusual writes a page of unusual days.
func (a *api) writeUnusual(w http.ResponseWriter, q *request, d *daily, u *encode.Unusual) error {
	u.Count = len(u.Rows)
	page := q.output.page
	u.Rows = u.Rows[min(page.Offset, len(u.Rows)):]
	if page.Limit > 0 {
		u.Rows = u.Rows[:min(page.Limit, len(u.Rows))]
	}
	if u.Unknown > 0 {
		q.warn("%d days of results have no expected cost: they lack data, or fewer than four of the days before have a cost to compare with", u.Unknown)
	}
	if err := q.memory.Draw(int64(len(u.Rows)) * encodingBytes); err != nil {
		return err
	}
	for i := range u.Rows {
		u.Rows[i].Change = q.changeOf(d, slices.Index(d.days, u.Rows[i].Day))
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.WriteUnusual(w, u, a.encoding(q))
}

// changeOf is the question why the costs of the i-th day are what they are: compared with the same hours a week before, or else of the day before.
func (q *request) changeOf(d *daily, i int) string {
	ago := 7
	if i < ago || !d.known[i-ago] {
		ago = 1
	}
	values := url.Values{}
	for name, given := range q.given {
		if p := slices.IndexFunc(changeParams(), func(p param) bool { return p.name == name || slices.Contains(p.aliases, name) }); p >= 0 {
			values[name] = given
		}
	}
	for _, name := range [...]string{"limit", "offset", "format", "jmespath", "explain"} {
		values.Del(name)
	}
	span := func(w allocation.Window) string {
		return w.Start.Format(time.RFC3339) + "," + w.End.Format(time.RFC3339)
	}
	values.Set("window", span(d.days[i]))
	values.Set("baseline", span(expected.Before(d.days[i].End, ago, q.api.cfg.Zone)))
	values.Set("aggregate", q.output.aggregate)
	values.Set("unbilled", q.unbilled)
	return "/model/allocation/change?" + values.Encode()
}

// changeParams are the parameters of /model/allocation/change.
func changeParams() []param {
	return slices.DeleteFunc(params(), func(p param) bool { return p.on&changes == 0 })
}
