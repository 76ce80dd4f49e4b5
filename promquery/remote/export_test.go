package remote

import (
	"context"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// AtLeast and RetryAfter are exported to tests.
var (
	AtLeast    = atLeast
	RetryAfter = retryAfter
)

// ParseSeries reads a series of a streamed remote read: all labels, its chunks, and where in the message labels end.
func ParseSeries(msg []byte) (key []promquery.Symbol, list []chunks.Encoded, labelsEnd int, err error) {
	rd := &streamReader{run: &run{src: &Source{}}, keys: chunks.NewKeys(nil, chunks.NewSymbols(promquery.SymbolsOf(context.Background())))}
	labelsEnd, err = rd.parseSeries(&promquery.Request{}, msg)
	return rd.keys.Key(), rd.list, labelsEnd, err
}

// Waiting is how many callers wait for what the server is found out to be.
func Waiting(s *Source) int { return s.detections.Waiting(struct{}{}) }
