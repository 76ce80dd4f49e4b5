package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/promcost/promcost/promquery/promapi"
)

const (
	hostilePatience = 3 * time.Minute // the longest time for an answer: the server gives up before
	keptBytes       = 4 << 20         // of an answer
	longestMessage  = 4 << 10         // bytes of an error
)

// hostileAnswer is what came back.
type hostileAnswer struct {
	status int
	header http.Header
	body   []byte // its first keptBytes
	whole  bool   // body is all of it
}

// send sends the request and reads the answer to its end.
func (r *hostileRequest) send(ctx context.Context, base string) (*hostileAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, hostilePatience)
	defer cancel()
	if r.wire != "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return r.exchange(ctx, conn.(*net.TCPConn))
	}
	req, err := r.request(ctx, base)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, errors.New(strings.Join(strings.Fields(fmt.Sprintf("no answer: %.100q … %v", req.URL, errors.Unwrap(err))), " "))
	}
	return readAnswer(resp)
}

// exchange sends the bytes of the request and reads the first answer.
func (r *hostileRequest) exchange(ctx context.Context, conn *net.TCPConn) (*hostileAnswer, error) {
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, r.wire); err != nil {
		return nil, err
	}
	if err := conn.CloseWrite(); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.method})
	if err != nil {
		return nil, err
	}
	return readAnswer(resp)
}

// request is the request as Go's client sends it.
func (r *hostileRequest) request(ctx context.Context, base string) (*http.Request, error) {
	target := base + strings.ReplaceAll(r.path, "{name}", "namespace")
	if parts := slices.DeleteFunc([]string{r.query.Encode(), r.rawQuery}, func(s string) bool { return s == "" }); len(parts) > 0 {
		target += "?" + strings.Join(parts, "&")
	}
	var body io.Reader
	if r.body != nil {
		body = r.body()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.header)
	req.Host = req.Header.Get("Host")
	return req, nil
}

// readAnswer reads an answer to its end.
func readAnswer(resp *http.Response) (*hostileAnswer, error) {
	defer resp.Body.Close()
	a := &hostileAnswer{status: resp.StatusCode, header: resp.Header}
	var err error
	if a.body, err = io.ReadAll(io.LimitReader(resp.Body, keptBytes)); err != nil {
		return nil, fmt.Errorf("%d, broken off: %w", a.status, err)
	}
	rest, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%d, broken off: %w", a.status, err)
	}
	a.whole = rest == 0
	return a, nil
}

// class is the class of the status; of those above 499 it is the status.
func (a *hostileAnswer) class() string {
	if a.status >= http.StatusInternalServerError {
		return strconv.Itoa(a.status)
	}
	return fmt.Sprintf("%dxx", a.status/100)
}

// prometheusWords are parts of errors from the API and the engine of Prometheus. They stay as they are for
// clients that know them.
var prometheusWords = []string{
	"parse error: ", "error parsing lookback delta duration: ", "exceeded maximum resolution of 11,000 points per timeseries", "end timestamp must not be before start timestamp",
	"strconv.Atoi: parsing ", "no match[] parameter provided", `invalid parameter "type": not supported value`,
	"Parameter value is NaN", "invalid regular expression in label_replace", "vector cannot contain metrics with the same labelset",
}

var (
	quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	// goWords are how Go's packages speak of errors to programmers.
	goWords = regexp.MustCompile(`(^|: )(strconv|json|http|mime|multipart|snappy|gzip|proto|yaml|context|runtime|reflect|net|time|url)(: |\.[A-Z])|unexpected EOF|context (canceled|deadline exceeded)|invalid syntax|parsing time|%!`)
	// helps matches errors that name a place in what was sent, a flag, or what to do.
	helps = regexp.MustCompile(`(?i)column \d+|\b\d+:\d+: |--[a-z]|\b(use|give|ask|send|make|name|raise|write|swap|want|wait|start|let|put|format|split|select|encode|see|must|did you mean|links|lists|add|allowed|try|cannot parse)\b`)
)

// problem says what is wrong with an answer, nil if nothing is.
func (a *hostileAnswer) problem(r *hostileRequest) error {
	if a.ofGo(r) {
		return nil
	}
	var errs []error
	if a.header.Get("X-Content-Type-Options") != "nosniff" {
		errs = append(errs, errors.New("browsers may sniff it"))
	}
	kind := a.header.Get("Content-Type")
	readable := a.whole && a.header.Get("Content-Encoding") == "" && r.method != http.MethodHead // else packed as the request wants
	if readable && (strings.HasPrefix(kind, "text/") || kind == jsonKind) && !utf8.Valid(a.body) {
		errs = append(errs, errors.New("it is no UTF-8"))
	}
	if readable && kind == jsonKind && len(a.body) > 0 && !json.Valid(a.body) {
		errs = append(errs, fmt.Errorf("it is no JSON: %.300s", a.body))
	}
	switch {
	case a.status/100 == 2 && r.path == mcpPath && readable:
		errs = append(errs, a.unhelpfulCall())
	case a.status/100 == 2:
	case a.status/100 != 4 && a.status != http.StatusBadGateway && a.status != http.StatusServiceUnavailable && a.status != http.StatusGatewayTimeout:
		errs = append(errs, fmt.Errorf("status %d: %.300s", a.status, a.body))
	case readable:
		errs = append(errs, a.unhelpful(r))
	}
	return errors.Join(errs...)
}

// ofGo reports whether Go's server, or its mux, has answered before any handler of promcost could: what is no HTTP request that it
// understands (400, and 431 for long headers), an expectation, a coding or a version of HTTP that it does not know (417, 501, 505), and
// the way to a path without its dots (3xx), which clients follow by themselves. So does the SDK of assistants to what is no message (4xx).
func (a *hostileAnswer) ofGo(r *hostileRequest) bool {
	if r.path == mcpPath && a.status/100 == 4 {
		return true
	}
	switch a.status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return true
	case http.StatusBadRequest, http.StatusExpectationFailed, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return r.wire != "" && (a.header.Get("Date") == "" || len(a.body) == 0)
	}
	return r.wire != "" && a.status/100 == 3
}

const jsonKind = "application/json"

// unhelpful says why an error does not say what to do, nil where it does.
func (a *hostileAnswer) unhelpful(r *hostileRequest) error {
	message := string(a.body)
	if a.header.Get("Content-Type") == jsonKind {
		var answer struct {
			Code                     int
			Message                  string
			Status, Error, ErrorType string
		}
		if err := json.Unmarshal(a.body, &answer); err != nil {
			return err
		}
		ofPrometheus := answer.Status == "error" && answer.ErrorType != ""
		if !ofPrometheus && answer.Code != a.status || ofPrometheus != (strings.HasPrefix(r.path, "/api/v1/") || r.path == "/federate") && r.path != "" {
			return fmt.Errorf("its form is not that of the path: %.300s", a.body)
		}
		message = answer.Message + answer.Error
	} else if r.path != promapi.ReadPath && strings.HasPrefix(r.path, "/api/") {
		return fmt.Errorf("its form is not that of the path: %.300s", a.body)
	}
	return unhelpfulText(a.status, message, r.parameter)
}

// unhelpfulCall says why an answer to an assistant that is a mistake does not say what to do, nil where it does, or is no mistake.
func (a *hostileAnswer) unhelpfulCall() error {
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(a.body, &answer); err != nil || !answer.Result.IsError {
		return nil //nolint:nilerr // a batch, or a message without an answer
	}
	if len(answer.Result.Content) != 1 {
		return fmt.Errorf("a mistake is not one text: %.300s", a.body)
	}
	return unhelpfulText(a.status, answer.Result.Content[0].Text, "")
}

// unhelpfulText says why the text of an error does not say what to do, nil where it does.
func unhelpfulText(status int, message, parameter string) error {
	asPrometheus := slices.ContainsFunc(prometheusWords, func(words string) bool { return strings.Contains(message, words) })
	own := quoted.ReplaceAllString(message, `""`) // without quotes of the request
	switch {
	case strings.TrimSpace(message) == "":
		return fmt.Errorf("%d says nothing", status)
	case len(message) > longestMessage:
		return fmt.Errorf("%d says %d bytes: %.300s …", status, len(message), message)
	case asPrometheus:
	case status == http.StatusBadRequest && !strings.Contains(message, parameter):
		return fmt.Errorf("400 does not name the parameter: %.300s", message)
	case goWords.MatchString(own):
		return fmt.Errorf("%d speaks of %q, which is Go's: %.300s", status, goWords.FindString(own), message)
	case !helps.MatchString(message):
		return fmt.Errorf("%d names neither a place nor a remedy: %.300s", status, message)
	}
	return nil
}
