package democluster

// accounts are what the truth of a window divides among pods.
type accounts struct {
	volumes   map[*volume]*volumeAccount
	balancers map[*service]*balancerAccount
	egress    [numEgress][]level
	network   NetworkTruth // of all pods
}

// accounts adds up, within w, what is later divided among pods.
func (c *Cluster) accounts(w span) *accounts {
	a := &accounts{volumes: map[*volume]*volumeAccount{}, balancers: map[*service]*balancerAccount{}, egress: c.egressPrices()}
	for _, v := range c.volumes {
		if life := v.life.clip(w); life.from < life.to {
			a.volumes[v] = v.account(life)
		}
	}
	for _, s := range c.services {
		if life := s.life.clip(w); s.ingress != "" && life.from < life.to {
			a.balancers[s] = s.account(life)
		}
	}
	return a
}

// truth returns the rows of the containers of a pod that ran within w.
func (p *pod) truth(w span, a *accounts) []ContainerTruth {
	if !w.overlaps(span{p.created, p.listed}) {
		return nil
	}
	rows := make([]*ContainerTruth, len(p.containers)) // nil if it did not run
	for i := range p.containers {
		if row, ok := p.containers[i].truth(p, w); ok {
			rows[i] = &row
		}
	}
	list := p.stretches(w)
	for _, v := range p.volumes {
		a.volumes[v].divide(v, list, rows)
	}
	a.divideTraffic(p, list, rows)
	a.divideBalancers(p, rows)
	var out []ContainerTruth
	for _, row := range rows {
		if row != nil {
			out = append(out, *row)
		}
	}
	return out
}
