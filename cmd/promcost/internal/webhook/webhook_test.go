package webhook_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/cmd/promcost/internal/webhook"
)

// TestPost posts to receivers that answer with one status after another.
func TestPost(t *testing.T) {
	for _, tt := range []struct {
		name     string
		statuses []int
		posts    int32
		err      string
	}{
		{"taken", []int{200}, 1, ""},
		{"accepted", []int{202}, 1, ""},
		{"overloaded, then taken", []int{503, 429, 200}, 3, ""},
		{"refused", []int{404}, 1, "404"},
		{"down", []int{500, 502, 503, 504, 200}, 4, "504"},
		{"elsewhere", []int{302}, 1, "302"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var posts atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != `{"text":"5"}` || r.Header.Get("Content-Type") != "application/json" || r.Method != http.MethodPost {
					t.Errorf("%s %s, %v", r.Method, body, err)
				}
				w.WriteHeader(tt.statuses[posts.Add(1)-1])
			}))
			defer server.Close()
			hook := webhook.Webhook{Client: server.Client(), URL: server.URL + "/secret", Wait: time.Millisecond}
			err := hook.Post(t.Context(), map[string]string{"text": "5"})
			if got := posts.Load(); got != tt.posts {
				t.Errorf("%d posts, want %d", got, tt.posts)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has the URL: %v", err)
			}
		})
	}
}

// TestNobodyThere: an error of the network has no URL in it, and a context that ends is the end.
func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	hook := webhook.Webhook{Client: http.DefaultClient, URL: server.URL + "/secret", Wait: time.Millisecond}
	if err := hook.Post(t.Context(), 5); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hook.Wait = time.Hour
	if err := hook.Post(ctx, 5); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
