package costseries

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// serveConfig answers /api/v1/status/config.
func (a *api) serveConfig(w http.ResponseWriter, r *http.Request) {
	if !checkMethod(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	answerData(w, map[string]string{"yaml": a.o.Config()}, nil)
}

// serveMetadata answers /api/v1/metadata: of cost series, then of what the upstream has besides.
func (a *api) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if !checkMethod(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	limit, err := limitOf(r, "limit")
	if err == nil {
		_, err = limitOf(r, "limit_per_metric") // of a metric there is one
	}
	if err != nil {
		answerError(w, http.StatusBadRequest, "bad_data", err)
		return
	}
	metric := r.FormValue("metric")
	found := map[string][]Metadata{}
	for _, m := range a.o.Metadata {
		if (metric == "" || metric == m.Name) && (limit < 0 || len(found) < limit) {
			found[m.Name] = []Metadata{m}
		}
	}
	var warnings []string
	if a.o.Upstream != nil && (limit < 0 || len(found) < limit) {
		warnings = a.o.Upstream.metadata(r.Context(), metric, limit, found)
	}
	answerData(w, found, warnings)
}

// limitOf is a limit in a request, -1 where there is none. As with Prometheus, one below 0 is none.
func limitOf(r *http.Request, name string) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return -1, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New(name + " must be a number")
	}
	return max(limit, -1), nil
}

// tooMuchError is an answer that would be larger than it may: the request is to blame, and may ask for less.
type tooMuchError struct {
	what   string
	most   int
	remedy string
}

// Error implements error.
func (e *tooMuchError) Error() string {
	return fmt.Sprintf("%s would exceed %d: %s", e.what, e.most, e.remedy)
}
