package pricing

import (
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/rates"
)

// lookup asks a table for a price.
type lookup func(*listprices.Table) (listprices.Price, bool)

// listed is the price of the first table that has one in the region, else of the first that has any, and says for people where it comes from. It is nil where there
// is none.
func (s *Sheet) listed(region string, look lookup) (*listprices.Price, string) {
	var found listprices.Price
	var by *listprices.Table
	for _, t := range s.lists {
		p, ok := look(t)
		if ok && (by == nil || p.Region == region) {
			if found, by = p, t; p.Region == region {
				break
			}
		}
	}
	if by == nil {
		return nil, ""
	}
	return &found, found.Text(by.Name(), region)
}

// osLabel is the label of nodes with their operating system.
var osLabel = labelnames.NewName("kubernetes.io/os")

// listedNode is what is listed for a node, nil where nothing is, or where its size is not known.
func (s *Sheet) listedNode(n *rates.NodeAttributes) (*listprices.Price, string) {
	if len(s.lists) == 0 || n.InstanceType == "" || !sized(n.Size) {
		return nil, ""
	}
	system, _ := labelnames.Find(&osLabel, n.Labels)
	m := listprices.Machine{
		Provider: strings.ToLower(n.Provider), Region: n.Region, InstanceType: n.InstanceType, Spot: n.Spot, OS: system,
		Cores: n.Size[allocation.CPU], GiB: n.Size[allocation.RAM], GPUs: n.Size[allocation.GPU], GPUModel: n.GPUModel,
	}
	return s.listed(n.Region, func(t *listprices.Table) (listprices.Price, bool) { return t.Price(m) })
}

// Listed is what providers list for a node an hour, in the currency of the sheet and with its multiplier, and where that comes from; 0 where nothing is known.
func (s *Sheet) Listed(n rates.NodeAttributes) (perHour float64, source string) {
	p, source := s.listedNode(&n)
	if p == nil {
		return 0, ""
	}
	return p.PerHour * s.multiplier, source
}

// listedItem is what is listed for a volume or a load balancer, nil where nothing is.
func (s *Sheet) listedItem(i *rates.Item) (*listprices.Price, string) {
	provider := strings.ToLower(i.Provider)
	if i.Kind == rates.ItemLoadBalancer {
		return s.listed(i.Region, func(t *listprices.Table) (listprices.Price, bool) { return t.LoadBalancer(provider, i.Region) })
	}
	if class := volumeType(provider, i.StorageClass); i.Kind == rates.ItemStorage && class != "" {
		return s.listed(i.Region, func(t *listprices.Table) (listprices.Price, bool) { return t.Volume(provider, i.Region, class) })
	}
	return nil, ""
}

// volumeTypes are the types of volumes of providers.
var volumeTypes = map[string][]string{
	"aws":   {"gp2", "gp3", "io1", "io2", "st1", "sc1"},
	"azure": {"Premium_LRS", "PremiumV2_LRS", "StandardSSD_LRS", "Standard_LRS", "UltraSSD_LRS"},
	"gcp":   {"pd-standard", "pd-balanced", "pd-ssd", "pd-extreme", "hyperdisk-balanced"},
}

// volumeClasses are the types of volumes of the storage classes that providers set up, where their names do not tell.
var volumeClasses = map[string]map[string]string{
	"azure": {
		"default": "StandardSSD_LRS", "managed": "StandardSSD_LRS", "managed-csi": "StandardSSD_LRS", "managed-premium": "Premium_LRS", "managed-csi-premium": "Premium_LRS",
	},
	"gcp": {"standard": "pd-standard", "standard-rwo": "pd-balanced", "premium-rwo": "pd-ssd"},
}

// volumeType is the type of the volumes of a storage class: the one that a storage class of the provider's own has, or whose name is part of the class's, such as gp3 of
// gp3-encrypted. It is "" where the name tells none, or several.
func volumeType(provider, class string) (found string) {
	if known, ok := volumeClasses[provider][class]; ok {
		return known
	}
	words := "-" + strings.ToLower(class) + "-"
	for _, t := range volumeTypes[provider] {
		if strings.Contains(words, "-"+strings.ToLower(t)+"-") {
			if found != "" {
				return ""
			}
			found = t
		}
	}
	return found
}
