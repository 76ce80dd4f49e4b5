package costapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-kit/log/level"
	"github.com/klauspost/compress/zstd"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
)

// statusError is an error with its HTTP status.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

// badRequest is an error of the request's parameters.
func badRequest(format string, args ...any) error {
	return &statusError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// statusOf is the status and the message of an error.
func statusOf(err error) (int, string) {
	var own *statusError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own.status, own.message
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes: send fewer parameters", tooLarge.Limit)
	case errors.Is(err, allocation.ErrUpstream): // also if the part that did not fail has no data
		return http.StatusBadGateway, err.Error()
	case errors.Is(err, allocation.ErrNoData), errors.Is(err, allocation.ErrTooMuch), errors.Is(err, allocation.ErrTooFine):
		return http.StatusUnprocessableEntity, err.Error()
	case errors.Is(err, allocation.ErrBusy):
		return http.StatusServiceUnavailable, err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, strings.ReplaceAll(err.Error(), context.DeadlineExceeded.Error(), "it takes too long") + ": ask for a shorter window or a longer resolution, or raise --compute.timeout"
	}
	return http.StatusInternalServerError, err.Error()
}

// fail answers with an error. It writes nothing to a client that has left.
func (a *api) fail(out *answer, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return
	}
	status, message := statusOf(err)
	if status >= http.StatusInternalServerError {
		level.Warn(a.logger).Log("msg", "request failed", "path", r.URL.Path, "status", status, "err", err)
	}
	header := out.Header()
	header.Del("Content-Encoding")
	header.Del("Content-Disposition")
	header.Set("Content-Type", jsonType)
	if errors.Is(err, allocation.ErrBusy) {
		header.Set("Retry-After", "5")
	}
	if status == http.StatusMethodNotAllowed {
		header.Set("Allow", a.methods(r.URL.Path))
	}
	out.body = nil
	out.WriteHeader(status)
	if err := encode.Error(out, status, message); err != nil {
		level.Debug(a.logger).Log("msg", "error not sent", "path", r.URL.Path, "err", err)
	}
}

// Content types of answers.
const (
	jsonType = "application/json"
	csvType  = "text/csv; charset=utf-8"
	textType = "text/plain; charset=utf-8"
)

// answer writes a response, compressed if the client accepts that. It knows whether the response has begun.
type answer struct {
	http.ResponseWriter
	started bool
	body    io.Writer // compresses; nil writes plain
}

// WriteHeader begins the answer.
func (o *answer) WriteHeader(status int) {
	o.started = true
	o.ResponseWriter.WriteHeader(status)
}

// Write appends to the answer.
func (o *answer) Write(p []byte) (int, error) {
	if o.body != nil {
		return o.body.Write(p)
	}
	o.started = true
	return o.ResponseWriter.Write(p)
}

// compress compresses the answer if the client accepts it. Call end after the answer.
func (o *answer) compress(request http.Header) (end func() error) {
	o.Header().Add("Vary", "Accept-Encoding")
	name := acceptedEncoding(request.Values("Accept-Encoding"))
	if name == "" {
		return func() error { return nil }
	}
	o.Header().Set("Content-Encoding", name)
	z, err := compressors[name](compressedAnswer{o})
	if err != nil {
		panic("BUG: level of " + name + ": " + err.Error())
	}
	o.body = z
	return z.Close
}

// Compressed answers as next does, compressed if the client accepts that, as the API's own answers are. It is for answers that are
// not flushed; next sees no Accept-Encoding.
func Compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &answer{ResponseWriter: w}
		end := out.compress(r.Header)
		r = r.Clone(r.Context())
		r.Header.Del("Accept-Encoding")
		next.ServeHTTP(out, r)
		if err := end(); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(http.ErrAbortHandler) // the client must not take a part for the whole answer
		}
	})
}

// compressors are the encodings of answers, by their names in headers.
var compressors = map[string]func(w io.Writer) (io.WriteCloser, error){
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return encode.NewGzip(w), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) {
		// One goroutine and a small window: many answers may be written at once.
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
	},
}

// compressedAnswer writes bytes to an answer that are compressed already.
type compressedAnswer struct{ *answer }

func (p compressedAnswer) Write(b []byte) (int, error) {
	p.started = true
	return p.ResponseWriter.Write(b)
}

// acceptedEncoding is the encoding that the Accept-Encoding headers weigh most: zstd if its weight is that of gzip, "" if they
// accept neither. For *, which accepts everything, it is gzip, because every client knows gzip.
func acceptedEncoding(headers []string) string {
	weights := map[string]float64{}
	for _, h := range headers {
		for item := range strings.SplitSeq(h, ",") {
			name, param, _ := strings.Cut(item, ";")
			weight := 1.0
			if q, ok := strings.CutPrefix(strings.ReplaceAll(param, " ", ""), "q="); ok {
				weight, _ = strconv.ParseFloat(q, 64) // malformed is 0: not accepted
			}
			weights[strings.ToLower(strings.TrimSpace(name))] = weight
		}
	}
	if _, named := weights["gzip"]; !named {
		weights["gzip"] = weights["*"]
	}
	best, most := "", 0.0
	for _, name := range [...]string{"zstd", "gzip"} {
		if weights[name] > most {
			best, most = name, weights[name]
		}
	}
	return best
}

// malformed is the error for parameters that cannot be parsed.
func malformed(what string, err error) error {
	remedy := "write % as %25 and ; as %3B"
	if strings.Contains(err.Error(), "exceeded limit") { // an error of Go without a type: a limit on forms
		remedy = "send fewer parameters"
	}
	return badRequest("malformed %s: %v: %s", what, err, remedy)
}

// readForm reads the parameters of the URL and of a form in the body.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return nil, &statusError{http.StatusMethodNotAllowed, fmt.Sprintf("method %s is not allowed: use GET, or POST with a form", r.Method)}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformed("query of the URL", err)
	}
	if r.Method != http.MethodPost {
		return values, nil
	}
	if header := r.Header.Get("Content-Type"); header != "" {
		kind, _, err := mime.ParseMediaType(header)
		if err != nil || kind != "application/x-www-form-urlencoded" {
			return nil, &statusError{http.StatusUnsupportedMediaType, fmt.Sprintf("content type %q is not supported: send the parameters as application/x-www-form-urlencoded", header)}
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); err != nil && !errors.As(err, &tooLarge) {
		return nil, badRequest("the body cannot be read to its end: %v: send the whole form", err)
	}
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, malformed("form in the body", err)
	}
	for name, list := range form {
		values[name] = append(values[name], list...)
	}
	r.Form = values // for counting requests by their parameters
	return values, nil
}
