// Package listprices has tables of what providers list for their machines, volumes and load balancers: by provider, region, name, purchase option and operating
// system. One of Amazon's machines on demand is built in.
package listprices

import (
	"bytes"
	"cmp"
	_ "embed" // the built-in table is a file
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation/rates"
)

// Kind is what a price is of.
type Kind uint8

// The kinds of prices. All are for an hour.
const (
	Machines      Kind = iota // a whole machine, by its instance type
	Cores                     // a core of a machine, by its family
	Memory                    // a GiB (2^30 bytes) of a machine, by its family
	GPUs                      // a GPU, by its model
	Volumes                   // a GiB (2^30 bytes) of a volume, by its type
	LoadBalancers             // a load balancer, by its type
	numKinds
)

// kindNames are what files call the kinds.
var kindNames = [numKinds]string{"machine", "core", "memory", "gpu", "volume", "loadBalancer"}

// String is the kind as files have it.
func (k Kind) String() string { return kindNames[k] }

// Row is a price of a table.
type Row struct {
	Provider string // aws, gcp, azure, …, lower case
	Region   string // us-east-1
	Kind     Kind
	Name     string // m5.large, the family n2, the GPU nvidia-l4, the volume gp3, …: by the kind
	Spot     bool   // spot or preemptible, else on demand
	OS       string // of a machine: windows; "" and linux are Linux
	Price    float64
	Currency string // ISO code
	AsOf     time.Time
}

// Machine is what a price is listed for.
type Machine struct {
	Provider     string // aws, gcp, azure, …, lower case
	Region       string // us-east-1
	InstanceType string // m5.large
	Spot         bool   // spot or preemptible, else on demand
	OS           string // windows; "" and linux are Linux

	// Cores, GiB (2^30 bytes) and GPUs are what it has, GPUModel what its GPUs are called. They count where its family's cores and memory have prices.
	Cores, GiB, GPUs float64
	GPUModel         string
}

// Price is what a machine, a GiB of a volume, or a load balancer costs.
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
	asOf     time.Time            // of the oldest price
	byType   map[typeKey][]listed // by region
}

// typeKey is a thing without its place.
type typeKey struct {
	provider, name, os string
	kind               Kind
	spot               bool
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

// New is a table of rows. name is where they come from, for people.
func New(name string, rows []Row) (*Table, error) {
	t := newTable(name)
	for i := range rows {
		if err := t.add(&rows[i]); err != nil {
			return nil, fmt.Errorf("list prices %s: %s %s of %s in %s: %w", name, rows[i].Kind, rows[i].Name, rows[i].Provider, rows[i].Region, err)
		}
	}
	if len(t.byType) == 0 {
		return nil, fmt.Errorf("list prices %s: no prices", name)
	}
	return t, nil
}

func newTable(name string) *Table { return &Table{name: name, byType: map[typeKey][]listed{}} }

// add adds a row.
func (t *Table) add(r *Row) error {
	key := typeKey{provider: strings.ToLower(r.Provider), name: r.Name, os: cmp.Or(strings.ToLower(r.OS), linux), kind: r.Kind, spot: r.Spot}
	if err := checkPrice(r.Price); err != nil {
		return err
	}
	if t.currency != "" && r.Currency != t.currency {
		return fmt.Errorf("currency is %q, and %s before: give each currency a table of its own", r.Currency, t.currency)
	}
	if slices.ContainsFunc(t.byType[key], func(x listed) bool { return x.region == r.Region }) {
		return fmt.Errorf("the same %s has a price already: keep one", r.Kind)
	}
	t.currency = r.Currency
	if t.asOf.IsZero() || r.AsOf.Before(t.asOf) {
		t.asOf = r.AsOf
	}
	t.byType[key] = append(t.byType[key], listed{r.Region, r.Price, r.AsOf})
	return nil
}

// Name is where the prices come from, for people.
func (t *Table) Name() string { return t.name }

// Currency is the ISO code of the prices.
func (t *Table) Currency() string { return t.currency }

// AsOf is the day of the oldest price.
func (t *Table) AsOf() time.Time { return t.asOf }

// Len is how many prices there are.
func (t *Table) Len() (n int) {
	for _, regions := range t.byType {
		n += len(regions)
	}
	return n
}

// Has reports whether there are prices of a provider.
func (t *Table) Has(provider string) bool {
	for key := range t.byType {
		if key.provider == provider {
			return true
		}
	}
	return false
}

// Rows are the prices, sorted by provider, region, kind, name, option and operating system.
func (t *Table) Rows() []Row {
	rows := make([]Row, 0, t.Len())
	for key, regions := range t.byType {
		for _, x := range regions {
			rows = append(rows, Row{
				Provider: key.provider, Region: x.region, Kind: key.kind, Name: key.name, Spot: key.spot, OS: key.os, Price: x.price, Currency: t.currency, AsOf: x.asOf,
			})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			cmp.Compare(option(a.Spot), option(b.Spot)), cmp.Compare(a.OS, b.OS))
	})
	return rows
}

// Price is what is listed for a machine, and whether anything is. A price of another region counts where it is of the same partition: regions of one
// differ by up to a fifth. A spot machine without a spot price costs a part of what it costs on demand.
func (t *Table) Price(m Machine) (Price, bool) {
	p, ok := t.machine(&m, m.Spot)
	if !ok && m.Spot {
		p, ok = t.machine(&m, false)
		p.PerHour, p.Estimated = p.PerHour*SpotFactor, true
	}
	return p, ok
}

// machine is what is listed for a machine as a whole, or else for what it has.
func (t *Table) machine(m *Machine, spot bool) (Price, bool) {
	os := cmp.Or(strings.ToLower(m.OS), linux)
	if p, ok := t.find(typeKey{provider: m.Provider, name: m.InstanceType, os: os, spot: spot}, m.Region); ok {
		return p, true
	}
	if os != linux { // its license has a price, too
		return Price{}, false
	}
	return t.sum(m, spot)
}

// sum is what the cores, the memory and the GPUs of a machine cost together: Google lists these by family. There is no sum without one of its parts.
func (t *Table) sum(m *Machine, spot bool) (sum Price, ok bool) {
	family, _, ok := strings.Cut(m.InstanceType, "-")
	if !ok || m.Cores <= 0 || m.GiB <= 0 {
		return Price{}, false
	}
	cores := m.Cores
	if part, shared := sharedCores[m.InstanceType]; shared {
		cores = part
	}
	for _, part := range [...]struct {
		kind   Kind
		name   string
		amount float64
	}{{Cores, family, cores}, {Memory, family, m.GiB}, {GPUs, GPUName(m.GPUModel), m.GPUs}} {
		if part.amount == 0 {
			continue
		}
		p, ok := t.find(typeKey{provider: m.Provider, kind: part.kind, name: part.name, os: linux, spot: spot}, m.Region)
		if !ok {
			return Price{}, false
		}
		p.PerHour = sum.PerHour + part.amount*p.PerHour
		if sum.Region != "" && sum.Region != m.Region {
			p.Region = sum.Region
		}
		sum = p
	}
	return sum, true
}

// sharedCores are the cores that machines of Google's are billed for which show more.
var sharedCores = map[string]float64{"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1}

// GPUName is how tables call a model of GPUs: nvidia-l4, without the brand that some names have.
func GPUName(model string) string {
	name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(model), " ", "-"))
	name = strings.TrimPrefix(strings.TrimPrefix(name, "nvidia-"), "tesla-")
	return "nvidia-" + name
}

// Volume is what is listed for a GiB of a type of volumes, and whether anything is, with the regions of Price.
func (t *Table) Volume(provider, region, volumeType string) (Price, bool) {
	return t.find(typeKey{provider: provider, kind: Volumes, name: volumeType, os: linux}, region)
}

// balancerTypes are the types of the load balancers that providers' controllers make for a Service.
var balancerTypes = map[string]string{"aws": "network", "azure": "standard", "gcp": "forwarding-rule"}

// LoadBalancer is what is listed for a load balancer as a Service has it, and whether anything is, with the regions of Price.
func (t *Table) LoadBalancer(provider, region string) (Price, bool) {
	return t.find(typeKey{provider: provider, kind: LoadBalancers, name: balancerTypes[provider], os: linux}, region)
}

// linux is the operating system of most machines.
const linux = "linux"

// find is the price of a type in a region, or else in the one whose name begins most like it.
func (t *Table) find(of typeKey, region string) (Price, bool) {
	regions := t.byType[of]
	best, like := -1, -1
	part := partition(of.provider, region)
	for i, x := range regions {
		if partition(of.provider, x.region) != part {
			continue
		}
		if n := common(x.region, region); n > like || n == like && x.region < regions[best].region {
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
