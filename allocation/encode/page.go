package encode

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/fields"
)

// Page is the part of each set that is written, and its order. The zero value is all of it, by name. Idle rows of allocations are
// not counted, but stand beside each page, as Kubecost has them: clients that ask for page after page end where one has fewer rows than that.
type Page struct {
	// By is the number that rows are ordered by, one of PageOrders, or "name". If it is empty and there is a limit or an offset,
	// it is totalCost.
	By        string
	Ascending bool // else the largest come first; names are always given so
	Offset    int  // rows left out
	Limit     int  // rows written at most, 0 for any number
}

// IsZero reports whether all rows are written by name.
func (p Page) IsZero() bool { return p.By == "" && p.Offset == 0 && p.Limit == 0 }

// PageOrders are the values of Page.By for allocations besides name, and those for assets.
func PageOrders() (allocations, assets []string) {
	for _, f := range fields.All() {
		allocations = append(allocations, f.Name)
	}
	for _, o := range assetOrders {
		assets = append(assets, o.name)
	}
	return allocations, assets
}

// assetOrders are the numbers that assets are ordered by.
var assetOrders = []struct {
	name  string
	value func(*allocation.Asset) float64
}{
	{"totalCost", (*allocation.Asset).TotalCost},
	{"adjustment", func(a *allocation.Asset) float64 { return a.Adjustment }},
	{"minutes", (*allocation.Asset).Minutes},
}

// cut orders a list and returns the part on the page. Equal values are in the order of names, and unknown values come last.
func cut[T any](p *Page, list []T, value func(T) float64, name func(T) string) []T {
	slices.SortStableFunc(list, func(a, b T) int {
		x, y := value(a), value(b)
		order, byName := cmp.Compare(x, y), strings.Compare(name(a), name(b))
		switch {
		case p.By == "name" && p.Ascending:
			return byName
		case p.By == "name":
			return -byName
		case math.IsNaN(x) != math.IsNaN(y):
			return -order // NaN is less than all numbers
		case p.Ascending:
			return cmp.Or(order, byName)
		}
		return cmp.Or(-order, byName)
	})
	list = list[min(p.Offset, len(list)):]
	if p.Limit > 0 {
		list = list[:min(p.Limit, len(list))]
	}
	return list
}

// rows are the rows of a set on the page, in the page's order.
func (o *Options) rows(set *allocation.Set) []namedRow { return o.paged(byName(set), set) }

// paged are the rows of list, which are all rows of a set, on the page, in the page's order. It may reorder list.
func (o *Options) paged(list []namedRow, set *allocation.Set) []namedRow {
	if o.Page.IsZero() {
		return list
	}
	by := cmp.Or(o.Page.By, "totalCost")
	value := func(namedRow) float64 { return 0 }
	for _, f := range fields.All() {
		if f.Name == by {
			value = func(r namedRow) float64 { return f.Value(set, r.row) }
		}
	}
	var idle []namedRow
	if o.Page.Limit > 0 || o.Page.Offset > 0 {
		idle, list = apart(list, func(r namedRow) bool { return set.Special(r.row) == allocation.Idle })
	}
	return append(idle, cut(&o.Page, list, value, func(r namedRow) string { return r.name })...)
}

// apart returns the members of a list that are special, and the others.
func apart[T any](list []T, special func(T) bool) (those, others []T) {
	for _, x := range list {
		if special(x) {
			those = append(those, x)
		} else {
			others = append(others, x)
		}
	}
	return those, others
}

// PageOf are the assets of a set on the page, in the page's order.
func (o *Options) PageOf(set *assets.Set) []*allocation.Asset {
	list := make([]*allocation.Asset, len(set.Assets))
	for i := range list {
		list[i] = &set.Assets[i]
	}
	if o.Page.IsZero() {
		return list
	}
	by := cmp.Or(o.Page.By, "totalCost")
	value := func(*allocation.Asset) float64 { return 0 }
	for _, order := range assetOrders {
		if order.name == by {
			value = order.value
		}
	}
	return cut(&o.Page, list, value, func(a *allocation.Asset) string { return a.Name })
}

// keep removes from the JSON object that begins at an offset of b the members that are not in the options' fields.
func (o *Options) keep(b []byte, from int) []byte {
	if o.Fields == nil {
		return b
	}
	out, at := from+1, from+1
	for b[at] != '}' {
		end := skipValue(b, skipString(b, at)+1)
		if name := string(b[at+1 : skipString(b, at)-1]); slices.Contains(o.Fields, name) {
			if out > from+1 {
				b[out] = ','
				out++
			}
			out += copy(b[out:], b[at:end])
		}
		if at = end; b[at] == ',' {
			at++
		}
	}
	b[out] = '}'
	return b[:out+1]
}

// skipString is the offset after the string that begins at an offset.
func skipString(b []byte, at int) int {
	for at++; b[at] != '"'; at++ {
		if b[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// skipValue is the offset after the value of an object's member that begins at an offset.
func skipValue(b []byte, at int) int {
	for depth := 0; ; {
		switch b[at] {
		case '"':
			at = skipString(b, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
		case ',':
			if depth == 0 {
				return at
			}
		}
		at++
	}
}
