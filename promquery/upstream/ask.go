package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// metadataPath describes metrics.
const metadataPath = "/metadata"

// answerInfo is what an answer says beside its data.
type answerInfo struct {
	warnings []string // the server's
	victoria bool     // the server is a VictoriaMetrics
}

// ask asks a path of the API and decodes the data of the answer. The parameters are a form in the body, as they may be long, but
// for paths that take no form.
func (u *Server) ask(ctx context.Context, path string, params url.Values, data any) (info answerInfo, err error) {
	params = maps.Clone(params)
	for name, values := range u.cfg.Params {
		params[name] = append(slices.Clone(values), params[name]...)
	}
	method, body, header := http.MethodPost, []byte(params.Encode()), map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	if path == metadataPath || strings.HasPrefix(path, "/label/") {
		method, path, body, header = http.MethodGet, path+"?"+params.Encode(), nil, nil
	}
	err = u.send(ctx, method, path, body, header, func(header http.Header, body io.Reader) error {
		text, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		answer := struct {
			Status   string          `json:"status"`
			Error    string          `json:"error"`
			Warnings []string        `json:"warnings"`
			Data     json.RawMessage `json:"data"`
		}{}
		if err := json.Unmarshal(text, &answer); err != nil {
			return fmt.Errorf("it is no answer of Prometheus' API: %w", err)
		}
		if answer.Status != "success" {
			return errors.New(answer.Error)
		}
		info = answerInfo{answer.Warnings, strings.HasPrefix(header.Get("Content-Type"), "application/stream+json")}
		return json.Unmarshal(answer.Data, data)
	})
	return info, err
}

// lookup are the parameters of a look-up of names or of series that any of the selectors matches; none is all.
func (u *Server) lookup(mint, maxt int64, limit int, selectors ...[]*labels.Matcher) url.Values {
	params := url.Values{"start": {secondsText(max(mint, 0))}, "end": {secondsText(min(maxt, maxSeconds*1000))}}
	if limit > 0 {
		params.Set("limit", strconv.Itoa(limit))
	}
	for _, matchers := range selectors {
		if len(matchers) > 0 {
			params.Add("match[]", selectorText(matchers))
		}
	}
	return params
}

// maxSeconds is a time after any sample that every server takes.
const maxSeconds = 1 << 35

// words are the names that a path of the API lists. A failure is among the warnings.
func (u *Server) words(ctx context.Context, path string, mint, maxt int64, limit int, matchers []*labels.Matcher) (words []string, warnings []error) {
	selectors := u.cfg.Limits.narrowed(matchers)
	if len(selectors) == 0 {
		return nil, nil
	}
	ctx, cancel := u.within(ctx)
	defer cancel()
	answer, err := u.ask(ctx, path, u.lookup(mint, maxt, limit, selectors...), &words)
	for _, w := range answer.warnings {
		warnings = append(warnings, errors.New("upstream: "+w))
	}
	if err != nil {
		warnings = append(warnings, u.failed(err))
	}
	return words, warnings
}

// Metadata describes a metric as Prometheus' API does.
type Metadata struct {
	Name string `json:"-"`
	Type string `json:"type"` // gauge or counter
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// Metadata adds the server's descriptions of other metrics to found, and returns warnings. At most limit metrics may be in found;
// -1 is no limit.
func (u *Server) Metadata(ctx context.Context, metric string, limit int, found map[string][]Metadata) []string {
	params := url.Values{}
	if metric != "" {
		params.Set("metric", metric)
	}
	theirs := map[string][]Metadata{}
	ctx, cancel := u.within(ctx)
	defer cancel()
	answer, err := u.ask(ctx, metadataPath, params, &theirs)
	if err != nil {
		return append(answer.warnings, u.failed(err).Error())
	}
	may, warnings := u.described(ctx)
	for _, w := range warnings {
		answer.warnings = append(answer.warnings, w.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if limit >= 0 && len(found) >= limit {
			break
		}
		if _, ok := found[name]; !ok && !slices.Contains(u.cfg.Owned, name) && may(name) {
			found[name] = theirs[name]
		}
	}
	return answer.warnings
}

// describedFor is how far back a series makes the description of its metric known: descriptions are of targets that are scraped now.
const describedFor = time.Hour

// described says of which metrics descriptions may be shown: those that have series which may be read. Names of series may end in more than
// that of their metric.
func (u *Server) described(ctx context.Context) (may func(metric string) bool, warnings []error) {
	if !u.cfg.Limits.any() {
		return func(string) bool { return true }, nil
	}
	now := time.Now()
	names, warnings := u.words(ctx, namesPath, now.Add(-describedFor).UnixMilli(), now.UnixMilli(), 0, nil)
	slices.Sort(names)
	return func(metric string) bool {
		return slices.ContainsFunc(suffixes, func(suffix string) bool {
			_, ok := slices.BinarySearch(names, metric+suffix)
			return ok
		})
	}, warnings
}

// suffixes are what names of series end in after the name of their metric.
var suffixes = []string{"", "_bucket", "_count", "_sum", "_total", "_info", "_created", "_gcount", "_gsum"}
