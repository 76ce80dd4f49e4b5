package timeline

import "slices"

// Divided is a cost and an amount over time, divided evenly at each instant among those who use it. So a user's part does not
// depend on where windows begin and end.
type Divided struct {
	Edges                []int64   // between which nothing changes
	Users                []int     // how many there are, from each edge on
	Cost, Amount         []float64 // from the first edge to each
	CostEach, AmountEach []float64 // of each user, likewise
}

// NewDivided makes room for changes at the edges, which may come in any order.
func NewDivided(edges []int64) Divided {
	edges = SortedEdges(edges)
	n := len(edges)
	return Divided{
		Edges: edges, Users: make([]int, n), Cost: make([]float64, n), Amount: make([]float64, n),
		CostEach: make([]float64, n), AmountEach: make([]float64, n),
	}
}

// Use records a user over (from, to], both of which are edges.
func (d *Divided) Use(from, to int64) {
	d.Users[d.Edge(from)]++
	d.Users[d.Edge(to)]--
}

// Edge is the index of an edge.
func (d *Divided) Edge(at int64) int {
	i, _ := slices.BinarySearch(d.Edges, at)
	return i
}

// Integrate sums, once all users are known, the cost and amount that integral returns for each stretch between two edges.
func (d *Divided) Integrate(integral func(from, to int64) (cost, amount float64)) {
	for i := 1; i < len(d.Edges); i++ {
		cost, amount := integral(d.Edges[i-1], d.Edges[i])
		d.Cost[i], d.Amount[i] = d.Cost[i-1]+cost, d.Amount[i-1]+amount
		d.CostEach[i], d.AmountEach[i] = d.CostEach[i-1], d.AmountEach[i-1]
		if k := float64(d.Users[i-1]); k > 0 {
			d.CostEach[i] += cost / k
			d.AmountEach[i] += amount / k
		}
		d.Users[i] += d.Users[i-1]
	}
}
