package chunks

import (
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
)

// AppendIterated is Append by Prometheus' own iterator.
func (d *Decoder) AppendIterated(p *timeline.Points, enc chunkenc.Encoding, data []byte, mint, maxt int64) error {
	if p.Len() > 0 {
		mint = max(mint, p.Last()+1)
	}
	return d.appendIterated(p, enc, data, mint, maxt)
}
