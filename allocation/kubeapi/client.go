package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Client asks a promcost over HTTP.
type Client struct {
	http    *http.Client
	base    string
	cluster string // whose objects are shown; "" for promcost's own
}

// NewClient returns a client of the promcost at a base URL without credentials. It shows objects of one cluster, by its id in promcost; ""
// is promcost's own, which is an error where promcost knows several.
func NewClient(client *http.Client, base *url.URL, cluster string) *Client {
	return &Client{client, strings.TrimRight(base.String(), "/"), cluster}
}

// state is what promcost says of itself.
type state struct {
	closed, next time.Time // the end of the newest closed hour, and when the next one will be closed
	cluster      string
	several      bool // promcost knows other clusters, too
	currency     string
}

// version is the resourceVersion of all objects.
func (s state) version() int64 { return s.closed.Unix() }

// limits of what promcost may send.
const (
	maxFacts  = 1 << 20 // bytes of an answer about itself
	maxReason = 4 << 10 // bytes of an error
)

// state asks promcost for its state.
func (c *Client) state(ctx context.Context) (s state, err error) {
	var info, configs map[string]string
	if err := c.facts(ctx, "/model/clusterInfo", nil, &info); err != nil {
		return s, err
	}
	if err := c.facts(ctx, "/model/getConfigs", nil, &configs); err != nil {
		return s, err
	}
	s.currency = configs["currencyCode"]
	s.several = strings.Contains(info["clusters"], ",")
	if s.cluster = c.cluster; s.cluster == "" {
		if s.cluster = info["id"]; s.several {
			return s, unavailable("promcost knows the clusters %.200s: name this one by --cluster.id", info["clusters"])
		}
	}
	if s.closed, err = time.Parse(time.RFC3339, info["closedUntil"]); err != nil {
		return s, unavailable("promcost does not say which hour is closed: use a newer promcost, or one that is no shard")
	}
	if s.next, err = time.Parse(time.RFC3339, info["nextClosed"]); err != nil {
		s.next = s.closed.Add(time.Hour) // an older promcost does not say it
	}
	return s, nil
}

// savedQuestion is a question of promcost's configuration.
type savedQuestion struct{ Name, Query string }

// questions asks promcost for the saved questions.
func (c *Client) questions(ctx context.Context) (list []savedQuestion, err error) {
	return list, c.facts(ctx, "/model/questions", nil, &list)
}

// facts asks promcost for small data.
func (c *Client) facts(ctx context.Context, path string, values url.Values, data any) error {
	body, err := c.get(ctx, path, values)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was read as far as wanted
	if err := json.NewDecoder(io.LimitReader(body, maxFacts)).Decode(&struct{ Data any }{data}); err != nil {
		return notPromcost(path, err)
	}
	return nil
}

// answer is what promcost says beside rows.
type answer struct {
	warnings []string
	// covered says how much of the window has data; nil if promcost is too old to say it. clusters are the hours of each cluster where
	// several have data.
	covered, window *float64
	clusters        map[string]float64
}

// rows asks promcost for rows and calls row with each. It reads at most limit bytes.
func (c *Client) rows(ctx context.Context, path string, values url.Values, limit int64, row func(name string, decode func(any) error) error) (a answer, err error) {
	body, err := c.get(ctx, path, values)
	if err != nil {
		return a, err
	}
	defer func() { _ = body.Close() }() // it was read as far as wanted
	limited := &io.LimitedReader{R: body, N: limit}
	if a, err = readRows(json.NewDecoder(limited), row); err == nil {
		return a, nil
	}
	if limited.N <= 0 {
		return a, tooMuch()
	}
	if _, known := errors.AsType[*apierrors.StatusError](err); known {
		return a, err
	}
	return a, notPromcost(path, err)
}

// tooMuch is the error for an answer that would take too much memory.
func tooMuch() error {
	return apierrors.NewRequestEntityTooLargeError("the answer takes more memory than --cache.max-memory allows: ask for one namespace, or raise it")
}

// readRows reads an answer of promcost as a stream: an envelope whose data are maps from names to rows.
func readRows(d *json.Decoder, row func(name string, decode func(any) error) error) (a answer, err error) {
	known := map[string]any{"warnings": &a.warnings, "coveredHours": &a.covered, "windowHours": &a.window, "clusterCoveredHours": &a.clusters}
	err = readObject(d, func(name string) error {
		if name == "data" {
			return readArray(d, func() error {
				return readObject(d, func(name string) error { return row(name, d.Decode) })
			})
		}
		if to := known[name]; to != nil {
			return d.Decode(to)
		}
		var rest json.RawMessage
		return d.Decode(&rest)
	})
	return a, err
}

// readObject calls member with the name of each member of an object, whose value it has to read.
func readObject(d *json.Decoder, member func(name string) error) error {
	return readAll(d, '{', func() error {
		name, err := d.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string) // names of members are strings
		return member(text)
	})
}

// readArray calls element for each element of an array, which it has to read.
func readArray(d *json.Decoder, element func() error) error { return readAll(d, '[', element) }

func readAll(d *json.Decoder, open json.Delim, each func() error) error {
	if t, err := d.Token(); err != nil || t != open {
		return errors.Join(err, fmt.Errorf("%v in place of %v", t, open))
	}
	for d.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// get sends a request to promcost. The errors of its answers are those that clients get.
func (c *Client) get(ctx context.Context, path string, values url.Values) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, strings.NewReader(values.Encode()))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.http.Do(req)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err // the rest is the URL, which is not for everyone
		}
		return nil, unavailable("promcost does not answer: %v", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct{ Message string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReason)).Decode(&answer); err != nil || answer.Message == "" {
		return nil, unavailable("promcost answers %s with status %d: is --promcost.url the URL of a promcost?", path, resp.StatusCode)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return nil, unavailable("promcost: %s", answer.Message)
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(resp.StatusCode), Reason: metav1.StatusReasonBadRequest, Message: "promcost: " + answer.Message,
	}}
}

// noData reports whether an error says that promcost has no data at all of what was asked for.
func noData(err error) bool {
	known, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && known.ErrStatus.Code == http.StatusUnprocessableEntity && strings.Contains(known.ErrStatus.Message, ": no data: ")
}

// unavailable is an error for a failure that may be over at the next try.
func unavailable(format string, args ...any) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf(format, args...))
}

// notPromcost is the error for an answer that cannot be read.
func notPromcost(path string, err error) error {
	return unavailable("read answer of promcost to %s: %v: is --promcost.url the URL of a promcost?", path, err)
}
