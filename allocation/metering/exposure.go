package metering

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// Exposure says that promcost exposed the prices of a set on /metrics from one time to another, at the most.
type Exposure struct {
	Set      *allocation.Set
	From, To time.Time
}
