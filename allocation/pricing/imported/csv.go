package imported

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/rates"
)

// column is an index of the columns of OpenCost's CSV. Those of times and versions are not read.
type column uint8

const (
	instanceID column = iota
	region
	assetClass
	instanceIDField
	instanceType
	marketPrice
	numColumns
)

var columnNames = [numColumns]string{"InstanceID", "Region", "AssetClass", "InstanceIDField", "InstanceType", "MarketPriceHourly"}

// isCSV reports whether the first line that is no comment has the columns.
func isCSV(text []byte) bool {
	if isJSON(text) {
		return false
	}
	for line := range bytes.Lines(text) {
		line = bytes.ToLower(bytes.TrimSpace(line))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		return bytes.Contains(line, []byte("assetclass")) && bytes.Contains(line, []byte("instanceid"))
	}
	return false
}

// columnPlaces returns where each column stands, -1 for those that may be missing.
func columnPlaces(header []string) (places [numColumns]int, err error) {
	if len(header) == 1 {
		return places, errors.New("the header is one cell: separate cells by commas, and write 0.03 with a dot")
	}
	for c, name := range columnNames {
		places[c] = slices.IndexFunc(header, func(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), name) })
		if places[c] < 0 && column(c) != region && column(c) != instanceType {
			return places, fmt.Errorf("the header lacks %s: want EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version", name)
		}
	}
	return places, nil
}

// readCSV reads OpenCost's CSV of prices.
func readCSV(text []byte, o Options) (*Prices, error) {
	rows := csv.NewReader(bytes.NewReader(text))
	rows.Comment, rows.TrimLeadingSpace, rows.ReuseRecord, rows.FieldsPerRecord = '#', true, true, -1
	header, err := rows.Read()
	if err != nil {
		return nil, err
	}
	line, _ := rows.FieldPos(0)
	columns, err := columnPlaces(header)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	width := len(header)
	p := &Prices{unit: max(o.Unit, Hourly), currency: o.Currency}
	typed := []string{}
	for n := 0; ; {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: is the file cut off?", err)
		}
		if !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			continue
		}
		line, _ := rows.FieldPos(0)
		row := csvRow{place: fmt.Sprintf("line %d", line)}
		for c, at := range columns {
			if at >= 0 && at < len(cells) {
				row.cells[c] = strings.TrimSpace(cells[at])
			}
		}
		switch n++; {
		case len(cells) != width:
			err = fmt.Errorf("it has %d cells and the header %d: is the file cut off?", len(cells), width)
		case n > maxPrices:
			err = fmt.Errorf("there are more than %d rows", maxPrices)
		default:
			err = p.addRow(&row, o)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.place, err)
		}
		if row.cells[instanceType] != "" && row.cells[instanceID] != "" && strings.EqualFold(row.cells[assetClass], "node") {
			typed = append(typed, row.place)
		}
	}
	if p.arrange(); p.Rules() == 0 {
		return nil, errors.New("it has no price: want rows of nodes, GPUs or volumes below the header")
	}
	if len(typed) > 0 {
		p.note("Rows with an InstanceID and an InstanceType (%s) price the node that they name, and no other of its type. A rule with instanceType prices the others.", some(typed))
	}
	return p, nil
}

// csvRow is a row of the file.
type csvRow struct {
	place string
	cells [numColumns]string
}

// The ranks of rules. Prices of GPUs come first: a rule for a whole node ends the search for what has no price yet.
const (
	rankGPU   = 2 * iota // without a region; one with it has the rank before
	rankNamed            // of one thing, or of those with a label
	rankType
)

// addRow adds the rule of a row. A row that prices things which a sheet cannot name is left out, with a warning.
func (p *Prices) addRow(row *csvRow, o Options) error {
	price, err := o.price(row.cells[marketPrice])
	if err != nil {
		return fmt.Errorf("MarketPriceHourly: %w", err)
	}
	place := strings.ToLower(row.cells[region])
	r := rule{place: row.place, price: price}
	// Of the providers with a list, Amazon's machines have such names.
	r.machine = listprices.Machine{Provider: "aws", Region: place, InstanceType: row.cells[instanceType]}
	to := nodes
	var what entry
	switch class := strings.ToLower(row.cells[assetClass]); class {
	case "node":
		r.stem = nodeStem
		if what, r.rank, err = row.node(); what.key == "providerID" {
			r.long = len(what.value)
		}
	case "gpu":
		r.stem, r.rank, r.more = "gpuPerDevice", rankGPU, []entry{{"gpuExtra", "true"}}
		what, err = row.label(strings.TrimPrefix(row.cells[instanceIDField], labelsPrefix))
	case "pv":
		to, r.stem = storage, "storagePerGiB"
		what, r.rank, err = row.volume()
	default:
		err = fmt.Errorf("AssetClass is %.100q, want node, gpu or pv", row.cells[assetClass])
	}
	if unknown, ok := errors.AsType[*unknownField](err); ok {
		p.warn("Left out: %s: %s.", row.place, unknown.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if place != "" {
		if err := checkText("Region", place); err != nil {
			return err
		}
		r.rank--
		r.what = append(r.what, entry{"region", quoted(place)})
	}
	r.what = append(r.what, what)
	p.rules[to] = append(p.rules[to], r)
	return nil
}

// labelsPrefix begins the fields that are labels.
const labelsPrefix = "metadata.labels."

// unknownField is the error of a field that no rule of a sheet can ask for.
type unknownField struct{ field, want string }

func (e *unknownField) Error() string {
	return fmt.Sprintf("InstanceIDField is %.200q, which rules of a sheet cannot match; they match %s", e.field, e.want)
}

// label is what has a label whose value is the row's id.
func (row *csvRow) label(key string) (entry, error) {
	if err := checkText("the label of InstanceIDField", key); err != nil {
		return entry{}, err
	}
	if value := row.cells[instanceID]; value == "" || len(value) > maxText {
		return entry{}, fmt.Errorf("InstanceID is %.100q, want a value of label %.100q", value, key)
	}
	return entry{"labels", "{" + quoted(key) + ": " + quoted(row.cells[instanceID]) + "}"}, nil
}

// node is which nodes a row prices. Names in Kubernetes have small letters, and OpenCost takes any case.
func (row *csvRow) node() (what entry, rank int, err error) {
	id, field := row.cells[instanceID], row.cells[instanceIDField]
	key, isLabel := strings.CutPrefix(field, labelsPrefix)
	switch {
	case id == "" && row.cells[instanceType] == "":
		return what, 0, errors.New("it has neither InstanceID nor InstanceType: name the nodes that it prices")
	case id == "":
		return entry{"instanceType", quoted(row.cells[instanceType])}, rankType, checkText("InstanceType", row.cells[instanceType])
	case isLabel:
		what, err = row.label(key)
		return what, rankNamed, err
	case strings.EqualFold(field, "metadata.name"):
		return entry{"name", quoted(strings.ToLower(id))}, rankNamed, checkText("InstanceID", id)
	case strings.EqualFold(field, "spec.providerID"):
		path := rates.MachinePath(id)
		if strings.HasSuffix(path, "/") {
			err = fmt.Errorf("InstanceID is %.100q, which names no machine", id)
		}
		return entry{"providerID", quoted(path)}, rankNamed, errors.Join(checkText("InstanceID", path), err)
	}
	return what, 0, &unknownField{field, "metadata.name, spec.providerID and metadata.labels.KEY"}
}

// volume is which volumes a row prices.
func (row *csvRow) volume() (what entry, rank int, err error) {
	id, field := row.cells[instanceID], row.cells[instanceIDField]
	key, isLabel := strings.CutPrefix(field, labelsPrefix)
	switch {
	case isLabel:
		what, err = row.label(key)
		return what, rankNamed, err
	case strings.EqualFold(field, "metadata.name"):
		return entry{"name", quoted(id)}, rankNamed, checkText("InstanceID", id)
	case strings.EqualFold(field, "spec.storageClassName"):
		return entry{"storageClass", quoted(id)}, rankType, checkText("InstanceID", id)
	}
	return what, 0, &unknownField{field, "metadata.name, spec.storageClassName and metadata.labels.KEY"}
}
