package manifest

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quantity is a quantity as it was written.
type quantity struct {
	text string
	line int
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (q *quantity) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return fmt.Errorf("line %d: a quantity is no list and no object", n.Line)
	}
	q.text, q.line = n.Value, n.Line
	return nil
}

// Bounds of quantities: what is beyond them has a wrong unit.
const (
	longest   = 64      // bytes of text
	mostCores = 1 << 20 // 1Mi cores
	leastByte = 1       // 128m is 0.128 bytes
	mostBytes = 1 << 60 // an exbibyte
)

// parse is the amount of a resource: cores, bytes or devices.
func (q quantity) parse(name string) (float64, error) {
	fail := func(problem, remedy string) error {
		return fmt.Errorf("%q on line %d %s: %s", shorten(q.text), q.line, problem, remedy)
	}
	units := "write a quantity such as 500m, 2, 128Mi or 10Gi"
	if len(q.text) > longest {
		return 0, fail("is too long", units)
	}
	parsed, err := resource.ParseQuantity(q.text)
	amount := parsed.AsApproximateFloat64()
	switch {
	case err != nil:
		return 0, fail("is no quantity", units)
	case amount < 0 || math.IsInf(amount, 0) || math.IsNaN(amount):
		return 0, fail("is below 0 or infinite", units)
	case name == "cpu" && amount > mostCores:
		return 0, fail(fmt.Sprintf("is %.3g cores", amount), "write cores, such as 2 or 500m")
	case (name == "memory" || name == "storage") && (amount > 0 && amount < leastByte || amount > mostBytes):
		return 0, fail(fmt.Sprintf("is %.3g bytes", amount), "write bytes, such as 128Mi or 10Gi; m is a thousandth")
	}
	return amount, nil
}
