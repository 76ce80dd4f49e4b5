package grafana

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// link leads from a row or a series to what shows more of it: a dashboard, or why its cost changed on promcost's page.
type link struct {
	title  string
	uid    string   // of the dashboard; empty for promcost's page
	labels []string // a dashboard's: their values become those of the variables of the same names
	prices string   // what costs are there: a value of the parameter var-prices or prices
	steps  []step   // the page's: what is explained
	below  string   // the page's: by what
}

// step is a field of an allocation, and the labels that its value is made of, with colons between them.
type step struct {
	field  string
	labels []string
}

// as is the step of a field that is called as its label is.
func as(field string) step { return step{field, []string{field}} }

// toDashboard leads to the dashboard of namespaces, controllers and pods.
func toDashboard(title string, labels ...string) *link {
	return &link{title: title, uid: "promcost-namespaces", labels: labels, prices: "${prices}"}
}

// why leads to promcost's page, which explains how the cost of what the steps say changed, by the field below.
func why(below string, steps ...step) *link {
	return &link{title: "Why did it change?", below: below, steps: steps, prices: "${prices:text}"}
}

// Links that several dashboards have.
var (
	toNamespaces    = toDashboard("Workloads of this namespace", perNamespace...)
	whyOfNamespace  = why("controller", as("cluster"), as("namespace"))
	whyOfController = why("pod", as("cluster"), as("namespace"), step{"controller", []string{"controller_kind", "controller"}})
	whyOfNode       = why("pod", as("cluster"), as("node"))
	whyOfCluster    = why("namespace", as("cluster"))
)

// ofBilled is a link whose costs are by bill, of a dashboard that has no others.
func ofBilled(l link) *link {
	l.prices = "billed"
	if l.uid != "" {
		l.prices = billed
	}
	return &l
}

// url is the address of the link; values is Grafana's name for the labels of a row or a series.
func (l *link) url(values string) string {
	if l.uid == "" {
		return l.pageURL(values)
	}
	var set strings.Builder
	for _, label := range l.labels {
		fmt.Fprintf(&set, "&var-%s=${%s.%s}", label, values, label)
	}
	return fmt.Sprintf("/d/%s?${datasource:queryparam}%s&var-prices=%s&${__url_time_range}", l.uid, set.String(), l.prices)
}

// pageURL is the permanent link of the page's view why over the time range of the dashboard. As in series, what clusters cost besides
// nodes is not shared.
func (l *link) pageURL(values string) string {
	steps := make([]string, len(l.steps))
	for i, s := range l.steps {
		filled := make([]string, len(s.labels))
		for j, label := range s.labels {
			filled[j] = fmt.Sprintf("${%s.%s:percentencode}", values, label)
		}
		steps[i] = url.QueryEscape(`["`) + s.field + url.QueryEscape(`","`) + strings.Join(filled, url.QueryEscape(":")) + url.QueryEscape(`"]`)
	}
	return "${promcost:raw}/ui/?view=why&window=${__from:date:seconds},${__to:date:seconds}&aggregate=" + l.below +
		"&path=" + url.QueryEscape("[") + strings.Join(steps, url.QueryEscape(",")) + url.QueryEscape("]") +
		"&tenancy=false&prices=" + l.prices
}

// shownAt is the label whose column has the link.
func (l *link) shownAt() string {
	if l.uid != "" {
		return l.labels[len(l.labels)-1]
	}
	last := l.steps[len(l.steps)-1].labels
	return last[len(last)-1]
}

// linksValue is a property of fields: their links. Those to promcost's page open beside the dashboard.
func linksValue(links []*link, values string) dashboard.DynamicConfigValue {
	list := make([]map[string]any, len(links))
	for i, l := range links {
		list[i] = map[string]any{"title": l.title, "url": l.url(values), "targetBlank": l.uid == ""}
	}
	return dashboard.DynamicConfigValue{Id: "links", Value: list}
}
