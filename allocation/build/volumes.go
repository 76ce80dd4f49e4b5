package build

import (
	"slices"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// volume is one persistent volume.
type volume struct {
	nodeKey  // of its cluster and name
	seen     timeline.Steps
	capacity timeline.Steps // includes that of its claims once resolved
	owners   []ownership    // once resolved
	life     timeline.Intervals
	price    prices.ByMetric
	class    timeline.Latest[signals.Symbol]
	handle   timeline.Latest[signals.Symbol]
	driver   timeline.Latest[signals.Symbol]
	labels   timeline.Latest[map[string]string]
}

// claim is one claim, by namespace and name.
type claim struct {
	objectKey
	bound    map[signals.Symbol]timeline.Steps // when it was bound to which volume
	capacity timeline.Steps                    // as kubelets say
	life     timeline.Intervals                // of the volumes that it was bound to, while it was
}

// storage has the volumes and claims of a builder.
type storage struct {
	volumes map[nodeKey]*volume
	claims  map[objectKey]*claim
}

func newStorage() storage {
	return storage{volumes: map[nodeKey]*volume{}, claims: map[objectKey]*claim{}}
}

func (v *storage) volume(cluster, name signals.Symbol) *volume {
	key := nodeKey{cluster, name}
	x, ok := v.volumes[key]
	if !ok {
		x = &volume{nodeKey: key}
		v.volumes[key] = x
	}
	return x
}

func (v *storage) claim(key objectKey) *claim {
	x, ok := v.claims[key]
	if !ok {
		x = &claim{objectKey: key, bound: map[signals.Symbol]timeline.Steps{}}
		v.claims[key] = x
	}
	return x
}

func (b *Builder) addVolume(s *incoming) error {
	v, at := b.storage.volume(s.key[0], s.key[1]), s.p.Last()
	v.seen = timeline.Max(v.seen, timeline.Ones(b.sampling.Steps(s.p)))
	if s.key[2] != none {
		v.class.Set(s.key[2], at)
	}
	handle, driver := s.key[3], s.key[4]
	for i, plugin := range inTreePlugins {
		if id := s.key[5+i]; handle == none && id != none {
			handle, driver = id, b.symbols.Of(plugin)
		}
	}
	if handle != none && (s.Rank == 0 || !v.handle.Known()) {
		v.handle.Set(handle, at)
	}
	if driver != none {
		v.driver.Set(driver, at)
	}
	return nil
}

// inTreePlugins are the plugins that volumes used before CSI drivers, in the order of the key of VolumeInfo.
var inTreePlugins = [...]string{"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk"}

func (b *Builder) addVolumeLabels(s *incoming) error {
	b.storage.volume(s.key[0], s.key[1]).labels.Set(s.tailMap(), s.p.Last())
	return nil
}

func (b *Builder) addVolumeCapacity(s *incoming) error {
	v := b.storage.volume(s.key[0], s.key[1])
	v.capacity = timeline.Max(v.capacity, b.sampling.Steps(s.p))
	return nil
}

func (b *Builder) addVolumePrice(s *incoming) error {
	v := b.storage.volume(s.key[0], s.key[1])
	b.addPrices(&v.price, s, prices.Thing{Cluster: s.key[0], Things: notices.VolumesPriced, Name: s.key[1].Value()})
	return nil
}

func (b *Builder) addVolumeClaim(s *incoming) error {
	if s.key[2] != none && s.key[3] != none {
		b.storage.claim(s.object()).bind(s.key[3], timeline.Ones(b.sampling.Steps(s.p)))
	}
	return nil
}

// bind records when the claim was seen to be bound to a volume.
func (c *claim) bind(volume signals.Symbol, when timeline.Steps) {
	c.bound[volume] = timeline.Max(c.bound[volume], when)
}

func (b *Builder) addClaimCapacity(s *incoming) error {
	c := b.storage.claim(s.object())
	c.capacity = timeline.Max(c.capacity, b.sampling.Steps(s.p))
	return nil
}

// addClaimUsed integrates how much of a volume is used while it exists. Kubelets of several nodes may report one claim.
func (l *integrator) addClaimUsed(s *incoming) error {
	if c := l.b.storage.claims[s.object()]; c != nil {
		l.addUse(&l.b.claimUse(c).used, s, c.life)
	}
	return nil
}

// eachPart calls f for the parts of (from, to] that lie in each set.
func (b *Builder) eachPart(from, to int64, f func(set int32, from, to int64)) {
	from, to = max(from, b.sampling.Start), min(to, b.sampling.End)
	for from < to {
		set := b.setAt(from + 1)
		next := min(to, b.borders[set+1])
		f(set, from, next)
		from = next
	}
}

func (b *Builder) addPodMount(s *incoming) error {
	p := b.podOf(s.pod())
	if s.key[4] == none {
		return nil
	}
	if !slices.Contains(p.mounts, s.key[4]) {
		p.mounts = append(p.mounts, s.key[4])
	}
	if s.key[5] != none {
		b.storage.claim(objectKey{s.key[0], s.key[1], s.key[4]}).bind(s.key[5], timeline.Ones(b.sampling.Steps(s.p)))
	}
	return nil
}
