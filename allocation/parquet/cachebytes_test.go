package parquet

import "testing"

// TestColumnCacheIsBounded caches columns of more files than there is room for. The cache never exceeds its bound, and its count of
// bytes is right.
func TestColumnCacheIsBounded(t *testing.T) {
	var k columnCache
	cached := func(sum uint32) *leaf {
		return k.get("c", func(c *cachedColumn) bool { return c.leaf != nil && c.sum == sum })
	}
	for i := range uint32(100) {
		column := cachedColumn{from: pageForm{rows: 1 + int(i%3)}, sum: i}
		for _, name := range [...]string{"a", "b", "c", "d"} {
			if k.remember(name, column) {
				t.Errorf("%s of file %d was seen before it was read", name, i)
			}
			if !k.remember(name, column) {
				t.Errorf("%s of file %d was not seen", name, i)
			}
			whole := column
			whole.leaf = &leaf{fixed: make([]byte, maxCachedBytes)}
			k.put(name, whole)
			sum := 0
			for _, of := range k.byName {
				for i := range of.columns {
					sum += of.columns[i].bytes()
				}
			}
			if sum != k.bytes || sum > maxCacheBytes {
				t.Fatalf("%d bytes are cached, and said to be %d, of %d at most", sum, k.bytes, maxCacheBytes)
			}
		}
		if cached(i) == nil {
			t.Errorf("column of file %d is not cached", i)
		}
		if i > 8 && cached(i-8) != nil {
			t.Errorf("column of file %d is cached for good", i-8)
		}
	}
}
