package savings

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// Volume is a persistent volume that no pod mounts.
type Volume struct {
	Cluster, Name, ProviderID string
	StorageClass              string
	ClaimNamespace, ClaimName string  // empty where no claim is known
	Bytes                     float64 // its mean size
	Cost                      Monthly

	byteHours, hours, list, adjustment float64 // sums over the sets
	stretch                            stretch
}

// VolumeNeeds returns what UnclaimedVolumes looks at.
func VolumeNeeds() *allocation.Projection {
	p := allocation.OfRows([]allocation.Property{allocation.Cluster, allocation.Namespace, allocation.Pod})
	p.Volumes, p.WithoutAssets = true, false
	return p
}

// UnclaimedVolumes returns the volumes that no pod of the sets, which come oldest first, has mounted for q.Days, the dearest first. What
// no claim binds cannot be mounted. A filter selects them by the properties of the rows __unmounted__: the cluster, and the claim's namespace.
// Disks that belong to nodes are no volumes.
func UnclaimedVolumes(sets iter.Seq2[*allocation.Set, error], q Question) ([]Volume, error) {
	w, volumes := newWalk(q), map[string]*Volume{}
	err := w.each(sets, VolumeNeeds(), func(s *allocation.Set, selects func(int) bool) {
		free := unmounted(s, selects)
		for i := range s.Disks {
			if d := &s.Disks[i]; !d.Local {
				key := allocation.VolumeKey(d.Cluster, d.Name)
				if volumes[key] == nil {
					volumes[key] = &Volume{}
				}
				volumes[key].add(d, free[key])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var list []Volume
	for _, v := range volumes {
		if v.stretch.verdict(w.until[v.Cluster], q.Days) == unused {
			v.Cost = w.month(v.list, v.adjustment)
			if v.hours > 0 {
				v.Bytes = v.byteHours / v.hours
			}
			list = append(list, *v)
		}
	}
	slices.SortFunc(list, func(a, b Volume) int {
		return cmp.Or(cmp.Compare(b.Cost.Billed, a.Cost.Billed), strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// unmounted are the byte-hours, by the keys of volumes, in which nobody mounted them.
func unmounted(s *allocation.Set, selects func(int) bool) map[string]float64 {
	free := map[string]float64{}
	for row := range s.Len() {
		if s.Special(row) == allocation.Unmounted && selects(row) {
			for _, share := range s.Volumes(row) {
				free[s.Dict().Text(share.Key)] += share.ByteHours
			}
		}
	}
	return free
}

// add adds what a set has of the volume, which nobody mounted for so many byte-hours.
func (v *Volume) add(d *allocation.Disk, free float64) {
	const rounding = 1e-9
	use := used
	if d.ByteHours > 0 && free >= d.ByteHours*(1-rounding) {
		use = unused
	}
	v.stretch.add(use, d.Start, d.End)
	v.Cluster, v.Name, v.StorageClass = d.Cluster, d.Name, d.StorageClass
	_, v.ProviderID = allocation.ParseProviderID(d.ProviderID)
	v.ClaimNamespace, v.ClaimName = d.ClaimNamespace, d.ClaimName
	v.byteHours, v.hours = v.byteHours+d.ByteHours, v.hours+d.End.Sub(d.Start).Hours()
	v.list, v.adjustment = v.list+d.Cost, v.adjustment+d.Adjustment
}
