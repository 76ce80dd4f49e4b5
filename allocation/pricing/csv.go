package pricing

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/labelnames"
)

// labelColumn begins the names of columns of labels.
const labelColumn = "label:"

// column is a column of a sheet in CSV.
type column struct {
	setter
	ofSheet bool // it is about the sheet, and has the same value in all rows
	given   string
}

// parseCSV reads a sheet in CSV.
func parseCSV(name string, data []byte) (*Sheet, error) {
	p := newParser(name)
	rows := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	rows.Comment, rows.TrimLeadingSpace, rows.ReuseRecord = '#', true, true
	var columns []column
	for {
		cells, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return p.finish(), nil
		case err != nil:
			return nil, fmt.Errorf("parse price sheet %s: %w: give as many cells as the header has, separated by commas", name, err)
		}
		line, _ := rows.FieldPos(0)
		if columns == nil {
			columns, err = p.header(line, cells)
		} else {
			err = p.row(line, columns, cells)
		}
		if err != nil {
			return nil, err
		}
	}
}

// allColumns are all columns but those of labels.
func (p *parser) allColumns() []column {
	columns := []column{}
	for _, s := range p.sheetSetters() {
		if s.key == "currency" || s.key == "asOf" {
			columns = append(columns, column{setter: s, ofSheet: true})
		}
	}
	for a := range attributes {
		columns = append(columns, column{setter: p.attributeSetter(attribute(a))})
	}
	for _, s := range []setter{p.spotSetter(), p.billedBySetter(), p.gpuExtraSetter(), p.timeSetter("from"), p.timeSetter("to"), p.discountSetter(), p.multiplierSetter()} {
		columns = append(columns, column{setter: s})
	}
	for _, s := range p.priceSetters(priceKeys(func(price) bool { return true })) {
		columns = append(columns, column{setter: s})
	}
	return columns
}

// header finds the columns by their names.
func (p *parser) header(line int, cells []string) ([]column, error) {
	all := p.allColumns()
	known := make([]string, len(all))
	for i := range all {
		known[i] = all[i].key
	}
	columns := make([]column, 0, len(cells))
	for _, cell := range cells {
		key := strings.TrimSpace(cell)
		if slices.ContainsFunc(columns, func(c column) bool { return c.key == key }) {
			return nil, p.fail(line, "column %q is there twice: keep one", key)
		}
		if labelKey, ok := strings.CutPrefix(key, labelColumn); ok && labelKey != "" {
			columns = append(columns, column{setter: setter{key: key, set: func(r *rule, _ int, text string) error {
				r.labels = append(r.labels, label{labelnames.NewName(labelKey), text})
				return nil
			}}})
			continue
		}
		at := slices.Index(known, key)
		switch {
		case at < 0 && strings.Contains(key, ";"):
			return nil, p.fail(line, "the header is separated by semicolons: separate cells by commas, and write 0.03 with a dot")
		case at < 0:
			return nil, p.fail(line, "unknown column %q: %s", key, suggest(key, append(known, labelColumn+"KEY")))
		}
		columns = append(columns, all[at])
	}
	return columns, nil
}

// row reads one row.
func (p *parser) row(line int, columns []column, cells []string) error {
	r := newRule(line)
	for i, cell := range cells {
		cell, c := strings.TrimSpace(cell), &columns[i]
		if cell == "" {
			continue
		}
		if c.ofSheet {
			if c.given != "" && c.given != cell {
				return p.fail(line, "%s is %s here and %s in a row before: a sheet has one", c.key, cell, c.given)
			}
			c.given = cell
		}
		if err := c.set(&r, line, cell); err != nil {
			return err
		}
	}
	slices.SortFunc(r.labels, compareLabels)
	if r.named == 0 {
		return p.fail(line, "the row has no price: give one, such as cpuPerCoreHour, or remove the row")
	}
	if r.covers(&rule{}) && !r.dated {
		return p.defaultsRow(&r)
	}
	for id := range numSections {
		part := r
		if part.named = named(&r, inSection(id)); part.named == 0 {
			continue
		}
		if unusable := r.unusable(id); unusable != "" {
			return p.fail(line, "%s says nothing about %s: give its prices a row of their own", unusable, sectionKeys[id].key)
		}
		if err := p.addRule(&part, id, "the row"); err != nil {
			return err
		}
	}
	if unusable := named(&r, func(x price) bool { return prices[x].defaultsOnly }); unusable != 0 {
		return p.fail(line, "prices such as spotCPUPerCoreHour are defaults: put true into spot, and the price into cpuPerCoreHour")
	}
	return nil
}

// named are the prices of r that take accepts.
func named(r *rule, take func(price) bool) priceSet {
	out := priceSet(0)
	for i := range numPrices {
		if r.named.has(i) && take(i) {
			out |= 1 << i
		}
	}
	return out
}

// unusable is an attribute of r that rules of a list cannot ask for, "" where there is none.
func (r *rule) unusable(id sectionID) string {
	for a := range attributes {
		if r.texts[a] != "" && !attribute(a).allowed(id) {
			return attributes[a].key
		}
	}
	switch {
	case len(r.labels) > 0 && !slices.Contains(labeled, id):
		return labelColumn + r.labels[0].name.String()
	case r.spot != nil && id != nodeSection:
		return "spot"
	case r.byPods && id != nodeSection:
		return "billedBy"
	case r.gpuExtra && id != nodeSection:
		return "gpuExtra"
	case r.discount != nil && id != nodeSection:
		return "discount"
	}
	return ""
}

// defaultsRow takes a row that names nothing for the sheet's own.
func (p *parser) defaultsRow(r *rule) error {
	if p.defaults.named&r.named != 0 {
		return p.fail(r.line, "a row before matches everything too, and has the same price: keep one of them")
	}
	if r.named.has(machinePrice) {
		return p.fail(r.line, "%s is the price of some nodes: name them, such as by instanceType", prices[machinePrice].key)
	}
	p.defaults.named |= r.named
	for i := range r.price {
		if r.named.has(price(i)) {
			p.defaults.price[i] = r.price[i]
		}
	}
	if r.discount != nil {
		p.sheet.discount = *r.discount
	}
	if r.multiplier != nil {
		p.sheet.multiplier = *r.multiplier
	}
	return nil
}
