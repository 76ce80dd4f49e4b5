package promapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// apiError is an error with the status and the kind that Prometheus gives it.
type apiError struct {
	code int
	kind string
	err  error
}

// statusClosed is the status that nginx and Prometheus log for a client that has gone.
const statusClosed = 499

// failed gives an error of an evaluation its status.
func failed(err error) *apiError {
	var canceled promql.ErrQueryCanceled
	var late promql.ErrQueryTimeout
	switch {
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return &apiError{statusClosed, "canceled", err}
	case errors.As(err, &late):
		return &apiError{http.StatusServiceUnavailable, "timeout", fmt.Errorf("%w: %s", err, lateRemedy)}
	case errors.Is(err, context.DeadlineExceeded):
		return &apiError{http.StatusServiceUnavailable, "timeout", tooLate(err)}
	case errors.Is(err, allocation.ErrBusy):
		return &apiError{http.StatusServiceUnavailable, "execution", err}
	}
	return &apiError{http.StatusUnprocessableEntity, "execution", err}
}

// lateRemedy says how a question takes less time.
const lateRemedy = "ask for a shorter range, or raise --promql.timeout, and the parameter timeout where there is one"

// tooLate adds the remedy to the error of a question that took too long.
func tooLate(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), context.DeadlineExceeded.Error(), "it takes too long") + ": " + lateRemedy)
}

// serveQuery answers /api/v1/query.
func (a *api) serveQuery(r *http.Request) (result, *apiError) {
	limit, bad := limitParam(r)
	if bad != nil {
		return result{}, bad
	}
	at, bad := timeParam(r, "time", a.o.Now())
	if bad != nil {
		return result{}, bad
	}
	return a.evaluate(r, limit, span{at, at, time.Millisecond}, func(ctx context.Context, q storage.Queryable, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.NewInstantQuery(ctx, q, opts, r.FormValue("query"), at)
	})
}

// maxPoints is how many points Prometheus gives of a series at most.
const maxPoints = 11000

// serveQueryRange answers /api/v1/query_range.
func (a *api) serveQueryRange(r *http.Request) (result, *apiError) {
	limit, bad := limitParam(r)
	if bad != nil {
		return result{}, bad
	}
	start, err := parseTime(r.FormValue("start"))
	if err != nil {
		return result{}, badParam("start", err)
	}
	end, err := parseTime(r.FormValue("end"))
	if err == nil && end.Before(start) {
		err = errors.New("end timestamp must not be before start time")
	}
	if err != nil {
		return result{}, badParam("end", err)
	}
	step, err := parseDuration(r.FormValue("step"))
	if err == nil && step <= 0 {
		err = errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer")
	}
	if err == nil && step < time.Millisecond {
		err = errTiny
	}
	if err != nil {
		return result{}, badParam("step", err)
	}
	at := span{start, end, step}
	if at.points() > maxPoints+1 {
		return result{}, badData(errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"))
	}
	return a.evaluate(r, limit, at, func(ctx context.Context, q storage.Queryable, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.NewRangeQuery(ctx, q, opts, r.FormValue("query"), start, end, step)
	})
}

// parse parses the expression of a request, unless it is too large.
func (a *api) parse(r *http.Request) (parser.Expr, error) {
	text := r.FormValue("query")
	if err := checkText(text); err != nil {
		return nil, err
	}
	return a.parser.ParseExpr(text)
}

// evaluate runs the query that prepare makes. It refuses expressions that take too much.
func (a *api) evaluate(r *http.Request, limit int, at span, prepare func(context.Context, storage.Queryable, promql.QueryOpts) (promql.Query, error)) (result, *apiError) {
	ctx := r.Context()
	if text := r.FormValue("timeout"); text != "" {
		timeout, err := parseDuration(text)
		if err == nil && timeout < time.Millisecond {
			err = errTiny
		}
		if err != nil {
			return result{}, badParam("timeout", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	opts, bad := queryOptions(r)
	if bad != nil {
		return result{}, bad
	}
	expr, err := a.parse(r)
	if err != nil {
		return result{}, badParam("query", err)
	}
	made, err := checkExpr(ctx, expr, at, a.o.MaxSamples)
	if errors.Is(err, allocation.ErrTooMuch) || errors.Is(err, allocation.ErrBusy) {
		return result{}, failed(err)
	}
	if err != nil {
		return result{}, badParam("query", err)
	}
	query, err := prepare(ctx, boundedQueryable{a.all, made}, opts)
	if err != nil {
		return result{}, badParam("query", err)
	}
	defer query.Close()
	res := query.Exec(ctx)
	if res.Err != nil {
		return result{}, failed(res.Err)
	}
	notes := res.Warnings
	if limit > 0 && shorten(res, limit) {
		notes = notes.Add(errTruncated)
	}
	wanted := r.FormValue("stats")
	if wanted != "" && wanted != "true" && wanted != "all" {
		notes = notes.Add(fmt.Errorf("value %q for parameter \"stats\" is deprecated and will be rejected in the next major release, use \"true\" or \"all\"", wanted))
	}
	if err := memory.FromContext(ctx).Draw(answerBytes(res.Value)); err != nil {
		return result{}, failed(err)
	}
	data, err := appendResult(nil, res.Value)
	if err == nil && wanted != "" {
		var text []byte
		text, err = json.Marshal(stats.NewQueryStats(query.Stats()))
		data = append(append(append(data[:len(data)-1], `,"stats":`...), text...), '}')
	}
	if err != nil {
		return result{}, &apiError{http.StatusInternalServerError, "internal", err}
	}
	return result{raw: data, notes: notes, query: r.FormValue("query")}, nil
}

// Estimates of the bytes that a sample and the labels of a series take in an answer.
const (
	answerSampleBytes = 40
	answerLabelsBytes = 400
)

// answerBytes estimates the bytes of the text of a result.
func answerBytes(v parser.Value) int64 {
	switch v := v.(type) {
	case promql.Matrix:
		return int64(v.TotalSamples())*answerSampleBytes + int64(len(v))*answerLabelsBytes
	case promql.Vector:
		return int64(len(v)) * (answerSampleBytes + answerLabelsBytes)
	}
	return answerSampleBytes
}

// errTruncated is the warning that an answer was cut off.
var errTruncated = errors.New("results truncated due to limit")

// shorten cuts a result to limit series and reports whether there were more.
func shorten(res *promql.Result, limit int) bool {
	switch v := res.Value.(type) {
	case promql.Matrix:
		if len(v) > limit {
			res.Value = v[:limit]
			return true
		}
	case promql.Vector:
		if len(v) > limit {
			res.Value = v[:limit]
			return true
		}
	}
	return false
}

// serveExemplars answers /api/v1/query_exemplars: cost series have no exemplars.
func (a *api) serveExemplars(r *http.Request) (result, *apiError) {
	start, end, bad := rangeParams(r)
	if bad != nil {
		return result{}, bad
	}
	if end.Before(start) {
		return result{}, badData(errors.New("end timestamp must not be before start timestamp"))
	}
	if err := checkText(r.FormValue("query")); err != nil {
		return result{}, badParam("query", err)
	}
	expr, err := a.parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return result{}, badData(err) // as Prometheus
	}
	if len(parser.ExtractSelectors(expr)) == 0 {
		return result{}, nil
	}
	return result{data: []struct{}{}}, nil
}

// serveFormat answers /api/v1/format_query.
func (a *api) serveFormat(r *http.Request) (result, *apiError) {
	expr, err := a.parse(r)
	if err != nil {
		return result{}, badParam("query", err)
	}
	if prettyWork(expr).pretty > maxPretty {
		return result{}, failed(errors.New("format the expression: it has too many terms within each other: format its parts"))
	}
	return result{data: expr.Pretty(0)}, nil
}

// serveParse answers /api/v1/parse_query.
func (a *api) serveParse(r *http.Request) (result, *apiError) {
	expr, err := a.parse(r)
	if err != nil {
		return result{}, badParam("query", err)
	}
	return result{data: treeOf(expr)}, nil
}

// result is an answer that is no error. The zero value is one without content.
type result struct {
	data  any
	raw   []byte // JSON in place of data
	notes annotations.Annotations
	query string // the expression: notes name places in it
}

// maxNotes bounds the warnings of an answer, and its infos.
const maxNotes = 10

// answerResult answers in Prometheus' form.
func answerResult(w http.ResponseWriter, res result, bad *apiError) {
	if bad != nil {
		answerError(w, bad.code, bad.kind, bad.err)
		return
	}
	if res.data == nil && res.raw == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	warnings, infos := res.notes.AsStrings(res.query, maxNotes, maxNotes)
	for _, list := range [...][]string{warnings, infos} {
		for i, text := range list {
			list[i] = allocation.Brief(text)
		}
	}
	if res.raw == nil {
		writeAnswer(w, http.StatusOK, envelope{Status: "success", Data: res.data, Warnings: warnings, Infos: infos})
		return
	}
	tail, err := json.Marshal(envelope{Status: "success", Warnings: warnings, Infos: infos})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	const head = `{"status":"success"`
	w.Header().Set("Content-Type", "application/json")
	// Errors are ignored: a client that has gone needs no answer.
	for _, part := range [...][]byte{[]byte(head + `,"data":`), res.raw, tail[len(head):]} {
		_, _ = w.Write(part)
	}
}
