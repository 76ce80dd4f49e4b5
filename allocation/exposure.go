package allocation

import "time"

// Exposure says that promcost exposed the prices of a set on /metrics from one time to another, at the most.
type Exposure struct {
	Set      *Set
	From, To time.Time
}
