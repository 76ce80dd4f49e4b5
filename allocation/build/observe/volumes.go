package observe

import (
	"slices"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Ownership is when a claim was bound to a volume.
type Ownership struct {
	Claim *Claim
	When  timeline.Intervals
}

// Volume is one persistent volume.
type Volume struct {
	NodeKey  // of its cluster and name
	Seen     timeline.Steps
	Capacity timeline.Steps     // includes that of its claims once resolved
	Owners   []Ownership        // once resolved, with those of the volumes that are one with it
	Life     timeline.Intervals // of volumes that are one, only the largest lives at a time
	Held     []Hold             // once resolved
	Joined   bool               // it is one with other volumes
	Price    prices.ByMetric
	Class    timeline.Latest[signals.Symbol]
	Handle   timeline.Latest[signals.Symbol]
	Driver   timeline.Latest[signals.Symbol]
	Export   timeline.Latest[Export]
	Labels   timeline.Latest[map[string]string]
}

// Export is a directory that an NFS server exports.
type Export struct{ Server, Path signals.Symbol }

// Hold is a moment in which no pod mounted a volume. The containers are those that ran until then in the pods that did.
type Hold struct {
	timeline.Interval
	Containers []*Container
}

// Claim is one claim, by namespace and name.
type Claim struct {
	ObjectKey
	Bound    map[signals.Symbol]timeline.Steps // when it was bound to which volume
	Capacity timeline.Steps                    // as kubelets say
	Life     timeline.Intervals                // of the volumes that it was bound to, while it was
	Joined   []*Volume                         // whose use it shows, if its volume is one with others
}

// storage has the volumes and claims.
type storage struct {
	Volumes map[NodeKey]*Volume
	Claims  map[ObjectKey]*Claim
}

func newStorage() storage {
	return storage{Volumes: map[NodeKey]*Volume{}, Claims: map[ObjectKey]*Claim{}}
}

// Volume is the volume of a name in a cluster. It makes the volume if that is new.
func (v *storage) Volume(cluster, name signals.Symbol) *Volume {
	key := NodeKey{cluster, name}
	x, ok := v.Volumes[key]
	if !ok {
		x = &Volume{NodeKey: key}
		v.Volumes[key] = x
	}
	return x
}

func (v *storage) claim(key ObjectKey) *Claim {
	x, ok := v.Claims[key]
	if !ok {
		x = &Claim{ObjectKey: key, Bound: map[signals.Symbol]timeline.Steps{}}
		v.Claims[key] = x
	}
	return x
}

func (ob *Observer) addVolume(s *Incoming) error {
	v, at := ob.Storage.Volume(s.Key[0], s.Key[1]), s.Points.Last()
	v.Seen = timeline.Max(v.Seen, timeline.Ones(ob.Sampling.Steps(s.Points)))
	if s.Key[2] != None {
		v.Class.Set(s.Key[2], at)
	}
	handle, driver := s.Key[3], s.Key[4]
	for i, plugin := range inTreePlugins {
		if id := s.Key[5+i]; handle == None && id != None {
			handle, driver = id, ob.Symbols.Of(plugin)
		}
	}
	if handle != None && (s.Rank == 0 || !v.Handle.Known()) {
		v.Handle.Set(handle, at)
	}
	if driver != None {
		v.Driver.Set(driver, at)
	}
	if export := (Export{s.Key[8], s.Key[9]}); export.Server != None && export.Path != None {
		v.Export.Set(export, at)
	}
	return nil
}

// inTreePlugins are the plugins that volumes used before CSI drivers, in the order of the key of VolumeInfo.
var inTreePlugins = [...]string{"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk"}

func (ob *Observer) addVolumeLabels(s *Incoming) error {
	ob.Storage.Volume(s.Key[0], s.Key[1]).Labels.Set(s.tailMap(), s.Points.Last())
	return nil
}

func (ob *Observer) addVolumeCapacity(s *Incoming) error {
	v := ob.Storage.Volume(s.Key[0], s.Key[1])
	v.Capacity = timeline.Max(v.Capacity, ob.Sampling.Steps(s.Points))
	return nil
}

func (ob *Observer) addVolumePrice(s *Incoming) error {
	v := ob.Storage.Volume(s.Key[0], s.Key[1])
	ob.addPrices(&v.Price, s, prices.Thing{Cluster: s.Key[0], Things: notices.VolumesPriced, Name: s.Key[1].Value()})
	return nil
}

func (ob *Observer) addVolumeClaim(s *Incoming) error {
	if s.Key[2] != None && s.Key[3] != None {
		ob.Storage.claim(s.Object()).bind(s.Key[3], timeline.Ones(ob.Sampling.Steps(s.Points)))
	}
	return nil
}

// bind records when the claim was seen to be bound to a volume.
func (c *Claim) bind(volume signals.Symbol, when timeline.Steps) {
	c.Bound[volume] = timeline.Max(c.Bound[volume], when)
}

func (ob *Observer) addClaimCapacity(s *Incoming) error {
	c := ob.Storage.claim(s.Object())
	c.Capacity = timeline.Max(c.Capacity, ob.Sampling.Steps(s.Points))
	return nil
}

func (ob *Observer) addPodMount(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	if s.Key[4] == None {
		return nil
	}
	if !slices.Contains(p.Mounts, s.Key[4]) {
		p.Mounts = append(p.Mounts, s.Key[4])
	}
	if s.Key[5] != None {
		ob.Storage.claim(ObjectKey{s.Key[0], s.Key[1], s.Key[4]}).bind(s.Key[5], timeline.Ones(ob.Sampling.Steps(s.Points)))
	}
	return nil
}
