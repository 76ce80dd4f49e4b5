package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxReply bounds the answers of the API that are held in memory.
const maxReply = 64 << 20

// reply is an answer of the API.
type reply struct {
	Data       json.RawMessage `json:"data"`
	Message    string          `json:"message"`
	Error      string          `json:"error"` // of Prometheus' API
	Warnings   []string        `json:"warnings"`
	Resolution string          `json:"resolution"`
	// The hours of the window that have data, and those up to now.
	CoveredHours float64 `json:"coveredHours"`
	WindowHours  float64 `json:"windowHours"`
}

// remedy tells how a question takes less memory.
const remedy = "use aggregate, filter, limit or a shorter window"

// ask asks the API. What it refuses is an error with its own text, so that an assistant can correct itself.
func (s *server) ask(ctx context.Context, path string, parameters url.Values) (*reply, error) {
	ctx, account, done := s.cfg.Memory.Within(ctx, remedy)
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path+"?"+parameters.Encode(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	req.RemoteAddr = "mcp"
	w := &response{header: http.Header{}, code: http.StatusOK, draw: account.Draw}
	w.serve(s.cfg.API, req)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	if w.err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, w.err)
	}
	var answer reply
	if err := json.Unmarshal(w.body.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("read the answer of %s, which is status %d: %w", path, w.code, err)
	}
	if w.code == http.StatusOK {
		return &answer, nil
	}
	for _, text := range []string{answer.Message, answer.Error} {
		if text != "" {
			return nil, errors.New(text)
		}
	}
	return nil, fmt.Errorf("ask %s: status %d", path, w.code)
}

// response keeps an answer in memory, up to maxReply.
type response struct {
	header http.Header
	code   int
	body   bytes.Buffer
	draw   func(bytes int64) error // the memory of the answer, as text and parsed
	err    error                   // why it is not whole
}

// serve has a handler answer. A handler that gives up panics, as net/http wants it to.
func (r *response) serve(h http.Handler, req *http.Request) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // net/http compares with this value, too
			r.err = cmp.Or(r.err, errors.New("the answer broke off: ask again"))
		} else if p != nil {
			panic(p)
		}
	}()
	h.ServeHTTP(r, req)
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(code int) { r.code = code }

// Write implements http.ResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	if r.err == nil && r.body.Len()+len(p) > maxReply {
		r.err = fmt.Errorf("the answer is longer than %d MiB: %s", maxReply>>20, remedy)
	}
	if r.err == nil {
		r.err = r.draw(4 * int64(len(p)))
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.body.Write(p)
}

// arguments are those of a tool call.
type arguments map[string]any

// parameters are the arguments as the API reads them, by the names that rename gives them.
func (a arguments) parameters(rename func(name string) string) (url.Values, error) {
	v := url.Values{}
	for name, value := range a {
		text, err := textOf(value)
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", name, err)
		}
		v.Set(rename(name), text)
	}
	return v, nil
}

// textOf is a value of JSON as a parameter. A list is joined by commas.
func textOf(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			text, err := textOf(item)
			if err != nil {
				return "", err
			}
			texts[i] = text
		}
		return strings.Join(texts, ","), nil
	}
	return "", errors.New("give a text, a number, a boolean or a list of them")
}

// number takes a number out of the arguments.
func (a arguments) number(name string, missing, most int) (int, error) {
	value, ok := a[name]
	delete(a, name)
	if !ok || value == nil {
		return missing, nil
	}
	n, ok := value.(float64)
	if !ok || n < 1 || n > float64(most) || n != float64(int(n)) {
		return 0, fmt.Errorf("argument %s: give a whole number from 1 to %d", name, most)
	}
	return int(n), nil
}
