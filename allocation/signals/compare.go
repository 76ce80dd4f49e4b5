package signals

import "cmp"

// Compare compares symbols by their texts.
func Compare(x, y Symbol) int {
	if x == y {
		return 0
	}
	return cmp.Compare(x.Value(), y.Value())
}
