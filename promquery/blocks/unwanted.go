package blocks

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/promcost/promcost/promquery"
)

// unwanted are the series of pods that nobody wants. It finds them by the postings of their UIDs: series that are left out need not be
// looked at, and nothing is kept for them. The zero value is none.
type unwanted struct {
	uids   *promquery.UIDs
	none   bool // the read wants all
	only   bool // it wants only the series of these pods
	labels []unwantedBy
}

// unwantedBy are the unwanted series by one label.
type unwantedBy struct {
	name   string
	cgroup bool        // the UIDs are in cgroup paths
	blocks [2][]refSet // of any selector, and of one that is Timeless
}

// of are those that a selector does not want, by block.
func (by *unwantedBy) of(sel *promquery.Selector) []refSet {
	if sel.Timeless {
		return by.blocks[1]
	}
	return by.blocks[0]
}

// begin begins a read for workers.
func (u *unwanted) begin(workers *promquery.Workers) {
	uids := workers.SkipUIDs
	if u.none, u.only = uids == nil, workers.OnlySkipped; !u.none && u.uids != uids {
		u.uids, u.labels = uids, nil
	}
}

// of are the series that a selector does not want, by block; nil for none. Where series may have a UID in one label or another, all are
// wanted: it takes their labels to tell which one counts.
func (u *unwanted) of(sel *promquery.Selector, symbols *symbols) []refSet {
	if u.none {
		return nil
	}
	name := ""
	for _, label := range sel.UIDs {
		if _, known := symbols.find(label); !known {
			continue
		}
		if name != "" {
			return nil
		}
		name = label
	}
	if name == "" {
		return nil
	}
	cgroup := name == sel.Cgroup
	for _, by := range u.labels {
		if by.name == name && by.cgroup == cgroup {
			return by.of(sel)
		}
	}
	by := unwantedBy{name: name, cgroup: cgroup}
	for _, v := range symbols.views {
		var all, timeless refSet // Prometheus' reader leaves out none
		if v.files != nil {
			all, timeless = u.find(v.index, name, cgroup)
		}
		by.blocks[0], by.blocks[1] = append(by.blocks[0], all), append(by.blocks[1], timeless)
	}
	u.labels = append(u.labels, by)
	return by.of(sel)
}

// find finds the unwanted series of a block, those of any selector and of one that is Timeless. It leaves out those that it cannot read.
func (u *unwanted) find(x *index, name string, cgroup bool) (all, timeless refSet) {
	all, timeless = newRefSet(len(x.data)/entrySize), newRefSet(len(x.data)/entrySize)
	var last []byte // with a UID; the paths of a pod's containers follow its own, and begin with it
	wanted := promquery.WantsAll
	x.labels[name].each(func(value []byte, offset uint64) bool {
		switch {
		case !cgroup:
			wanted = u.uids.Wanted(viewOf(value))
		case last == nil || !bytes.HasPrefix(value, last):
			uid, ok := promquery.PodUID(viewOf(value))
			if !ok {
				return true
			}
			last, wanted = value, u.uids.Wanted(viewOf(uid[:]))
		}
		if wanted == promquery.WantsAll {
			return true
		}
		refs, _ := x.postingsAt(offset) // what cannot be read is wanted
		for ; len(refs) >= 4; refs = refs[4:] {
			ref := binary.BigEndian.Uint32(refs)
			if timeless.add(ref); wanted == promquery.WantsNothing {
				all.add(ref)
			}
		}
		return true
	})
	return all, timeless
}

// bytes is the memory that it takes.
func (u *unwanted) bytes() (n int64) {
	for _, by := range u.labels {
		for _, set := range slices.Concat(by.blocks[:]...) {
			n += int64(len(set)) * 8
		}
	}
	return n
}

// refSet is a set of series of a block, a bit for each.
type refSet []uint64

// newRefSet returns an empty set of the series below n.
func newRefSet(n int) refSet { return make(refSet, n/64+1) }

// add adds a series. It does not add one beyond the set.
func (s refSet) add(ref uint32) {
	if i := int(ref / 64); i < len(s) {
		s[i] |= 1 << (ref % 64)
	}
}

func (s refSet) has(ref uint32) bool {
	i := int(ref / 64)
	return i < len(s) && s[i]&(1<<(ref%64)) != 0
}
