package manifests_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
)

// TestFind looks for Prometheuses in a cluster with some Services.
func TestFind(t *testing.T) {
	answers := map[string]struct {
		code int
		text string
	}{
		"prometheus-server.monitoring:80":           {http.StatusOK, `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`},
		"prometheus.istio-system:9090":              {http.StatusOK, "<html>a page</html>"},
		"prometheus-operated.monitoring:9090":       {http.StatusUnauthorized, ""},
		"thanos-query.thanos:9090":                  {http.StatusOK, `{"status":"error"}`},
		"mimir-gateway.mimir:80":                    {http.StatusOK, `{"status":"success"}`},
		"prometheus-operated.kube-prometheus:9090":  {http.StatusOK, `{"status":"success"}`}, // of no usual name
		"kube-prometheus-stack-prometheus.default:": {http.StatusOK, `{"status":"success"}`}, // at no usual port
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if r.URL.Port() == "" && answers[host].code == 0 {
			host += ":80"
		}
		if host == "mimir-gateway.mimir:80" && r.URL.Path != "/prometheus/api/v1/query" {
			t.Errorf("mimir is asked at %s", r.URL)
		}
		w.WriteHeader(answers[host].code)
		_, _ = io.WriteString(w, answers[host].text)
	}))
	defer server.Close()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if answers[address].code == 0 {
			return nil, errors.New("no such host")
		}
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	want := []manifests.Found{
		{URL: "http://prometheus-operated.monitoring:9090", Closed: true}, {URL: "http://prometheus-server.monitoring:80"}, {URL: "http://mimir-gateway.mimir:80/prometheus"},
	}
	if diff := cmp.Diff(want, manifests.FindBy(t.Context(), dial, manifests.UsualURLs())); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}
