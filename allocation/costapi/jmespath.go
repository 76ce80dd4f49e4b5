package costapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/promcost/promcost/allocation/jmespath"
)

// maxEvaluated is the most bytes of an answer that an expression is evaluated over: as values it takes several times that.
const maxEvaluated = 32 << 20

// parseJMESPath compiles the expression that answers are replaced by.
func parseJMESPath(q *request, value string) (err error) {
	q.jmespath, err = jmespath.Compile(value)
	return err
}

// answer writes the answer of the request's path, its data replaced by what the request's expression is over them.
func (a *api) answer(out http.ResponseWriter, q *request) error {
	if q.jmespath == nil {
		return q.route.serve(a, out, q)
	}
	held := &heldAnswer{header: out.Header()}
	err := q.route.serve(a, held, q)
	if held.tooLong {
		return &statusError{http.StatusUnprocessableEntity, fmt.Sprintf("parameter jmespath: the answer has more than %d bytes to evaluate over: use fields, aggregate, filter, accumulate or limit", maxEvaluated)}
	}
	if err != nil {
		return err
	}
	body, err := q.evaluate(held.body.Bytes())
	if err != nil {
		return err
	}
	_, err = out.Write(body)
	return err
}

// evaluate is the envelope body with the request's expression over its data in their place.
func (q *request) evaluate(body []byte) ([]byte, error) {
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
			err = q.evaluateNext(members, &b)
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

// evaluateNext writes what the expression is over the next value.
func (q *request) evaluateNext(values *json.Decoder, b *bytes.Buffer) error {
	var data any
	if err := values.Decode(&data); err != nil {
		return fmt.Errorf("evaluate jmespath: read answer: %w", err)
	}
	result, err := q.jmespath.Search(q.ctx, data, jmespath.Options{Now: func() time.Time { return q.now }})
	if err != nil {
		if q.ctx.Err() != nil {
			return fmt.Errorf("evaluate jmespath: %w", q.ctx.Err())
		}
		return badRequest("parameter jmespath=%s: %v", shorten(q.jmespath.String()), err)
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(result); err != nil {
		return fmt.Errorf("evaluate jmespath: write result: %w", err)
	}
	b.Truncate(b.Len() - 1) // the line feed
	return nil
}

// errHeld says that an answer is longer than is held.
var errHeld = errors.New("answer is too long to evaluate over")

// heldAnswer is an answer in memory, which is to be changed before it is sent.
type heldAnswer struct {
	header  http.Header
	body    bytes.Buffer
	tooLong bool
}

// Header is that of the answer that is sent.
func (h *heldAnswer) Header() http.Header { return h.header }

// WriteHeader does nothing: what is held has succeeded.
func (h *heldAnswer) WriteHeader(int) {}

// Write appends to what is held.
func (h *heldAnswer) Write(p []byte) (int, error) {
	if h.body.Len()+len(p) > maxEvaluated {
		h.tooLong = true
		return 0, errHeld
	}
	return h.body.Write(p)
}
