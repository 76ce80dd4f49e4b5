package imported

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation/listprices"
)

// Words of the file, in small letters and without what joins them. The first of a group is what it says.
var (
	onDemandWords = []string{"ondemand", "ondemandprice", "ondemandprices"}
	spotWords     = []string{"spot", "spotprice", "spotprices", "preemptible"}
	typeWords     = []string{"instancetype", "machinetype", "type", "name"}
)

const (
	regionWord   = "region"
	pricesWord   = "prices"
	currencyWord = "currency"
)

// word is a key without what joins its words, in small letters: ondemand of on-demand, on_demand and onDemand.
func word(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(key))
}

// karpenterKeys are keys that the file has: options, those of rows, or a region of Google with a mapping of types.
var karpenterKeys = regexp.MustCompile(`(?i)"(on[-_ ]?demand|spot|(instance|machine)[-_ ]?type)[-_ ]?(prices?)?"\s*:|^\s*\{\s*"[a-z]+-[a-z]+\d+"\s*:\s*\{`)

func isKarpenter(text []byte) bool { return isJSON(text) && karpenterKeys.Match(text) }

// offering is a machine type of a region, as far as the path to a price says.
type offering struct {
	region, instanceType string
	option               string // one of the words
	path                 string
}

// readKarpenter reads the prices that Karpenter's provider for Google Cloud comes with: numbers by region and type, below on_demand and spot, in
// any order of these; or rows.
func readKarpenter(text []byte, o Options) (*Prices, error) {
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	p := &Prices{unit: max(o.Unit, Hourly), currency: o.Currency}
	k := &karpenter{p: p, o: o, seen: map[string]bool{}}
	if err := k.walk(doc, offering{}); err != nil {
		return nil, err
	}
	if p.Rules() == 0 {
		return nil, errors.New("it has no price: want numbers by region and instance type")
	}
	form := "by region and instance type"
	if k.rows {
		form = "in rows"
	}
	p.note("Read %s. Prices of machines: %d, of them on spot: %d, in regions: %d.", form, p.Rules(), k.spot, len(k.regions))
	return p, nil
}

// karpenter reads one file.
type karpenter struct {
	p       *Prices
	o       Options
	seen    map[string]bool
	regions []string
	spot    int
	rows    bool // there are rows
}

// walk reads all prices below n.
func (k *karpenter) walk(n *yaml.Node, at offering) error {
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			below := at
			below.path += fmt.Sprintf("[%d]", i)
			if item.Kind != yaml.MappingNode {
				return below.fail(item, "want a row with region, type and prices")
			}
			if err := k.row(item, below); err != nil {
				return err
			}
		}
		return nil
	case yaml.MappingNode:
		return eachKey(n, func(key string, _, value *yaml.Node) error {
			below := at
			below.path = strings.TrimPrefix(at.path+"."+key, ".")
			w := word(key)
			switch {
			case slices.Contains(onDemandWords, w), slices.Contains(spotWords, w):
				below.option = w
			case w == pricesWord && at.region == "":
			case value.Kind == yaml.ScalarNode && at.region == "":
				return k.setting(w, value, below)
			case at.region == "":
				below.region = strings.ToLower(key)
			case at.instanceType == "":
				below.instanceType = key
			default:
				return below.fail(value, "want a price by region, instance type, and on-demand or spot")
			}
			return k.walk(value, below)
		})
	case yaml.ScalarNode:
		return k.add(n, at)
	default:
		return at.fail(n, "want prices by region and instance type")
	}
}

// fail is an error about a place.
func (at *offering) fail(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d, %.300s: %w", n.Line, at.path, fmt.Errorf(format, args...))
}

// setting reads a value of the whole file.
func (k *karpenter) setting(w string, n *yaml.Node, at offering) (err error) {
	if w != currencyWord && w != currencyWord+"code" {
		return nil // such as when it was made
	}
	if k.p.currency, err = k.o.currency(n.Value); err != nil {
		return at.fail(n, "%w", err)
	}
	return nil
}

// row reads the prices of a row.
func (k *karpenter) row(n *yaml.Node, at offering) error {
	k.rows = true
	prices := map[string]*yaml.Node{} // by option
	var plain *yaml.Node              // a price without an option
	option := at.option
	err := eachKey(n, func(key string, _, value *yaml.Node) error {
		switch w := word(key); {
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			return nil
		case w == regionWord:
			at.region = strings.ToLower(value.Value)
		case slices.Contains(typeWords, w) && (at.instanceType == "" || w != typeWords[3]):
			at.instanceType = value.Value
		case slices.Contains(onDemandWords, w):
			prices[onDemandWords[0]] = value
		case slices.Contains(spotWords, w) && value.Tag == "!!bool":
			if option = onDemandWords[0]; strings.EqualFold(value.Value, "true") {
				option = spotWords[0]
			}
		case slices.Contains(spotWords, w):
			prices[spotWords[0]] = value
		case w == "price" || w == "priceperhour" || w == "hourlyprice":
			plain = value
		case w == "option" || w == "capacitytype" || w == "purchaseoption":
			option = word(value.Value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if plain != nil {
		at.option = option
		if err := k.add(plain, at); err != nil {
			return err
		}
	}
	for _, option := range []string{onDemandWords[0], spotWords[0]} {
		if price := prices[option]; price != nil {
			at.option = option
			if err := k.add(price, at); err != nil {
				return err
			}
		}
	}
	if plain == nil && len(prices) == 0 {
		return at.fail(n, "the row has no price: want on-demand or spot")
	}
	return nil
}

// add adds the price of an offering.
func (k *karpenter) add(n *yaml.Node, at offering) error {
	price, err := k.o.price(n.Value)
	if err != nil {
		return at.fail(n, "%w", err)
	}
	for _, x := range [...]entry{{"the region", at.region}, {"the instance type", at.instanceType}} {
		if err := checkText(x.key, x.value); err != nil {
			return at.fail(n, "%w: want prices by region and instance type", err)
		}
	}
	spot := slices.Contains(spotWords, at.option)
	if !spot && at.option != "" && !slices.Contains(onDemandWords, at.option) {
		return at.fail(n, "it is %.100q, want on-demand or spot", at.option)
	}
	r := rule{place: at.path, stem: nodeStem, price: price, what: []entry{
		{"provider", "gcp"}, {"region", quoted(at.region)}, {"instanceType", quoted(at.instanceType)}, {"spot", "false"},
	}}
	r.machine = listprices.Machine{Provider: "gcp", Region: at.region, InstanceType: at.instanceType, Spot: spot}
	if spot {
		r.what[3].value = "true"
		k.spot++
	}
	switch key := r.subject(); {
	case k.seen[key]:
		return at.fail(n, "the same machine has a price already: keep one")
	case len(k.seen) == maxPrices:
		return at.fail(n, "there are more than %d prices", maxPrices)
	default:
		k.seen[key] = true
	}
	if !slices.Contains(k.regions, at.region) {
		k.regions = append(k.regions, at.region)
	}
	k.p.rules[nodes] = append(k.p.rules[nodes], r)
	return nil
}
