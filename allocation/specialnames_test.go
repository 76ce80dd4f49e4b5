package allocation_test

import (
	"testing"

	"github.com/promcost/promcost/allocation"
)

// TestTenantName checks that no value is shown as a special name is, and that different values are shown differently.
func TestTenantName(t *testing.T) {
	shown := map[string]string{}
	for value, want := range map[string]string{
		"":                    "",
		"web":                 "web",
		"__name__":            "__name__",
		"__Idle__":            "__Idle__",
		"team=__idle__":       "team=__idle__",
		"__idle__":            `\__idle__`,
		`\__idle__`:           `\\__idle__`,
		`\\__idle__`:          `\\\__idle__`,
		`\web`:                `\web`,
		"one/__unallocated__": `one/\__unallocated__`,
		"__shared__/x":        `\__shared__/x`,
		"web-unmounted-pvcs":  `\web-unmounted-pvcs`,
		`\web-unmounted-pvcs`: `\\web-unmounted-pvcs`,
	} {
		got := allocation.TenantName(value)
		if got != want {
			t.Errorf("%s is shown as %s, want %s", value, got, want)
		}
		if back := allocation.TenantValue(got); back != value {
			t.Errorf("%s is shown as %s, which is of %s", value, got, back)
		}
		if of, ok := shown[got]; ok {
			t.Errorf("%s and %s are shown as %s", value, of, got)
		}
		shown[got] = value
		if allocation.IsSpecialName(got) {
			t.Errorf("%s is shown as %s, which is a special name", value, got)
		}
	}
}
