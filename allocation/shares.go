package allocation

import (
	"cmp"
	"slices"
)

// VolumeShare is what a row has of a persistent volume. Its ids are strings of the set's Dict.
type VolumeShare struct {
	Key        ID // VolumeKey
	ProviderID ID
	ByteHours  float64
	Cost       float64
	Adjustment float64
}

// LoadBalancerShare is what a row has of a load balancer. Its ids are strings of the set's Dict.
type LoadBalancerShare struct {
	Key        ID // LoadBalancerKey
	Service    ID // <namespace>/<service>
	IP         ID // of the ingress, or its host name
	Private    bool
	Hours      float64 // in which both the row and the load balancer were there
	Cost       float64
	Adjustment float64
}

// VolumeKey is the key of a volume's shares, `cluster=<cluster>:name=<volume>`. Colons and slashes of the cluster's id
// are underscores in it: clients split keys at them.
func VolumeKey(cluster, volume string) string {
	return string(appendCluster([]byte("cluster="), cluster)) + ":name=" + volume
}

// LoadBalancerKey is the key of a load balancer's shares, `<cluster>/<namespace>/<service>`. Colons and slashes of the
// cluster's id are underscores in it.
func LoadBalancerKey(cluster, namespace, service string) string {
	return string(appendCluster(nil, cluster)) + "/" + namespace + "/" + service
}

// SharedPart is what a row was given of one thing that is shared, such as a namespace. Its costs are part of the row's
// SharedCost.
type SharedPart struct {
	Name ID // of what is shared, a string of the set's Dict
	Cost [NumSharedKinds]float64
}

// SharedKind is what the cost of something shared was for.
type SharedKind uint8

// The kinds of shared cost.
const (
	SharedCPU SharedKind = iota
	SharedGPU
	SharedRAM
	SharedPV
	SharedNetwork
	SharedLoadBalancer
	SharedExternal
	SharedOverhead // flat cost, and what clusters cost besides their nodes
	NumSharedKinds
)

// shares are a list for each row of a set, all in one slice. The zero value has none for any row.
type shares[T any] struct {
	end  []int32 // of each row's part of list; rows beyond have none
	list []T
}

// of is the list of a row, which must not be changed.
func (s *shares[T]) of(row int) []T {
	if row >= len(s.end) {
		return nil
	}
	from := int32(0)
	if row > 0 {
		from = s.end[row-1]
	}
	return s.list[from:s.end[row]:s.end[row]]
}

// add appends to the list of a row, which is the last that has one, or later.
func (s *shares[T]) add(row int, share T) {
	for len(s.end) <= row {
		s.end = append(s.end, int32(len(s.list)))
	}
	s.list = append(s.list, share)
	s.end[row]++
}

// rowShare is a share on its way to a row.
type rowShare[T any] struct {
	row   int32
	share T
}

// packShares makes the lists of rows of shares in any order; those of a row keep theirs.
func packShares[T any](list []rowShare[T]) shares[T] {
	slices.SortStableFunc(list, func(a, b rowShare[T]) int { return cmp.Compare(a.row, b.row) })
	var out shares[T]
	for i := range list {
		out.add(int(list[i].row), list[i].share)
	}
	return out
}

// Volumes are what a row has of persistent volumes, by key: PVByteHours and PVCost are their sums. The slice must not be
// changed.
func (s *Set) Volumes(row int) []VolumeShare { return s.volumes.of(row) }

// LoadBalancerShares are what a row has of load balancers, by key: LoadBalancerCost is their sum. The slice must not be
// changed.
func (s *Set) LoadBalancerShares(row int) []LoadBalancerShare { return s.balancers.of(row) }

// SharedParts are what SharedCost of a row is made of, by name, where that was asked for. The slice must not be changed.
func (s *Set) SharedParts(row int) []SharedPart { return s.parts.of(row) }
