package collector

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Instrument counts and times the requests that next answers. Handler is the route as its label says it, "/model/assets":
// a constant of the program, never a path that a client chose. Unknown methods and codes share a label value.
func (h *Health) Instrument(handler string, next http.Handler) http.Handler {
	labels := prometheus.Labels{"handler": handler}
	selectors := []promhttp.Option{
		promhttp.WithLabelFromRequest("has_field_selector", hasParameter("fieldSelector")),
		promhttp.WithLabelFromRequest("has_label_selector", hasParameter("labelSelector")),
	}
	timed := promhttp.InstrumentHandlerDuration(h.httpDuration.MustCurryWith(labels), next, selectors...)
	return promhttp.InstrumentHandlerCounter(h.httpRequests.MustCurryWith(labels), timed, selectors...)
}

// hasParameter reports whether an answered request had the parameter. It does not read the body: a form counts if the handler has
// parsed it.
func hasParameter(name string) func(*http.Request) string {
	return func(r *http.Request) string {
		form := r.Form
		if form == nil {
			form = r.URL.Query()
		}
		return strconv.FormatBool(form.Get(name) != "")
	}
}
