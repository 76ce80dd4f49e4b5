package passes

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// mergeShares merges the shares of merged rows. from returns the shares of a set.
func mergeShares[T any](operands []operand, n int, from func(*allocation.Set) *allocation.Shares[T], compare func(a, b *T) int, add func(to, from *T)) allocation.Shares[T] {
	var list []allocation.RowShare[T]
	for _, p := range operands {
		of := from(p.set)
		if len(of.List) == 0 {
			continue
		}
		list = slices.Grow(list, len(of.List))
		for row, g := range p.group {
			if int(g) == n {
				continue
			}
			for _, share := range of.Row(row) {
				list = append(list, allocation.RowShare[T]{Row: g, Share: share})
			}
		}
	}
	return allocation.MergeShares(list, compare, add)
}

// mergeAllShares merges the shares of volumes, load balancers, shared costs and assets.
func mergeAllShares(s *allocation.Set, operands []operand, n int) {
	d := s.Table().Dict
	s.Table().Volumes = mergeShares(operands, n, func(s *allocation.Set) *allocation.Shares[allocation.VolumeShare] { return &s.Table().Volumes }, d.CompareVolumes, (*allocation.VolumeShare).Add)
	s.Table().Balancers = mergeShares(operands, n, func(s *allocation.Set) *allocation.Shares[allocation.LoadBalancerShare] { return &s.Table().Balancers }, d.CompareBalancers, (*allocation.LoadBalancerShare).Add)
	s.Table().Parts = mergeShares(operands, n, func(s *allocation.Set) *allocation.Shares[allocation.SharedPart] { return &s.Table().Parts }, compareParts(d), addPart)
	s.Table().Portions = mergeShares(operands, n, func(s *allocation.Set) *allocation.Shares[allocation.Portion] { return &s.Table().Portions }, comparePortions(d), addPortion)
}

func compareParts(d *allocation.Dict) func(a, b *allocation.SharedPart) int {
	return func(a, b *allocation.SharedPart) int { return d.Compare(a.Name, b.Name) }
}

func addPart(to, from *allocation.SharedPart) { to.Cost.Add(&from.Cost) }
