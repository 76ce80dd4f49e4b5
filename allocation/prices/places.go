package prices

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/rates"
)

// PlaceVolume changes the place of a volume's item, which is that of its cluster, to what the volume's driver, handle and labels say.
func PlaceVolume(i *rates.Item, driver, handle string, labels map[string]string) {
	if p := rates.ProviderOfDriver(driver); p != "" && p != i.Provider {
		i.Provider, i.Region, i.Zone = p, "", "" // the cluster's region is of another provider
	}
	region, zone := rates.PlaceOfVolume(handle)
	region = cmp.Or(labelnames.Region(labels), region)
	zone = cmp.Or(labelnames.First(labels, labelnames.ZoneLabels), zone)
	if region != "" && region != i.Region {
		i.Region, i.Zone = region, ""
	}
	i.Zone = cmp.Or(zone, i.Zone)
}

// IsPrivate reports whether an address is visibly unreachable from the internet: an IP address of a private network, or the
// host name of an internal load balancer of AWS.
func IsPrivate(address string) bool {
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()
	}
	return strings.HasPrefix(address, "internal-")
}
