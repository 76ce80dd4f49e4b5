package charge

import (
	"iter"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// dropUsage drops what usage and traffic were integrated with, to free memory before sets are finished.
func (ch *Charger) dropUsage() {
	ch.uses.containers = nil
	for _, p := range ch.uses.pods {
		if p != nil {
			p.flows, p.ended = nil, nil
		}
	}
	for c := range ch.Every() {
		c.Devices = nil
	}
}

// measuredContainers yields the containers whose usage this shard adds.
func (ch *Charger) measuredContainers() iter.Seq[*observe.Container] {
	return func(yield func(*observe.Container) bool) {
		for _, c := range observe.Each(&ch.Limits, slices.All(ch.Pods.Order)) {
			if ch.Measures(c) && !yield(c) {
				return
			}
		}
	}
}

// containerUse is what is known of the usage of a container.
type containerUse struct {
	*observe.Container
	covered    [allocation.NumResources]timeline.Coverage
	again      *[allocation.NumResources]timeline.Coverage // covered of the phase Correcting
	pressed    [len(pressures)]timeline.Coverage           // when what goes wrong was counted
	killed     []int64                                     // when it was seen to have been killed for its memory, in any order
	unmeasured []observe.Incoming                          // the usage of a container that restarted, until measureRestarted
}

// podUse is what is known of the traffic of a pod, and when it ran.
type podUse struct {
	*observe.Pod
	shifts   []shift
	rows     []int32 // of the containers of each shift, see shift.first
	sections int     // of its containers, when shifts were made
	last     int     // the shift found last by shiftOver
	flows    *flow   // the first one
	ended    []flowEnd
	reserves [allocation.NumResources][]reserve
	alias    string                             // the pod that series of its usage name, where that is another one
	bare     *[allocation.NumResources]bareTime // when no container has usage of its own; nil for never
	from     int64                              // time of its oldest usage that is read, if that is earlier than of other pods; else 0
}

// nodeUse is what is known of the use of a node.
type nodeUse struct {
	*observe.Node
	load      [allocation.NumResources]*load   // nil if the node has nothing of the resource
	machine   *observe.Machine                 // nil without an exporter of its own
	disksUsed map[signals.Symbol]*filled       // how full reported disks are while the node lives
	nodeless  timeline.Numbered[resourceCosts] // cost allocated outside of life
	over      timeline.Numbered[resourceCosts] // cost taken off because the node was overcommitted
}

// resourceCosts are costs by resource.
type resourceCosts [allocation.NumResources]float64

// claimUse is what is known of the use of a claim.
type claimUse struct {
	used filled
	pods []*podUse // that mount it
}

// uses has what is known of usage, by the indexes of what is used.
type uses struct {
	containers []*containerUse
	pods       []*podUse
	nodes      []*nodeUse
	claims     map[*observe.Claim]*claimUse
	joined     map[*observe.Volume]*filled
	orphans    map[nodelessKey]resourceCosts // cost without a node
}

// containerUse returns the usage of a container.
func (ch *Charger) containerUse(c *observe.Container) *containerUse {
	return used(&ch.uses.containers, c.Index, func() *containerUse { return &containerUse{Container: c} })
}

// podUse returns the traffic of a pod.
func (ch *Charger) podUse(p *observe.Pod) *podUse {
	return used(&ch.uses.pods, p.Index, func() *podUse { return &podUse{Pod: p} })
}

// appendNames appends the names that a pod's series of usage may have.
func (ch *Charger) appendNames(dst []string, p *observe.Pod) []string {
	dst = append(dst, p.Name.Value())
	if use := ch.podUse(p); use.alias != "" {
		dst = append(dst, use.alias)
	}
	return dst
}

// podUses returns the traffic of several pods.
func (ch *Charger) podUses(pods []*observe.Pod) []*podUse {
	out := make([]*podUse, len(pods))
	for i, p := range pods {
		out[i] = ch.podUse(p)
	}
	return out
}

// nodeUse returns the use of a node.
func (ch *Charger) nodeUse(n *observe.Node) *nodeUse { return ch.uses.nodes[n.Index] }

// claimUse returns the use of a claim.
func (ch *Charger) claimUse(c *observe.Claim) *claimUse {
	x := ch.uses.claims[c]
	if x == nil {
		x = &claimUse{}
		ch.uses.claims[c] = x
	}
	return x
}

// used returns an element of a list. It makes the element, and the list longer, if there is none.
func used[T any](list *[]*T, index int, newElement func() *T) *T {
	*list = append(*list, make([]*T, max(0, index+1-len(*list)))...)
	x := (*list)[index]
	if x == nil {
		x = newElement()
		(*list)[index] = x
	}
	return x
}

// layUses makes room for what will be known of usage.
func (ch *Charger) layUses() {
	ch.uses = uses{
		containers: make([]*containerUse, len(ch.Pods.Order)), pods: make([]*podUse, len(ch.Pods.All)), claims: map[*observe.Claim]*claimUse{}, joined: map[*observe.Volume]*filled{},
		orphans: map[nodelessKey]resourceCosts{},
	}
	for _, n := range ch.SortedNodes() {
		ch.uses.nodes = append(ch.uses.nodes, &nodeUse{Node: n})
	}
	ch.findMachines()
	ch.layLoads()
	ch.layReserves()
}
