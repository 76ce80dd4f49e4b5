package collector

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// limit folds the smallest subjects into __other__ where the families would have more than limit series, and returns how many series
// that takes away. The others of each cluster stay apart, so that sums by cluster hold, unless the clusters alone are too
// many. Who is kept is decided by each set anew: it takes stored membership, which comes with the history, to keep a
// subject in over hours in which its rank changes.
func limit(families []family, totals *allocation.Totals, limit int) (folded *allocation.Totals, dropped int) {
	series, sum := countSeries(families, totals)
	if sum <= limit {
		return totals, 0
	}
	others := allocation.MaxSubjectSeries * len(families) // of one __other__
	fixed, reserve := 0, others
	if byCluster := others * countClusters(totals); byCluster <= limit/2 {
		fixed, reserve = 1, byCluster
	}
	keep := make([]bool, totals.Len())
	free := limit - reserve
	for _, i := range byCost(totals) {
		if free -= series[i]; free < 0 {
			break
		}
		keep[i] = true
		sum -= series[i]
	}
	return totals.Fold(func(i int) bool { return keep[i] }, fixed), sum
}

// countSeries counts the series of each subject and of all.
func countSeries(families []family, totals *allocation.Totals) (series []int, sum int) {
	series = make([]int, totals.Len())
	for i := range families {
		families[i].Emit(totals, func(subject int, _ []string, _ float64) {
			series[subject]++
			sum++
		})
	}
	return series, sum
}

// countClusters counts the distinct first labels.
func countClusters(totals *allocation.Totals) int {
	n := 0
	for i := range totals.Len() {
		if i == 0 || totals.Labels(i)[0] != totals.Labels(i - 1)[0] {
			n++
		}
	}
	return n
}

// byCost are the subjects by falling cost; equal ones by label.
func byCost(totals *allocation.Totals) []int {
	order := make([]int, totals.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(totals.Cost(b), totals.Cost(a)) })
	return order
}
