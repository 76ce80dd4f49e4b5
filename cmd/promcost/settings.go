package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/pricing"
)

// settings are what flags and the config file say together: a flag that is given wins. They are not changed once made, and
// replaced as a whole when they are read again.
type settings struct {
	rates     *pricing.Sheet
	ratesFrom time.Time // when the prices were looked up, or else their file was written; zero of built-in ones
	zone      *time.Location
	currency  string
	labels    allocation.LabelMapping // nil is the API's own
	// labelNames are names of labels that the config file has.
	labelNames allocation.LabelNames
	sharing    sharing
	// selectable are the fields that field selectors may name.
	selectable *filter.Selectable
	derived    []*allocation.Derived // by name
	// properties are the expressions of derived.
	properties map[string]string
	clusters   map[string]clusterConfig // by id
	budgets    []budget
	// overridden are keys of the config file that flags win over.
	overridden []string
}

// settings reads the config file and the prices, and checks all of it.
func (f *costFlags) settings() (*settings, error) {
	c := &config{}
	if f.configFile != "" {
		var err error
		if c, err = readConfig(f.configFile); err != nil {
			return nil, err
		}
	}
	s := &settings{zone: f.zone, labels: c.labels, labelNames: c.labelNames, sharing: c.sharing, clusters: c.clusters, budgets: c.budgets, selectable: c.selectableFields()}
	s.properties, s.derived = c.properties, c.derived
	if len(s.budgets) == 0 {
		s.budgets = f.budgets
	}
	if err := s.setPrices(f, c); err != nil {
		return nil, err
	}
	if c.timeZone != "" && f.zoneGiven {
		s.overridden = append(s.overridden, "timeZone")
	} else if c.timeZone != "" {
		zone, err := parseZone(c.timeZone)
		if err != nil {
			return nil, fmt.Errorf("read --config.file: timeZone: %w", err)
		}
		s.zone = zone
	}
	if sheet := s.rates.Currency(); c.currency != "" && sheet != "" && c.currency != sheet {
		return nil, fmt.Errorf("read --config.file: currency is %s, but the prices of %s are in %s: nothing is converted, give prices in the currency of the answers",
			c.currency, s.rates.Name(), sheet)
	}
	s.currency = cmp.Or(c.currency, s.rates.Currency(), allocation.Dollar)
	return s, nil
}

// setPrices takes the sheet of --pricing.file, else the config's, else the built-in one.
func (s *settings) setPrices(f *costFlags, c *config) error {
	file := ""
	switch {
	case f.pricingFile != "":
		if file = f.pricingFile; c.prices != nil {
			s.overridden = append(s.overridden, "prices")
		}
		var err error
		if s.rates, err = readSheet(file); err != nil {
			return err
		}
	case c.prices != nil:
		s.rates, file = c.prices, cmp.Or(c.pricesFile, f.configFile)
	default:
		s.rates = pricing.Default()
	}
	if s.ratesFrom = s.rates.AsOf(); s.ratesFrom.IsZero() && file != "" {
		if info, err := os.Stat(file); err == nil {
			s.ratesFrom = info.ModTime()
		}
	}
	return nil
}

// sheetName is the name of the price sheet that is given, "" where there are built-in prices only.
func (s *settings) sheetName() string {
	if s.rates.Name() == pricing.Default().Name() {
		return ""
	}
	return s.rates.Name()
}

// readSheet reads a file of prices.
func readSheet(file string) (*pricing.Sheet, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --pricing.file: %w: give a readable YAML or CSV file, or leave the flag out for the defaults", err)
	}
	sheet, err := pricing.Parse(file, text)
	if err != nil {
		return nil, fmt.Errorf("read --pricing.file: %w", err)
	}
	return sheet, nil
}

// yearOfPrices is how old prices may be.
const yearOfPrices = 366 * 24 * time.Hour

// priceWarnings are what is odd about the prices.
func (s *settings) priceWarnings(now time.Time) []string {
	out := s.rates.Warnings()
	if asOf := s.rates.AsOf(); !asOf.IsZero() && now.Sub(asOf) > yearOfPrices {
		out = append(out, fmt.Sprintf("prices of %s are as of %s, more than a year ago: look them up again", s.rates.Name(), asOf.Format(time.DateOnly)))
	}
	if builtIn := s.rates.BuiltIn(); s.currency != allocation.Dollar && len(builtIn) > 0 {
		out = append(out, fmt.Sprintf("built-in defaults are in %s, not converted to %s: give defaults for what no rule and no metric prices (%s)",
			allocation.Dollar, s.currency, strings.Join(builtIn, ", ")))
	}
	return out
}

// warnings are what is odd about the settings, with what they take for granted.
func (s *settings) warnings(now time.Time) []string {
	out := s.priceWarnings(now)
	if s.currency != allocation.Dollar {
		out = append(out, "prices by metrics, such as node_cpu_hourly_cost, are taken to be in "+s.currency+": nothing says what they are in")
	}
	return out
}

// pricer prices by the sheet, in the currency of the answers. What metrics do not say of a cluster's provider and region is
// what the config says.
func (s *settings) pricer() allocation.Rates { return &placedRates{s.rates, s.clusters, s.currency} }

// placedRates are rates that know where clusters are, and what the answers are in.
type placedRates struct {
	allocation.Rates
	clusters map[string]clusterConfig // by id
	currency string
}

var (
	_ allocation.Denominated = (*placedRates)(nil)
	_ allocation.Ruled       = (*placedRates)(nil)
)

// Currency implements allocation.Denominated.
func (p *placedRates) Currency() string { return p.currency }

// Node implements allocation.Rates.
func (p *placedRates) Node(n allocation.NodeAttributes, at time.Time) allocation.NodeRates {
	return p.Rates.Node(p.placed(n), at)
}

// placed is a node where its cluster is.
func (p *placedRates) placed(n allocation.NodeAttributes) allocation.NodeAttributes {
	c := p.clusters[n.Cluster]
	n.Provider, n.Region = cmp.Or(n.Provider, c.provider), cmp.Or(n.Region, c.region)
	return n
}

// NodeNeeds implements allocation.Ruled.
func (p *placedRates) NodeNeeds(known allocation.NodeAttributes, at time.Time) allocation.NodeNeeds {
	ruled, ok := p.Rates.(allocation.Ruled)
	if !ok {
		return allocation.NodeNeeds{}
	}
	return ruled.NodeNeeds(p.placed(known), at)
}

// Item implements allocation.Rates.
func (p *placedRates) Item(i allocation.Item, at time.Time) allocation.Rate {
	c := p.clusters[i.Cluster]
	i.Provider, i.Region = cmp.Or(i.Provider, c.provider), cmp.Or(i.Region, c.region)
	return p.Rates.Item(i, at)
}
