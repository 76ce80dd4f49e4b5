package chunks

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// ErrHistogram says that a chunk holds native histograms, which no input of a cost computation is.
var ErrHistogram = errors.New("chunk holds native histograms")

// ErrOrder says that a sample is not later than the one before it.
var ErrOrder = errors.New("times do not ascend")

// stretch is how many samples of a series are handed over at a time: it bounds memory, whatever the window.
const stretch = 1 << 17

// Decoder turns encoded chunks into samples. It keeps buffers for the next chunk; the zero value is ready. It is not safe
// for concurrent use.
type Decoder struct {
	p   timeline.Points
	buf []byte
	it  map[chunkenc.Encoding]chunkenc.Iterator
}

// Append appends to p the samples of a chunk that lie in [mint, maxt] and beyond p.Last(), staleness markers included.
// data is only read during the call. A malformed chunk is an error and appends nothing; one of histograms is ErrHistogram.
func (d *Decoder) Append(p *timeline.Points, enc chunkenc.Encoding, data []byte, mint, maxt int64) error {
	return d.append(p, &Encoded{Encoding: enc, Data: data}, mint, maxt)
}

func (d *Decoder) append(p *timeline.Points, c *Encoded, mint, maxt int64) error {
	enc, data := c.Encoding, c.Data
	if p.Len() > 0 {
		mint = max(mint, p.Last()+1)
	}
	switch enc {
	case chunkenc.EncXOR:
		if err := d.appendXOR(p, data, c.Padded, mint, maxt); err != nil {
			return wrap(err, enc)
		}
		return nil
	case chunkenc.EncXOR2:
		return d.appendIterated(p, enc, data, mint, maxt)
	case chunkenc.EncHistogram, chunkenc.EncFloatHistogram, chunkenc.EncHistogramST, chunkenc.EncFloatHistogramST:
		return ErrHistogram
	default:
		return fmt.Errorf("decode chunk: unknown encoding %d", enc)
	}
}

// Encoded is a chunk as it is stored. MinTime and MaxTime are the times of its first and last sample.
type Encoded struct {
	Encoding         chunkenc.Encoding
	Data             []byte
	MinTime, MaxTime int64
	// Padded says that nobody writes to the bytes between the length and the capacity of Data. If these are at least Padding, Data
	// need not be copied.
	Padded bool
}

// Each decodes the chunks of a series into p and calls yield with p for each stretch of at most some 100,000 samples that
// lie in [mint, maxt]. It sorts the chunks by MinTime. Chunks that overlap are merged; of two samples at one time the earlier
// chunk's wins. A chunk that cannot be decoded is handed to skip and left out. An error of yield ends Each.
func (d *Decoder) Each(p *timeline.Points, list []Encoded, mint, maxt int64, skip func(error), yield func() error) error {
	if byStart := func(a, b Encoded) int { return cmp.Compare(a.MinTime, b.MinTime) }; !slices.IsSortedFunc(list, byStart) {
		slices.SortStableFunc(list, byStart)
	}
	for len(list) > 0 {
		p.Reset()
		for len(list) > 0 && p.Len() < stretch {
			n := overlapping(list)
			if n == 1 {
				if err := d.append(p, &list[0], mint, maxt); err != nil {
					skip(err)
				}
			} else {
				d.merge(p, list[:n], mint, maxt, skip)
			}
			list = list[n:]
		}
		if p.Len() == 0 {
			continue
		}
		mint = p.Last() + 1
		if len(list) > 0 {
			p.MarkContinued()
		}
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}

// Hand decodes the chunks of a series as Each does, and passes its samples in [mint, maxt] to yield, with the request's index i, the key and
// the id of the series (see Points.SetSeries). It returns how many samples there were.
func (d *Decoder) Hand(i int, key []promquery.Symbol, series uint64, list []Encoded, mint, maxt int64, skip func(error), yield promquery.Yield) (samples int64, err error) {
	err = d.Each(&d.p, list, mint, maxt, skip, func() error {
		d.p.SetSeries(series)
		samples += int64(d.p.Len())
		return yield(i, key, &d.p)
	})
	return samples, err
}

// overlapping returns how many of the leading chunks, at least one, overlap each other in time.
func overlapping(list []Encoded) int {
	n, maxt := 1, list[0].MaxTime
	for n < len(list) && list[n].MinTime <= maxt {
		maxt = max(maxt, list[n].MaxTime)
		n++
	}
	return n
}

// merge appends the samples of overlapping chunks in order of time.
func (d *Decoder) merge(p *timeline.Points, list []Encoded, mint, maxt int64, skip func(error)) {
	var all Overlap
	var part timeline.Points
	for _, c := range list {
		part.Reset()
		if err := d.Append(&part, c.Encoding, c.Data, mint, maxt); err != nil {
			skip(err)
			continue
		}
		all.Add(&part)
	}
	all.AppendTo(p)
}

// Overlap is the samples of parts of a series that overlap in time. The zero value is empty.
type Overlap struct{ samples []sample }

type sample struct {
	t int64
	v float64
}

// Add adds a part.
func (o *Overlap) Add(part *timeline.Points) {
	for t, v := range part.All() {
		o.samples = append(o.samples, sample{t, v})
	}
}

// AppendTo appends the samples to p, in the order of time. Of two at one time, that which was added first counts.
func (o *Overlap) AppendTo(p *timeline.Points) {
	slices.SortStableFunc(o.samples, func(a, b sample) int { return cmp.Compare(a.t, b.t) })
	for _, s := range o.samples {
		p.Append(s.t, s.v)
	}
}

// appendIterated decodes through Prometheus' own iterator.
func (d *Decoder) appendIterated(p *timeline.Points, enc chunkenc.Encoding, data []byte, mint, maxt int64) (err error) {
	if len(data) < headerSize {
		return wrap(errTruncated, enc)
	}
	if binary.BigEndian.Uint16(data) == 0 {
		return nil
	}
	defer func() {
		// Prometheus trusts chunks whose checksum held and indexes them without bounds; ours may come from a network.
		if r := recover(); r != nil {
			err = wrap(fmt.Errorf("malformed: %v", r), enc)
		}
	}()
	c, err := chunkenc.FromData(enc, data)
	if err != nil {
		return wrap(err, enc)
	}
	if d.it == nil {
		d.it = map[chunkenc.Encoding]chunkenc.Iterator{}
	}
	it := c.Iterator(d.it[enc])
	d.it[enc] = it
	// Collect into got first, so that a chunk that fails midway appends nothing.
	var got timeline.Points
	if err := appendSamples(&got, it, mint, maxt); err != nil {
		return wrap(err, enc)
	}
	for t, v := range got.All() {
		p.Append(t, v)
	}
	return nil
}

// appendSamples appends the float samples of it that lie in [mint, maxt].
func appendSamples(p *timeline.Points, it chunkenc.Iterator, mint, maxt int64) error {
	last := int64(math.MinInt64)
	for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
		if typ != chunkenc.ValFloat {
			continue
		}
		t, v := it.At()
		if t <= last {
			return ErrOrder
		}
		if last = t; t > maxt {
			break
		}
		if t >= mint {
			p.Append(t, v)
		}
	}
	return it.Err()
}
