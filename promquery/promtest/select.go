package promtest

import (
	"context"

	"github.com/promcost/promcost/promquery"
)

// Select asks a source, and calls use with each series of the answer; nil looks at none. It returns the error of use as it is.
func Select(ctx context.Context, src promquery.Source, rs []promquery.Request, use promquery.Yield) (stats promquery.Stats, err error) {
	for s, err := range src.Select(ctx, rs, &stats) {
		if err == nil && use != nil {
			err = use(s.Request, s.Key, s.Points)
		}
		if err != nil {
			return stats, err
		}
	}
	return stats, nil
}
