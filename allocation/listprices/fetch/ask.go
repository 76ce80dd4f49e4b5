package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of asking.
const (
	attempts  = 4                // of each request
	firstWait = time.Second      // before the second one; it doubles from one to the next
	maxWait   = 2 * time.Minute  // the longest that a server may ask to wait
	maxPage   = 32 << 20         // bytes of a page
	maxPages  = 2000             // of an answer
	headTime  = 2 * time.Minute  // until an answer begins, or a page is there
	wholeTime = 30 * time.Minute // until a file is there
)

// asker asks a provider.
type asker struct {
	Request
	base   *url.URL
	client *http.Client
}

func newAsker(r Request, base *url.URL) *asker {
	client := *r.Client
	client.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		if len(via) >= 5 || !sameServer(to.URL, via[0].URL) {
			return fmt.Errorf("it leads to %s, which is not asked", to.URL.Redacted())
		}
		return nil
	}
	if r.Pause == nil {
		r.Pause = pause
	}
	return &asker{Request: r, base: base, client: &client}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// at is an address below the base.
func (a *asker) at(path string, query url.Values) *url.URL {
	u := *a.base
	u.Path, u.RawQuery = strings.TrimRight(u.Path, "/")+path, query.Encode()
	return &u
}

// sameServer reports whether two URLs are of one scheme, host and port.
func sameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b) && a.User == nil
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// refusal is an answer that is no list.
type refusal struct {
	status string
	code   int
	wait   time.Duration // before another attempt, 0 where the answer does not say
}

// Error is the status.
func (e *refusal) Error() string { return "it answers " + e.status }

// temporary reports whether another attempt may succeed.
func (e *refusal) temporary() bool {
	return e.code == http.StatusTooManyRequests || e.code == http.StatusRequestTimeout || e.code >= 500
}

// retry asks until it succeeds, is refused for good, or the attempts are used up. Errors name the URL.
func (a *asker) retry(ctx context.Context, u *url.URL, ask func() error) error {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		err := ask()
		if err == nil {
			return nil
		}
		refused, isRefusal := errors.AsType[*refusal](err)
		next := wait
		if isRefusal && refused.wait > 0 {
			next = refused.wait
		}
		switch {
		case ctx.Err() != nil, isRefusal && !refused.temporary(), attempt == attempts:
			return fmt.Errorf("%s: %w", u.Redacted(), err)
		case next > maxWait:
			return fmt.Errorf("%s: %w, and asks to wait for %s: try again then", u.Redacted(), err, next)
		}
		if err := a.Pause(ctx, next); err != nil {
			return fmt.Errorf("%s: %w", u.Redacted(), err)
		}
		wait *= 2
	}
}

// send sends a request, and returns its answer if that is a list. The caller closes it.
func (a *asker) send(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if a.Key != "" && NeedsKey(a.Provider) {
		req.Header.Set("X-Goog-Api-Key", a.Key) // not in the URL, which errors and logs have
	}
	resp, err := a.client.Do(req)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err // the URL is named once
		}
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	wait := retryAfter(resp.Header.Get("Retry-After"), a.Now)
	return nil, errors.Join(&refusal{resp.Status, resp.StatusCode, wait}, resp.Body.Close())
}

// retryAfter is how long an answer asks to wait: seconds, or until a time. It is 0 where it does not say.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 86400)) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// page reads a whole answer that is not large.
func (a *asker) page(ctx context.Context, u *url.URL) (page []byte, err error) {
	err = a.retry(ctx, u, func() error {
		ctx, cancel := context.WithTimeout(ctx, headTime)
		defer cancel()
		resp, err := a.send(ctx, u)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if page, err = io.ReadAll(io.LimitReader(resp.Body, maxPage+1)); err != nil {
			return fmt.Errorf("the answer is cut off after %d bytes: %w", len(page), err)
		}
		return nil
	})
	if err == nil && len(page) > maxPage {
		return nil, fmt.Errorf("%s: a page has more than %d MB: is it a price list?", u.Redacted(), maxPage>>20)
	}
	return page, err
}

// stream lets read read an answer as it comes. What was read before an error counts for nothing.
func (a *asker) stream(ctx context.Context, u *url.URL, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	var unread error
	err := a.retry(ctx, u, func() error {
		resp, err := a.send(ctx, u)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		unread = read(resp.Body) // large files are not asked for again
		return nil
	})
	if err == nil && unread != nil {
		err = fmt.Errorf("%s: %w", u.Redacted(), unread)
	}
	return err
}
