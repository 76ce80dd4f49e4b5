package config_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// example is a config file with everything in it.
var example = filepath.Join("..", "..", "testdata", "config.yaml")

// writeFiles writes files into a new directory and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	s, err := config.Read(config.Flags{ConfigFile: example, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	rates := s.Rates.Node(rates.NodeAttributes{InstanceType: "m5.large"}, time.Now())
	if math.Abs(rates.Price[allocation.CPU]-.036) > 1e-12 || rates.Source != example+":9" || s.Rates.Currency() != "EUR" {
		t.Errorf("prices: %+v in %s", rates, s.Rates.Currency())
	}
	wantLabels := allocation.LabelMapping{
		"department": {"department"}, "environment": {"stage"}, "owner": {"owner"}, "product": {"app"}, "team": {"squad", "team"},
	}
	for _, diff := range []string{
		cmp.Diff(wantLabels, s.Labels),
		cmp.Diff(config.Sharing{Namespaces: "kube-system,monitoring", Labels: "app:ingress", Cost: "100.5", Split: "even", Idle: "true", TenancyCosts: "false"}, s.Sharing),
		cmp.Diff(map[string]config.Cluster{"cluster-one": {Name: "Production", Provider: "aws", Region: "eu-central-1"}, "lab": {}}, s.Clusters),
		cmp.Diff([]string{"spec.providerID", "spec.team"}, s.Selectable.Fields(filter.Allocations)[10:]),
		cmp.Diff(filter.NewSelectable().Fields(filter.Assets), s.Selectable.Fields(filter.Assets)),
		cmp.Diff([]config.Budget{{Name: "shop", Filter: `namespace:"shop"`, Amount: 1000, Period: "month"}, {Name: "all", Amount: 20.5, Period: "day"}}, s.Budgets),
		cmp.Diff([]config.Question{{Name: "month-by-team", Query: "window=month&aggregate=label:team"}}, s.Questions),
		cmp.Diff([]config.Bill{
			{Bill: billing.Bill{
				Name: "aws", Cost: billing.Contracted, Tags: map[string]allocation.Property{"team-namespace": allocation.Namespace},
				Clusters: map[string]string{"cluster-one": "arn:aws:eks:eu-central-1:123456789012:cluster/production"}, Include: []billing.Category{billing.Tax}, Settle: 48 * time.Hour,
				Rates: billing.Rates{Currency: "EUR", Always: map[string]float64{"USD": .92}, Months: map[string]map[string]float64{"GBP": {"2026-10": 1.15}}},
			}, Path: filepath.Join(filepath.Dir(example), "bills", "*", "focus-*.csv.gz")},
			{Bill: billing.Bill{Name: "vendors", Settle: 24 * time.Hour, Rates: billing.Rates{Currency: "EUR"}}, Bucket: filepath.Join(filepath.Dir(example), "vendors.yaml")},
		}, s.Bills),
		cmp.Diff(30*time.Minute, s.BillsInterval),
		cmp.Diff([]string{"Europe/Berlin", "EUR"}, []string{s.Zone.String(), s.Currency}),
	} {
		if diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	dir := writeFiles(t, map[string]string{"bad.yaml": "defaults:\n  cpu: 1\n"})
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"not YAML", "clusters: {", []string{"line 1", "give YAML"}},
		{"two documents", "currency: EUR\n---\ncurrency: USD", []string{"one document"}},
		{"a list", "- a", []string{"line 1", "the config is not made of keys"}},
		{"unknown key", "timezone: UTC\nbudget: []", []string{"line 1", `unknown key "timezone"`, "did you mean timeZone?"}},
		{"key that is near none", "\nfoo: 1", []string{"line 2", `"foo"`, "use prices, currency, timeZone"}},
		{"key twice", "currency: EUR\ncurrency: EUR", []string{"line 2", "twice", "line 1"}},
		{"currency", "currency: dollars", []string{"line 1", `"dollars"`, "USD"}},
		{"time zone", "timeZone: Mars/Olympus", []string{"line 1", "Mars/Olympus", "Europe/Berlin"}},
		{"empty", "timeZone:", []string{"timeZone is no text", "leave the key out"}},
		{"price", "prices:\n  defaults:\n    cpuPerCoreHour: -1", []string{"config.yaml", "line 3", "negative (-1)"}},
		{"price key", "prices:\n  default: {}", []string{"line 2", `"default"`, "did you mean defaults?"}},
		{"prices in a file and here", "prices: {file: a.yaml, defaults: {}}", []string{`unknown key "file"`}},
		{"no such file", "prices: {file: none.yaml}", []string{"line 1", "prices.file", "none.yaml", "no such file"}},
		{"error in the file", "prices:\n  file: bad.yaml", []string{"line 2", "bad.yaml: line 2", `"cpu"`}},
		{"alias of labels", "labelMapping: {teams: a}", []string{`"teams"`, "did you mean team?"}},
		{"labels", "labelMapping: {team: {a: b}}", []string{"labelMapping.team is no text"}},
		{"no labels", "labelMapping: {team: []}", []string{"labelMapping.team"}},
		{"label in a list", "labelMapping: {team: [[a]]}", []string{"labelMapping.team"}},
		{"sharing", "sharing:\n  shareIdel: true", []string{"line 2", "did you mean shareIdle?"}},
		{"resources of GPUs", "gpuResources: [example.com/gpu, 'a b']", []string{"gpuResources", `"a b"`, "example.com/*"}},
		{"all resources", "gpuResources: ['*']", []string{"gpuResources", `"*"`}},
		{"shareIdle", "sharing: {shareIdle: maybe}", []string{"sharing.shareIdle", `"maybe"`, "false, true, weighted, even"}},
		{"shareCost", "sharing: {shareCost: -5}", []string{"sharing.shareCost", `"-5"`}},
		{"shareCost of NaN", "sharing: {shareCost: .nan}", []string{"sharing.shareCost"}},
		{"shareLabels", "sharing: {shareLabels: [app]}", []string{`"app"`, "KEY:VALUE"}},
		{"shareNamespaces", "sharing: {shareNamespaces: 'a,b'}", []string{`"a,b"`, "one namespace"}},
		{"cluster", "clusters: {c: {nam: x}}", []string{"clusters.c", "did you mean name?"}},
		{"clusters", "clusters: [a]", []string{"clusters is not made of keys"}},
		{"bills", "bills: {a: b}", []string{"bills is no list"}},
		{"bill without a name", "bills: [{path: x}]", []string{"line 1", "bills[0]", "give name"}},
		{"bill without a place", "bills: [{name: x}]", []string{"bills[0]", "give path or config"}},
		{"bill with two places", "bills: [{name: x, path: a, config: b}]", []string{"bills[0]", "give path or config"}},
		{"bills of one name", "bills:\n- {name: x, path: a}\n- {name: x, path: b}", []string{"line 3", "bills[1]", `"x"`}},
		{"cost of a bill", "bills: [{name: x, path: a, cost: net}]", []string{`"net"`, "effective, billed, contracted, list"}},
		{"tag of a bill", "bills: [{name: x, path: a, tags: {ns: namespaces}}]", []string{"tags.ns", "did you mean namespace?"}},
		{"category of a bill", "bills: [{name: x, path: a, include: [usage]}]", []string{`"usage"`, "purchase, tax, credit, adjustment"}},
		{"deliveries of a bill", "bills: [{name: x, path: a, deliveries: sum}]", []string{`"sum"`, "auto, add, replace"}},
		{"settle of a bill", "bills: [{name: x, path: a, settle: soon}]", []string{`"soon"`, "such as 1h or 1d"}},
		{"currency of a bill", "bills: [{name: x, path: a, exchangeRates: {euro: 1}}]", []string{`"euro"`, "EUR"}},
		{"rate of a bill", "bills: [{name: x, path: a, exchangeRates: {EUR: 0}}]", []string{"exchangeRates.EUR is 0"}},
		{"month of a rate", "bills: [{name: x, path: a, exchangeRates: {EUR: {2026-13: 1}}}]", []string{`"2026-13"`, "2026-10"}},
		{"interval of bills", "billsInterval: 1s", []string{`"1s"`, "at least 1m"}},
		{"questions", "questions: {a: b}", []string{"questions is no list"}},
		{"question without a query", "questions:\n- {name: a}", []string{"line 2", "questions[0]", "name and query"}},
		{"name of a question", "questions: [{name: By_Team, query: window=1d}]", []string{`"By_Team"`, "month-by-team"}},
		{"questions of one name", "questions:\n- {name: a, query: window=1d}\n- {name: a, query: window=2d}", []string{"line 3", "questions[1]", `"a"`}},
		{"question with a path", "questions: [{name: a, query: '/model/allocation?window=1d'}]", []string{"without the path"}},
		{"question that is no query", "questions: [{name: a, query: 'window=%zz'}]", []string{"invalid URL escape", "as in a URL"}},
		{"question without a window", "questions: [{name: a, query: 'aggregate=pod'}]", []string{"no window"}},
		{"budgets", "budgets: {a: b}", []string{"budgets is no list"}},
		{"budget without a period", "budgets:\n- {name: a, amount: 1}", []string{"line 2", "budgets[0]", "name, amount and period"}},
		{"budget of nothing", "budgets: [{name: a, amount: 0, period: day}]", []string{"amount is 0"}},
		{"cost of a budget", "budgets: [{name: a, amount: 1, period: day, cost: bill}]", []string{`"bill"`, "list, billed"}},
		{"period", "budgets: [{name: a, amount: 1, period: fortnight}]", []string{`"fortnight"`, "day, week, month, quarter, year"}},
		{"filter of a property that is not there", "budgets: [{name: a, amount: 1, period: day, filter: 'tier:\"x\"'}]\nproperties: {level: labels.level}", []string{"line 1", "budgets[0]", "tier"}},
		{"filter", "budgets: [{name: a, amount: 1, period: day, filter: 'namespace:'}]", []string{"filter namespace:"}},
		{"selectable fields", "selectableFields: {a: b}", []string{"line 1", "selectableFields is no list"}},
		{"selectable field without a path", "selectableFields:\n- {resource: assets}", []string{"line 2", "selectableFields[0] lacks a jsonPath"}},
		{"selectable field of another kind", "selectableFields:\n- {jsonPath: .spec.team, resource: pods}", []string{"line 2", `"pods"`, "want allocations or assets"}},
		{"selectable metadata", "selectableFields:\n- jsonPath: .metadata.uid", []string{"line 2", "selectableFields[0]", "is metadata"}},
		{"selectable array", "selectableFields: [{jsonPath: '.spec.services[0]'}]", []string{"indexes an array or a map"}},
		{"selectable number", "selectableFields: [{jsonPath: .status.totalCost}]", []string{"is a number", "a string, a boolean or an integer"}},
		{"selectable twice", "selectableFields:\n- jsonPath: .spec.team\n- jsonPath: .spec.team", []string{"line 3", "selectableFields[1]", "is there already"}},
		{"too many selectable", "selectableFields: [" + strings.Join([]string{
			"{jsonPath: .spec.region}", "{jsonPath: .spec.nodeType}", "{jsonPath: .spec.storageClass}", "{jsonPath: .spec.volumeName}", "{jsonPath: .spec.claimName}",
			"{jsonPath: .spec.claimNamespace}", "{jsonPath: .spec.ip}", "{jsonPath: .spec.private}", "{jsonPath: .spec.preemptible}",
		}, ", ") + "]", []string{"selectableFields[8]", "at most 8"}},
		{"budgets of one name", "budgets:\n- {name: a, amount: 1, period: day}\n- {name: a, amount: 2, period: day}", []string{"line 3", "budgets[1]", `"a"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Parse(filepath.Join(dir, "config.yaml"), []byte(tt.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(tt.want, "config.yaml") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestReadWithFlags(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"config.yaml": "prices: {file: prices.csv}\ntimeZone: Asia/Kolkata\n", "prices.csv": "cpuPerCoreHour,currency\n1,CHF\n",
		"other.yaml": "asOf: 2026-01-02\ndefaults: {cpuPerCoreHour: 2}\n", "empty.yaml": "# nothing\n",
		"inline.yaml": "prices: {defaults: {cpuPerCoreHour: 3}}\ncurrency: SEK\n",
		"euro.yaml":   "currency: EUR\n", "broken.yaml": "currency: E\n",
	})
	written := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, name := range []string{"prices.csv", "inline.yaml"} {
		if err := os.Chtimes(filepath.Join(dir, name), written, written); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, config, pricing string
		zoneGiven             bool
		cpu                   float64
		currency, zone        string
		from                  time.Time
		overridden, err       string
	}{
		{name: "nothing", cpu: .031611, currency: "USD", zone: "UTC"},
		{name: "empty file", config: "empty.yaml", cpu: .031611, currency: "USD", zone: "UTC"},
		{name: "file that names prices", config: "config.yaml", cpu: 1, currency: "CHF", zone: "Asia/Kolkata", from: written},
		{name: "prices in the file", config: "inline.yaml", cpu: 3, currency: "SEK", zone: "UTC", from: written},
		{
			name: "flags win", config: "config.yaml", pricing: "other.yaml", zoneGiven: true, cpu: 2, currency: "USD", zone: "UTC",
			from: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), overridden: "prices,timeZone",
		},
		{name: "two currencies", config: "euro.yaml", pricing: "prices.csv", err: "prices.csv are in CHF"},
		{name: "broken file", config: "broken.yaml", err: "read --config.file: parse config"},
		{name: "no file", config: "none.yaml", err: "read --config.file: open"},
		{name: "no prices", pricing: "none.yaml", err: "read --pricing.file: open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := func(name string) string {
				if name == "" {
					return ""
				}
				return filepath.Join(dir, name)
			}
			s, err := config.Read(config.Flags{ConfigFile: in(tt.config), PricingFile: in(tt.pricing), Zone: time.UTC, ZoneGiven: tt.zoneGiven})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			cpu := s.Rates.Node(rates.NodeAttributes{}, time.Now()).Price[allocation.CPU]
			if cpu != tt.cpu || s.Currency != tt.currency || s.Zone.String() != tt.zone || !s.RatesFrom.Equal(tt.from) || strings.Join(s.Overridden, ",") != tt.overridden {
				t.Errorf("cpu %v, %s, %s, from %s, flags win over %v; want %+v", cpu, s.Currency, s.Zone, s.RatesFrom, s.Overridden, tt)
			}
		})
	}
}

// TestClustersHaveAPlace prices what does not know its provider and region by those of its cluster.
func TestClustersHaveAPlace(t *testing.T) {
	dir := writeFiles(t, map[string]string{"config.yaml": `
prices:
  nodes:
  - {provider: aws, region: eu, cpuPerCoreHour: 1}
  - {provider: gcp, cpuPerCoreHour: 2}
  storage:
  - {region: eu, storagePerGiBHour: 3}
clusters: {prod: {provider: aws, region: eu}}
`})
	s, err := config.Read(config.Flags{ConfigFile: filepath.Join(dir, "config.yaml"), Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	pricer := s.Pricer()
	now := time.Now()
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"node", pricer.Node(rates.NodeAttributes{Cluster: "prod"}, now).Price[allocation.CPU], 1},
		{"node of a known provider", pricer.Node(rates.NodeAttributes{Cluster: "prod", Provider: "gcp"}, now).Price[allocation.CPU], 2},
		{"node of another cluster", pricer.Node(rates.NodeAttributes{Cluster: "lab"}, now).Price[allocation.CPU], 0.031611},
		{"volume", pricer.Item(rates.Item{Cluster: "prod"}, now).Price, 3},
		{"volume elsewhere", pricer.Item(rates.Item{Cluster: "prod", Region: "us"}, now).Price, 0.00005479452},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: price %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile(example)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("clusters: &a {x: {}}\nbudgets: [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file") {
			return // no file is to be read
		}
		c, err := config.Parse("config.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, b := range c.Budgets {
			if b.Name == "" || !(b.Amount > 0) || b.Period == "" {
				t.Errorf("budget %+v", b)
			}
		}
	})
}

// TestBudgetsByBill verifies that budgets by bill need bills, and that settings explain them.
func TestBudgetsByBill(t *testing.T) {
	const budget = "budgets: [{name: a, amount: 1, period: day, cost: %s}]\n"
	for _, tc := range []struct {
		name, file, want string
	}{
		{"list", fmt.Sprintf(budget, "list"), ""},
		{"without bills", fmt.Sprintf(budget, "billed"), `budget "a" has cost: billed, and there are no bills: name them under bills`},
		{"with bills", fmt.Sprintf(budget, "billed") + "bills: [{name: aws, path: .}]\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := config.Read(config.Flags{ConfigFile: file, Zone: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.CheckBudgets(); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			budgets, err := s.MeteredBudgets()
			if billed := strings.Contains(tc.file, "cost: billed"); err != nil || budgets[0].Billed != billed || strings.Contains(strings.Join(s.Explain(), "\n"), ", by bill") != billed {
				t.Errorf("%v, %v, %q", budgets, err, s.Explain())
			}
		})
	}
}
