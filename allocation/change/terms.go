package change

import "math"

// term is a cost as a product: H·a·p, where H are the container-hours on one class of nodes, a is the average amount of a resource,
// and p the price of an amount × hour. H is T·N·w: the hours of the window that have data, the containers at a time, and the part of them on that class.
type term struct {
	cost   float64 // H·a·p
	hours  float64 // H
	amount float64 // H·a: amount × hours
}

// load is the running time of a unit in one window.
type load struct {
	window float64 // T: the hours of the unit's cluster that have data
	hours  float64 // Σ H over the classes, in hours
}

// logMean is the logarithmic mean of two positive numbers: (a − b) ÷ ln(a ÷ b).
func logMean(a, b float64) float64 {
	const near = 0.5 // a part of b: 1 + d has lost what little is left where a is much smaller, and ln(a ÷ b) what is beyond 1 where it is near
	switch d := (a - b) / b; {
	case a == b:
		return a
	case math.Abs(d) < near:
		return b * d / math.Log1p(d)
	}
	return (a - b) / math.Log(a/b)
}

// explain divides the difference of a term into effects by the additive LMDI-I of Ang (2004): each factor x has the part
// L·ln(x1 ÷ x0). Where the term is 0 in one window, its whole difference belongs to the first of placement, size and price that is
// 0 or unknown in one of them.
func explain(e *Effects, size Effect, loads [2]load, terms [2]term) {
	before, after := &terms[0], &terms[1]
	if before.cost <= 0 || after.cost <= 0 || !before.factors() || !after.factors() {
		e[firstMissing(size, terms)] += after.cost - before.cost
		return
	}
	mean := logMean(after.cost, before.cost)
	ratio := func(after, before float64) float64 { return mean * math.Log(after/before) }
	replicas := [2]float64{loads[0].hours / loads[0].window, loads[1].hours / loads[1].window}
	e[Window] += ratio(loads[1].window, loads[0].window)
	e[Replicas] += ratio(replicas[1], replicas[0])
	e[Placement] += ratio(after.hours/loads[1].hours, before.hours/loads[0].hours)
	e[size] += ratio(after.amount/after.hours, before.amount/before.hours)
	e[Price] += ratio(after.cost/after.amount, before.cost/before.amount)
}

// factors reports whether all factors of the term are above 0.
func (t *term) factors() bool { return t.hours > 0 && t.amount > 0 }

// firstMissing is the effect of the first factor that is 0 or unknown in one window.
func firstMissing(size Effect, terms [2]term) Effect {
	either := func(missing func(*term) bool) bool { return missing(&terms[0]) || missing(&terms[1]) }
	switch {
	case either(func(t *term) bool { return t.hours <= 0 }):
		return Placement
	case either(func(t *term) bool { return t.amount <= 0 }):
		return size
	}
	return Price
}

// scale divides the difference of a cost that has no factors but the length of the window.
func scale(e *Effects, own Effect, hours, costs [2]float64) {
	change := costs[1] - costs[0]
	if costs[0] > 0 && costs[1] > 0 {
		window := logMean(costs[1], costs[0]) * math.Log(hours[1]/hours[0])
		e[Window] += window
		change -= window
	}
	e[own] += change
}
