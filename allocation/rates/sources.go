package rates

import (
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// SourceKind is a kind of source of prices.
type SourceKind string

// The kinds of sources of prices, best first. SEMANTICS §12.
const (
	MetricSource   SourceKind = "metric"   // a metric of the thing itself, such as node_cpu_hourly_cost
	SheetSource    SourceKind = "sheet"    // the price sheet
	ExporterSource SourceKind = "exporter" // another exporter of prices
	ListSource     SourceKind = "list"     // what the provider lists
	EstimateSource SourceKind = "estimate" // what the provider lists for another region, or on demand for a spot machine
	DefaultSource  SourceKind = "default"  // a built-in default
	UnknownSource  SourceKind = "unknown"  // nothing says it
)

// Exporters of prices besides those of node_*_hourly_cost, as sources of prices.
const (
	CloudcostExporter = "cloudcost-exporter"
	Karpenter         = "Karpenter"
)

// ListPrices is in the names of tables of list prices, as sources of prices.
const ListPrices = "list prices"

// Kind returns the kind of a source of prices, as assets and NodeRates name it.
func Kind(source string) SourceKind {
	switch {
	case source == "":
		return UnknownSource
	case strings.Contains(source, BuiltInPrices):
		return DefaultSource
	case strings.Contains(source, ListPrices) && (strings.Contains(source, otherRegion) || strings.Contains(source, estimatedSpot)):
		return EstimateSource
	case strings.Contains(source, ListPrices):
		return ListSource
	case source == CloudcostExporter, source == Karpenter:
		return ExporterSource
	case strings.HasSuffix(source, "_cost") && !strings.ContainsAny(source, ".: "):
		return MetricSource
	}
	return SheetSource
}

// What stands around the name of a table of list prices.
const (
	of            = " of "
	in            = " in "
	otherRegion   = " for region "
	estimatedSpot = ", estimated from on demand"
)

// AsOf is the date of a table of list prices, as a source of prices names it; false for other sources.
func AsOf(source string) (time.Time, bool) {
	if kind := Kind(source); kind != ListSource && kind != EstimateSource {
		return time.Time{}, false
	}
	i := strings.LastIndex(source, of)
	if i < 0 || len(source) < i+len(of)+len(time.DateOnly) {
		return time.Time{}, false
	}
	text := source[i+len(of):]
	at, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)])
	return at, err == nil
}

// IsOfOtherRegion reports whether a source of prices is what a provider lists for another region.
func IsOfOtherRegion(source string) bool { return strings.Contains(source, otherRegion) }

// ListName is how assets name list prices of a date, which are of another region if that is given, and may be estimated.
func ListName(table string, asOf time.Time, region string, estimated bool) string {
	text := table + of + asOf.Format(time.DateOnly)
	if !strings.Contains(table, ListPrices) {
		text = ListPrices + in + text
	}
	if region != "" {
		text += otherRegion + region
	}
	if estimated {
		text += estimatedSpot
	}
	return text
}

// DefaultShare is the part of the cost of assets that rests on default prices, and the part that rests on estimates, of what is known; 0 where nothing costs anything.
func DefaultShare(by []allocation.SourceCost) (defaults, estimates float64) {
	total := 0.0
	for _, x := range by {
		kind := Kind(x.Source)
		if kind != UnknownSource {
			total += x.Cost
		}
		switch kind {
		case DefaultSource:
			defaults += x.Cost
		case EstimateSource:
			estimates += x.Cost
		case MetricSource, SheetSource, ExporterSource, ListSource, UnknownSource:
		}
	}
	if total == 0 {
		return 0, 0
	}
	return defaults / total, estimates / total
}
