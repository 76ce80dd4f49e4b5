package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/pricing"
)

// DefaultBillsInterval is how often files of bills are looked for.
const DefaultBillsInterval = time.Hour

// Bill is a bill, and where its files are: Path or Bucket is given.
type Bill struct {
	billing.Bill
	Path   string // a directory, a file or a pattern of names
	Bucket string // a file that describes an object store
}

// billCosts are the names of costs.
func billCosts() (names []string) {
	for c := range billing.NumCosts {
		names = append(names, c.String())
	}
	return names
}

// billCategories are the names of the categories of charges that can be spread.
func billCategories() (names []string) {
	for c := billing.Purchase; c < billing.NumCategories; c++ {
		names = append(names, strings.ToLower(c.String()))
	}
	return names
}

// tagProperties are the properties that tags may stand for.
func tagProperties() map[string]allocation.Property {
	return map[string]allocation.Property{
		"cluster": allocation.Cluster, "node": allocation.NodeName, "namespace": allocation.Namespace, "controllerKind": allocation.ControllerKind,
		"controller": allocation.Controller, "pod": allocation.Pod, "container": allocation.Container,
	}
}

// billKeys are the keys of a bill. Names of files are relative to dir.
func billKeys(dir string) []key[Bill] {
	file := func(name, help string, to func(*Bill) *string) key[Bill] {
		return key[Bill]{name, "file", help, func(b *Bill, n *yaml.Node) error {
			text, err := textOf(n, name)
			if err == nil && !filepath.IsAbs(text) {
				text = filepath.Join(dir, text)
			}
			*to(b) = text
			return err
		}}
	}
	return []key[Bill]{
		{"name", "text", "Name of the bill.", func(b *Bill, n *yaml.Node) (err error) {
			b.Name, err = textOf(n, "name")
			return err
		}},
		file("path", "Directory with files in FOCUS 1.0 to 1.3, CSV (plain, gzip or zstd) or Parquet, as AWS Data Exports, Azure or BigQuery write them; or a file, or a pattern such as bills/*.csv.gz.", func(b *Bill) *string { return &b.Path }),
		file("config", "YAML file with the object store of such files, as in --storage.config, in place of path.", func(b *Bill) *string { return &b.Bucket }),
		{"cost", strings.Join(billCosts(), ", "), "The cost that counts. The default is effective, in which commitments are charged where they are used.", (*Bill).readCost},
		{"tags", "tags with properties", "Properties that tags of the bill stand for, besides kubernetes_namespace, k8s-namespace, aws:eks:namespace and the same for cluster, controller, pod and container: " + strings.Join(slices.Sorted(maps.Keys(tagProperties())), ", ") + ".", (*Bill).readTags},
		{"clusters", "ids with texts", "ARN, resource id or account/name of clusters, by their ids, where several could be meant.", (*Bill).readClusters},
		{"include", "list of " + strings.Join(billCategories(), ", "), "Categories of charges that are spread over all others of the same account, in proportion.", (*Bill).readInclude},
		{"settle", "duration", "How long after a day its charges are taken as final. The default is 1d.", func(b *Bill, n *yaml.Node) (err error) {
			b.Settle, err = durationOf(n, "settle", 0)
			return err
		}},
		{"deliveries", strings.Join(restatings(), ", "), "What a newer folder does to older ones where no manifest says it: replace has it take the place of all of them of the same account and billing period, add has both count. The default is auto: it takes the place of the days that it covers anew.", (*Bill).readDeliveries},
		{"exchangeRates", "currencies with rates", "Units of the configured currency for one of another: a number, or months such as 2026-10 with numbers.", (*Bill).readRates},
	}
}

// restatings are the names of what newer folders do to older ones.
func restatings() (names []string) {
	for r := range billing.NumRestatings {
		names = append(names, r.String())
	}
	return names
}

// choiceOf is the place of a text in the list of those that a key may have.
func choiceOf(n *yaml.Node, key string, names []string) (int, error) {
	text, err := textOf(n, key)
	i := slices.Index(names, text)
	if err == nil && i < 0 {
		err = atLine(n, "%s is %q, want one of %s", key, text, strings.Join(names, ", "))
	}
	return max(i, 0), err
}

func (b *Bill) readDeliveries(n *yaml.Node) error {
	i, err := choiceOf(n, "deliveries", restatings())
	b.Restating = billing.Restating(i)
	return err
}

func (b *Bill) readCost(n *yaml.Node) error {
	i, err := choiceOf(n, "cost", billCosts())
	b.Cost = billing.Cost(i)
	return err
}

func (b *Bill) readTags(n *yaml.Node) error {
	b.Tags = map[string]allocation.Property{}
	known := tagProperties()
	return eachKey(n, "tags", func(tag, n *yaml.Node) error {
		text, err := textOf(n, "tags."+tag.Value)
		p, ok := known[text]
		if err == nil && !ok {
			err = atLine(n, "tags.%s is %q, which is no property: %s", tag.Value, text, nearOf(text, slices.Sorted(maps.Keys(known))))
		}
		b.Tags[tag.Value] = p
		return err
	})
}

func (b *Bill) readClusters(n *yaml.Node) error {
	b.Clusters = map[string]string{}
	return eachKey(n, "clusters", func(id, n *yaml.Node) (err error) {
		b.Clusters[id.Value], err = textOf(n, "clusters."+id.Value)
		return err
	})
}

func (b *Bill) readInclude(n *yaml.Node) error {
	texts, err := textsOf(n, "include")
	for _, text := range texts {
		category, unknown := billing.ParseCategory(text)
		if err == nil && (unknown != nil || category == billing.Usage) {
			err = atLine(n, "include has %q, want some of %s", text, strings.Join(billCategories(), ", "))
		}
		if !slices.Contains(b.Include, category) {
			b.Include = append(b.Include, category)
		}
	}
	return err
}

// month is the form of a month.
var month = regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])$`)

func (b *Bill) readRates(n *yaml.Node) error {
	b.Rates.Always, b.Rates.Months = map[string]float64{}, map[string]map[string]float64{}
	rate := func(n *yaml.Node, what string) (float64, error) {
		v, err := numberOf(n, what)
		if err == nil && v == 0 {
			err = atLine(n, "%s is 0, want a rate", what)
		}
		return v, err
	}
	return eachKey(n, "exchangeRates", func(currency, n *yaml.Node) (err error) {
		code, what := currency.Value, "exchangeRates."+currency.Value
		if !pricing.IsCurrency(code) {
			return atLine(currency, "exchangeRates has %q, want a code of three letters such as EUR", code)
		}
		if n.Kind != yaml.MappingNode {
			b.Rates.Always[code], err = rate(n, what)
			return err
		}
		b.Rates.Months[code] = map[string]float64{}
		return eachKey(n, what, func(at, n *yaml.Node) (err error) {
			if !month.MatchString(at.Value) {
				return atLine(at, "%s has %q, want a month such as 2026-10", what, at.Value)
			}
			b.Rates.Months[code][at.Value], err = rate(n, what+"."+at.Value)
			return err
		})
	})
}

// durationOf reads a duration such as 24h or 1d, which is at least least.
func durationOf(n *yaml.Node, what string, least time.Duration) (time.Duration, error) {
	text, err := textOf(n, what)
	if err != nil {
		return 0, err
	}
	d, err := model.ParseDuration(text)
	if err != nil || time.Duration(d) < least {
		return 0, atLine(n, "%s is %q, want a duration such as 1h or 1d, at least %s", what, text, model.Duration(least))
	}
	return time.Duration(d), nil
}

// readBills reads the bills. Each needs a name of its own and a place.
func (f *File) readBills(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return atLine(n, "bills is no list: begin each bill with \"- \"")
	}
	for i, item := range n.Content {
		item, what := follow(item), fmt.Sprintf("bills[%d]", i)
		b := Bill{Bill: billing.Bill{Settle: billing.DefaultSettle}}
		if err := readKeys(&b, what, item, billKeys(f.dir)); err != nil {
			return err
		}
		switch {
		case b.Name == "":
			return atLine(item, "%s lacks a key: give name", what)
		case (b.Path == "") == (b.Bucket == ""):
			return atLine(item, "%s has no place, or two: give path or config", what)
		case slices.ContainsFunc(f.Bills, func(o Bill) bool { return o.Name == b.Name }):
			return atLine(item, "%s has the name %q of another: give each its own", what, b.Name)
		}
		f.Bills = append(f.Bills, b)
	}
	return nil
}

// readBillsInterval reads how often files of bills are looked for.
func (f *File) readBillsInterval(n *yaml.Node) (err error) {
	f.BillsInterval, err = durationOf(n, "billsInterval", time.Minute)
	return err
}

// explain describes the bill in a line.
func (b *Bill) explain() string {
	text := fmt.Sprintf("bill %s: %s costs of %s, final after %s", b.Name, b.Cost, b.Path+b.Bucket, model.Duration(b.Settle))
	if len(b.Include) == 0 {
		return text
	}
	spread := make([]string, len(b.Include))
	for i, c := range b.Include {
		spread[i] = strings.ToLower(c.String())
	}
	return text + ", spreads " + strings.Join(spread, ", ")
}
