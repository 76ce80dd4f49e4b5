package imported

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/visible"
)

// Prices are the content of a file.
type Prices struct {
	format   string
	currency string
	unit     Unit // not Unknown
	discount float64
	spot     []entry // labels of spot nodes
	defaults []entry
	rules    [numLists][]rule
	notes    []string // what was left out, and what to know
	warnings []string // of notes, what changes costs
}

// entry is a key of a sheet with its value.
type entry struct{ key, value string }

// list is an index of the lists of rules that files have.
type list uint8

const (
	nodes list = iota
	storage
	numLists
)

var listKeys = [numLists]string{nodes: "nodes", storage: "storage"}

// rule is a rule of a sheet.
type rule struct {
	rank  int     // those of a lower rank win, and among them those that are longer
	long  int     // how much of a provider id is given
	place string  // where it stands in the file, for people
	what  []entry // what it prices
	stem  string  // of the key of the price, without Hour and Month
	price float64 // for the unit
	more  []entry // after the price

	machine listprices.Machine // that the price is of, as far as the file says
}

// subject is what a rule prices, as a text.
func (r *rule) subject() string {
	texts := make([]string, len(r.what))
	for i, e := range r.what {
		texts[i] = e.key + ": " + e.value
	}
	return strings.Join(texts, ", ")
}

// suffix ends the keys of prices.
func (u Unit) suffix() string {
	if u == Monthly {
		return "Month"
	}
	return "Hour"
}

// Format says for people what was read.
func (p *Prices) Format() string { return p.format }

// Warnings are what of the file changes costs and could not be taken.
func (p *Prices) Warnings() []string { return slices.Clone(p.warnings) }

// Rules is how many rules the sheet has.
func (p *Prices) Rules() (n int) {
	for _, rules := range p.rules {
		n += len(rules)
	}
	return n
}

// note adds a line to what is said of the file.
func (p *Prices) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// warn is note for what changes costs.
func (p *Prices) warn(format string, args ...any) {
	p.note(format, args...)
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// arrange orders rules by their rank. Of several that price the same, the last of the file counts.
func (p *Prices) arrange() {
	for l := range p.rules {
		kept, replaced := []rule{}, []string{}
		last := map[string]int{}
		for i := range p.rules[l] {
			r := &p.rules[l][i]
			key := r.stem + " " + r.subject()
			if at, ok := last[key]; ok {
				replaced = append(replaced, kept[at].place)
				kept[at] = *r
				continue
			}
			last[key] = len(kept)
			kept = append(kept, *r)
		}
		if len(replaced) > 0 {
			p.note("Left out of %s: %s: a line further down prices the same, and counts.", listKeys[l], some(replaced))
		}
		slices.SortStableFunc(kept, func(a, b rule) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.long, a.long)) })
		p.rules[l] = kept
	}
}

// maxNamed is how many places a note names.
const maxNamed = 5

// some names places, or the first of them.
func some(places []string) string {
	if n := len(places) - maxNamed; n > 0 {
		return strings.Join(places[:maxNamed], ", ") + " and " + strconv.Itoa(n) + " more"
	}
	return strings.Join(places, ", ")
}

// Sheet is the prices as a sheet in YAML, which names the file. written is when that was written, zero where it is not known.
func (p *Prices) Sheet(file string, written time.Time) []byte {
	var b bytes.Buffer
	comment := func(text string) { b.WriteString("# " + visible.Text(text) + "\n") }
	made := "Made by promcost prices import from " + file
	if !written.IsZero() {
		made += " of " + written.UTC().Format(time.DateOnly)
	}
	comment(made + ": " + p.format + ".")
	for _, text := range p.notes {
		comment(text)
	}
	if p.currency != "" {
		b.WriteString("currency: " + p.currency + "\n")
	}
	if !written.IsZero() {
		b.WriteString("asOf: " + written.UTC().Format(time.DateOnly) + "\n")
	}
	if p.discount > 0 {
		b.WriteString("discount: " + decimal(p.discount) + "\n")
	}
	writeEntries(&b, "spotLabels", p.spot)
	writeEntries(&b, "defaults", p.defaults)
	for l, rules := range p.rules {
		for i := range rules {
			if i == 0 {
				b.WriteString(listKeys[l] + ":\n")
			}
			r := &rules[i]
			b.WriteString("  - {")
			for _, e := range slices.Concat(r.what, []entry{{r.stem + p.unit.suffix(), decimal(r.price)}}, r.more) {
				b.WriteString(e.key + ": " + e.value + ", ")
			}
			b.Truncate(b.Len() - len(", "))
			b.WriteString("}\n")
		}
	}
	return b.Bytes()
}

// writeEntries writes a mapping, unless it is empty.
func writeEntries(b *bytes.Buffer, key string, entries []entry) {
	for i, e := range entries {
		if i == 0 {
			b.WriteString(key + ":\n")
		}
		b.WriteString("  " + e.key + ": " + e.value + "\n")
	}
}

// decimal is a number as it stands in a sheet.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// plain are texts that YAML takes for texts, whatever is around them.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

// quoted is a text in YAML.
func quoted(text string) string {
	if plain.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}
