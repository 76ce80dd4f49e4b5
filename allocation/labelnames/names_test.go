package labelnames_test

import (
	"math/rand/v2"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/labelnames"
)

func TestFindLabel(t *testing.T) {
	type labels map[string]string
	conflicts := labels{"team_conflict1": "upper", "team_conflict2": "lower"}
	for name, tc := range map[string]struct {
		name   string
		known  []string
		labels labels
		want   string // "" is not found
	}{
		"raw":                                      {"app.kubernetes.io/partOf", nil, labels{"app.kubernetes.io/partOf": "shop"}, "shop"},
		"sanitized":                                {"app.kubernetes.io/partOf", nil, labels{"app_kubernetes_io_partOf": "shop"}, "shop"},
		"snake case":                               {"app.kubernetes.io/partOf", nil, labels{"app_kubernetes_io_part_of": "shop"}, "shop"},
		"capital first":                            {"Team", nil, labels{"team": "red"}, "red"},
		"capitals in a row":                        {"myAPIKey", nil, labels{"my_apikey": "x"}, "x"},
		"digit before a capital":                   {"node1Pool", nil, labels{"node1_pool": "x"}, "x"},
		"capital after a dot":                      {"example.com/Team", nil, labels{"example_com_team": "x"}, "x"},
		"asked in snake case, raw":                 {"cost_center", nil, labels{"costCenter": "7"}, "7"},
		"asked sanitized, raw":                     {"a_b", nil, labels{"a.b": "7"}, "7"},
		"asked in another spelling of another":     {"costCenter", nil, labels{"cost.Center": "7"}, ""},
		"as given wins":                            {"costCenter", nil, labels{"costCenter": "1", "cost_center": "2"}, "1"},
		"sanitized wins over snake case":           {"a.costCenter", nil, labels{"a_costCenter": "1", "a_cost_center": "2"}, "1"},
		"another name":                             {"team", nil, labels{"teams": "x", "tea": "y"}, ""},
		"raw keys that read alike and differ":      {"a_b", nil, labels{"a.b": "1", "a/b": "2"}, ""},
		"raw keys that read alike and are equal":   {"a_b", nil, labels{"a.b": "1", "a/b": "1"}, "1"},
		"collision of names that nobody knows":     {"team", nil, conflicts, ""},
		"collision of equal values":                {"team", nil, labels{"team_conflict1": "red", "team_conflict2": "red"}, "red"},
		"collision, the first in byte order":       {"Team", []string{"team", "Team"}, conflicts, "upper"},
		"collision, the second in byte order":      {"team", []string{"Team"}, conflicts, "lower"},
		"collision of more than are known":         {"team", []string{"Team"}, labels{"team_conflict1": "a", "team_conflict2": "b", "team_conflict3": "c"}, ""},
		"collision of fewer than are known":        {"team", []string{"Team", "TEAM"}, conflicts, ""},
		"numbers of collisions are no texts":       {"a.b", []string{"a/b"}, labels{"a_b_conflict10": "second", "a_b_conflict9": "first"}, "first"},
		"key of a collision, as it is exported":    {"team_conflict2", nil, conflicts, "lower"},
		"a name that ends like one of a collision": {"team", nil, labels{"team_conflicting": "x", "team_conflict": "y", "team_conflict0": "z"}, ""},
		"the annotation of Kubernetes' own":        {"kubectl.kubernetes.io/last-applied-configuration", nil, labels{"kubectl_kubernetes_io_last_applied_configuration": "{}"}, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			n := labelnames.NewNames(tc.known...).Name(tc.name)
			got, ok := labelnames.Find(&n, tc.labels)
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("found %q, %v, want %q", got, ok, tc.want)
			}
		})
	}
}

// TestFindLabelInEveryExport writes random labels as each kind of exporter does, and looks for each by its name in Kubernetes.
func TestFindLabelInEveryExport(t *testing.T) {
	invalid, camel := regexp.MustCompile(`[^a-zA-Z0-9_]`), regexp.MustCompile(`([a-z0-9])([A-Z])`)
	sanitized := func(name string) string { return invalid.ReplaceAllString(name, "_") }
	snake := func(name string) string { return strings.ToLower(camel.ReplaceAllString(sanitized(name), "${1}_${2}")) }
	r := rand.New(rand.NewPCG(16, 1))
	collisions := 0
	for range 20_000 {
		labels := map[string]string{}
		for i := range 1 + r.IntN(3) {
			name := make([]byte, 1+r.IntN(4))
			for j := range name {
				name[j] = "abAB1./-_"[r.IntN(9)]
			}
			labels[string(name)] = strconv.Itoa(i)
		}
		names := make([]string, 0, len(labels))
		same := map[string]int{}
		for name := range labels {
			names = append(names, name)
			same[snake(name)]++
		}
		sort.Strings(names)
		exported, number := map[string]string{}, map[string]int{}
		for _, name := range names {
			key := snake(name)
			if same[key] > 1 {
				collisions++
				number[key]++
				key += "_conflict" + strconv.Itoa(number[key])
			}
			exported[key] = labels[name]
		}
		for name, want := range labels {
			n := labelnames.NewNames(names...).Name(name)
			for kind, m := range map[string]map[string]string{
				"raw": labels, "in snake case": exported, "sanitized": {sanitized(name): want},
			} {
				if got, ok := labelnames.Find(&n, m); !ok || got != want {
					t.Fatalf("%q of %q, %s as %q: found %q, %v, want %q", name, names, kind, m, got, ok, want)
				}
			}
		}
	}
	if collisions < 1000 {
		t.Errorf("only %d names collided", collisions)
	}
}
