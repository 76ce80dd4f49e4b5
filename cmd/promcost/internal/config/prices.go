package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
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

// readList reads a file of list prices.
func readList(name string) (*listprices.Table, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read --pricing.list: %w: give a readable file that \"promcost prices fetch\" wrote", err)
	}
	list, err := listprices.Read(name, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read --pricing.list: %w", err)
	}
	if err := hourly(list); err != nil {
		return nil, fmt.Errorf("read --pricing.list: %s: %w", name, err)
	}
	return list, nil
}

// hourly fails if a machine of a list costs about a month of what is built in for it.
func hourly(list *listprices.Table) error {
	const month, about = 730, 3
	built := listprices.Embedded()
	for _, r := range list.Rows() {
		p, ok := built.Price(listprices.Machine{Provider: r.Provider, Region: r.Region, InstanceType: r.Name, Spot: r.Spot, OS: r.OS})
		if times := r.Price / p.PerHour; ok && r.Kind == listprices.Machines && list.Currency() == built.Currency() && times > month/about && times < month*about {
			return fmt.Errorf("%s in %s costs %g, some %d times the built-in price of %g an hour: give prices for an hour", r.Name, r.Region, r.Price, month, p.PerHour)
		}
	}
	return nil
}

// WithFetched is the settings with list prices that were fetched, between those of files and those that are built in. Those in another currency than the answers' do not
// count.
func (s *Settings) WithFetched(tables []*listprices.Table) *Settings {
	next := *s
	lists := slices.Concat(s.lists, tables, []*listprices.Table{listprices.Embedded()})
	next.Rates = s.Rates.WithList(slices.DeleteFunc(lists, func(t *listprices.Table) bool { return t.Currency() != s.Currency })...)
	return &next
}

// How old prices may be before a warning says so: those of sheets, those that are built in, and those that were fetched.
const (
	maxPriceAge = 366 * 24 * time.Hour
	maxBuiltAge = 400 * 24 * time.Hour
	maxListAge  = 30 * 24 * time.Hour
)

// listWarnings are the warnings about list prices at an instant. Those that are built in are not used where there are others of their provider.
func (s *Settings) listWarnings(now time.Time) (out []string) {
	lists := s.Rates.Lists()
	for _, t := range lists {
		switch age := now.Sub(t.AsOf()); {
		case t != listprices.Embedded() && age > maxListAge:
			out = append(out, fmt.Sprintf("%s are as of %s, more than 30 days ago: fetch them again", listName(t), t.AsOf().Format(time.DateOnly)))
		case t == listprices.Embedded() && age > maxBuiltAge && !slices.ContainsFunc(lists, func(other *listprices.Table) bool { return other != t && other.Has("aws") }):
			out = append(out, fmt.Sprintf("%s of AWS are as of %s, more than 400 days ago: fetch newer ones with --pricing.fetch or \"promcost prices fetch\", or use a newer promcost", t.Name(), t.AsOf().Format(time.DateOnly)))
		}
	}
	for _, t := range s.lists {
		if t.Currency() != s.Currency {
			out = append(out, fmt.Sprintf("%s are in %s, and answers in %s: nothing is converted, they are not used", listName(t), t.Currency(), s.Currency))
		}
	}
	return out
}

// listName is what a table is called at the start of a sentence.
func listName(t *listprices.Table) string {
	if strings.HasSuffix(t.Name(), "list prices") {
		return t.Name()
	}
	return "list prices of " + t.Name()
}

// PriceWarnings are the warnings about the prices at an instant.
func (s *Settings) PriceWarnings(now time.Time) []string {
	out := s.Rates.Warnings()
	if asOf := s.Rates.AsOf(); !asOf.IsZero() && now.Sub(asOf) > maxPriceAge {
		out = append(out, fmt.Sprintf("prices of %s are as of %s, more than a year ago: look them up again", s.Rates.Name(), asOf.Format(time.DateOnly)))
	}
	out = append(out, s.listWarnings(now)...)
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
