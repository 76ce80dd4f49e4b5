package fetch_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/listprices/fetch"
)

// offerHead are the lines before the names of the columns.
const offerHead = "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"This pricing list is for informational purposes only. All prices are subject to the additional terms, and so on.\"\n" +
	"\"Publication Date\",\"2026-11-20T21:41:01Z\"\n\"Version\",\"20261120214101\"\n\"OfferCode\",\"AmazonEC2\"\n"

// offer is a line of an offer file by column.
type offer map[string]string

// machineOffer is an offer of a machine, with changes.
func machineOffer(price string, changes offer) offer {
	o := offer{
		"SKU": "2223B6PCG6QAUYY6", "OfferTermCode": "JRTCKXETXF", "TermType": "OnDemand", "PriceDescription": "$0.115 per On Demand Linux m5.large Instance Hour, with \"\"quotes\"\"",
		"EffectiveDate": "2026-11-01", "Unit": "Hrs", "PricePerUnit": price, "Currency": "USD", "Product Family": "Compute Instance", "serviceCode": "AmazonEC2",
		"Location": "EU (Frankfurt)", "Location Type": "AWS Region", "Instance Type": "m5.large", "vCPU": "2", "Memory": "8 GiB", "Tenancy": "Shared", "Operating System": "Linux",
		"License Model": "No License required", "usageType": "EUC1-BoxUsage:m5.large", "operation": "RunInstances", "CapacityStatus": "Used", "Pre Installed S/W": "NA",
	}
	maps.Copy(o, changes)
	return o
}

// volumeOffer is an offer of a volume's GB-month.
func volumeOffer(name, price string) offer {
	return offer{
		"SKU": "V", "TermType": "OnDemand", "Unit": "GB-Mo", "PricePerUnit": price, "Currency": "USD", "Product Family": "Storage", "Location Type": "AWS Region",
		"Volume API Name": name, "usageType": "EUC1-EBS:VolumeUsage." + name, "EffectiveDate": "2026-11-01",
	}
}

// balancerOffer is an offer of a load balancer.
func balancerOffer(family, usage, price string) offer {
	return offer{
		"SKU": "B", "TermType": "OnDemand", "Unit": "Hrs", "PricePerUnit": price, "Currency": "USD", "Product Family": family, "Location Type": "AWS Region",
		"usageType": usage, "EffectiveDate": "2026-11-01",
	}
}

// The columns of the files, of which there are more in truth.
var (
	machineColumns = []string{
		"SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate", "StartingRange", "EndingRange", "Unit", "PricePerUnit", "Currency", "RelatedTo",
		"LeaseContractLength", "PurchaseOption", "OfferingClass", "Product Family", "serviceCode", "Location", "Location Type", "Instance Type", "Current Generation", "Instance Family",
		"vCPU", "Physical Processor", "Clock Speed", "Memory", "Storage", "Network Performance", "Processor Architecture", "Storage Media", "Volume Type", "Max Volume Size", "Tenancy",
		"EBS Optimized", "Operating System", "License Model", "Group", "usageType", "operation", "CapacityStatus", "Pre Installed S/W", "Region Code", "serviceName", "Volume API Name",
	}
	balancerColumns = []string{
		"SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate", "Unit", "PricePerUnit", "Currency", "Product Family", "serviceCode", "Location",
		"Location Type", "Group", "usageType", "operation", "Region Code", "serviceName",
	}
)

// offerFile is an offer file.
func offerFile(columns []string, offers ...offer) string {
	var b strings.Builder
	b.WriteString(offerHead)
	fmt.Fprintf(&b, "\"%s\"\n", strings.Join(columns, `","`))
	for _, o := range offers {
		for i, column := range columns {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + o[column] + `"`)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Files of a region.
var (
	someMachines = offerFile(machineColumns,
		machineOffer("0.1150000000", nil),
		machineOffer("0.2070000000", offer{"Operating System": "Windows", "operation": "RunInstances:0002"}),
		machineOffer("0.1150000000", offer{"Operating System": "Windows", "operation": "RunInstances:0800", "License Model": "Bring your own license"}),
		machineOffer("0.5870000000", offer{"operation": "RunInstances:0004", "Pre Installed S/W": "SQL Std"}),
		machineOffer("0.1450000000", offer{"Operating System": "RHEL", "operation": "RunInstances:0010"}),
		machineOffer("0.1219000000", offer{"Tenancy": "Dedicated"}),
		machineOffer("0", offer{"CapacityStatus": "AllocatedCapacityReservation"}),
		machineOffer("0.0720000000", offer{"TermType": "Reserved"}),
		machineOffer("0.1430000000", offer{"Location Type": "AWS Local Zone", "Location": "Germany (Hamburg)"}),
		machineOffer("0.0000000000", offer{"Instance Type": "m99.large"}), // announced
		machineOffer("5.5200000000", offer{"Instance Type": "m5.metal", "Product Family": "Compute Instance (bare metal)"}),
		volumeOffer("gp3", "0.0952000000"), volumeOffer("gp2", "0.1190000000"),
		offer{"TermType": "OnDemand", "Unit": "IOPS-Mo", "PricePerUnit": "0.006", "Currency": "USD", "Product Family": "System Operation", "Location Type": "AWS Region", "Volume API Name": "gp3"},
	)
	someBalancers = offerFile(balancerColumns,
		balancerOffer("Load Balancer-Network", "EUC1-LoadBalancerUsage", "0.0270000000"), balancerOffer("Load Balancer", "EUC1-LoadBalancerUsage", "0.0300000000"),
		balancerOffer("Load Balancer-Application", "EUC1-TS-LoadBalancerUsage", "0.0050000000"), balancerOffer("Load Balancer-Network", "EUC1-Outposts-LoadBalancerUsage", "9"),
		balancerOffer("Load Balancer-Network", "EUC1-LCUUsage", "0.006"),
	)
)

// Addresses of AWS's lists.
const (
	machineIndex  = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
	balancerIndex = "/offers/v1.0/aws/AWSELB/current/region_index.json"
	machineFile   = "/offers/v1.0/aws/AmazonEC2/20261120214101/eu-central-1/index.csv"
	balancerFile  = "/offers/v1.0/aws/AWSELB/20261101000000/eu-central-1/index.csv"
)

// regionIndex is an index that leads to the file of a region.
func regionIndex(file string) string {
	return `{"formatVersion":"v1.0","disclaimer":"…","publicationDate":"2026-11-20T21:41:01Z","regions":{"eu-central-1":{"regionCode":"eu-central-1","currentVersionUrl":"` +
		strings.TrimSuffix(file, ".csv") + `.json"}}}`
}

// awsFiles are what AWS serves, by path.
func awsFiles() map[string]string {
	return map[string]string{machineIndex: regionIndex(machineFile), balancerIndex: regionIndex(balancerFile), machineFile: someMachines, balancerFile: someBalancers}
}

// serveFiles serves files by path.
func serveFiles(t *testing.T, files map[string]string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestAWS(t *testing.T) {
	srv := serveFiles(t, awsFiles())
	got := rowTexts(t, request(srv, "aws", "eu-central-1"))
	if diff := cmp.Diff([]string{
		"eu-central-1 gp2 volume 0.000163014 USD", "eu-central-1 gp3 volume 0.000130411 USD", "eu-central-1 m5.large machine linux 0.115 USD",
		"eu-central-1 m5.large machine windows 0.207 USD", "eu-central-1 m5.metal machine linux 5.52 USD", "eu-central-1 classic loadBalancer 0.03 USD", "eu-central-1 network loadBalancer 0.027 USD",
	}, got, sorted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAWSColumns reads files whose columns are in another order, without quotes, and with other ends of lines.
func TestAWSColumns(t *testing.T) {
	want := rowTexts(t, request(serveFiles(t, awsFiles()), "aws", "eu-central-1"))
	reversed := make([]string, len(machineColumns))
	for i, column := range machineColumns {
		reversed[len(reversed)-1-i] = column
	}
	for name, text := range map[string]string{
		"in another order": offerFile(reversed, machineOffer("0.1150000000", nil), machineOffer("0.2070000000", offer{"Operating System": "Windows", "operation": "RunInstances:0002"}),
			machineOffer("5.52", offer{"Instance Type": "m5.metal", "Product Family": "Compute Instance (bare metal)"}), volumeOffer("gp3", "0.0952"), volumeOffer("gp2", "0.119")),
		"lines of Windows": strings.ReplaceAll(someMachines, "\n", "\r\n"),
		"without quotes": strings.ReplaceAll(strings.ReplaceAll(offerFile(machineColumns, machineOffer("0.1150000000", offer{"PriceDescription": ""}),
			machineOffer("0.2070000000", offer{"Operating System": "Windows", "operation": "RunInstances:0002", "PriceDescription": ""}),
			machineOffer("5.52", offer{"Instance Type": "m5.metal", "Product Family": "Compute Instance (bare metal)", "PriceDescription": ""}), volumeOffer("gp3", "0.0952"), volumeOffer("gp2", "0.119")),
			offerHead, "FormatVersion,v1.0\n"), `"`, ""),
	} {
		t.Run(name, func(t *testing.T) {
			files := awsFiles()
			files[machineFile] = text
			if diff := cmp.Diff(want, rowTexts(t, request(serveFiles(t, files), "aws", "eu-central-1")), sorted); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAWSBadFiles reads files with a mistake each.
func TestAWSBadFiles(t *testing.T) {
	for _, tt := range []struct{ name, path, text, want string }{
		{"an index that is none", machineIndex, "<html>", machineIndex + ": it is no index of regions"},
		{"an index without the region", machineIndex, `{"regions":{}}`, "eu-central-1: it has no such region"},
		{"an index to another server", machineIndex, regionIndex("https://evil.example/x.csv"), "want a file of the same server"},
		{"an empty file", machineFile, "", machineFile + ": line 1: the file ends before the names of the columns"},
		{"a file without prices", machineFile, offerFile(machineColumns), "no machine is listed there"},
		{"a file that is cut within a line", machineFile, someMachines[:len(someMachines)-10], machineFile + ": line 20: the file is cut off"},
		{"a file that is cut within its head", machineFile, offerHead, ": line 6: the file ends before the names of the columns"},
		{"a column is gone", machineFile, strings.Replace(someMachines, `"Tenancy"`, `"Tenure"`, 1), `line 6: there is no column "Tenancy": the format has changed`},
		{"a line with fewer columns", machineFile, someMachines + "\"a\",\"b\"\n", "line 21 has 2 columns"},
		{"a text without an end", machineFile, someMachines + "\"a,b\n", "line 21: a quoted text has no end"},
		{"a line without an end", machineFile, someMachines + strings.Repeat("a", 1<<20), "line 21 is longer than 256 kB"},
		{"another currency", machineFile, offerFile(machineColumns, machineOffer("0.1", nil), machineOffer("0.7", offer{"Currency": "CNY"})), `line 8: m5.large costs 0.7 "CNY", but prices are in USD`},
		{"a negative price", machineFile, offerFile(machineColumns, machineOffer("-0.1", nil)), "line 7: machine m5.large costs -0.1 an hour, which is no price"},
		{"an absurd price", machineFile, offerFile(machineColumns, machineOffer("99999", nil)), "line 7: machine m5.large costs 99999 an hour"},
		{"no number", machineFile, offerFile(machineColumns, machineOffer("NaN", nil)), "line 7: machine m5.large costs NaN an hour"},
		{"a text for a price", machineFile, offerFile(machineColumns, machineOffer("a lot", nil)), `line 7: PricePerUnit of m5.large is "a lot", want a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := awsFiles()
			files[tt.path] = tt.text
			srv := serveFiles(t, files)
			lists, err := fetch.Fetch(t.Context(), request(srv, "aws", "eu-central-1"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "fetch list prices of aws: ") || len(lists) > 0 {
				t.Errorf("got %v beside %v, want %q", lists, err, tt.want)
			}
		})
	}
}

// TestAWSVersions reads the file of a version once, and the lists of other regions where one has none.
func TestAWSVersions(t *testing.T) {
	srv := serveFiles(t, awsFiles())
	r := request(srv, "aws", "eu-central-1")
	first, err := fetch.Fetch(t.Context(), r)
	if err != nil || len(first) != 1 || first[0].Version == "" {
		t.Fatalf("%v, %v", first, err)
	}
	files := awsFiles()
	delete(files, machineFile)
	again := request(serveFiles(t, files), "aws", "eu-central-1")
	again.Known = map[string]string{"eu-central-1": first[0].Version}
	if lists, err := fetch.Fetch(t.Context(), again); err != nil || len(lists) != 1 || lists[0].Rows != nil || lists[0].Version != first[0].Version {
		t.Errorf("%v, %v", lists, err)
	}
	r.Regions = []string{"xx-north-9", "eu-central-1"}
	if lists, err := fetch.Fetch(t.Context(), r); len(lists) != 1 || err == nil || !strings.Contains(err.Error(), "xx-north-9: it has no such region") {
		t.Errorf("%d lists, %v", len(lists), err)
	}
	r.Currency = "EUR"
	if _, err := fetch.Fetch(t.Context(), r); err == nil || !strings.Contains(err.Error(), "it lists in USD, and the prices are in EUR") {
		t.Error(err)
	}
}
