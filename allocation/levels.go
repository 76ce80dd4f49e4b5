package allocation

import "math"

// Level is how long the usage of a resource lay in one bucket of levels. A row's levels of a resource, by bucket, are the distribution of its usage over its running time:
// they add over time, containers and replicas. SEMANTICS §10.
type Level struct {
	Bucket Bucket
	Millis int64 // above 0
}

// Bucket is a range of usage in cores or bytes: a bucket of Prometheus' native histograms at schema 3, from Upper ÷ 2^(1/8), exclusive, to Upper, inclusive.
type Bucket int16

// NoUsage is the bucket of usage that is 0, or too little to be told from 0.
const NoUsage Bucket = -40 * bucketsPerDouble

const (
	bucketsPerDouble = 8
	mostUsed         = 80 * bucketsPerDouble // a yobibyte: more is counted there
	// bucketSlack keeps usage at the upper end of a bucket in it, where it differs by rounding.
	bucketSlack = 1e-9
)

// NumBuckets is how many buckets there are.
const NumBuckets = mostUsed - int(NoUsage) + 1

// Index returns the place of the bucket among all, from 0.
func (b Bucket) Index() int { return int(b - NoUsage) }

// BucketAt returns the bucket with an index.
func BucketAt(i int) Bucket { return NoUsage + Bucket(i) }

// LevelResources are the resources whose levels of usage are kept.
var LevelResources = [...]Resource{CPU, RAM}

// BucketOf returns the bucket of a usage in cores or bytes.
func BucketOf(usage float64) Bucket {
	switch {
	case !(usage > 0):
		return NoUsage
	case usage > 1<<(mostUsed/bucketsPerDouble):
		return mostUsed
	}
	fraction, exponent := math.Frexp(usage * (1 - bucketSlack)) // in [0.5, 1)
	above := 1
	for ; above < bucketsPerDouble && fraction > uppers[above-1]; above++ {
	}
	return Bucket(max((exponent-1)*bucketsPerDouble+above, int(NoUsage)))
}

// uppers are the upper ends of the buckets of [0.5, 1), without the last: 2^(i/8 - 1).
var uppers = [bucketsPerDouble - 1]float64{0.5452538663326288, 0.5946035575013605, 0.6484197773255048, 0.7071067811865476, 0.7711054127039704, 0.8408964152537145, 0.9170040432046712}

// Upper returns the highest usage in the bucket, in cores or bytes; 0 for NoUsage.
func (b Bucket) Upper() float64 {
	if b == NoUsage {
		return 0
	}
	return math.Exp2(float64(b) / bucketsPerDouble)
}

// Middle returns the usage that stands for all of the bucket: no other in it differs from it by more than 4.5 %. It is 0 for NoUsage.
func (b Bucket) Middle() float64 {
	if b == NoUsage {
		return 0
	}
	return math.Exp2((float64(b) - 0.5) / bucketsPerDouble)
}

// Quantile returns the smallest usage that a part q, from 0 to 1, of the time of levels does not exceed, in cores or bytes. It is NaN without levels.
func Quantile(levels []Level, q float64) float64 {
	total := int64(0)
	for _, l := range levels {
		total += l.Millis
	}
	if total == 0 {
		return math.NaN()
	}
	sum := int64(0)
	for _, l := range levels {
		if sum += l.Millis; float64(sum) >= q*float64(total) {
			return l.Bucket.Middle()
		}
	}
	return levels[len(levels)-1].Bucket.Middle()
}

// MergeLevels groups levels by row, of n rows, and adds those of one bucket. What adds up to 0 is left out.
func MergeLevels(n int, list []RowShare[Level]) (out Shares[Level]) {
	if len(list) == 0 {
		return out
	}
	ends, order := make([]int32, n+1), make([]int32, len(list))
	for i := range list {
		ends[list[i].Row+1]++
	}
	for row := range n {
		ends[row+1] += ends[row]
	}
	for i := range list {
		row := list[i].Row
		order[ends[row]] = int32(i)
		ends[row]++ // in the end, of row: where the next one began
	}
	var sums [NumBuckets]int64
	from := int32(0)
	for row := range n {
		low, high := len(sums), -1
		for _, i := range order[from:ends[row]] {
			at := list[i].Share.Bucket.Index()
			sums[at] += list[i].Share.Millis
			low, high = min(low, at), max(high, at)
		}
		for at := low; at <= high; at++ {
			if sums[at] > 0 {
				out.Add(row, Level{Bucket: BucketAt(at), Millis: sums[at]})
			}
			sums[at] = 0
		}
		from = ends[row]
	}
	out.Clip()
	return out
}

// Levels returns the levels of a row's usage of CPU or RAM, by bucket. They are none where they are not known. The slice must not be changed.
func (s *Set) Levels(r Resource, row int) []Level {
	if s.table.Unread.Levels {
		panic(s.notRead("levels of usage"))
	}
	return s.table.Levels[r].Row(row)
}

// HasLevels reports whether the levels of usage of the rows were computed, or read.
func (s *Set) HasLevels() bool { return !s.table.Unread.Levels }
