package pricing

import "slices"

// Key describes a key of a sheet for documentation.
type Key struct {
	List  string   // that it belongs to: nodes, defaults, …; "" is the sheet itself
	Names []string // more than one for prices by another length of time
	Value string   // its kind of value
	Help  string
}

// Keys are all keys of a sheet, in the order of the documentation.
func Keys() []Key {
	p := newParser("")
	var out []Key
	add := func(list string, setters []setter) {
		for _, s := range setters {
			if n := len(out); n > 0 && out[n-1].List == list && out[n-1].Help == s.help {
				out[n-1].Names = append(out[n-1].Names, s.key)
				continue
			}
			out = append(out, Key{list, []string{s.key}, s.want, s.help})
		}
	}
	add("", p.sheetSetters())
	out = append(out, Key{"", []string{"spotLabels"}, "labels with values", "Labels that mark a spot node where they have this value, or one of a list of values, in any case."})
	add("defaults", p.priceSetters(priceKeys(ofAll)))
	for id := range numSections {
		add(sectionKeys[id].key, p.sectionSetters(id))
		if slices.Contains(labeled, id) {
			out = append(out, Key{sectionKeys[id].key, []string{"labels"}, "keys with values", "Labels that all must be there, with these values."})
		}
	}
	add("custom", p.priceSetters(customKeys()))
	return out
}

// help says what the key is the price of.
func (k *priceKey) help() string {
	text := "Price of " + prices[k.price].of
	if k.name == customEgress {
		text = "Price of a GiB to other zones, other regions and the internet alike"
	}
	if k.hours > 0 {
		text += ", for an hour or a month of 730"
	}
	return text + "."
}
