package democluster

import (
	"cmp"
	"slices"
	"time"
)

// VolumeTruth is one persistent volume within the window.
type VolumeTruth struct {
	Cluster          string `json:"cluster"`
	PersistentVolume string `json:"persistentVolume"`
	StorageClass     string `json:"storageClass"`
	ProviderID       string `json:"providerID"`
	// Namespace and Claim are empty if no claim is bound to it.
	Namespace string `json:"namespace"`
	Claim     string `json:"claim"`
	// Mounted says whether any pod that runs mounts it in the window.
	Mounted bool      `json:"mounted"`
	Start   time.Time `json:"start"` // within the window
	End     time.Time `json:"end"`
	// ByteHours are of its capacity. UsedByteHours are of the used bytes while running pods mounted it: otherwise nobody knows
	// them.
	ByteHours     float64 `json:"byteHours"`
	UsedByteHours float64 `json:"usedByteHours"`
	Cost          float64 `json:"cost"`
	// UnmountedByteHours and UnmountedCost are for the time in which no pod that runs mounts it.
	UnmountedByteHours float64 `json:"unmountedByteHours"`
	UnmountedCost      float64 `json:"unmountedCost"`
}

// VolumeShareTruth is a container's part of a persistent volume: at each instant its pod bears an even part with all pods that run and
// mount the volume, and the containers of the pod that run then an even part of that.
type VolumeShareTruth struct {
	PersistentVolume string  `json:"persistentVolume"`
	ProviderID       string  `json:"providerID"`
	ByteHours        float64 `json:"byteHours"`
	Cost             float64 `json:"cost"`
}

// UnmountedTruth is the cost of the volumes of a namespace while no pod that runs mounts them.
type UnmountedTruth struct {
	Cluster string `json:"cluster"`
	// Namespace is __unmounted__ for the volumes that no claim is bound to.
	Namespace string  `json:"namespace"`
	ByteHours float64 `json:"byteHours"`
	Cost      float64 `json:"cost"`
}

// LocalDiskTruth is the disk of a node within the window.
type LocalDiskTruth struct {
	Cluster       string    `json:"cluster"`
	Node          string    `json:"node"`
	Device        string    `json:"device"`
	ProviderID    string    `json:"providerID"` // the node's
	Start         time.Time `json:"start"`      // within the window
	End           time.Time `json:"end"`
	ByteHours     float64   `json:"byteHours"`
	UsedByteHours float64   `json:"usedByteHours"`
	UsedMax       float64   `json:"usedMax"` // bytes
	Cost          float64   `json:"cost"`
}

// unmountedName is the namespace of volumes without a claim.
const unmountedName = "__unmounted__"

// volumeAccount is what a volume comes to within a window, and by when. All amounts are in units × ms.
type volumeAccount struct {
	sharing
	life  span
	total storageSum // of the whole window
	used  float64    // while mounted
}

// sharing is what something comes to that those pods share evenly, at each instant, that run then and have a part in it.
type sharing struct {
	// times are all instants at which the number of those pods changes, each what each of them has borne by then.
	times  []int64
	each   []storageSum
	nobody storageSum // of the time when no pod mounts it
}

type storageSum struct{ bytes, cost float64 }

func (s *storageSum) add(o storageSum) { s.bytes, s.cost = s.bytes+o.bytes, s.cost+o.cost }

// over returns what a volume comes to over a span.
func (v *volume) over(w span) (sum storageSum) {
	each(v.bytes, w, func(sized span, bytes float64) {
		each(v.price, sized, func(part span, price float64) {
			sum.add(storageSum{bytes * float64(part.to-part.from), bytes / float64(gibibyte) * price * float64(part.to-part.from)})
		})
	})
	return sum
}

// share divides what over says of each part of life, given how many pods there are then.
func share(pods []*pod, life span, over func(part span, pods int) storageSum) (a sharing) {
	type change struct {
		at   int64
		pods int
	}
	changes := []change{{life.from, 0}, {life.to, 0}}
	for _, p := range pods {
		for _, s := range p.stretches(life) {
			changes = append(changes, change{s.from, 1}, change{s.to, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var borne storageSum
	n := 0
	for i, ch := range changes {
		if i > 0 && ch.at > changes[i-1].at {
			sum := over(span{changes[i-1].at, ch.at}, n)
			if n == 0 {
				a.nobody.add(sum)
			} else {
				borne.add(storageSum{sum.bytes / float64(n), sum.cost / float64(n)})
			}
		}
		n += ch.pods
		if n := len(a.times); n > 0 && a.times[n-1] == ch.at {
			continue
		}
		a.times, a.each = append(a.times, ch.at), append(a.each, borne)
	}
	return a
}

// by returns what each pod that had a part in it all the time would have borne by then, one of times.
func (a *sharing) by(t int64) storageSum {
	i, _ := slices.BinarySearch(a.times, t)
	return a.each[i]
}

// account sums a volume up over life, a span of its life.
func (v *volume) account(life span) *volumeAccount {
	a := &volumeAccount{life: life, total: v.over(life)}
	a.sharing = share(v.pods, life, func(part span, pods int) storageSum {
		if pods > 0 {
			a.used += integral(v.usedBytes(), part)
		}
		return v.over(part)
	})
	return a
}

// divide adds to the containers of a pod that runs in list their parts of a volume.
func (a *volumeAccount) divide(v *volume, list []stretch, rows []*ContainerTruth) {
	sums := make([]storageSum, len(rows))
	split(list, func(i int, part span, share float64) {
		from, to := a.by(part.from), a.by(part.to)
		sums[i].add(storageSum{(to.bytes - from.bytes) * share, (to.cost - from.cost) * share})
	})
	for i, row := range rows {
		if row == nil {
			continue
		}
		mine := VolumeShareTruth{v.name, v.handle, hours(sums[i].bytes), hours(sums[i].cost)}
		row.PVs = append(row.PVs, mine)
		row.PVByteHours += mine.ByteHours
		row.PVCost += mine.Cost
	}
}

// volumeTruth adds the disks, and what of them nobody mounts.
func (c *Cluster) volumeTruth(t *Truth, w span, a *accounts) {
	unmounted := map[string]storageSum{}
	for _, v := range c.volumes {
		of := a.volumes[v]
		if of == nil {
			continue
		}
		t.Volumes = append(t.Volumes, VolumeTruth{
			Cluster: ClusterID, PersistentVolume: v.name, StorageClass: v.class.name, ProviderID: v.handle, Namespace: v.namespace, Claim: v.claim,
			Mounted: of.used > 0, Start: instant(of.life.from), End: instant(of.life.to),
			ByteHours: hours(of.total.bytes), UsedByteHours: hours(of.used), Cost: hours(of.total.cost),
			UnmountedByteHours: hours(of.nobody.bytes), UnmountedCost: hours(of.nobody.cost),
		})
		if of.nobody.bytes > 0 {
			namespace := cmp.Or(v.namespace, unmountedName)
			sum := unmounted[namespace]
			sum.add(of.nobody)
			unmounted[namespace] = sum
		}
	}
	for namespace, sum := range unmounted { // sorted with all lists
		t.Unmounted = append(t.Unmounted, UnmountedTruth{ClusterID, namespace, hours(sum.bytes), hours(sum.cost)})
	}
	for _, n := range c.nodes {
		life := n.life.clip(w)
		if life.from >= life.to {
			continue
		}
		bytes := hours(float64(n.kind.disk) * float64(life.to-life.from))
		used := n.diskUsed()[0]
		t.LocalDisks = append(t.LocalDisks, LocalDiskTruth{
			Cluster: ClusterID, Node: n.name, Device: localDevice, ProviderID: n.providerID, Start: instant(life.from), End: instant(life.to),
			ByteHours: bytes, UsedByteHours: hours(used.integral(life)), UsedMax: used.value(life.to), Cost: bytes / float64(gibibyte) * defaultStoragePrice,
		})
	}
}
