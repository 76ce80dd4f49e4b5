package allocation

import "slices"

// mergeShares merges the shares of merged rows. from returns the shares of a set.
func mergeShares[T any](operands []operand, n int, from func(*Set) *shares[T], compare func(a, b *T) int, add func(to, from *T)) shares[T] {
	var list []rowShare[T]
	for _, p := range operands {
		of := from(p.set)
		if len(of.list) == 0 {
			continue
		}
		list = slices.Grow(list, len(of.list))
		for row, g := range p.group {
			if int(g) == n {
				continue
			}
			for _, share := range of.ofRow(row) {
				list = append(list, rowShare[T]{g, share})
			}
		}
	}
	return mergeRowShares(list, compare, add)
}

// mergeAllShares merges the shares of volumes, load balancers, shared costs and assets.
func (s *Set) mergeAllShares(operands []operand, n int) {
	d := s.dict
	s.volumes = mergeShares(operands, n, func(s *Set) *shares[VolumeShare] { return &s.volumes }, d.orderVolumes, (*VolumeShare).Add)
	s.balancers = mergeShares(operands, n, func(s *Set) *shares[LoadBalancerShare] { return &s.balancers }, d.orderBalancers, (*LoadBalancerShare).Add)
	s.parts = mergeShares(operands, n, func(s *Set) *shares[SharedPart] { return &s.parts }, d.orderParts, addPart)
	s.portions = mergeShares(operands, n, func(s *Set) *shares[portion] { return &s.portions }, d.orderPortions, addPortion)
}

func (d *Dict) orderVolumes(a, b *VolumeShare) int { return d.order(a.Key, b.Key) }

func (d *Dict) orderBalancers(a, b *LoadBalancerShare) int { return d.order(a.Key, b.Key) }

func (d *Dict) orderParts(a, b *SharedPart) int { return d.order(a.Name, b.Name) }

func addPart(to, from *SharedPart) { (*money)(&to.Cost).add((*money)(&from.Cost)) }
