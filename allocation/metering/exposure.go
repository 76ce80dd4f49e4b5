package metering

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// Exposure says when promcost exposed the prices of a set on /metrics: at most from From to To. From Next on, the prices of the next
// set may have replaced them.
type Exposure struct {
	Set            *allocation.Set
	From, Next, To time.Time
}
