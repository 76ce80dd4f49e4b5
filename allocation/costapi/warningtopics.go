package costapi

import (
	"net/url"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/notices"
)

// aliases stand for labels, or for annotations if the label is missing.
var aliases = []string{"department", "environment", "owner", "product", "team"}

// concern finds the topics whose warnings concern the answer: those that its rows show and those that the request names. A name
// that resembles a topic only brings a warning too many.
func (q *request) concern(values url.Values, configured map[string]string) {
	if q.route.endpoint&listed != 0 {
		q.output.topics = []notices.Topic{notices.AboutNodeLabels}
		return
	}
	rows := q.route.endpoint == allocations && len(q.options.Aggregate) == 0 && q.output.format != "csv"
	metadata := rows || q.options.AggregatedMetadata
	var b strings.Builder
	for name, list := range values {
		if name != "labelNames" {
			b.WriteString(name + "=" + strings.Join(list, ",") + "&")
		}
	}
	for name, value := range configured {
		b.WriteString(name + "=" + value + "&")
	}
	asked := strings.ToLower(b.String())
	mentions := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(asked, word) })
	}
	byAlias := mentions(aliases...)
	if metadata || byAlias || mentions("label") {
		q.output.topics = append(q.output.topics, notices.AboutLabels, notices.AboutNodeLabels)
	}
	if mentions("nodepool") {
		q.output.topics = append(q.output.topics, notices.AboutNodeLabels)
	}
	if metadata || byAlias || mentions("annotation") {
		q.output.topics = append(q.output.topics, notices.AboutAnnotations)
	}
	if rows || mentions("service") {
		q.output.topics = append(q.output.topics, notices.AboutServices)
	}
}

// concerns reports whether a warning about t concerns the answer.
func (q *request) concerns(t notices.Topic) bool {
	return t == "" || slices.Contains(q.output.topics, t)
}
