package pricing

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
)

// price is an index of the prices that a sheet can name.
type price uint8

const (
	cpuPrice price = iota
	ramPrice
	gpuPrice
	machinePrice
	spotCPUPrice
	spotRAMPrice
	spotGPUPrice
	storagePrice
	loadBalancerPrice
	managementPrice
	egressZonePrice
	egressRegionPrice
	egressInternetPrice
	numPrices
)

// priceSet says which prices are there.
type priceSet uint32

func (s priceSet) has(p price) bool { return s&(1<<p) != 0 }

// sectionID is an index of the lists of rules of a sheet.
type sectionID uint8

const (
	nodeSection sectionID = iota
	storageSection
	loadBalancerSection
	managementSection
	networkSection
	numSections
)

// sectionKeys are the keys of the lists, and what a rule that names nothing would match.
var sectionKeys = [numSections]struct{ key, all string }{
	nodeSection: {"nodes", "every node"}, storageSection: {"storage", "every volume"}, loadBalancerSection: {"loadBalancers", "every load balancer"},
	managementSection: {"management", "every cluster"}, networkSection: {"network", "all traffic"},
}

// prices describes each price: its key with the unit, the built-in default in US dollars, the list whose
// rules can name it too, and what it is the price of.
var prices = [numPrices]struct {
	key          string
	builtIn      float64
	section      sectionID
	defaultsOnly bool
	of           string
}{
	cpuPrice:            {"cpuPerCoreHour", 0.031611, nodeSection, false, "a core"},
	ramPrice:            {"ramPerGiBHour", 0.004237, nodeSection, false, "a GiB of memory"},
	gpuPrice:            {"gpuPerDeviceHour", 0.95, nodeSection, false, "a GPU"},
	machinePrice:        {"nodePerHour", 0, nodeSection, false, "a whole node, which is divided among what it has"},
	spotCPUPrice:        {"spotCPUPerCoreHour", 0.006655, nodeSection, true, "a core of a spot node"},
	spotRAMPrice:        {"spotRAMPerGiBHour", 0.000892, nodeSection, true, "a GiB of memory of a spot node"},
	spotGPUPrice:        {"spotGPUPerDeviceHour", 0.95, nodeSection, true, "a GPU of a spot node"},
	storagePrice:        {"storagePerGiBHour", 0.00005479452, storageSection, false, "a GiB of a volume or of a node's own disk"},
	loadBalancerPrice:   {"loadBalancerPerHour", 0.025, loadBalancerSection, false, "a load balancer"},
	managementPrice:     {"managementPerHour", 0, managementSection, false, "a cluster's control plane"},
	egressZonePrice:     {"egressZonePerGiB", 0.01, networkSection, false, "a GiB to another zone of the region"},
	egressRegionPrice:   {"egressRegionPerGiB", 0.01, networkSection, false, "a GiB to another region"},
	egressInternetPrice: {"egressInternetPerGiB", 0.12, networkSection, false, "a GiB to the internet"},
}

// nodePrices are the prices of each resource of a node, ordinary and spot.
var nodePrices = [allocation.NumResources][2]price{
	allocation.CPU: {cpuPrice, spotCPUPrice},
	allocation.RAM: {ramPrice, spotRAMPrice},
	allocation.GPU: {gpuPrice, spotGPUPrice},
}

// itemPrices are the prices of each kind of item.
var itemPrices = [rates.NumItemKinds]price{
	rates.ItemStorage: storagePrice, rates.ItemLoadBalancer: loadBalancerPrice, rates.ItemManagement: managementPrice,
	rates.ItemEgressZone: egressZonePrice, rates.ItemEgressRegion: egressRegionPrice, rates.ItemEgressInternet: egressInternetPrice,
}

// reference returns the reference price of the same thing in a currency.
func (p price) reference(currency string) float64 {
	if p == machinePrice { // of the machines that clusters have most
		return rates.ReferenceNode(allocation.GPU, currency)
	}
	for r := range nodePrices {
		if slices.Contains(nodePrices[r][:], p) {
			return rates.ReferenceNode(allocation.Resource(r), currency)
		}
	}
	kind := slices.Index(itemPrices[:], p)
	return rates.ReferenceItem(rates.ItemKind(kind), currency)
}

// hoursPerMonth is what a month of a price has, whatever month it is.
const hoursPerMonth = 730

// priceKey is a key that gives a price.
type priceKey struct {
	name  string
	price price
	hours float64 // hours of its value; 0 for prices that are not by time
}

// priceKeys returns the keys of the prices that take accepts. The key for a month follows the one for an hour.
func priceKeys(take func(price) bool) []priceKey {
	var keys []priceKey
	for i := range prices {
		if !take(price(i)) {
			continue
		}
		name := prices[i].key
		stem, hourly := strings.CutSuffix(name, "Hour")
		if !hourly {
			keys = append(keys, priceKey{name, price(i), 0})
			continue
		}
		keys = append(keys, priceKey{name, price(i), 1}, priceKey{stem + "Month", price(i), hoursPerMonth})
	}
	return keys
}

// perHour is a value of the key by the hour, or by the GiB.
func (k *priceKey) perHour(v float64) float64 {
	if k.hours > 0 {
		return v / k.hours
	}
	return v
}

// ofAll accepts the prices that the defaults and the custom prices can have: that of a whole node is of some nodes.
func ofAll(p price) bool { return p != machinePrice }

// inSection accepts the prices that the rules of a list can name.
func inSection(s sectionID) func(price) bool {
	return func(p price) bool { return prices[p].section == s && !prices[p].defaultsOnly }
}

// attribute is an index of the attributes that a rule matches as text.
type attribute uint8

const (
	provider attribute = iota
	region
	zone
	instanceType
	providerID
	gpuModel
	storageClass
	cluster
	namespace
	name
	numAttributes
)

// attributes describes each attribute: its key, the lists whose rules can use it, whether case matters, and its meaning.
var attributes = [numAttributes]struct {
	key     string
	in      []sectionID
	anyCase bool
	help    string
}{
	provider:     {"provider", []sectionID{nodeSection, storageSection, loadBalancerSection, managementSection, networkSection}, true, "Provider: aws, gcp, azure, …"},
	region:       {"region", []sectionID{nodeSection, storageSection, loadBalancerSection, managementSection, networkSection}, false, "Region."},
	zone:         {"zone", []sectionID{nodeSection, storageSection, networkSection}, false, "Zone."},
	instanceType: {"instanceType", []sectionID{nodeSection}, false, "Instance type, such as m5.large."},
	providerID:   {"providerID", []sectionID{nodeSection}, true, "Provider id of the machine, as spec.providerID has it, or its end after a slash, such as i-0123; Azure's whole id. Any case."},
	gpuModel:     {"gpuModel", []sectionID{nodeSection}, true, "Model of the GPUs, as labels of the node name it."},
	storageClass: {"storageClass", []sectionID{storageSection}, false, "Storage class."},
	cluster:      {"cluster", []sectionID{nodeSection, storageSection, loadBalancerSection, managementSection, networkSection}, false, "Id of the cluster."},
	namespace:    {"namespace", []sectionID{storageSection, loadBalancerSection}, false, "Namespace of the claim, or of the service."},
	name:         {"name", []sectionID{nodeSection, storageSection, loadBalancerSection}, false, "Name of the node, of the volume, or of the service."},
}

// labeled are the lists whose rules can name labels.
var labeled = []sectionID{nodeSection, storageSection, loadBalancerSection}

// allowed reports whether rules of a list can name an attribute.
func (a attribute) allowed(s sectionID) bool { return slices.Contains(attributes[a].in, s) }
