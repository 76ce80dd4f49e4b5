package charge

import (
	"cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
)

// describeShown fills in labels and annotations in all rows of the containers whose pods Resolver.Labeled returned.
func (ch *Charger) describeShown() {
	for _, c := range ch.Pods.Metadata.Shown {
		if from := ch.Pods.Metadata.Nameless[c.Pod.ObjectKey]; from != nil {
			c.Pod.FillFrom(from)
			c.Pod.UID = cmp.Or(c.Pod.UID, from.UID)
		}
		for _, ref := range c.Rows {
			if ref.Row != observe.NoRow {
				ch.Rows[ref.Set].IDs(allocation.PodUID)[ref.Row] = ch.ID(c.Pod.UID)
				ch.DescribeMetadata(c, ch.Rows[ref.Set], ref.Row)
			}
		}
	}
}
