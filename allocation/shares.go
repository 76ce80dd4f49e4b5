package allocation

import (
	"cmp"
	"slices"
	"strings"
)

// VolumeShare is a row's share of a persistent volume. Its ids are strings of the set's Dict.
type VolumeShare struct {
	Key        ID // VolumeKey
	ProviderID ID
	ByteHours  float64
	Cost       float64
	Adjustment float64
}

// LoadBalancerShare is a row's share of a load balancer. Its ids are strings of the set's Dict.
type LoadBalancerShare struct {
	Key        ID // LoadBalancerKey
	Service    ID // <namespace>/<service>
	IP         ID // address of the ingress, or its host name
	Private    bool
	Hours      float64 // in which both the row and the load balancer existed
	Cost       float64
	Adjustment float64
}

// VolumeKey returns the key of a volume's shares, `cluster=<cluster>:name=<volume>`. Clients split it at colons and slashes,
// so those in the cluster's id become underscores.
func VolumeKey(cluster, volume string) string {
	return string(appendCluster([]byte("cluster="), cluster)) + ":name=" + volume
}

// LoadBalancerKey returns the key of a load balancer's shares, `<cluster>/<namespace>/<service>`. Colons and slashes in the
// cluster's id become underscores.
func LoadBalancerKey(cluster, namespace, service string) string {
	return string(appendCluster(nil, cluster)) + "/" + namespace + "/" + service
}

// SharedPart is a row's part of one shared cost, such as a namespace. Its costs are included in the row's SharedCost.
type SharedPart struct {
	Name ID // name of the shared cost, a string of the set's Dict
	Cost Money
}

// SharedKind is a kind of cost, by what it pays for.
type SharedKind uint8

// The kinds of cost.
const (
	SharedCPU SharedKind = iota
	SharedGPU
	SharedRAM
	SharedPV
	SharedNetwork
	SharedLoadBalancer
	SharedExternal
	SharedOverhead // flat cost, and costs of clusters besides their nodes
	NumSharedKinds
)

// Shares are a list for each row of a set, all in one slice. In the zero value all lists are empty.
type Shares[T any] struct {
	end  []int32 // end of each row's part of list; rows beyond have none
	List []T
}

// Row returns the list of a row, which must not be changed.
func (s *Shares[T]) Row(row int) []T {
	if row >= len(s.end) {
		return nil
	}
	from := int32(0)
	if row > 0 {
		from = s.end[row-1]
	}
	return s.List[from:s.end[row]:s.end[row]]
}

// Add appends to the list of a row. Rows must be given in order.
func (s *Shares[T]) Add(row int, share T) {
	for len(s.end) <= row {
		s.end = append(s.end, int32(len(s.List)))
	}
	s.List = append(s.List, share)
	s.end[row]++
}

// pick returns the lists of some rows, which are in order.
func (s *Shares[T]) pick(rows []int) (out Shares[T]) {
	for i, row := range rows {
		for _, share := range s.Row(row) {
			out.Add(i, share)
		}
	}
	return out
}

// Clip lets appending reallocate, so that shared slices do not change.
func (s *Shares[T]) Clip() { s.end, s.List = slices.Clip(s.end), slices.Clip(s.List) }

// RowShare is a share and its row.
type RowShare[T any] struct {
	Row   int32
	Share T
}

// MergeShares groups shares by row and sorts those of a row by compare. Shares of a row that compare as equal are added,
// in the order given.
func MergeShares[T any](list []RowShare[T], compare func(a, b *T) int, add func(to, from *T)) Shares[T] {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	less := func(i, j int32) int {
		return cmp.Or(cmp.Compare(list[i].Row, list[j].Row), compare(&list[i].Share, &list[j].Share))
	}
	slices.SortStableFunc(order, less)
	out := Shares[T]{List: slices.Grow([]T(nil), len(list))}
	for k, i := range order {
		if k > 0 && less(order[k-1], i) == 0 {
			add(&out.List[len(out.List)-1], &list[i].Share)
			continue
		}
		out.Add(int(list[i].Row), list[i].Share)
	}
	return out
}

// Compare orders the strings of two ids.
func (d *Dict) Compare(a, b ID) int {
	if a == b {
		return 0
	}
	return strings.Compare(d.Text(a), d.Text(b))
}

// CompareVolumes orders shares by the texts of their keys.
func (d *Dict) CompareVolumes(a, b *VolumeShare) int { return d.Compare(a.Key, b.Key) }

// Add adds another share of the same volume.
func (s *VolumeShare) Add(o *VolumeShare) {
	s.ByteHours += o.ByteHours
	s.Cost += o.Cost
	s.Adjustment += o.Adjustment
	if o.ProviderID != 0 {
		s.ProviderID = o.ProviderID
	}
}

// CompareBalancers orders shares by the texts of their keys.
func (d *Dict) CompareBalancers(a, b *LoadBalancerShare) int { return d.Compare(a.Key, b.Key) }

// Add adds another share of the same load balancer. The later address wins.
func (s *LoadBalancerShare) Add(o *LoadBalancerShare) {
	s.Hours += o.Hours
	s.Cost += o.Cost
	s.Adjustment += o.Adjustment
	s.Private = o.Private
	if o.IP != 0 {
		s.IP = o.IP
	}
}

// Volumes returns a row's shares of persistent volumes, by key. PVByteHours and PVCost are their sums. The slice must not be
// changed.
func (s *Set) Volumes(row int) []VolumeShare {
	if s.table.Unread.Volumes {
		panic(s.notRead("volumes"))
	}
	return s.table.Volumes.Row(row)
}

// LoadBalancerShares returns a row's shares of load balancers, by key. LoadBalancerCost is their sum. The slice must not be
// changed.
func (s *Set) LoadBalancerShares(row int) []LoadBalancerShare {
	if s.table.Unread.Balancers {
		panic(s.notRead("load balancers"))
	}
	return s.table.Balancers.Row(row)
}

// SharedParts returns the components of a row's SharedCost, by name, if Options.SharedBreakdown is set. The slice must not be
// changed.
func (s *Set) SharedParts(row int) []SharedPart { return s.table.Parts.Row(row) }

// Names in Set.SharedParts of shared costs without a Share.
const (
	OverheadName      = "overhead"      // SharedCost of Options
	TenancyName       = "tenancy"       // ShareTenancy: management fees and attached disks
	LoadBalancersName = "loadBalancers" // ShareLoadBalancers
)
