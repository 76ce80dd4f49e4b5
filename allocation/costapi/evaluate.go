package costapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/jmespath"
	"github.com/promcost/promcost/allocation/places"
)

// DefaultEvaluationTimeout is how long the JMESPath expression of a request may take, unless Config says otherwise.
const DefaultEvaluationTimeout = 10 * time.Second

// builtBytes is how many bytes of memory a byte takes that an evaluation builds: as values, and as encoded text.
const builtBytes = 3

// evaluations bounds what the expressions of all requests take together: their memory by the number of concurrent evaluations,
// their time by a deadline for each.
type evaluations struct {
	slots   places.Places
	timeout time.Duration
}

func newEvaluations(timeout time.Duration) *evaluations {
	const most = 4                                      // each may take several times jmespath.MaxOutput
	slots := min(max(1, runtime.GOMAXPROCS(0)/2), most) // requests without expressions get the other processors
	return &evaluations{places.New(slots), cmp.Or(max(timeout, 0), DefaultEvaluationTimeout)}
}

// do evaluates the request's expression over the body of an answer. It waits for a free slot, but no longer than the request
// lasts.
func (e *evaluations) do(q *request, body []byte) ([]byte, error) {
	leave, err := e.slots.Take(q.ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: evaluate jmespath: %d are being evaluated already: %w", allocation.ErrBusy, e.slots.Taken(), err)
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(q.ctx, e.timeout, fmt.Errorf("evaluation takes longer than %s: select less before", e.timeout))
	defer cancel()
	return q.evaluate(ctx, body)
}

// evaluate returns the envelope body with its data replaced by the result of the request's expression.
func (q *request) evaluate(ctx context.Context, body []byte) ([]byte, error) {
	fail := func(err error) error { return fmt.Errorf("evaluate jmespath: read answer: %w", err) }
	members := json.NewDecoder(bytes.NewReader(body))
	if _, err := members.Token(); err != nil {
		return nil, fail(err)
	}
	var b bytes.Buffer
	before := byte('{')
	for members.More() {
		name, err := members.Token()
		if err != nil {
			return nil, fail(err)
		}
		fmt.Fprintf(&b, "%c%q:", before, name)
		before = ','
		if name == "data" {
			err = q.evaluateNext(ctx, members, &b)
		} else {
			var raw json.RawMessage
			err = members.Decode(&raw)
			b.Write(raw)
		}
		if err != nil {
			return nil, err
		}
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// evaluateNext writes the result of the expression over the next value.
func (q *request) evaluateNext(ctx context.Context, values *json.Decoder, b *bytes.Buffer) error {
	var data any
	if err := values.Decode(&data); err != nil {
		return fmt.Errorf("evaluate jmespath: read answer: %w", err)
	}
	result, err := q.output.jmespath.Search(ctx, data, jmespath.Options{
		Now:  func() time.Time { return q.now },
		Draw: func(bytes int64) error { return q.memory.Draw(builtBytes * bytes) },
	})
	if err != nil {
		switch {
		case q.ctx.Err() != nil:
			return fmt.Errorf("evaluate jmespath: %w", q.ctx.Err())
		case errors.Is(err, allocation.ErrTooMuch), errors.Is(err, allocation.ErrBusy):
			return fmt.Errorf("parameter jmespath: %w", err)
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		}
		return badRequest("parameter jmespath=%s: %v", shorten(q.output.jmespath.String()), err)
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(result); err != nil {
		return fmt.Errorf("evaluate jmespath: write result: %w", err)
	}
	b.Truncate(b.Len() - 1) // remove the line feed
	return nil
}
