package costapi

import (
	"net/http"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/parquet"
)

// columnarTypes are the media types of binary formats with columns.
var columnarTypes = map[string]string{
	"parquet": "application/vnd.apache.parquet",
	"arrow":   "application/vnd.apache.arrow.stream",
}

// columnar reports whether a format is a binary one with columns.
func columnar(format string) bool { return columnarTypes[format] != "" }

// finishColumnar refuses parameters that a columnar format cannot honor.
func (q *request) finishColumnar() error {
	switch {
	case q.output.explain:
		return badRequest("parameter explain: %s has no place for it: use format=json", q.output.format)
	case len(q.output.fields) > 0:
		return badRequest("parameter fields: %s has columns of its own: use format=json", q.output.format)
	case q.output.jmespath != nil:
		return badRequest("parameter jmespath: %s has no data to evaluate over: use format=json", q.output.format)
	case q.output.rate != 0:
		return badRequest("parameter costMetric: %s has the costs of the window: use format=json", q.output.format)
	case q.output.format == "parquet" && !q.output.page.IsZero() && q.route.endpoint == allocations:
		return badRequest("parameters offset, limit, sortBy: Parquet has all rows: leave them out, or use format=arrow")
	}
	return nil
}

// writeColumnarSets answers with allocations. It holds one set or one batch of rows in memory at a time.
func writeColumnarSets(w http.ResponseWriter, format string, sets []*allocation.Set, o encode.Options) error {
	if format == "arrow" {
		return encode.Arrow(w, sets, o)
	}
	p := parquet.NewStream(w)
	for _, s := range sets {
		if err := p.Rows(s); err != nil {
			return err
		}
	}
	return p.Close()
}

// writeColumnarAssets answers with assets.
func writeColumnarAssets(w http.ResponseWriter, format string, sets []*assets.Set, o encode.Options) error {
	if format == "arrow" {
		return encode.ArrowAssets(w, sets, o)
	}
	p := parquet.NewStream(w)
	for _, s := range sets {
		if err := p.Assets(s, o.PageOf(s)); err != nil {
			return err
		}
	}
	return p.Close()
}
