package fetch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation/listprices"
)

// offerColumn is a column of an offer file.
type offerColumn uint8

const (
	termTypeColumn offerColumn = iota
	unitColumn
	priceColumn
	currencyColumn
	familyColumn
	locationColumn
	usageColumn
	effectiveColumn
	typeColumn // those from here on are of machines and volumes
	tenancyColumn
	systemColumn
	softwareColumn
	capacityColumn
	operationColumn
	volumeColumn
	numOfferColumns
)

// offerColumns are what the files call the columns.
var offerColumns = [numOfferColumns]string{
	"TermType", "Unit", "PricePerUnit", "Currency", "Product Family", "Location Type", "usageType", "EffectiveDate",
	"Instance Type", "Tenancy", "Operating System", "Pre Installed S/W", "CapacityStatus", "operation", "Volume API Name",
}

// offers are the services whose files are read, with how many of the columns they have.
var offers = []struct {
	code    string
	columns offerColumn
}{{"AmazonEC2", numOfferColumns}, {"AWSELB", typeColumn}}

// fetchAWS reads the offer files of regions: machines on demand with Linux and Windows, volumes and load balancers.
func fetchAWS(ctx context.Context, a *asker) ([]List, error) {
	if a.Currency != dollar {
		return nil, fmt.Errorf("it lists in %s, and the prices are in %s: nothing is converted", dollar, a.Currency)
	}
	indexes := make([]map[string]string, len(offers)) // paths of the offer files by region
	for i, offer := range offers {
		u := a.at("/offers/v1.0/aws/"+offer.code+"/current/region_index.json", nil)
		page, err := a.page(ctx, u)
		if err == nil {
			indexes[i], err = readRegionIndex(page, u)
		}
		if err != nil {
			return nil, err
		}
	}
	return eachRegion(ctx, a, func(region string) (List, error) { return a.offerFiles(ctx, region, indexes) })
}

// readRegionIndex reads where the newest file of each region is: the version is a part of it.
func readRegionIndex(page []byte, u *url.URL) (map[string]string, error) {
	var index struct {
		Regions map[string]struct {
			URL string `json:"currentVersionUrl"`
		} `json:"regions"`
	}
	if err := json.Unmarshal(page, &index); err != nil {
		return nil, fmt.Errorf("%s: it is no index of regions: %w", u, err)
	}
	paths := make(map[string]string, len(index.Regions))
	for region, of := range index.Regions {
		to, err := u.Parse(of.URL)
		if err != nil || !sameServer(to, u) || path.Ext(to.Path) != ".json" {
			return nil, fmt.Errorf("%s: the file of region %.40q is %.200q, which is not asked: want a file of the same server", u, region, of.URL)
		}
		paths[region] = strings.TrimSuffix(to.Path, ".json") + ".csv"
	}
	return paths, nil
}

// offerFiles reads the offer files of a region, whose index says where they are.
func (a *asker) offerFiles(ctx context.Context, region string, indexes []map[string]string) (List, error) {
	var paths []string
	for i := range offers {
		paths = append(paths, indexes[i][region])
	}
	if paths[0] == "" {
		return List{}, errors.New("it has no such region")
	}
	list := List{Region: region, Version: strings.Join(paths, " ")}
	if a.Known[region] == list.Version {
		return list, nil
	}
	found := a.newCollected()
	for i, offer := range offers {
		if paths[i] == "" {
			continue // there are no load balancers yet
		}
		u := *a.base
		u.Path = paths[i]
		if err := a.stream(ctx, &u, func(r io.Reader) error { return readOffers(r, offer.columns, region, found) }); err != nil {
			return List{}, err
		}
	}
	rows, err := found.in(region)
	list.Rows = rows
	return list, err
}

// Limits of offer files.
const (
	maxOffers    = 4 << 30   // bytes of a file
	maxOfferLine = 256 << 10 // bytes of a line
	maxOfferHead = 20        // lines before the names of the columns
)

// readOffers reads an offer file line by line: five lines about the file, one with the names of the columns, and one for each price. Errors name the line.
func readOffers(r io.Reader, columns offerColumn, region string, found *collected) error {
	limited := &io.LimitedReader{R: r, N: maxOffers}
	in := bufio.NewReaderSize(limited, maxOfferLine)
	var at []int // of the columns, once they are known
	var cells [][]byte
	for line := 1; ; line++ {
		text, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && limited.N <= 0:
			return fmt.Errorf("line %d: the file has more than %d GB: is it an offer file?", line, maxOffers>>30)
		case errors.Is(err, io.EOF) && len(text) > 0:
			return fmt.Errorf("line %d: the file is cut off: %w", line, io.ErrUnexpectedEOF)
		case errors.Is(err, io.EOF) && at == nil:
			return fmt.Errorf("line %d: the file ends before the names of the columns: %w", line, io.ErrUnexpectedEOF)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("line %d is longer than %d kB: is it an offer file?", line, maxOfferLine>>10)
		case err != nil:
			return fmt.Errorf("line %d: the file is cut off: %w", line, err)
		}
		width := len(cells)
		ok := false
		if cells, ok = splitLine(cells[:0], bytes.TrimRight(text, "\r\n")); !ok {
			return fmt.Errorf("line %d: a quoted text has no end", line)
		}
		switch {
		case at == nil && len(cells) <= 2 && line < maxOfferHead:
		case at == nil:
			if at, err = findColumns(cells, columns); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		case len(cells) != width:
			return fmt.Errorf("line %d has %d columns, and there are %d names of columns", line, len(cells), width)
		default:
			if err := readOffer(cells, at, region, found); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		}
	}
}

// splitLine appends the cells of a line of CSV to dst. They share its memory, and keep quotes within as they are. It is false where a quoted text has no end.
func splitLine(dst [][]byte, line []byte) ([][]byte, bool) {
	for {
		if len(line) == 0 || line[0] != '"' {
			i := bytes.IndexByte(line, ',')
			if i < 0 {
				return append(dst, line), true
			}
			dst, line = append(dst, line[:i]), line[i+1:]
			continue
		}
		end := 1
		for {
			i := bytes.IndexByte(line[end:], '"')
			if i < 0 {
				return dst, false
			}
			end += i
			if end+1 == len(line) || line[end+1] == ',' {
				break
			}
			end++
			if line[end] == '"' { // a quote within
				end++
			}
		}
		dst = append(dst, line[1:end])
		if end+1 == len(line) {
			return dst, true
		}
		line = line[end+2:]
	}
}

// findColumns finds the columns by their names.
func findColumns(names [][]byte, columns offerColumn) ([]int, error) {
	at := make([]int, numOfferColumns)
	for i, name := range offerColumns {
		at[i] = slices.IndexFunc(names, func(cell []byte) bool { return string(cell) == name })
		if at[i] < 0 && offerColumn(i) < columns {
			return nil, fmt.Errorf("there is no column %q: the format has changed, this promcost cannot read it", name)
		}
	}
	return at, nil
}

// readOffer reads the price of a line, if it is one of those that are wanted.
func readOffer(cells [][]byte, at []int, region string, found *collected) error {
	cell := func(c offerColumn) []byte {
		if at[c] < 0 {
			return nil
		}
		return cells[at[c]]
	}
	is := func(c offerColumn, text string) bool { return string(cell(c)) == text }
	if !is(termTypeColumn, "OnDemand") || !is(locationColumn, "AWS Region") {
		return nil // reserved, or of a local zone, whose machines have other prices
	}
	row := listprices.Row{Region: region}
	hours := 1.0 // of the price
	switch {
	case is(familyColumn, "Compute Instance"), is(familyColumn, "Compute Instance (bare metal)"):
		row.OS = offerSystem(string(cell(systemColumn)), string(cell(operationColumn)))
		if row.OS == "" || !is(unitColumn, "Hrs") || !is(tenancyColumn, "Shared") || !is(capacityColumn, "Used") || !is(softwareColumn, "NA") {
			return nil
		}
		row.Name = string(cell(typeColumn))
	case is(familyColumn, "Storage"):
		if !is(unitColumn, "GB-Mo") || !bytes.Contains(cell(usageColumn), []byte("EBS:VolumeUsage")) {
			return nil
		}
		row.Kind, row.Name, hours = listprices.Volumes, string(cell(volumeColumn)), hoursPerMonth
	case bytes.HasPrefix(cell(familyColumn), []byte("Load Balancer")):
		row.Kind, row.Name = listprices.LoadBalancers, balancers[string(cell(familyColumn))]
		if row.Name == "" || !is(unitColumn, "Hrs") || !isBalancerHour(string(cell(usageColumn))) {
			return nil
		}
	default:
		return nil
	}
	if row.Name == "" {
		return nil
	}
	price, err := strconv.ParseFloat(string(cell(priceColumn)), 64)
	if err != nil {
		return fmt.Errorf("%s of %s is %.40q, want a number", offerColumns[priceColumn], row.Name, cell(priceColumn))
	}
	row.Price = price / hours
	return found.add(row, string(cell(currencyColumn)), string(cell(effectiveColumn)))
}

// hoursPerMonth is what a month of a price has, whatever month it is.
const hoursPerMonth = 730

// offerSystem is the operating system of machines that run it without other software, "" for others: those with SQL Server, or with a license that the user brings.
func offerSystem(system, operation string) string {
	switch {
	case system == "Linux" && operation == "RunInstances":
		return "linux"
	case system == "Windows" && operation == "RunInstances:0002":
		return "windows"
	}
	return ""
}

// balancers are types of load balancers by their families.
var balancers = map[string]string{"Load Balancer": "classic", "Load Balancer-Application": "application", "Load Balancer-Network": "network"}

// isBalancerHour reports whether a type of usage is that of a load balancer, such as EUC1-LoadBalancerUsage: not its capacity units, trust stores, or Outposts.
func isBalancerHour(usage string) bool {
	words := strings.Split(usage, "-")
	return words[len(words)-1] == "LoadBalancerUsage" && !slices.Contains(words, "Outposts") && !slices.Contains(words, "TS")
}
