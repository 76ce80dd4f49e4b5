package build

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// containerUse is what is known of the usage of a container.
type containerUse struct {
	*container
	covered    [allocation.NumResources]timeline.Coverage
	again      *[allocation.NumResources]timeline.Coverage // covered of the phase correcting
	unmeasured []incoming                                  // the usage of a container that restarted, until measureRestarted
}

// podUse is what is known of the traffic of a pod, and when it ran.
type podUse struct {
	*pod
	shifts   []shift
	rows     []int32 // of the containers of each shift, see shift.first
	segments int     // of its containers, when shifts were made
	last     int     // the shift found last by shiftOver
	flows    *flow   // the first one
	ended    []flowEnd
	from     int64 // time of its oldest usage that is read, if that is earlier than of other pods; else 0
}

// nodeUse is what is known of the use of a node.
type nodeUse struct {
	*node
	load      [allocation.NumResources]*load   // nil if the node has nothing of the resource
	machine   *machine                         // nil without an exporter of its own
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
	claims     map[*claim]*claimUse
}

// containerUse returns the usage of a container.
func (b *Builder) containerUse(c *container) *containerUse {
	return used(&b.uses.containers, c.index, func() *containerUse { return &containerUse{container: c} })
}

// podUse returns the traffic of a pod.
func (b *Builder) podUse(p *pod) *podUse {
	return used(&b.uses.pods, p.index, func() *podUse { return &podUse{pod: p} })
}

// podUses returns the traffic of several pods.
func (b *Builder) podUses(pods []*pod) []*podUse {
	out := make([]*podUse, len(pods))
	for i, p := range pods {
		out[i] = b.podUse(p)
	}
	return out
}

// nodeUse returns the use of a node.
func (b *Builder) nodeUse(n *node) *nodeUse { return b.uses.nodes[n.index] }

// claimUse returns the use of a claim.
func (b *Builder) claimUse(c *claim) *claimUse {
	x := b.uses.claims[c]
	if x == nil {
		x = &claimUse{}
		b.uses.claims[c] = x
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

// resolveAndLay ends the phase in which everything but usage is added.
func (b *Builder) resolveAndLay() error {
	if err := b.resolveAll(); err != nil {
		return err
	}
	return b.run(b.layUses)
}

// layUses makes room for what will be known of usage.
func (b *Builder) layUses() {
	b.uses = uses{
		containers: make([]*containerUse, len(b.pods.order)), pods: make([]*podUse, len(b.pods.all)), claims: map[*claim]*claimUse{},
	}
	for _, n := range b.sortedNodes() {
		b.uses.nodes = append(b.uses.nodes, &nodeUse{node: n})
	}
	b.findMachines()
	b.layLoads()
}
