package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
)

// span is a stretch of time, as the API writes it.
type span struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// unusual is an answer about unusual days (SEMANTICS §11). Amounts are in currency; Unknown counts what was compared with nothing.
type unusual struct {
	Window    span         `json:"window"`
	Currency  string       `json:"currency"`
	Threshold float64      `json:"threshold"`
	Count     int          `json:"count"` // of all rows
	Unknown   int          `json:"unknown"`
	Notes     []string     `json:"notes"`
	Rows      []unusualDay `json:"rows"`
}

// unusualDay is a day on which a row cost unusually much or little.
type unusualDay struct {
	Name     string  `json:"name"`
	Day      span    `json:"day"`
	Cost     money   `json:"cost"`
	Expected money   `json:"expected"`
	Spread   money   `json:"spread"`
	Score    float64 `json:"score"`
	// Baseline is what explain_change should compare the day with.
	Baseline string `json:"baseline"`
}

// UnmarshalJSON implements json.Unmarshaler for the API's row, which has the whole question that says why.
func (d *unusualDay) UnmarshalJSON(text []byte) error {
	var row struct {
		Name                          string
		Day                           span
		Cost, Expected, Spread, Score float64
		Change                        string
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return err
	}
	why, err := url.Parse(row.Change)
	if err != nil {
		return fmt.Errorf("read the question that says why: %w", err)
	}
	decimals := rounded(max(math.Abs(row.Cost), math.Abs(row.Expected)), 0).decimals
	*d = unusualDay{row.Name, row.Day, to(row.Cost, decimals), to(row.Expected, decimals), to(row.Spread, decimals), row.Score, why.Query().Get("baseline")}
	shorten(&d.Score, 10)
	return nil
}

// anomalies answers with the days that cost unusually much or little, the most unusual first.
func (s *server) anomalies(ctx context.Context, args arguments) ([]byte, error) {
	var out unusual
	warnings, err := s.listed(ctx, "/model/anomalies", args, &out)
	if err != nil {
		return nil, err
	}
	out.Currency = s.currency(ctx)
	return short(out, warnings)
}

// outlook is an answer about what a period will cost (SEMANTICS §11): medians, so that rows do not add up to the total.
type outlook struct {
	Window   span     `json:"window"`
	Currency string   `json:"currency"`
	Notes    []string `json:"notes"`
	Total    ahead    `json:"total"`
	Count    int      `json:"count"` // of all rows
	Rows     []ahead  `json:"rows"`
}

// ahead is what a row will cost, with the 10th and the 90th percentile; null is unknown.
type ahead struct {
	Name     string `json:"name,omitempty"`
	SoFar    *money `json:"costSoFar"`
	Forecast *money `json:"forecast"`
	Low      *money `json:"low"`
	High     *money `json:"high"`

	exact float64 // the forecast that rows are ordered by
}

// UnmarshalJSON implements json.Unmarshaler for the API's total of a row.
func (a *ahead) UnmarshalJSON(text []byte) error {
	var row struct{ ClosedCost, PredictedCost, LowerConfidenceLimit, UpperConfidenceLimit *float64 }
	if err := json.Unmarshal(text, &row); err != nil {
		return err
	}
	round := func(v *float64) *money {
		if v == nil {
			return nil
		}
		m := rounded(*v, 0)
		return &m
	}
	*a = ahead{SoFar: round(row.ClosedCost), Forecast: round(row.PredictedCost), Low: round(row.LowerConfidenceLimit), High: round(row.UpperConfidenceLimit)}
	if row.PredictedCost != nil {
		a.exact = *row.PredictedCost
	}
	return nil
}

// everything is what the API calls the forecast of all rows together.
const everything = "all"

// forecast answers with what a period will cost, the dearest rows first.
func (s *server) forecast(ctx context.Context, args arguments) ([]byte, error) {
	limit, v, err := listArguments(args)
	if err != nil {
		return nil, err
	}
	answer, err := s.ask(ctx, "/forecasting/forecast/allocation", v)
	if err != nil {
		return nil, err
	}
	var models map[string]struct {
		Window span
		Notes  []string
		Totals map[string]ahead
	}
	if err := json.Unmarshal(answer.Data, &models); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	out := outlook{Currency: s.currency(ctx), Rows: []ahead{}}
	for _, m := range models { // there is one
		out.Window, out.Notes, out.Total = m.Window, m.Notes, m.Totals[everything]
		delete(m.Totals, everything)
		for _, name := range slices.Sorted(maps.Keys(m.Totals)) {
			row := m.Totals[name]
			row.Name = name
			out.Rows = append(out.Rows, row)
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b ahead) int { return cmp.Compare(b.exact, a.exact) })
	out.Count = len(out.Rows)
	out.Rows = out.Rows[:min(limit, len(out.Rows))]
	return short(out, answer.Warnings)
}
