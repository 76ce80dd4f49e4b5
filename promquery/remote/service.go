package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/promcost/promcost/promquery"
)

// Service is a hosted store, or a server like those that are hosted.
type Service struct {
	Name  string
	Gives string // what it gives and does not, for people

	host        string // the end of its address
	header      string // that its answers have
	application string // in its build information
	refusal     string // how it refuses a question about several metrics
}

// services are those that are known by what they answer.
var services = []Service{
	{
		Name: "Amazon Managed Service for Prometheus", host: ".amazonaws.com", header: "X-Amzn-Requestid",
		Gives: "it has no remote read: costs are of a grid, or exact with resolution=exact; what is above a quota of the workspace is asked for in parts",
	},
	{
		Name: "Azure Monitor managed Prometheus", host: ".prometheus.monitor.azure.com",
		Gives: "it has no remote read and takes questions about one metric only: costs are of a grid, or exact with resolution=exact, by more requests; it does not tell upper case from lower case in labels",
	},
	{
		Name: "Google Managed Service for Prometheus", host: "monitoring.googleapis.com", refusal: "unsupported matchtype for the __name__ label",
		Gives: "it has no remote read, keeps no staleness markers and takes questions about one metric only: give resolution=exact, which sees ends by the metric up, or --prometheus.lookback of two scrape intervals",
	},
	{
		Name: "Grafana Cloud", host: ".grafana.net",
		Gives: "where it streams remote read costs are exact; otherwise of a grid, or exact with resolution=exact",
	},
	{Name: "Grafana Mimir", application: "Grafana Mimir", Gives: "by remote read costs are exact"},
}

// severalMetrics is a question about more than one metric by one selector.
const severalMetrics = `{__name__=~"up|kube_node_info"}`

// Service returns the hosted store that the server is known to be, nil if it is none that is known. It asks two questions; that the server
// refuses them says something, too.
func (s *Source) Service(ctx context.Context) (*Service, error) {
	var header http.Header
	var info struct {
		Data struct {
			Application string `json:"application"`
		} `json:"data"`
	}
	err := s.send(ctx, get("/api/v1/status/buildinfo", nil), func(resp *http.Response, body io.Reader) (bool, error) {
		header = resp.Header
		_ = json.NewDecoder(io.LimitReader(body, maxProbe)).Decode(&info) // what is no JSON names no application
		return false, nil
	}, uncounted)
	if serr, ok := errors.AsType[*statusError](err); ok {
		header = serr.header
	} else if err != nil {
		return nil, err
	}
	refusal := ""
	err = s.askSeveral(ctx)
	if serr, ok := errors.AsType[*statusError](err); ok {
		refusal = serr.message
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i := range services {
		of := &services[i]
		switch {
		case of.host != "" && strings.HasSuffix(s.base.Hostname(), of.host), of.header != "" && header.Get(of.header) != "",
			of.application != "" && info.Data.Application == of.application, of.refusal != "" && strings.Contains(refusal, of.refusal):
			return of, nil
		}
	}
	return nil, nil
}

// askSeveral asks about several metrics at once. The error is the server's refusal if it takes no such question.
func (s *Source) askSeveral(ctx context.Context) error {
	req := get("/api/v1/query", url.Values{"query": {"count(" + severalMetrics + ")"}})
	req.tries = 1
	_, err := s.ask(ctx, req, uncounted)
	return err
}

// refusesSeveral reports whether the server refuses a question because it is about several metrics, as Google's and Azure's do, and takes others.
func (s *Source) refusesSeveral(ctx context.Context, sent func(promquery.Sent)) bool {
	serr, ok := errors.AsType[*statusError](s.askSeveral(ctx))
	return ok && (serr.code == http.StatusBadRequest || serr.code == http.StatusForbidden) && s.answers(ctx, sent)
}
