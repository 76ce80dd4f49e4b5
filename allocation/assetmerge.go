package allocation

// ListCost is the cost of a resource before discounts; 0 where they leave nothing of it.
func (n *Node) ListCost(r Resource) float64 {
	switch {
	case r == GPU:
		return n.Cost[r]
	case n.Listed[r] > 0:
		return n.Listed[r]
	case n.Discount >= 1:
		return 0
	}
	return n.Cost[r] / (1 - n.Discount)
}

// addDiscount makes n's discount that of both nodes together, and keeps what each resource cost before.
func (n *Node) addDiscount(o *Node) {
	if none := [NumResources]float64{}; n.Discount == o.Discount && n.Listed == none && o.Listed == none {
		return
	}
	list := [2]float64{n.ListCost(CPU) + n.ListCost(RAM), o.ListCost(CPU) + o.ListCost(RAM)}
	for _, r := range [...]Resource{CPU, RAM} {
		n.Listed[r] = n.ListCost(r) + o.ListCost(r)
	}
	n.Discount = mean(n.Discount, list[0], o.Discount, list[1])
}
