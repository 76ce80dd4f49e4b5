// Package fetch asks providers for their public price lists: AWS for its offer files, Azure for its retail prices, and Google for its billing catalog.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
)

// dollar is the currency of lists where no other is asked for.
const dollar = "USD"

// Request says what to fetch, and how.
type Request struct {
	Client   *http.Client // which asks
	Provider string       // one of Providers
	Regions  []string
	URL      string    // of the provider's price lists, or of a mirror of them; "" for the provider's own
	Currency string    // ISO code; "" is USD. AWS lists in USD only
	Key      string    // an API key, which Google asks for
	Now      time.Time // the day of the prices

	// Known are versions of lists that are there, by region: a list of the same version is not fetched again. nil fetches all.
	Known map[string]string
	// Pause waits before another attempt. nil waits that long.
	Pause func(context.Context, time.Duration) error
}

// List is what a provider lists in a region.
type List struct {
	Region  string
	Version string           // by which it is known; "" where the provider has none
	Rows    []listprices.Row // nil where it is the version that is known
}

// provider is a provider whose lists can be fetched.
type provider struct {
	name, url string
	// fetch returns the lists of the regions in their order, those that it gets beside an error.
	fetch func(ctx context.Context, a *asker) ([]List, error)
}

// providers are those whose lists can be fetched.
var providers = []provider{
	{"aws", "https://pricing.us-east-1.amazonaws.com", fetchAWS},
	{"azure", "https://prices.azure.com", fetchAzure},
	{"gcp", "https://cloudbilling.googleapis.com", fetchGoogle},
}

// Providers are the names of providers whose lists can be fetched.
func Providers() []string {
	names := make([]string, len(providers))
	for i := range providers {
		names[i] = providers[i].name
	}
	return names
}

// NeedsKey reports whether a provider shows its lists only to those who have an API key.
func NeedsKey(provider string) bool { return provider == "gcp" }

// regionForm is what names of regions look like.
var regionForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// IsRegion reports whether a text looks like the name of a region: others are not asked for.
func IsRegion(text string) bool { return len(text) <= maxRegion && regionForm.MatchString(text) }

// maxRegion is the length of the longest name of a region.
const maxRegion = 40

// Fetch fetches what a provider lists in regions. The error names the provider, the URL and the place in the answer; the lists of regions that had none are beside it.
func Fetch(ctx context.Context, r Request) ([]List, error) {
	i := slices.IndexFunc(providers, func(p provider) bool { return p.name == r.Provider })
	if i < 0 {
		return nil, fmt.Errorf("fetch list prices of %s: no such provider: give one of %s", r.Provider, strings.Join(Providers(), ", "))
	}
	for _, region := range r.Regions {
		if !IsRegion(region) {
			return nil, fmt.Errorf("fetch list prices of %s: %.60q is no name of a region", r.Provider, region)
		}
	}
	base, err := url.Parse(cmp.Or(r.URL, providers[i].url))
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("fetch list prices of %s: the URL of its price lists is none that can be asked: give one such as %s", r.Provider, providers[i].url)
	}
	if NeedsKey(r.Provider) && r.Key == "" {
		return nil, fmt.Errorf("fetch list prices of %s: it shows them only to those who have an API key: give one", r.Provider)
	}
	r.Currency = cmp.Or(r.Currency, dollar)
	lists, err := providers[i].fetch(ctx, newAsker(r, base))
	if err != nil {
		return lists, fmt.Errorf("fetch list prices of %s: %w", r.Provider, err)
	}
	return lists, nil
}

// eachRegion fetches the list of each region, those that it gets beside the errors of others.
func eachRegion(ctx context.Context, a *asker, fetch func(region string) (List, error)) (lists []List, err error) {
	var errs []error
	for _, region := range a.Regions {
		list, err := fetch(region)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", region, err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		lists = append(lists, list)
	}
	return lists, errors.Join(errs...)
}

// Limits of prices by the hour. What is beyond is of another unit, or a mistake.
var dearest = map[listprices.Kind]float64{
	listprices.Machines: 5000, listprices.Cores: 10, listprices.Memory: 10, listprices.GPUs: 500, listprices.Volumes: 0.1, listprices.LoadBalancers: 100,
}

// nameForm is what names of machines, families, GPUs and types look like, and maxName the length of the longest.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 80

// maxRows bounds the prices of one region.
const maxRows = 200_000

// rowKey is what a row prices.
type rowKey struct {
	region, name string
	kind         listprices.Kind
	spot         bool
	os           string
}

// collected are the rows of lists.
type collected struct {
	a     *asker
	rows  []listprices.Row
	index map[rowKey]int // of rows
	since []string       // when each holds from, in a form that sorts
}

func (a *asker) newCollected() *collected { return &collected{a: a, index: map[rowKey]int{}} }

// errTooMany ends a list that has more than a region can have.
var errTooMany = fmt.Errorf("there are more than %d prices: is it a price list?", maxRows)

// add adds a price that holds since a time. Where there is one already, the later counts, of two of one time the dearer. A price of 0 is none.
func (c *collected) add(r listprices.Row, currency, since string) error {
	// Amounts in other currencies are larger, but by less than 30,000.
	most := dearest[r.Kind]
	if c.a.Currency != dollar {
		most *= 30_000
	}
	switch {
	case currency != c.a.Currency:
		return fmt.Errorf("%s costs %g %.10q, but prices are in %s: nothing is converted", r.Name, r.Price, currency, c.a.Currency)
	case r.Price == 0:
		return nil
	case len(r.Name) > maxName || !nameForm.MatchString(r.Name):
		return fmt.Errorf("%.80q is no name of a %s", r.Name, r.Kind)
	case !(r.Price > 0 && r.Price <= most): // nor NaN
		return fmt.Errorf("%s %s costs %g an hour, which is no price: want one above 0 and up to %g", r.Kind, r.Name, r.Price, most)
	case len(c.rows) == maxRows:
		return errTooMany
	}
	r.Provider, r.Currency, r.AsOf = c.a.Provider, currency, c.a.Now.UTC().Truncate(24*time.Hour)
	key := rowKey{region: r.Region, name: r.Name, kind: r.Kind, spot: r.Spot, os: r.OS}
	i, known := c.index[key]
	if !known {
		c.index[key] = len(c.rows)
		c.rows, c.since = append(c.rows, r), append(c.since, since)
		return nil
	}
	if since > c.since[i] || since == c.since[i] && r.Price > c.rows[i].Price {
		c.rows[i].Price, c.since[i] = r.Price, since
	}
	return nil
}

// in are the rows of a region. A region without any machine is an error: the answer was another.
func (c *collected) in(region string) ([]listprices.Row, error) {
	var rows []listprices.Row
	machines := false
	for i := range c.rows {
		if r := &c.rows[i]; r.Region == region {
			rows = append(rows, *r)
			machines = machines || r.Kind == listprices.Machines || r.Kind == listprices.Cores
		}
	}
	if !machines {
		return nil, errors.New("no machine is listed there: is it the name of a region?")
	}
	return rows, nil
}
