package democluster

// NetworkTruth is traffic within the window. A pod transmits and receives only while a container of it runs; the containers that run
// at an instant bear even parts.
type NetworkTruth struct {
	// TransferBytes is all that was transmitted, the kinds of egress and free traffic among it.
	TransferBytes float64 `json:"networkTransferBytes"`
	ReceiveBytes  float64 `json:"networkReceiveBytes"`
	ZoneBytes     float64 `json:"networkCrossZoneBytes"`
	RegionBytes   float64 `json:"networkCrossRegionBytes"`
	InternetBytes float64 `json:"networkInternetBytes"`
	// NetworkCost is the sum of the three kinds: bytes times the price of a GiB at the time, in USD.
	NetworkCost  float64 `json:"networkCost"`
	ZoneCost     float64 `json:"networkCrossZoneCost"`
	RegionCost   float64 `json:"networkCrossRegionCost"`
	InternetCost float64 `json:"networkInternetCost"`
}

// NetworkAssetTruth is the traffic of all pods of a cluster within the window.
type NetworkAssetTruth struct {
	Cluster string `json:"cluster"`
	NetworkTruth
}

// addTraffic adds a fraction of a pod's traffic over a span.
func (n *NetworkTruth) addTraffic(p *pod, rates [2]int64, part span, share float64, prices [numEgress][]level) {
	bytes := func(rate int64, of span) float64 { return float64(rate) * float64(of.to-of.from) * share }
	n.ReceiveBytes += bytes(rates[0], part)
	n.TransferBytes += bytes(rates[1], part)
	for i, row := range [numEgress]struct{ bytes, cost *float64 }{
		toInternet: {&n.InternetBytes, &n.InternetCost}, toRegion: {&n.RegionBytes, &n.RegionCost}, toZone: {&n.ZoneBytes, &n.ZoneCost},
	} {
		fraction := float64(p.of.egress.percent[i]) / 100
		each(prices[i], part, func(priced span, price float64) {
			sum := bytes(rates[1], priced) * fraction
			cost := sum / float64(gibibyte) * price
			*row.bytes += sum
			*row.cost += cost
			n.NetworkCost += cost
		})
	}
}

// divideTraffic adds to the containers of a pod that runs in list their parts of its traffic.
func (a *accounts) divideTraffic(p *pod, list []stretch, rows []*ContainerTruth) {
	_, _, rates := p.traffic()
	split(list, func(i int, part span, share float64) {
		rows[i].addTraffic(p, rates, part, share, a.egress)
	})
	for _, s := range list {
		a.network.addTraffic(p, rates, s.span, 1, a.egress)
	}
}
