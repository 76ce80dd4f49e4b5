package remote_test

import (
	"net/http"
	"testing"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// TestCompression checks that servers nearby are not made to compress answers, which takes as long as making them.
func TestCompression(t *testing.T) {
	for url, want := range map[string]string{"http://prometheus.test": "identity", "https://prometheus.test": ""} {
		f := newFake()
		f.handle(rangePath, matrix(""))
		src, err := remote.New(remote.Config{URL: url, Mode: remote.ModeQuery, Client: &http.Client{Transport: f}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := collect(t, src, promquery.Request{Metric: "m", End: hourMs, Grid: promquery.Grid{Step: minuteMs}}); err != nil {
			t.Fatal(err)
		}
		for _, r := range f.asked {
			if got := r.Header.Get("Accept-Encoding"); got != want { // what is not set is gzip, which the transport adds
				t.Errorf("%s was asked for %q of %s, want %q", r.URL, got, url, want)
			}
		}
	}
}
