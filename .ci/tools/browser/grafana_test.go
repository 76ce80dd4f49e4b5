package browser_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestGrafanaE2E follows the links that dashboards have to this page, with the labels of a series that they show, as Grafana fills them in: the
// page explains the change of what the series is about.
func TestGrafanaE2E(t *testing.T) {
	at := demoURL(t)
	const from, to = "1773532800", "1773705600" // 2026-03-15 and 2026-03-17
	label := regexp.MustCompile(`\$\{__(?:field\.labels|data\.fields)\.(\w+):percentencode\}`)
	for _, name := range []string{"overview", "namespaces", "nodes", "efficiency"} {
		for _, l := range linksOf(t, at+"/dashboards/promcost-"+name+".json") {
			t.Run(name+"/"+l.panel, func(t *testing.T) {
				expr := strings.NewReplacer("$cluster", ".*", "$namespace", ".*", "$controller", ".*", "$label", "team", "${prices}", "hourly_cost").Replace(l.expr)
				var answer struct {
					Data struct {
						Result []struct{ Metric map[string]string }
					}
				}
				fetch(t, at+"/api/v1/query?"+url.Values{"query": {expr}, "time": {"1773662400"}}.Encode(), &answer)
				if len(answer.Data.Result) == 0 {
					t.Fatal("the demo has no series of it")
				}
				labels := answer.Data.Result[0].Metric
				filled := label.ReplaceAllStringFunc(l.url, func(m string) string { return url.PathEscape(labels[label.FindStringSubmatch(m)[1]]) })
				p := open(t, strings.NewReplacer(
					"${promcost:raw}", at, "${__from:date:seconds}", from, "${__to:date:seconds}", to, "${prices:text}", "list", "${label:percentencode}", "team",
				).Replace(filled))
				p.wait(`document.querySelector(".waterfall")`)
				said := p.text("p.path")
				for _, m := range label.FindAllStringSubmatch(l.url, -1) {
					if value := labels[m[1]]; value == "" || !strings.Contains(said, value) {
						t.Errorf("the page explains %q, want the %s %q among it", said, m[1], value)
					}
				}
			})
		}
	}
}

// pageLink is a link of a panel to the page, and the query whose rows have it.
type pageLink struct{ panel, expr, url string }

func linksOf(t *testing.T, address string) (list []pageLink) {
	t.Helper()
	var board struct {
		Panels []struct {
			Title       string
			Targets     []struct{ Expr string }
			FieldConfig struct {
				Overrides []struct{ Properties []struct{ Value any } }
			}
		}
	}
	fetch(t, address, &board)
	for _, p := range board.Panels {
		for _, o := range p.FieldConfig.Overrides {
			for _, property := range o.Properties {
				links, _ := property.Value.([]any)
				for _, l := range links {
					object, _ := l.(map[string]any)
					if to := fmt.Sprint(object["url"]); strings.HasPrefix(to, "${promcost") {
						list = append(list, pageLink{p.Title, p.Targets[0].Expr, to})
					}
				}
			}
		}
	}
	if len(list) == 0 {
		t.Errorf("%s has no link to the page", address)
	}
	return list
}
