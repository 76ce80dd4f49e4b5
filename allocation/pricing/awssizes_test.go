package pricing_test

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// TestListedMachinesAddUp checks, for all of AWS's instance types with their sizes, that the prices of cores, memory and GPUs add up to what is listed, on demand and
// spot, and that none is negative.
func TestListedMachinesAddUp(t *testing.T) {
	file, err := os.Open("testdata/aws-sizes.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := csv.NewReader(file)
	in.Comment = '#'
	rows, err := in.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	s, table, checked, accelerated := pricing.Default().WithList(listprices.Embedded()), listprices.Embedded(), 0, 0
	for _, row := range rows[1:] {
		var size [allocation.NumResources]float64
		for r := range size {
			if size[r], err = strconv.ParseFloat(row[1+r], 64); err != nil {
				t.Fatal(row, err)
			}
		}
		size[allocation.RAM] /= 1024
		for _, spot := range []bool{false, true} {
			n := rates.NodeAttributes{Provider: "aws", Region: "us-east-1", InstanceType: row[0], Size: size, Spot: spot}
			listed, ok := table.Price(listprices.Machine{Provider: n.Provider, Region: n.Region, InstanceType: n.InstanceType, Spot: spot})
			if !ok || listed.Region != n.Region {
				continue // AWS does not offer it there
			}
			got, sum := s.Node(n, time.Unix(0, 0)), 0.0
			for r, unit := range got.Price {
				if sum += unit * size[r]; unit < 0 {
					t.Errorf("%s: a unit of %s costs %g", row[0], allocation.Resource(r), unit)
				}
			}
			if math.Abs(sum-listed.PerHour) > 1e-12*listed.PerHour {
				t.Errorf("%s, spot %v: %v cost %g, want %g", row[0], spot, size, sum, listed.PerHour)
			}
			checked++
			if size[allocation.GPU] > 0 {
				accelerated++
			}
		}
	}
	if checked < 2*1000 || accelerated < 2*50 {
		t.Errorf("%d prices were checked, %d of machines with GPUs", checked, accelerated)
	}
}
