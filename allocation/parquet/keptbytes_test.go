package parquet

import "testing"

// TestKeptColumnsAreBounded keeps columns of more files than there is room for: what is kept is never more than that, and is what
// it is said to be.
func TestKeptColumnsAreBounded(t *testing.T) {
	var k keptColumns
	kept := func(sum uint32) *leaf {
		return k.get("c", func(c *keptColumn) bool { return c.leaf != nil && c.sum == sum })
	}
	for i := range uint32(100) {
		column := keptColumn{from: stored{rows: 1 + int(i%3)}, sum: i}
		for _, name := range [...]string{"a", "b", "c", "d"} {
			if k.seen(name, column) {
				t.Errorf("%s of file %d was seen before it was read", name, i)
			}
			if !k.seen(name, column) {
				t.Errorf("%s of file %d was not seen", name, i)
			}
			whole := column
			whole.leaf = &leaf{fixed: make([]byte, maxKeptBytes)}
			k.put(name, whole)
			sum := 0
			for _, of := range k.byName {
				for i := range of.columns {
					sum += of.columns[i].bytes()
				}
			}
			if sum != k.bytes || sum > maxAllKept {
				t.Fatalf("%d bytes are kept, and said to be %d, of %d at most", sum, k.bytes, maxAllKept)
			}
		}
		if kept(i) == nil {
			t.Errorf("column of file %d is not kept", i)
		}
		if i > 8 && kept(i-8) != nil {
			t.Errorf("column of file %d is kept for good", i-8)
		}
	}
}
