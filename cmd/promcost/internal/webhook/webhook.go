// Package webhook posts messages to webhooks, whose URLs are secrets: no error repeats them.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Webhook is where to post.
type Webhook struct {
	Client *http.Client
	URL    string
	Wait   time.Duration // before the first repetition; each further one takes twice as long
}

// Limits of posting.
const (
	tries       = 4
	longestWait = time.Minute // that a receiver may ask for
	timeout     = 30 * time.Second
	mostReply   = 1 << 10
)

// Post posts a message as JSON. What failed for a time, such as a receiver that is overloaded, is tried again.
func (w *Webhook) Post(ctx context.Context, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	wait := w.Wait
	for n := 1; ; n++ {
		asked, err := w.once(ctx, body)
		if err == nil {
			return nil
		}
		if errors.Is(err, errFinal) || n == tries || ctx.Err() != nil {
			return fmt.Errorf("post to the webhook: %w", err)
		}
		select {
		case <-time.After(max(wait, asked)):
		case <-ctx.Done():
			return fmt.Errorf("post to the webhook: %w", ctx.Err())
		}
		wait *= 2
	}
}

// errFinal is that of an answer which stays what it is.
var errFinal = errors.New("it refuses the message")

// once posts once. asked is how long the receiver wants to be left alone.
func (w *Webhook) once(ctx context.Context, body []byte) (asked time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("%w: its URL is none", errFinal)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.Client.Do(req)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok {
			err = whole.Err // without the URL
		}
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return 0, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostReply))
	if err != nil {
		text = nil
	}
	err = fmt.Errorf("it answered %s: %q", resp.Status, text)
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode/100 != 5 {
		return 0, fmt.Errorf("%w: %w", errFinal, err)
	}
	if seconds, wrong := strconv.Atoi(resp.Header.Get("Retry-After")); wrong == nil && seconds > 0 {
		asked = min(time.Duration(seconds)*time.Second, longestWait)
	}
	return asked, err
}
