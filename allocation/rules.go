package allocation

// RulesVersion is the version of the rules that sets are computed by. A change of the rules that gives other numbers from the
// same samples raises it, and adds a row here. Sets that are kept carry the version that they were computed by, sums of sets
// the oldest one of their parts; what was kept before there were versions is of OldestRules.
//
//	version  what it changed
//	1        the first rules: all sets that were kept before versions were
//	2        runs begin and end halfway between two scrapes where nothing reports when; jobs that no scrape saw running are
//	         charged by what is reported of them; bounds are the shortest and the longest running time that the data allow;
//	         running time whose usage is known is summed by itself; a node that is made again under its name is another node,
//	         and rows keep the labels and services of their own time; hours add up to the window in every column that is a sum; prices that
//	         cannot be told from promcost's own by their target count unless they repeat those
const (
	RulesVersion = 2
	OldestRules  = 1
	// RulesOfBounds are the first that keep bounds as sums. Those before kept them as parts of what was counted: of rows that were
	// summed only their mean is known.
	RulesOfBounds = 2
)
