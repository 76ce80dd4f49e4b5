package savings

import "github.com/promcost/promcost/allocation"

// Distribution is how the known time of a container is distributed over levels of usage, in bars. A bar ends where the next one begins.
type Distribution struct {
	Levels []float64 // ends of the bars in cores or bytes, ascending: one more than there are bars
	Shares []float64 // parts of the known time, 0 to 1
}

// What a distribution has at most: bars, and buckets in a bar.
const (
	mostBars    = 24
	mostBuckets = 4
)

// Distribution returns how usage of a resource was distributed over the window (SEMANTICS §10), nil where none is known. It is for pictures: as many neighboring
// buckets make a bar, so that bars are equally wide on a logarithmic scale, but the first one has all that is lower, too, and the last one ends at the highest usage. Numbers have four digits.
func (x *Container) Distribution(r allocation.Resource) *Distribution {
	const digits = 4
	used := x.whole[r]
	if len(used) == 0 {
		return nil
	}
	low, high, seconds := used[0].bucket.Index(), used[len(used)-1].bucket.Index(), used.seconds()
	if low == allocation.NoUsage.Index() && len(used) > 1 {
		low = used[1].bucket.Index()
	}
	buckets := 1
	for (high-low)/buckets >= mostBars && buckets < mostBuckets {
		buckets *= 2
	}
	bars := min((high-low)/buckets+1, mostBars)
	out := &Distribution{Levels: make([]float64, bars+1), Shares: make([]float64, bars)}
	for i := range used {
		below := (high - used[i].bucket.Index()) / buckets // bars from the last one down
		out.Shares[max(0, bars-1-below)] += used[i].seconds / seconds
	}
	for i := range out.Levels {
		if at := high - (bars-i)*buckets; at > 0 {
			out.Levels[i] = roundTo(min(allocation.BucketAt(at).Upper(), x.UsageMax[r]), digits)
		}
	}
	if used[0].bucket.Index() <= high-bars*buckets {
		out.Levels[0] = 0
	}
	for i, share := range out.Shares {
		out.Shares[i] = roundTo(share, digits)
	}
	return out
}
