package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/promcost/promcost/promquery"
)

const (
	// tries is how often a request is sent before it fails. With the default back-off that takes about eight seconds, and at least
	// four, in which a server can restart. brokenTries is the same for a server that says that it has failed: it mostly
	// fails again.
	tries       = 6
	brokenTries = 3
	// maxRetryAfter bounds the wait that a server may ask for. Mostly the context's deadline does.
	maxRetryAfter = time.Hour
	// maxMessage is how much of an error's text is read and maxShown how much of it is shown.
	maxMessage = 64 << 10
	maxShown   = 300
)

// statusError is an answer that is not one.
type statusError struct {
	code       int
	html       bool
	message    string        // the server's message
	retryAfter time.Duration // 0 if the server does not set it
	header     http.Header
	redirected string // the server that a redirect led to, "" where none led to another
}

func (e *statusError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
	}
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), shown(e.message))
}

// shown is the start and the end of a message: servers put what they were doing first and what went wrong last.
func shown(message string) string {
	r := []rune(message)
	if len(r) <= maxShown {
		return message
	}
	return string(r[:maxShown/2]) + " … " + string(r[len(r)-maxShown/2:])
}

// streamError is an answer that broke off or is garbage; sending the request again may help.
type streamError struct{ error }

// Unwrap returns the cause.
func (e streamError) Unwrap() error { return e.error }

// request is an HTTP request to the server.
type request struct {
	method, path string
	query        url.Values // in the URL of a GET, otherwise in the body unless there is one
	body         []byte
	header       map[string]string
	tries        int              // how often it is sent at most
	final        func(error) bool // tells errors that do not become better by sending it again; nil: none is
}

// maxURL is how long a GET's query may grow before the request is sent as a POST.
const maxURL = 2000

// get returns the request for path with query, a POST if the query is long.
func get(path string, query url.Values) request {
	r := request{method: http.MethodGet, path: path, query: query, tries: tries}
	if len(query.Encode()) > maxURL {
		r.method = http.MethodPost
	}
	return r
}

// send sends the request and repeats it if that may help. It passes the body of each good answer to handle, which reports whether
// it has passed on data that a repetition would pass on again: from then on nothing is repeated. sent is called for each try.
func (s *Source) send(ctx context.Context, req request, handle func(resp *http.Response, body io.Reader) (handed bool, err error), sent func(promquery.Sent)) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for try := 1; ; try++ {
		began := time.Now()
		n, handed, err := s.once(ctx, req, handle)
		stopped := errors.Is(err, errStopped)
		sent(promquery.Sent{
			Took: time.Since(began), Bytes: n, Again: try > 1,
			Failed: err != nil && !stopped && !errors.Is(err, errLarge) && ctx.Err() == nil,
		})
		switch {
		case err == nil:
			return nil
		case stopped:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case handed || try >= req.triesOf(err) || !transient(err) || req.final != nil && req.final(err):
			return s.explain(req, err, try)
		}
		d, err := s.delay(ctx, try, err)
		if err != nil {
			return s.explain(req, err, try)
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// enter waits until one more request may run, and returns what ends that. All but one of several may be of the
// background.
func (s *Source) enter(ctx context.Context) (leave func(), err error) {
	if !promquery.IsBackground(ctx) || cap(s.background) == 0 {
		return s.slots.Take(ctx)
	}
	select {
	case s.background <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	slot, err := s.slots.Take(ctx)
	if err != nil {
		<-s.background
		return nil, err
	}
	return func() {
		slot()
		<-s.background
	}, nil
}

// triesOf is how often the request is sent at most if that fails with err.
func (r *request) triesOf(err error) int {
	var serr *statusError
	if errors.As(err, &serr) && serr.code == http.StatusInternalServerError {
		return min(r.tries, brokenTries)
	}
	return r.tries
}

// delay is how long to wait before the next try: a jittered, doubling time, or what the server asks for plus up to a quarter, so
// that its clients do not all return at once. If the context ends before that, it is an error with the same cause.
func (s *Source) delay(ctx context.Context, try int, cause error) (time.Duration, error) {
	var serr *statusError
	if !errors.As(cause, &serr) || serr.retryAfter <= 0 {
		d := s.cfg.Backoff << (try - 1)
		return d/2 + rand.N(d), nil
	}
	d := serr.retryAfter
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return 0, fmt.Errorf("%w (it asks to be left alone for %v, which is more than the time left)", cause, d)
	}
	return d + rand.N(d/4+1), nil
}

// sleep waits for d, or for the context's end, which is an error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once sends the request once.
func (s *Source) once(ctx context.Context, r request, handle func(*http.Response, io.Reader) (bool, error)) (int64, bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := *s.base
	u.Path += r.path
	content := r.body
	switch {
	case r.method == http.MethodGet:
		u.RawQuery = r.query.Encode()
	case content == nil:
		content = []byte(r.query.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(content))
	if err != nil {
		return 0, false, err
	}
	if r.method == http.MethodPost && r.body == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("User-Agent", "promcost")
	req.Header.Set("Accept-Encoding", s.cfg.Compression.acceptedEncoding(s.base))
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	b := newBody(s.cfg.Timeout, cancel)
	defer b.Close()
	resp, err := b.begin(func() (*http.Response, error) { return s.cfg.Client.Do(req) })
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = resp.Body.Close() }() // whatever there was to read has been, or failed
	answer, err := unzipped(resp, b)
	if err != nil {
		return b.n, false, err
	}
	if resp.StatusCode/100 != 2 {
		return 0, false, readStatus(s.base, resp, answer)
	}
	handed, err := handle(resp, answer)
	return b.n, handed, err
}

// progress is how many bytes have to come within Config.Timeout: a server that drips does not answer.
const progress = 1 << 10

// body is the body of an answer. It counts the bytes read and gives up on a server that does not answer or stops sending. The time
// that the reader spends between reads does not count.
type body struct {
	r       io.Reader
	n       int64
	timeout time.Duration
	due     int64 // bytes that are to be there before left is over; 0 until there are headers
	expired atomic.Bool

	mu    sync.Mutex
	left  time.Duration // of timeout
	since time.Time     // when the wait for the server began, zero where nobody waits
	// timer calls look when left can be over at the earliest; nil once nobody reads any more. It is not set for each read: to set it
	// wakes a thread.
	timer *time.Timer
}

// newBody returns the body of an answer that has not begun. cancel ends its request. Close ends its timer.
func newBody(timeout time.Duration, cancel func()) *body {
	b := &body{timeout: timeout, left: timeout}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(timeout, func() { b.look(cancel) })
	return b
}

// look calls cancel if the server has let the reader wait for too long.
func (b *body) look(cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil {
		return
	}
	left := b.left
	if !b.since.IsZero() {
		left -= time.Since(b.since)
	}
	if left > 0 {
		b.timer.Reset(max(left, 10*time.Millisecond)) // a reader that is busy may have next to nothing left for long
		return
	}
	b.expired.Store(true)
	cancel()
}

// Close ends the watch over the server. It does not close the answer.
func (b *body) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer.Stop()
	b.timer = nil
}

// wait notes that the reader begins to wait for the server.
func (b *body) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = time.Now()
}

// waited notes that the server has sent n bytes.
func (b *body) waited(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = max(b.left-time.Since(b.since), 1)
	b.since = time.Time{}
	if b.n += int64(n); b.n >= b.due {
		b.left, b.due = b.timeout, b.n+progress
	}
}

// begin waits for the headers of the answer.
func (b *body) begin(do func() (*http.Response, error)) (*http.Response, error) {
	b.wait()
	resp, err := do()
	b.waited(0)
	if err != nil {
		if b.expired.Load() {
			err = context.DeadlineExceeded // the cause, not the cancellation that it led to
		}
		return nil, err
	}
	b.r = resp.Body
	return resp, nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.wait()
	n, err := b.r.Read(p)
	b.waited(n)
	if err != nil && !errors.Is(err, io.EOF) && b.expired.Load() {
		err = fmt.Errorf("no data for %v", b.timeout)
	}
	return n, err
}

// readStatus makes an error of an answer with a bad status; asked is where the request was sent to.
func readStatus(asked *url.URL, resp *http.Response, body io.Reader) error {
	e := &statusError{code: resp.StatusCode, html: isHTML(resp), header: resp.Header}
	e.retryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	if last := cmp.Or(resp.Request, &http.Request{URL: asked}).URL; last.Scheme != asked.Scheme || last.Host != asked.Host {
		e.redirected = last.Scheme + "://" + last.Host
	}
	text, err := io.ReadAll(io.LimitReader(body, maxMessage))
	if err != nil || e.html {
		return e // the status says enough
	}
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && answer.Error != "" {
		text = []byte(answer.Error)
	}
	e.message = printable(text)
	return e
}

// retryAfter is how long a Retry-After header, seconds or a date, asks to wait, at most maxRetryAfter; 0 if there is none.
func retryAfter(header string, now time.Time) time.Duration {
	if sec, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(sec, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func isHTML(resp *http.Response) bool { return mediaType(resp) == "text/html" }

func mediaType(resp *http.Response) string {
	mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return mt
}

// printable returns the first line of text for an error message, or "" if it is not text.
func printable(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return line
}

// transient reports whether the same request may succeed in a moment.
func transient(err error) bool {
	var (
		serr *statusError
		cut  streamError
		nerr net.Error
		dns  *net.DNSError
	)
	switch {
	case errors.As(err, &serr):
		switch serr.code {
		case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	case errors.Is(err, context.DeadlineExceeded):
		return false // another try would take as long
	case errors.As(err, &cut), errors.As(err, &dns): // the name of a restarting server may be unknown meanwhile
		return true
	case errors.As(err, &nerr) && nerr.Timeout(): // while connecting
		return true
	case err != nil && (strings.Contains(err.Error(), "GOAWAY") || strings.Contains(err.Error(), "http2: client connection lost")):
		return true // errors of net/http have no type to check
	}
	return slices.ContainsFunc(passing, func(cause error) bool { return errors.Is(err, cause) })
}

// passing are failures of connections that a server which restarts, or a network that changes, leads to.
var passing = []error{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	io.EOF, io.ErrUnexpectedEOF,
}

// unauthorized reports whether the server wants credentials, or others.
func unauthorized(err *statusError) bool {
	return err.code == http.StatusUnauthorized || err.code == http.StatusForbidden
}

// explain words an error for the user: the server, the cause, the remedy.
func (s *Source) explain(req request, err error, requests int) error {
	const urlFlag = "give the URL that stands before /api/v1 with --prometheus.url"
	at := s.base.Redacted()
	var (
		serr *statusError
		uerr *url.Error
		cut  streamError
	)
	times := ""
	if requests > 1 {
		times = fmt.Sprintf(" (%d tries)", requests)
	}
	switch {
	case errors.As(err, &serr) && unauthorized(serr) && serr.redirected != "":
		return fmt.Errorf("read from %s: %s redirects to %s, where credentials are not sent: %w; if that is your Prometheus, give its URL with --prometheus.url", at, req.path, serr.redirected, err)
	case errors.As(err, &serr) && unauthorized(serr):
		return fmt.Errorf("read from %s: %s: %w; give credentials with --prometheus.http-config", at, req.path, err)
	case errors.As(err, &serr) && (serr.code == http.StatusNotFound || serr.html):
		return fmt.Errorf("read from %s: not a Prometheus API: %s answers %w; %s", at, req.path, err, urlFlag)
	case errors.As(err, &serr) && serr.code/100 == 4 && serr.code != http.StatusTooManyRequests:
		return fmt.Errorf("read from %s: %s was refused: %w", at, req.path, err)
	case busy(err):
		return fmt.Errorf("read from %s: %s%s: %w; the server is not ready, or overloaded: ask again when it is, see its log, or lower --query.max-concurrency", at, req.path, times, err)
	case errors.As(err, &serr):
		return fmt.Errorf("read from %s: %s%s: %w; the server is overloaded or failing, see its log, or lower --query.max-concurrency", at, req.path, times, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("read from %s: %s was not answered within %v; ask for a shorter window, or raise --query.timeout: %w", at, req.path, s.cfg.Timeout, context.DeadlineExceeded)
	case errors.As(err, &cut):
		return fmt.Errorf("read from %s: answer of %s%s: %w; see the server's log, and proxies between", at, req.path, times, err)
	case errors.As(err, &uerr) && !errors.As(err, new(*net.OpError)):
		return fmt.Errorf("read from %s%s: %w; see --prometheus.url and --prometheus.http-config", at, times, uerr.Err)
	case errors.As(err, &uerr):
		return fmt.Errorf("read from %s%s: %w; is Prometheus running there? %s", at, times, uerr.Err, urlFlag)
	}
	return fmt.Errorf("read from %s: answer of %s%s: %w", at, req.path, times, err)
}
