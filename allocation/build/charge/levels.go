package charge

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// levelCount counts how long the usage within a section lies in which bucket of levels. It is scratch: take leaves it empty.
type levelCount struct {
	millis    [allocation.NumBuckets]int64
	low, high int // of the buckets that are not empty; high is below low where all are

	last       float64 // usage in a millisecond that was looked up last: memory often stays the same
	lastBucket int
}

func newLevelCount() *levelCount { return &levelCount{low: allocation.NumBuckets, high: -1} }

// add counts the parts of usage.
func (l *levelCount) add(parts []timeline.Part) {
	for k := range parts {
		dt := parts[k].To - parts[k].From
		if rate := parts[k].Amount / float64(dt); rate != l.last {
			l.last, l.lastBucket = rate, allocation.BucketOf(rate*1000).Index()
		}
		l.count(l.lastBucket, dt)
	}
}

// addUnused counts time without usage.
func (l *levelCount) addUnused(millis int64) { l.count(allocation.NoUsage.Index(), millis) }

func (l *levelCount) count(bucket int, millis int64) {
	l.millis[bucket] += millis
	l.low, l.high = min(l.low, bucket), max(l.high, bucket)
}

// take gives what was counted to a row, or with a sign of -1 takes it back.
func (l *levelCount) take(rows *allocation.Rows, r allocation.Resource, row int32, sign int64) {
	for i := l.low; i <= l.high; i++ {
		if n := l.millis[i]; n != 0 {
			rows.AddLevel(r, row, allocation.Level{Bucket: allocation.BucketAt(i), Millis: sign * n})
			l.millis[i] = 0
		}
	}
	l.low, l.high = len(l.millis), -1
}
