package passes

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// mergeGPUs returns what the rows with GPUs of each group have in common.
func mergeGPUs(dict *allocation.Dict, operands []operand, n int) (ids []allocation.ID, some []bool) {
	has := func(set *allocation.Set, row int) bool {
		return set.Table().IDs[allocation.GPUDevices][row] != 0 || row < len(set.Table().Lost.GPUs) && set.Table().Lost.GPUs[row]
	}
	for _, p := range operands {
		if slices.Contains(p.set.Table().Lost.GPUs, true) || slices.ContainsFunc(p.set.Table().IDs[allocation.GPUDevices], func(id allocation.ID) bool { return id != 0 }) {
			return commonPairs(dict, operands, allocation.GPUDevices, n, has)
		}
	}
	return make([]allocation.ID, n), nil
}

// haveDifferentGPUs reports whether rows have different GPUs: merging them adds their common part to the dictionary.
func haveDifferentGPUs(sets []*allocation.Set) bool {
	var first allocation.ID
	for _, s := range sets {
		for _, id := range s.Table().IDs[allocation.GPUDevices] {
			if first == 0 {
				first = id
			}
			if id != 0 && id != first {
				return true
			}
		}
	}
	return false
}
