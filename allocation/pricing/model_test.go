package pricing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// naiveRule is a rule of the model: empty texts match anything.
type naiveRule struct {
	region, instanceType string
	from, to             int // days; to is exclusive
	cpu, ram             float64
}

// naivePrice finds a price the obvious way: rule by rule, day by day.
func naivePrice(rules []naiveRule, region, instanceType string, day int, of func(naiveRule) float64) (float64, bool) {
	match := func(pattern, text string) bool {
		prefix, ok := strings.CutSuffix(pattern, "*")
		return pattern == "" || pattern == text || ok && strings.HasPrefix(text, prefix)
	}
	for _, r := range rules {
		if of(r) > 0 && match(r.region, region) && match(r.instanceType, instanceType) && r.from <= day && day < r.to {
			return of(r), true
		}
	}
	return 0, false
}

// randomRules are rules that often match the same node. The price of a rule is made from its number.
func randomRules(rng *rand.Rand, n int) []naiveRule {
	pick := func(texts ...string) string { return texts[rng.IntN(len(texts))] }
	rules := make([]naiveRule, n)
	for i := range rules {
		r := naiveRule{region: pick("", "eu", "eu-*", "us-1"), instanceType: pick("", "m5.*", "m5.large", "m5.small", "c5.large"), from: rng.IntN(10)}
		r.to = r.from + 1 + rng.IntN(10)
		if rng.IntN(3) > 0 {
			r.cpu = float64(i+1) / 1000
		}
		if rng.IntN(3) > 0 || r.cpu == 0 {
			r.ram = float64(i+1) / 2000
		}
		rules[i] = r
	}
	return rules
}

// day is a day of the model.
func day(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }

// TestSheetEqualsNaiveRules compares random sheets in CSV with the obvious search, and checks that prices change only at
// the instants that Changes names.
func TestSheetEqualsNaiveRules(t *testing.T) {
	compared := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var rules []naiveRule
		text := "region,instanceType,from,to,cpuPerCoreHour,ramPerGiBHour\n"
		for _, r := range randomRules(rng, 1+rng.IntN(8)) {
			row := text + fmt.Sprintf("%s,%s,%s,%s,%s,%s\n", r.region, r.instanceType, day(r.from).Format(time.DateOnly), day(r.to).Format(time.DateOnly), cell(r.cpu), cell(r.ram))
			if _, err := pricing.Parse("p.csv", []byte(row)); err != nil {
				checkNeverWins(t, rules, r, err)
				continue
			}
			rules, text = append(rules, r), row
		}
		sheet, err := pricing.Parse("p.csv", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		changes := map[time.Time]bool{}
		for _, at := range sheet.Changes(day(-1), day(30)) {
			changes[at] = true
		}
		for _, region := range []string{"eu", "eu-1", "us-1", ""} {
			for _, instanceType := range []string{"m5.large", "m5.small", "c5.large", "x"} {
				n := rates.NodeAttributes{Region: region, InstanceType: instanceType}
				last := sheet.Node(n, day(-1))
				for d := range 25 {
					got := sheet.Node(n, day(d))
					if got != last && !changes[day(d)] {
						t.Fatalf("seed %d: prices of %+v change on day %d, which Changes does not name", seed, n, d)
					}
					last = got
					for r, of := range map[allocation.Resource]func(naiveRule) float64{
						allocation.CPU: func(r naiveRule) float64 { return r.cpu }, allocation.RAM: func(r naiveRule) float64 { return r.ram },
					} {
						want, ok := naivePrice(rules, region, instanceType, d, of)
						if !ok {
							want = pricing.Default().Node(n, day(d)).Price[r]
						}
						if math.Abs(got.Price[r]-want) > 1e-12 {
							t.Fatalf("seed %d: %s of %+v on day %d is %v, want %v by\n%s", seed, r, n, d, got.Price[r], want, text)
						}
						compared++
					}
				}
			}
		}
	}
	t.Logf("%d prices compared", compared)
}

// checkNeverWins checks that a rule that was refused because earlier rules always win would have changed no price.
func checkNeverWins(t *testing.T, rules []naiveRule, r naiveRule, err error) {
	t.Helper()
	if !strings.Contains(err.Error(), "never win") {
		t.Fatal(err)
	}
	after := append(slices.Clone(rules), r)
	for _, region := range []string{"eu", "eu-1", "us-1", ""} {
		for _, instanceType := range []string{"m5.large", "m5.small", "c5.large", "x"} {
			for d := range 25 {
				for _, of := range []func(naiveRule) float64{func(r naiveRule) float64 { return r.cpu }, func(r naiveRule) float64 { return r.ram }} {
					_, had := naivePrice(rules, region, instanceType, d, of)
					if _, has := naivePrice(after, region, instanceType, d, of); has != had {
						t.Fatalf("rule %+v was refused, but is the first for %s, %s on day %d", r, region, instanceType, d)
					}
				}
			}
		}
	}
}

// cell is a price in CSV, empty where there is none.
func cell(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprint(v)
}
