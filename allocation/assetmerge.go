package allocation

// ListCost returns the cost of a resource before discounts; 0 for a discount of 100 %.
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

// addDiscount sets n's discount to the mean of both nodes, and keeps the cost of each resource before discounts.
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
