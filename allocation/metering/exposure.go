package metering

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// Exposure says that promcost exposed the prices of a set on /metrics from one time to another, at the most: from Next on, those of the next
// set may have taken their place.
type Exposure struct {
	Set            *allocation.Set
	From, Next, To time.Time
}
