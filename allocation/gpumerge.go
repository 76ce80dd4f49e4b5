package allocation

import "slices"

// mergeGPUs returns what the rows with GPUs of each group have in common.
func mergeGPUs(dict *Dict, operands []operand, n int) (ids []ID, some []bool) {
	has := func(set *Set, row int) bool {
		return set.ids[GPUDevices][row] != 0 || row < len(set.lost.gpus) && set.lost.gpus[row]
	}
	for _, p := range operands {
		if slices.Contains(p.set.lost.gpus, true) || slices.ContainsFunc(p.set.ids[GPUDevices], func(id ID) bool { return id != 0 }) {
			return commonPairs(dict, operands, GPUDevices, n, has)
		}
	}
	return make([]ID, n), nil
}

// haveDifferentGPUs reports whether rows have different GPUs: merging them adds their common part to the dictionary.
func haveDifferentGPUs(sets []*Set) bool {
	var first ID
	for _, s := range sets {
		for _, id := range s.ids[GPUDevices] {
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
