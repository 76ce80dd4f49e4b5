// Package listprices has tables of what providers list for their machines: by provider, region, instance type, purchase option and operating
// system. One of Amazon's machines on demand is built in.
package listprices

import (
	"bytes"
	_ "embed" // the built-in table is a file
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation/rates"
)

// Machine is what a price is listed for.
type Machine struct {
	Provider     string // aws, gcp, azure, …, lower case
	Region       string // us-east-1
	InstanceType string // m5.large
	Spot         bool   // spot or preemptible, else on demand
	OS           string // windows; "" and linux are Linux
}

// Price is what a machine costs.
type Price struct {
	PerHour   float64 // money an hour, of the whole machine
	Region    string  // whose price it is: another one of the same partition where the table has none of the machine's
	AsOf      time.Time
	Estimated bool // of a spot machine whose price on demand alone is listed
}

// Text says for people where a price comes from, of a table by its name, for a machine in a region.
func (p *Price) Text(table, region string) string {
	other := ""
	if p.Region != region {
		other = p.Region
	}
	return rates.ListName(table, p.AsOf, other, p.Estimated)
}

// SpotFactor is what a spot machine costs of its price on demand, where no spot price is known. SEMANTICS §12.
const SpotFactor = 0.35

// Table has list prices in one currency. It is not changed once made, and safe for concurrent use.
type Table struct {
	name     string
	currency string
	byType   map[typeKey][]listed // by region
}

// typeKey is a machine without its place.
type typeKey struct {
	provider, instanceType, os string
	spot                       bool
}

// listed is the price of a type in a region.
type listed struct {
	region string
	price  float64
	asOf   time.Time
}

//go:embed aws.csv
var aws []byte

// Embedded is the table that is built in, which is read when it is first needed.
var Embedded = sync.OnceValue(func() *Table {
	t, err := Read("built-in list prices", bytes.NewReader(aws))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return t
})

// Name is where the prices come from, for people.
func (t *Table) Name() string { return t.name }

// Currency is the ISO code of the prices.
func (t *Table) Currency() string { return t.currency }

// Len is how many prices there are.
func (t *Table) Len() (n int) {
	for _, regions := range t.byType {
		n += len(regions)
	}
	return n
}

// Price is what is listed for a machine, and whether anything is. A price of another region counts where it is of the same partition: regions of one
// differ by up to a fifth. A spot machine without a spot price costs a part of what it costs on demand.
func (t *Table) Price(m Machine) (Price, bool) {
	of := typeKey{m.Provider, m.InstanceType, strings.ToLower(m.OS), m.Spot}
	if of.os == "" {
		of.os = linux
	}
	p, ok := t.find(of, m.Region)
	if !ok && m.Spot {
		of.spot = false
		p, ok = t.find(of, m.Region)
		p.PerHour, p.Estimated = p.PerHour*SpotFactor, true
	}
	return p, ok
}

// linux is the operating system of most machines.
const linux = "linux"

// find is the price of a type in a region, or else in the one whose name begins most like it.
func (t *Table) find(of typeKey, region string) (Price, bool) {
	regions := t.byType[of]
	best, like := -1, -1
	for i, x := range regions {
		if partition(of.provider, x.region) != partition(of.provider, region) {
			continue
		}
		if n := common(x.region, region); n > like {
			best, like = i, n
		}
	}
	if best < 0 {
		return Price{}, false
	}
	x := regions[best]
	return Price{PerHour: x.price, Region: x.region, AsOf: x.asOf}, true
}

// common is how many bytes two texts begin with that are the same; one more if they are equal.
func common(a, b string) int {
	if a == b {
		return len(a) + 1
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// partitions are the prefixes of regions whose prices are not those of others: of another currency, or for governments.
var partitions = map[string][]string{
	"aws":     {"cn-", "us-gov-", "us-iso", "eusc-"},
	"azure":   {"china", "usgov", "usdod"},
	"alibaba": {"cn-"},
}

// partition is the part of a provider's regions that one belongs to, "" for the largest.
func partition(provider, region string) string {
	of := partitions[provider]
	if i := slices.IndexFunc(of, func(prefix string) bool { return strings.HasPrefix(region, prefix) }); i >= 0 {
		return of[i]
	}
	return ""
}
