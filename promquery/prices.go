package promquery

import (
	"context"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Prices are the things in a window that metrics of other exporters price.
type Prices struct {
	window allocation.Window
	priced map[string]bool // by exposedKey of the metric and the elements that name the thing
}

// pricedThings say how many elements of a price's key name the thing; for other signals the cluster is the thing.
var pricedThings = map[signals.Signal]int{signals.NodePrice: 2, signals.VolumePrice: 2, signals.BalancerPrice: 3}

// Prices returns what the source prices in each of the windows, which are adjacent. It leaves out what this promcost exposed
// itself or repeated. It fails as Compute does.
func (e *Engine) Prices(ctx context.Context, windows []allocation.Window) (out []Prices, err error) {
	for _, w := range windows {
		out = append(out, Prices{w, map[string]bool{}})
	}
	_, err = e.run(ctx, func(c *computation) error { return c.findPrices(ctx, out) })
	return out, blame(ctx, err)
}

// findPrices fills in the prices of windows.
func (c *computation) findPrices(ctx context.Context, of []Prices) error {
	w := allocation.Window{Start: of[0].window.Start, End: of[len(of)-1].window.End}
	own, err := c.ownTargets(ctx, w)
	if err != nil {
		return err
	}
	prices := slices.DeleteFunc(build.PriceSignals(), func(s signals.Signal) bool { return s == signals.NodeSpot })
	ask := build.Ask{Signals: prices, Spans: []build.Span{{Start: w.Start.UnixMilli() + 1, End: w.End.UnixMilli()}}}
	p := c.cfg.newPlan(c.symbols, newFindings(nil), question{grid: Grid{Step: timeline.Lookback}}, ask)
	p.own = own
	_, err = c.ask(ctx, "prices", p.rs, func(s Series) error {
		series, key, err := p.readPoints(s.Request, s.Key, s.Points)
		if err != nil || series.Signal == signals.Nothing || series.Repeats {
			return err
		}
		name := exposedKey(p.rs[s.Request].Metric, key[:max(1, pricedThings[series.Signal])])
		for t, v := range s.Points.All() {
			at := slices.IndexFunc(of, func(x Prices) bool { return t > x.window.Start.UnixMilli() && t <= x.window.End.UnixMilli() })
			free := v == 0 && series.Signal == signals.ManagementPrice // there is no asset then
			unknown := series.Signal == signals.NodePrice && rates.IsOpenCostDefault(series.Resource, v)
			if at >= 0 && v >= 0 && !free && !unknown {
				of[at].priced[name] = true
			}
		}
		return nil
	})
	return err
}

// Missed counts the things of a set, by metric, that were priced by a sheet or a default although that metric prices them.
func (p *Prices) Missed(s *allocation.Set) map[string]int {
	missed := map[string]int{}
	check := func(source, metric string, names ...string) {
		if source != "" && source != metric && p.priced[joinKey(metric, names...)] {
			missed[metric]++
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for r := range allocation.NumResources {
			if n.Hours[r] > 0 {
				check(n.PriceSource[r], "node_"+r.String()+"_hourly_cost", n.Cluster, n.Name)
			}
		}
	}
	for i := range s.Disks {
		if d := &s.Disks[i]; !d.Local {
			check(d.PriceSource, "pv_hourly_cost", d.Cluster, d.Name)
		}
	}
	for i := range s.Balancers {
		b := &s.Balancers[i]
		check(b.PriceSource, "kubecost_load_balancer_cost", b.Cluster, b.Namespace, b.Service)
	}
	managed := map[string]string{} // the source of the price, by cluster; the default is none
	for i := range s.Nodes {
		managed[s.Nodes[i].Cluster] = rates.BuiltInPrices
	}
	for i := range s.Management {
		managed[s.Management[i].Cluster] = s.Management[i].PriceSource
	}
	for cluster, source := range managed {
		check(source, "kubecost_cluster_management_cost", cluster)
	}
	for i := range s.Networks {
		for k, metric := range [...]string{"kubecost_network_zone_egress_cost", "kubecost_network_region_egress_cost", "kubecost_network_internet_egress_cost"} {
			check(s.Networks[i].PriceSource[k], metric, s.Networks[i].Cluster)
		}
	}
	return missed
}
