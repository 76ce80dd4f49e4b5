package notices

import "strings"

// Suspicion is what is wrong with a price that a metric gives.
type Suspicion uint8

// What can be wrong with a price.
const (
	Negative  Suspicion = iota // it is below 0
	NotFinite                  // it is NaN or infinite
	Disputed                   // several series differ
	Free                       // it is 0
	Dear                       // it is so high that it may be of another unit
	Cheap                      // it is so low that it may be of another unit
	NumSuspicions
)

// Parts of warnings about suspicious prices, or about prices of unknown things.
const (
	byMetrics   = "prices by metrics"
	noKnownNode = "ran on no known node"
	RulesNeed   = "rules of the price sheet need" // of rules that match no node
)

// IsAboutSuspiciousPrices reports whether a warning of a Set says that prices of metrics are suspicious or left out, that pods have the prices of no
// node, or that rules of the price sheet cannot match.
func IsAboutSuspiciousPrices(warning string) bool {
	return strings.Contains(warning, byMetrics) || strings.Contains(warning, noKnownNode) || strings.Contains(warning, RulesNeed)
}

// The things that metrics price, as Notices name them.
const (
	NodesPriced      = "{node|nodes}"
	VolumesPriced    = "{volume|volumes}"
	BalancersPriced  = "{load balancer|load balancers}"
	ManagementPriced = "{cluster's|clusters'} management"
	TrafficPriced    = "{cluster's|clusters'} network traffic"
)

// Notice is the kind of warnings about prices that are suspicious in that way.
func (k Suspicion) Notice(things string) Notice {
	const leftOut = " are left out ({names}): mend what exports them; what then has no price has that of the price sheet, or defaults{}"
	whose := "{}{n} " + things
	return Notice([...]string{
		Negative:  "negative " + byMetrics + " of " + whose + leftOut,
		NotFinite: byMetrics + " of " + whose + " that are NaN or infinite" + leftOut,
		Disputed: byMetrics + " of " + whose + " differ between series of {} at the same time ({names}): the highest counts. " +
			"If one of them is what a promcost exposes (--collector.opencost), let Prometheus keep job and instance of it and of promcost_build_info, or name it with --prometheus.exclude; else scrape one exporter of it",
		Free:  byMetrics + " are 0 for " + whose + " ({names}): what they price costs nothing; mend what exports them, or leave them out and give prices with --pricing.file",
		Dear:  byMetrics + " of " + whose + " are up to {} times what is usual ({names}): are they by the {}?",
		Cheap: byMetrics + " of " + whose + " are down to {} times what is usual ({names}): are they by the {}?",
	}[k])
}
