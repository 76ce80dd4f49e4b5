package allocation_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
)

// TestBuckets looks usage up in buckets: it is between their ends, and by no more than 4.5 % from their middle.
func TestBuckets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		usage := math.Exp2(rng.Float64()*80 - 20)
		b := allocation.BucketOf(usage)
		if low, high := (b - 1).Upper(), b.Upper(); !(low < usage && usage <= high*(1+1e-9)) {
			t.Fatalf("%v is in bucket %d, from %v to %v", usage, b, low, high)
		}
		if off := math.Abs(b.Middle()/usage - 1); off > 0.0445 {
			t.Fatalf("%v differs from %v, the middle of its bucket, by %v", usage, b.Middle(), off)
		}
		if allocation.BucketAt(b.Index()) != b {
			t.Fatalf("bucket %d has index %d, which is of %d", b, b.Index(), allocation.BucketAt(b.Index()))
		}
	}
	for name, tt := range map[string]struct {
		usage float64
		want  allocation.Bucket
	}{
		"none":             {0, allocation.NoUsage},
		"below none":       {-1, allocation.NoUsage},
		"not a number":     {math.NaN(), allocation.NoUsage},
		"too little":       {1e-13, allocation.NoUsage},
		"a core":           {1, 0},
		"a core, rounded":  {1 + 1e-15, 0},
		"half a core":      {0.5, -8},
		"a gibibyte":       {1 << 30, 240},
		"more than exists": {math.Inf(1), 640},
	} {
		if got := allocation.BucketOf(tt.usage); got != tt.want {
			t.Errorf("%s: %v is in bucket %d, want %d", name, tt.usage, got, tt.want)
		}
	}
}

// TestMergeLevels adds levels by row, and takes some back.
func TestMergeLevels(t *testing.T) {
	of := func(row int32, bucket allocation.Bucket, millis int64) allocation.RowShare[allocation.Level] {
		return allocation.RowShare[allocation.Level]{Row: row, Share: allocation.Level{Bucket: bucket, Millis: millis}}
	}
	merged := allocation.MergeLevels(4, []allocation.RowShare[allocation.Level]{
		of(3, 7, 5), of(1, 0, 10), of(3, allocation.NoUsage, 1), of(1, 0, 20), of(1, -3, 4), of(1, -3, -4), of(3, 640, 2),
	})
	want := [][]allocation.Level{nil, {{Bucket: 0, Millis: 30}}, nil, {{Bucket: allocation.NoUsage, Millis: 1}, {Bucket: 7, Millis: 5}, {Bucket: 640, Millis: 2}}}
	for row, levels := range want {
		if diff := cmp.Diff(levels, append([]allocation.Level(nil), merged.Row(row)...)); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", row, diff)
		}
	}
}
