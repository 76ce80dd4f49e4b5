package build

import "slices"

// divided is what something costs and comes to over time, divided evenly among those who use it at each instant: so what
// each has of it does not depend on where windows begin and end.
type divided struct {
	edges                []int64   // between which nothing changes
	users                []int     // how many there are, from each edge on
	cost, amount         []float64 // from the first edge to each
	costEach, amountEach []float64 // of each user, likewise
}

// newDivided makes room for what changes at the edges, which may come in any order.
func newDivided(edges []int64) divided {
	edges = sortedEdges(edges)
	n := len(edges)
	return divided{
		edges: edges, users: make([]int, n), cost: make([]float64, n), amount: make([]float64, n),
		costEach: make([]float64, n), amountEach: make([]float64, n),
	}
}

// use notes a user over (from, to], both of which are edges.
func (d *divided) use(from, to int64) {
	d.users[d.edge(from)]++
	d.users[d.edge(to)]--
}

// edge is the index of an edge.
func (d *divided) edge(at int64) int {
	i, _ := slices.BinarySearch(d.edges, at)
	return i
}

// integrate sums up, once all users are known, what of says of each stretch between two edges.
func (d *divided) integrate(of func(from, to int64) (cost, amount float64)) {
	for i := 1; i < len(d.edges); i++ {
		cost, amount := of(d.edges[i-1], d.edges[i])
		d.cost[i], d.amount[i] = d.cost[i-1]+cost, d.amount[i-1]+amount
		d.costEach[i], d.amountEach[i] = d.costEach[i-1], d.amountEach[i-1]
		if k := float64(d.users[i-1]); k > 0 {
			d.costEach[i] += cost / k
			d.amountEach[i] += amount / k
		}
		d.users[i] += d.users[i-1]
	}
}
