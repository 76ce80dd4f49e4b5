package savings

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// maxHalfLives is how many half-lives usage can be weighted by at once.
const maxHalfLives = 2

// level is how long usage lay in a bucket, and how much it came to. seconds and amount add over time and replicas.
type level struct {
	bucket  allocation.Bucket
	seconds float64
	amount  float64               // ∫ usage dt, in cores or bytes × seconds
	paid    float64               // ∫ price dt: seconds × currency an hour of a core or byte
	aged    [maxHalfLives]float32 // seconds, each weighted by its age within the day
}

// spread is a distribution of usage, by bucket. The amounts say where usage lies within a bucket, so that sums of it are exact.
type spread []level

// add adds another distribution, and returns how many buckets are new.
func (d *spread) add(other spread) (more int) {
	at := 0
	for i := range other {
		x := &other[i]
		for at < len(*d) && (*d)[at].bucket < x.bucket {
			at++
		}
		if at == len(*d) || (*d)[at].bucket != x.bucket {
			*d = slices.Insert(*d, at, *x)
			more++
			continue
		}
		l := &(*d)[at]
		l.seconds, l.amount, l.paid = l.seconds+x.seconds, l.amount+x.amount, l.paid+x.paid
		for k, s := range x.aged {
			l.aged[k] += s
		}
	}
	return more
}

// seconds is how long usage is known.
func (d spread) seconds() (sum float64) {
	for i := range d {
		sum += d[i].seconds
	}
	return sum
}

// amount is ∫ usage dt, in cores or bytes × seconds.
func (d spread) amount() (sum float64) {
	for i := range d {
		sum += d[i].amount
	}
	return sum
}

// ends are the least and the highest usage in a bucket, of which none is above most.
func ends(b allocation.Bucket, most float64) (low, high float64) {
	if b == allocation.NoUsage {
		return 0, 0
	}
	low = lowers[b.Index()]
	return low, max(low, min(low*bucketFactor, most))
}

// bucketFactor is from the lower to the upper end of a bucket: 2^(1/8).
const bucketFactor = 1.0905077326652577

// lowers are the lower ends of buckets.
var lowers = func() (list [allocation.NumBuckets]float64) {
	for i := range list {
		list[i] = allocation.BucketAt(i).Upper() / bucketFactor
	}
	return list
}()

// place appends the levels of a row. Usage lies where in its buckets the row's exact sum and maximum put it: in each of them, at the same part of the way from
// the lower end to the upper one, or to the maximum. price is that of an hour of a core or byte, and weights are those of the time by its age.
func place(dst spread, levels []allocation.Level, amount, most, price float64, weights *[maxHalfLives]float64) spread {
	low, high := 0.0, 0.0
	for _, l := range levels {
		from, to := ends(l.Bucket, most)
		low, high = low+from*float64(l.Millis)/1000, high+to*float64(l.Millis)/1000
	}
	part := 1.0
	if high > low {
		part = min(max((amount-low)/(high-low), 0), 1)
	}
	for _, l := range levels {
		from, to := ends(l.Bucket, most)
		x := level{bucket: l.Bucket, seconds: float64(l.Millis) / 1000}
		x.amount, x.paid = x.seconds*(from+part*(to-from)), x.seconds*price
		for i, w := range weights {
			x.aged[i] = float32(x.seconds * w)
		}
		dst = append(dst, x)
	}
	return dst
}

// within is the stretch of usage in a bucket that its mean allows: all that lies evenly around it.
func (l *level) within(most float64) (low, high float64) {
	mean := l.amount / l.seconds
	low, high = ends(l.bucket, most)
	around := max(0, min(mean-low, high-mean))
	return mean - around, mean + around
}

// above is for how many seconds usage was above a request, which is never none where most is above it, and between is ∫ min(request, usage) dt.
func (d spread) above(request, most float64) (above, between float64) {
	for i := range d {
		l := &d[i]
		low, high := l.within(most)
		switch {
		case low >= request && high > request:
			above, between = above+l.seconds, between+l.seconds*request
		case high > request:
			above += l.seconds * (high - request) / (high - low)
			between += min(l.amount, l.seconds*request)
		default:
			between += l.amount
			if i == len(d)-1 {
				above += l.tail(request, most)
			}
		}
	}
	return above, between
}

// tail is for how many seconds usage was above a request that is above all of within: some, below most, which is known to have been reached. The part of the bucket's time
// that is above its mean falls evenly towards that.
func (l *level) tail(request, most float64) float64 {
	low, high := ends(l.bucket, most)
	mean := l.amount / l.seconds
	if request >= high || mean >= high || mean <= low {
		return 0
	}
	return l.seconds * (mean - low) / (high - low) * (high - request) / (high - mean)
}

// cost is ∫ max(request, usage) × price dt, in currency. Each bucket has its mean price.
func (d spread) cost(request float64) (sum float64) {
	for i := range d {
		sum += max(d[i].amount/d[i].seconds, request) * d[i].paid / 3600
	}
	return sum
}

// blend is a sum of weighted distributions, in which quantiles are looked up. It is scratch.
type blend struct {
	weight    [allocation.NumBuckets]float64
	level     [allocation.NumBuckets]float64 // Σ weight × mean usage
	low, high int
	total     float64
	most      float64 // highest usage
}

func newBlend() *blend { return &blend{low: allocation.NumBuckets, high: -1} }

// evenly is the half-life that weights all usage the same.
const evenly = -1

// add adds a distribution whose highest usage is most, weighted by a factor and by age within the day: by the half-life of an index, or evenly.
func (b *blend) add(d spread, halfLife int, factor, most float64) {
	b.most = max(b.most, most)
	for i := range d {
		l := &d[i]
		w := l.seconds
		if halfLife != evenly {
			w = float64(l.aged[halfLife])
		}
		w *= factor
		at := l.bucket.Index()
		b.weight[at] += w
		b.level[at] += w * l.amount / l.seconds
		b.total += w
		b.low, b.high = min(b.low, at), max(b.high, at)
	}
}

// take returns the least usage that a part q of the weights does not exceed, and leaves b empty. ok is false without any.
func (b *blend) take(q float64) (usage float64, ok bool) {
	want, sum := q*b.total, 0.0
	usage, ok = b.most, b.total > 0
	found := false
	for at := b.low; at <= b.high; at++ {
		w := b.weight[at]
		if !found && w > 0 && sum+w >= want*(1-1e-12) {
			l := level{bucket: allocation.BucketAt(at), seconds: w, amount: b.level[at]}
			low, high := l.within(b.most)
			usage, found = low+(high-low)*min(1, max(0, want-sum)/w), true
		}
		sum += w
		b.weight[at], b.level[at] = 0, 0
	}
	b.low, b.high, b.total, b.most = len(b.weight), -1, 0, 0
	return usage, ok
}
