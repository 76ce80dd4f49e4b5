package main

import "testing"

// TestCounted checks the singular and the plural.
func TestCounted(t *testing.T) {
	for want, got := range map[string]string{
		"1 set of 5 bytes is sound":   counted(1, "{n} {set|sets} of {} bytes {is|are} sound", 5),
		"0 sets of 0 bytes are sound": counted(0, "{n} {set|sets} of {} bytes {is|are} sound", 0),
		", and 1 damaged manifest":    andDamaged(1),
		", and 2 damaged manifests":   andDamaged(2),
		"1 of 1 hour":                 paceLine(1, 1, 0),
		"0 of 2 hours":                paceLine(0, 2, 0),

		"\n1 node, priced by metrics, rules or price lists.\n":      missingPrices(nil, 1, nil),
		"\n2 nodes, all priced by metrics, rules or price lists.\n": missingPrices(nil, 2, nil),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
