package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// SheetName is the name of the price sheet, "" if there are only built-in prices.
func (s *Settings) SheetName() string {
	if s.Rates.Name() == pricing.Default().Name() {
		return ""
	}
	return s.Rates.Name()
}

// maxPriceAge is how old prices may be before a warning says so.
const maxPriceAge = 366 * 24 * time.Hour

// PriceWarnings are the warnings about the prices at an instant.
func (s *Settings) PriceWarnings(now time.Time) []string {
	out := s.Rates.Warnings()
	if asOf := s.Rates.AsOf(); !asOf.IsZero() && now.Sub(asOf) > maxPriceAge {
		out = append(out, fmt.Sprintf("prices of %s are as of %s, more than a year ago: look them up again", s.Rates.Name(), asOf.Format(time.DateOnly)))
	}
	if builtIn := s.Rates.BuiltIn(); s.Currency != rates.Dollar && len(builtIn) > 0 {
		out = append(out, fmt.Sprintf("built-in defaults are in %s, not converted to %s: give defaults for what no rule and no metric prices (%s)",
			rates.Dollar, s.Currency, strings.Join(builtIn, ", ")))
	}
	return out
}

// Warnings are the PriceWarnings and those about assumptions of the settings.
func (s *Settings) Warnings(now time.Time) []string {
	out := s.PriceWarnings(now)
	if s.Currency != rates.Dollar {
		out = append(out, "prices by metrics, such as node_cpu_hourly_cost, are taken to be in "+s.Currency+": nothing says what they are in")
	}
	return out
}

// Pricer returns the prices of the sheet in the currency of the answers. If metrics do not name the provider or the region of a
// cluster, the config file does.
func (s *Settings) Pricer() rates.Rates { return &placedRates{s.Rates, s.Clusters, s.Currency} }

// placedRates are rates that know the locations of clusters, and the currency of answers.
type placedRates struct {
	rates.Rates
	clusters map[string]Cluster // by id
	currency string
}

var (
	_ rates.Denominated = (*placedRates)(nil)
	_ rates.Ruled       = (*placedRates)(nil)
)

// Currency implements rates.Denominated.
func (p *placedRates) Currency() string { return p.currency }

// Node implements rates.Rates.
func (p *placedRates) Node(n rates.NodeAttributes, at time.Time) rates.NodeRates {
	return p.Rates.Node(p.place(n), at)
}

// place adds the provider and the region of the node's cluster if the node has none of its own.
func (p *placedRates) place(n rates.NodeAttributes) rates.NodeAttributes {
	c := p.clusters[n.Cluster]
	n.Provider, n.Region = cmp.Or(n.Provider, c.Provider), cmp.Or(n.Region, c.Region)
	return n
}

// NodeNeeds implements rates.Ruled.
func (p *placedRates) NodeNeeds(known rates.NodeAttributes, at time.Time) rates.NodeNeeds {
	ruled, ok := p.Rates.(rates.Ruled)
	if !ok {
		return rates.NodeNeeds{}
	}
	return ruled.NodeNeeds(p.place(known), at)
}

// IsSpot implements rates.Ruled.
func (p *placedRates) IsSpot(labels map[string]string) bool {
	ruled, ok := p.Rates.(rates.Ruled)
	return ok && ruled.IsSpot(labels)
}

// Item implements rates.Rates.
func (p *placedRates) Item(i rates.Item, at time.Time) rates.Rate {
	c := p.clusters[i.Cluster]
	i.Provider, i.Region = cmp.Or(i.Provider, c.Provider), cmp.Or(i.Region, c.Region)
	return p.Rates.Item(i, at)
}
