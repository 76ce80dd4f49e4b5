package costapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/promcost/promcost/allocation/jmespath"
	"github.com/promcost/promcost/allocation/memory"
)

// maxEvaluated is the largest answer in bytes that an expression is evaluated over. Its values take several times that memory.
const maxEvaluated = 32 << 20

// evaluatedBytes is how many bytes of memory a byte of an answer takes: as values, and as text before that.
const evaluatedBytes = 8

// parseJMESPath compiles the expression whose result replaces the data of the answer.
func parseJMESPath(q *request, value string) (err error) {
	q.output.jmespath, err = jmespath.Compile(value)
	return err
}

// answer writes the answer of the request's path. If there is an expression, its result replaces the data.
func (a *api) answer(out http.ResponseWriter, q *request) error {
	if q.output.jmespath == nil {
		return q.route.serve(a, out, q)
	}
	held := &heldAnswer{header: out.Header(), memory: q.memory}
	err := q.route.serve(a, held, q)
	if held.tooLong {
		return &statusError{http.StatusUnprocessableEntity, fmt.Sprintf("parameter jmespath: the answer has more than %d bytes to evaluate over: use fields, aggregate, filter, accumulate or limit", maxEvaluated)}
	}
	if err != nil {
		return err
	}
	body, err := a.evaluations.do(q, held.body.Bytes())
	if err != nil {
		return err
	}
	_, err = out.Write(body)
	return err
}

// errHeld says that an answer is too long to be held in memory.
var errHeld = errors.New("answer is too long to evaluate over")

// heldAnswer is an answer in memory. It is changed before it is sent.
type heldAnswer struct {
	header  http.Header
	memory  *memory.Account
	body    bytes.Buffer
	tooLong bool
}

// Header returns the header of the answer that is sent.
func (h *heldAnswer) Header() http.Header { return h.header }

// WriteHeader does nothing: an answer that is held has succeeded.
func (h *heldAnswer) WriteHeader(int) {}

// Write appends to the answer in memory.
func (h *heldAnswer) Write(p []byte) (int, error) {
	if h.body.Len()+len(p) > maxEvaluated {
		h.tooLong = true
		return 0, errHeld
	}
	if err := h.memory.Draw(evaluatedBytes * int64(len(p))); err != nil {
		return 0, err
	}
	return h.body.Write(p)
}
