package fetch_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/listprices/fetch"
)

// now is the time of fetching.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// sorted compares texts in any order.
var sorted = cmpopts.SortSlices(func(a, b string) bool { return a < b })

// request asks a server for the lists of a provider, without waiting between attempts.
func request(srv *httptest.Server, provider string, regions ...string) fetch.Request {
	return fetch.Request{
		Client: srv.Client(), Provider: provider, Regions: regions, URL: srv.URL, Key: "sesame", Now: now, Pause: func(context.Context, time.Duration) error { return nil },
	}
}

// rowTexts fetches, and returns the rows as texts.
func rowTexts(t *testing.T, r fetch.Request) []string {
	t.Helper()
	lists, err := fetch.Fetch(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, l := range lists {
		if _, err := listprices.New("a list", l.Rows); err != nil {
			t.Error(err)
		}
		for _, row := range l.Rows {
			if row.Provider != r.Provider || row.Region != l.Region || !row.AsOf.Equal(now.Truncate(24*time.Hour)) {
				t.Errorf("%+v of %s", row, l.Region)
			}
			text := fmt.Sprintf("%s %s %s", row.Region, row.Name, row.Kind)
			if row.OS != "" {
				text += " " + row.OS
			}
			if row.Spot {
				text += " spot"
			}
			texts = append(texts, fmt.Sprintf("%s %.6g %s", text, row.Price, row.Currency))
		}
	}
	return texts
}

// TestRequests refuses requests that cannot be asked.
func TestRequests(t *testing.T) {
	srv := serveFiles(t, nil)
	for _, tt := range []struct {
		name   string
		change func(*fetch.Request)
		want   string
	}{
		{"another provider", func(r *fetch.Request) { r.Provider = "oracle" }, "no such provider: give one of aws, azure, gcp"},
		{"no region", func(r *fetch.Request) { r.Regions = []string{"../../secret"} }, `"../../secret" is no name of a region`},
		{"a filter for a region", func(r *fetch.Request) { r.Regions = []string{"eu' or '1"} }, "is no name of a region"},
		{"no URL", func(r *fetch.Request) { r.URL = "ftp://example.com" }, "give one such as https://"},
		{"a URL with a password", func(r *fetch.Request) { r.URL = "https://a:sesame@example.com" }, "give one such as https://"},
		{"no key", func(r *fetch.Request) { r.Provider, r.Key = "gcp", "" }, "an API key: give one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := request(srv, "aws", "eu-central-1")
			tt.change(&r)
			if _, err := fetch.Fetch(t.Context(), r); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestAttempts asks servers that refuse at first, or for good.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		refuse   func(w http.ResponseWriter, r *http.Request, attempt int) bool // whether it did
		want     string                                                         // of the error, "" for success
		attempts int
		waits    string
	}{
		{"at once", func(http.ResponseWriter, *http.Request, int) bool { return false }, "", 1, "[]"},
		{"after too many requests", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			w.Header().Set("Retry-After", "7")
			return refuse(w, http.StatusTooManyRequests, n < 3)
		}, "", 3, "[7s 7s]"},
		{"until a time", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			w.Header().Set("Retry-After", now.Add(time.Minute).Format(http.TimeFormat))
			return refuse(w, http.StatusServiceUnavailable, n < 2)
		}, "", 2, "[1m0s]"},
		{"always too many", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			return refuse(w, http.StatusTooManyRequests, true)
		}, "it answers 429 Too Many Requests", 4, "[1s 2s 4s]"},
		{"for a day", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Retry-After", "86400")
			return refuse(w, http.StatusTooManyRequests, true)
		}, "asks to wait for 24h0m0s: try again then", 1, "[]"},
		{"forbidden", func(w http.ResponseWriter, _ *http.Request, _ int) bool { return refuse(w, http.StatusForbidden, true) }, "it answers 403 Forbidden", 1, "[]"},
		{"cut off once", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n > 1 {
				return false
			}
			return cutOff(w)
		}, "", 2, "[1s]"},
		{"always cut off", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			return cutOff(w)
		}, "the answer is cut off", 4, "[1s 2s 4s]"},
		{"to another server", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
			return true
		}, "it leads to http://evil.example/, which is not asked", 4, "[1s 2s 4s]"},
		{"without an end", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			for range 40 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
			return true
		}, "a page has more than 32 MB", 1, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, files := 0, awsFiles()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == machineIndex {
					if n++; tt.refuse(w, r, n) {
						return
					}
				}
				_, _ = w.Write([]byte(files[r.URL.Path]))
			}))
			defer srv.Close()
			r := request(srv, "aws", "eu-central-1")
			waits := []time.Duration{}
			r.Pause = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}
			lists, err := fetch.Fetch(t.Context(), r)
			switch {
			case tt.want == "" && (err != nil || len(lists) != 1):
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), srv.URL+machineIndex)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if n != tt.attempts || fmt.Sprint(waits) != tt.waits {
				t.Errorf("%d attempts, waiting %v", n, waits)
			}
		})
	}
}

// refuse answers by a status, if so, and says whether it did.
func refuse(w http.ResponseWriter, code int, so bool) bool {
	if so {
		w.WriteHeader(code)
	}
	return so
}

// cutOff ends an answer before its end.
func cutOff(w http.ResponseWriter) bool {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte("{"))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// TestStopped ends when its context does.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	r := request(srv, "aws", "eu-central-1")
	r.Pause = nil
	if _, err := fetch.Fetch(ctx, r); err == nil {
		t.Error("no error")
	}
}

// endless reads a text again and again.
type endless struct {
	text string
	at   int
	left int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= n
	return n, nil
}

// generatedOffers is a file of so many bytes, about, in AWS's shape: most lines are of machines with other software or reserved.
func generatedOffers(bytes int) io.Reader {
	reserved := machineOffer("0.07", offer{"TermType": "Reserved", "LeaseContractLength": "1yr", "PurchaseOption": "No Upfront"})
	var offers []offer
	for i := range 100 {
		offers = append(offers, machineOffer(fmt.Sprint(0.1+float64(i)/1000), offer{"Instance Type": fmt.Sprintf("m%d.large", i)}))
		for range 9 {
			offers = append(offers, reserved)
		}
	}
	text := offerFile(machineColumns, offers...)
	head, body, _ := strings.Cut(text, "\n\"2223")
	body = "\"2223" + body
	return io.MultiReader(strings.NewReader(head+"\n"), &endless{text: body, left: bytes / len(body) * len(body)})
}
