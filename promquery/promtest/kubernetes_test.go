package promtest_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/promquery/promtest"
)

// podEvents are the events of a pod whose container crashes once, and whose second start is reported twice.
const podEvents = `{"type":"ADDED","object":{"metadata":{"namespace":"shop","name":"web-0","uid":"u1","resourceVersion":"7"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"250m"}}}],"initContainers":[{"name":"i"}]},"status":{}}}
{"type":"MODIFIED","object":{"metadata":{"namespace":"shop","name":"web-0","uid":"u1","resourceVersion":"8"},"spec":{"nodeName":"n1","containers":[{"name":"c","resources":{"requests":{"cpu":"250m"}}}],"initContainers":[{"name":"i"}]},"status":{"initContainerStatuses":[{"name":"i","state":{"terminated":{"startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:00:02Z"}}}],"containerStatuses":[{"name":"c","state":{"running":{"startedAt":"2026-01-01T00:00:03Z"}}}]}}}
{"type":"MODIFIED","object":{"metadata":{"namespace":"shop","name":"web-0","uid":"u1","resourceVersion":"9"},"spec":{"nodeName":"n1","containers":[{"name":"c","resources":{"requests":{"cpu":"250m"}}}],"initContainers":[{"name":"i"}]},"status":{"containerStatuses":[{"name":"c","state":{"running":{"startedAt":"2026-01-01T00:01:00Z"}},"lastState":{"terminated":{"startedAt":"2026-01-01T00:00:03Z","finishedAt":"2026-01-01T00:00:30Z"}}}]}}}
{"type":"MODIFIED","object":{"metadata":{"namespace":"shop","name":"web-0","uid":"u1","resourceVersion":"10"},"spec":{"nodeName":"n1","containers":[{"name":"c","resources":{"requests":{"cpu":"250m"}}}],"initContainers":[{"name":"i"}]},"status":{"containerStatuses":[{"name":"c","state":{"running":{"startedAt":"2026-01-01T00:01:02Z"}},"lastState":{"terminated":{"startedAt":"2026-01-01T00:00:03Z","finishedAt":"2026-01-01T00:00:30Z"}}}]}}}
`

// TestObserve records the runs of the containers of a pod, by a watch that breaks off.
func TestObserve(t *testing.T) {
	before, after, _ := strings.Cut(podEvents, "\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch from := r.URL.Query().Get("resourceVersion"); from {
		case "": // the API ends this watch within the second event
			_, _ = io.WriteString(w, before+"\n"+after[:40])
		case "7":
			_, _ = io.WriteString(w, after)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			t.Errorf("the watch goes on after %s", from)
		}
	}))
	defer server.Close()
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	want := []promtest.Run{
		{Namespace: "shop", Pod: "web-0", UID: "u1", Container: "c", Node: "n1", Start: at(3), End: at(30), CPU: 0.25},
		{Namespace: "shop", Pod: "web-0", UID: "u1", Container: "c", Node: "n1", Start: at(62), CPU: 0.25},
		{Namespace: "shop", Pod: "web-0", UID: "u1", Container: "i", Node: "n1", Init: true, Start: at(0), End: at(2)},
	}
	t.Run("watch", func(t *testing.T) { // it ends before the server is closed
		o := promtest.Observe(t, promtest.NewKubernetes(server.URL))
		for !slices.ContainsFunc(o.Runs(t), func(r promtest.Run) bool { return r.Start.Equal(at(62)) }) {
			time.Sleep(time.Millisecond)
		}
		if diff := cmp.Diff(want, o.Runs(t), cmpopts.IgnoreFields(promtest.Run{}, "Late")); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPodNetwork connects to a server by the address of a pod, and by its own.
func TestPodNetwork(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
	defer server.Close()
	k, socket := promtest.StartPodNetwork(t)
	k.Route("10.9.0.1:443", server.URL)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "pods"})
	transport.TLSClientConfig.ServerName = "example.com" // as the certificate says
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	defer transport.CloseIdleConnections()
	for _, host := range []string{"10.9.0.1", strings.TrimPrefix(server.URL, "https://")} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if closing := resp.Body.Close(); err != nil || closing != nil || string(text) != host {
			t.Errorf("%s answers %q, %v, %v", host, text, err, closing)
		}
	}
}

// TestCreate makes objects of YAML, one with a status.
func TestCreate(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
		if r.Method == http.MethodGet {
			http.Error(w, "no such thing", http.StatusNotFound)
		}
	}))
	defer server.Close()
	k := promtest.NewKubernetes(server.URL)
	k.Create(t, "{kind: Namespace, metadata: {name: a}}\n---\n{kind: Service, metadata: {name: s, namespace: a}, status: {x: 1}}\n")
	if err := k.Do(context.Background(), http.MethodGet, promtest.Path("Node", "", "n1"), nil, nil); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("error %v", err)
	}
	want := []string{
		`POST /api/v1/namespaces {"kind":"Namespace","metadata":{"name":"a"}}`,
		`POST /api/v1/namespaces/a/services {"kind":"Service","metadata":{"name":"s","namespace":"a"},"status":{"x":1}}`,
		`PATCH /api/v1/namespaces/a/services/s/status {"status":{"x":1}}`,
		`GET /api/v1/nodes/n1 `,
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// TestAllowlists checks that README recommends what was recorded.
func TestAllowlists(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range promtest.Allowlists {
		if !strings.Contains(string(readme), flag) {
			t.Errorf("README does not say %s", flag)
		}
	}
}
