package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
)

// measureDevices integrates the use of devices, in both phases of usage.
func (ch *Charger) measureDevices() {
	for _, c := range observe.Each(&ch.Limits, slices.All(ch.Pods.Order)) {
		if len(c.Sections) == 0 || c.Devices == nil || len(c.Devices.Cells) == 0 {
			continue
		}
		s := &observe.Incoming{Series: signals.Series{Signal: signals.ContainerLevel, Resource: allocation.GPU}}
		l := &ch.usage
		l.cells = l.beginLevels(c, append(l.cells[:0], c.Devices.Cells...))
		l.coverAll(c, ch.coverage(c, allocation.GPU), s, l.cells, len(l.cells))
	}
}
