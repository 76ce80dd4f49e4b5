package manifests

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// usual are the Services that answer Prometheus' API in most clusters, in the order in which they are preferred: those of the
// Prometheus Operator and of its charts, of the plain chart and of service meshes, then what joins several Prometheuses.
var usual = []struct {
	name       string
	port       int
	path       string
	namespaces []string
}{
	{"prometheus-operated", 9090, "", []string{"monitoring", "prometheus", "observability", "kube-prometheus-stack", "default"}},
	{"prometheus-k8s", 9090, "", []string{"monitoring", "openshift-monitoring"}},
	{"kube-prometheus-stack-prometheus", 9090, "", []string{"monitoring", "kube-prometheus-stack", "prometheus", "observability", "default"}},
	{"prometheus-kube-prometheus-prometheus", 9090, "", []string{"monitoring", "prometheus", "default"}},
	{"prometheus-server", 80, "", []string{"monitoring", "prometheus", "prometheus-system", "opencost", "default"}},
	{"prometheus", 9090, "", []string{"monitoring", "prometheus", "istio-system", "linkerd-viz", "default"}},
	{"thanos-query", 9090, "", []string{"monitoring", "thanos"}},
	{"thanos-querier", 9090, "", []string{"monitoring", "thanos"}},
	{"vmsingle", 8428, "", []string{"monitoring", "victoria-metrics"}},
	{"victoria-metrics-single-server", 8428, "", []string{"monitoring", "victoria-metrics", "default"}},
	{"mimir-gateway", 80, "/prometheus", []string{"mimir", "monitoring"}},
	{"mimir-nginx", 80, "/prometheus", []string{"mimir", "monitoring"}},
}

// Found is a server that answers as a Prometheus does.
type Found struct {
	URL    string
	Closed bool // it wants credentials
}

// UsualURLs are the URLs of the usual Services, by the names that pods of a cluster know them by, the preferred first.
func UsualURLs() (urls []string) {
	for _, s := range usual {
		for _, namespace := range s.namespaces {
			urls = append(urls, "http://"+s.name+"."+namespace+":"+strconv.Itoa(s.port)+s.path)
		}
	}
	return urls
}

// lookTime is how long names may take to be found, and Services to answer.
const lookTime = 10 * time.Second

// Find asks all of the URLs at the same time, past proxies, and returns what answers in their order.
func Find(ctx context.Context, urls []string) []Found {
	return FindBy(ctx, new(net.Dialer).DialContext, urls)
}

// FindBy is Find with another way to connect.
func FindBy(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), urls []string) []Found {
	client := &http.Client{Timeout: lookTime, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	found := make([]Found, len(urls))
	var asking sync.WaitGroup
	for i, url := range urls {
		asking.Go(func() {
			if answers, closed := probe(ctx, client, url); answers {
				found[i] = Found{url, closed}
			}
		})
	}
	asking.Wait()
	return slices.DeleteFunc(found, func(f Found) bool { return f.URL == "" })
}

// probe reports whether a Prometheus answers at a URL, and whether it wants credentials.
func probe(ctx context.Context, client *http.Client, url string) (answers, closed bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/query?query=1", nil)
	if err != nil {
		return false, false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, false
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return true, true
	}
	var reply struct{ Status string }
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&reply)
	return err == nil && reply.Status == "success", false
}
