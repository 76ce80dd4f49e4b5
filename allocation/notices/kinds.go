package notices

import (
	"cmp"
	"slices"
	"strings"
)

// Level says how much a warning matters.
type Level uint8

// The levels of warnings, those that matter most first.
const (
	Lost      Level = iota // costs are missing or wrong
	Estimated              // costs rest on assumptions
	Minor                  // costs are hardly touched
)

// String returns the level's name in answers.
func (l Level) String() string { return [...]string{"lost", "estimated", "minor"}[l] }

// Kind is what a warning is about. The section of TROUBLESHOOTING.md with its name explains it.
type Kind struct {
	Name  string
	Level Level
}

// kinds are the kinds of warnings, each with words by which it is recognized. The first kind that matches counts.
var kinds = []struct {
	Kind
	words []string
}{
	{Kind{"question", Lost}, []string{"parameter ", " parameters are not known", "nothing of the window matches"}},
	{Kind{"opentelemetry", Estimated}, []string{"OpenTelemetry's receivers"}},
	{Kind{"labels", Estimated}, []string{"about labels", "about annotations", "about services", "label ", "annotation "}},
	{Kind{"estimated-bills", Estimated}, []string{"estimated from the last billed days"}},
	{Kind{"bills", Lost}, []string{"bill ", "bills have not", "what bills do not charge"}},
	{Kind{"odd-prices", Lost}, []string{byMetrics, RulesNeed, "which prices this promcost exposed", "series of prices", "have different prices by"}},
	{Kind{"default-prices", Estimated}, []string{"a price: ", "the default price", shareOfCost}},
	{Kind{"unreadable-samples", Lost}, []string{"native histograms skipped", "malformed ", "the answer is partial", "newest samples are missing", "block "}},
	{Kind{"missing-metrics", Lost}, []string{"not in kube_pod_info", "limits and no requests", "it concerns", "usage series ", "nothing tells", "nothing says"}},
	{Kind{"pods-without-nodes", Lost}, []string{noKnownNode, "no node of the cluster", "allocated outside of any known node's life"}},
	{Kind{"volumes-without-cost", Lost}, []string{"mounted, but", "claim costs nothing", "claims cost nothing", "volume costs nothing", "volumes cost nothing", "less than 1 MiB", "above 1 PiB"}},
	{Kind{"odd-nodes", Estimated}, []string{"more than 2,000 cores", "the provider id of another", "beyond its capacity"}},
	{Kind{"odd-samples", Estimated}, []string{"CPU counters", "they are NaN, infinite", "requests of "}},
	{Kind{"devices-without-cost", Estimated}, []string{"devices that cost nothing"}},
	{Kind{"gaps-in-samples", Estimated}, []string{"no sample of", "not seen for more than", "is missing for more than", "only in cAdvisor", "samples are missing around"}},
	{Kind{"short-init-containers", Minor}, []string{"finished between two scrapes"}},
	{Kind{"cronjobs-in-step", Minor}, []string{"in step with the grid"}},
	{Kind{"missing-data", Lost}, []string{"no costs", "no data", "have data", "has data"}},
}

// OtherKind is the kind of warnings that belong to no other: they say by themselves what to do.
var OtherKind = Kind{"other-warnings", Minor}

// KindOf is what a warning is about.
func KindOf(warning string) Kind {
	for _, k := range kinds {
		if slices.ContainsFunc(k.words, func(words string) bool { return strings.Contains(warning, words) }) {
			return k.Kind
		}
	}
	return OtherKind
}

// Kinds are all kinds of warnings.
func Kinds() []Kind {
	list := make([]Kind, 0, len(kinds)+1)
	for _, k := range kinds {
		list = append(list, k.Kind)
	}
	return append(list, OtherKind)
}

// shareOfCost is in warnings that say how much of a cost they concern.
const shareOfCost = " % of this cost rests on"

// Foremost returns at most so many warnings, those that stand for the others: of each kind the first that ByLevel has, or better one that says how much of the
// cost it concerns. Where there is room, others follow.
func Foremost(warnings []string, most int) []string {
	sorted := slices.Clone(warnings)
	ByLevel(sorted)
	var list, others []string
	at := map[Kind]int{}
	for _, text := range sorted {
		i, seen := at[KindOf(text)]
		switch {
		case !seen:
			at[KindOf(text)], list = len(list), append(list, text)
		case strings.Contains(text, shareOfCost):
			list[i], others = text, append(others, list[i])
		default:
			others = append(others, text)
		}
	}
	list = append(list, others...)
	return list[:min(most, len(list))]
}

// ByLevel sorts warnings: those that matter most first, in alphabetical order among equals.
func ByLevel(warnings []string) {
	slices.SortStableFunc(warnings, func(a, b string) int {
		return cmp.Or(cmp.Compare(KindOf(a).Level, KindOf(b).Level), strings.Compare(a, b))
	})
}
