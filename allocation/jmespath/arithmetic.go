package jmespath

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// arithmeticFunctions calculate with numbers, quantities and durations.
func arithmeticFunctions() []function {
	binary := func(f func(c *call, a, b operand) (any, error)) func(*call) (any, error) {
		return func(c *call) (any, error) {
			var args [2]operand
			for i := range args {
				var err error
				if args[i], err = c.operand(i); err != nil {
					return nil, err
				}
			}
			return f(c, args[0], args[1])
		}
	}
	return []function{
		{"add", "any, any", "any", "the sum of two numbers, quantities or durations; a number beside a duration is seconds", binary((*call).add), false},
		{"divide", "any, any", "any", "the quotient of two numbers, quantities or durations, or of one of them by a number", binary((*call).divide), false},
		{"modulo", "any, any", "any", "the remainder of dividing two whole numbers, quantities or durations", binary((*call).modulo), false},
		{"multiply", "any, any", "any", "the product of two numbers, or of a quantity or a duration and a number", binary((*call).multiply), false},
		{"round", "number, number", "number", "the first number rounded to as many decimals as the second says", round, false},
		{"subtract", "any, any", "any", "the difference of two numbers, quantities or durations; a number beside a duration is seconds", binary((*call).subtract), false},
		{"sum", "array", "any", "the sum of numbers, quantities or durations; 0 if there are none", sum, false},
	}
}

// operand is a number, a quantity or a duration. exact is its value, for a duration in seconds.
type operand struct {
	kind   operandKind
	exact  *big.Rat
	number float64         // of a number
	format resource.Format // of a quantity
}

type operandKind uint8

const (
	aNumber operandKind = iota
	aQuantity
	aDuration
)

// String is what an operand of the kind is called.
func (k operandKind) String() string { return [...]string{"a number", "a quantity", "a duration"}[k] }

// operand is argument i: a number, or a string that is a quantity, else a duration.
func (c *call) operand(i int) (operand, error) {
	op, problem := parseOperand(c.args[i])
	if problem != "" {
		return op, c.fail(i, "%s", problem)
	}
	return op, nil
}

// Exponents beyond these are no quantities of anything, and take long to calculate with.
const (
	maxExponent = 30
	maxQuantity = 64 // bytes
)

// parseOperand reads a value as an operand, or says why it is not one.
func parseOperand(v any) (op operand, problem string) {
	const want = "want a number such as `10`, a quantity such as '10Mi' or a duration such as '10h'"
	switch v := v.(type) {
	case float64:
		if exact, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64)); ok {
			return operand{kind: aNumber, exact: exact, number: v}, ""
		}
	case string:
		if len(v) > maxQuantity || exponent(v) > maxExponent {
			return op, want + ", within range"
		}
		if q, err := resource.ParseQuantity(v); err == nil {
			return operand{kind: aQuantity, exact: exactOf(q, v), format: q.Format}, ""
		}
		d, err := time.ParseDuration(v)
		if err == nil {
			return operand{kind: aDuration, exact: big.NewRat(int64(d), int64(time.Second))}, ""
		}
		if _, err := time.ParseDuration(strings.Map(zeroDigit, v)); err == nil { // only its size is wrong
			return op, "duration is out of range, beyond 292 years: use a smaller one"
		}
	}
	return op, want
}

// exponent is the size of the decimal exponent of a quantity, 0 where it has none.
func exponent(s string) int {
	i := strings.IndexAny(s, "eE")
	if i < 0 || i+1 == len(s) { // E alone is exa
		return 0
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return 0
	}
	return max(n, -n)
}

// zeroDigit is 0 for any digit.
func zeroDigit(r rune) rune {
	if '0' <= r && r <= '9' {
		return '0'
	}
	return r
}

// exactOf is the value of a quantity that was read from text. The library caps those in powers of 1024 at 8Ei.
func exactOf(q resource.Quantity, text string) *big.Rat {
	if q.Format == resource.BinarySI && (q.CmpInt64(math.MaxInt64) == 0 || q.CmpInt64(-math.MaxInt64) == 0) {
		number := text[:len(text)-len("Ki")]
		if v, ok := new(big.Rat).SetString(number); ok {
			power := 10 * (1 + strings.Index("KMGTPE", text[len(number):len(number)+1]))
			return v.Mul(v, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(power))))
		}
	}
	dec := q.AsDec()
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(dec.Scale(), -dec.Scale()))), nil)
	if dec.Scale() < 0 {
		return new(big.Rat).SetInt(power.Mul(power, dec.UnscaledBig()))
	}
	return new(big.Rat).SetFrac(dec.UnscaledBig(), power)
}

// as gives a result the kind and the format of op.
func (c *call) as(op operand, v *big.Rat) (any, error) {
	switch op.kind {
	case aQuantity:
		return c.quantity(v, op.format)
	case aDuration:
		nanos := new(big.Rat).Mul(v, big.NewRat(int64(time.Second), 1))
		whole := new(big.Int).Quo(nanos.Num(), nanos.Denom())
		if !whole.IsInt64() {
			return nil, fmt.Errorf("function %s: result is a duration beyond 292 years: use smaller ones", c.name)
		}
		return time.Duration(whole.Int64()).String(), nil
	case aNumber:
	}
	number, _ := v.Float64()
	return c.finite(number)
}

// quantity is v written as Kubernetes does, rounded toward zero: to what a quantity can hold if that is exact, else to
// thousandths, and to whole ones where the format is of bytes.
func (c *call) quantity(v *big.Rat, format resource.Format) (any, error) {
	const nano = 9 // decimals that a quantity can hold
	decimals, exact := v.FloatPrec()
	switch {
	case exact && decimals <= nano:
	case format == resource.BinarySI:
		decimals = 0
	default:
		decimals = 3
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	units := new(big.Int).Mul(v.Num(), scale)
	units.Quo(units, v.Denom())
	written := new(big.Rat).SetFrac(units, scale)
	text := written.FloatString(decimals)
	outOfRange := fmt.Errorf("function %s: result is a quantity out of range: use smaller ones", c.name)
	if len(text) > maxQuantity {
		return nil, outOfRange
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil, fmt.Errorf("function %s: result %s is no quantity: %w", c.name, text, err)
	}
	q.Format = format
	q.Neg() // twice, for a quantity remembers the text that it was read from
	q.Neg()
	text = q.String()
	// There is no unit above E and Ei: the library leaves theirs out.
	if back, err := resource.ParseQuantity(text); err != nil || exactOf(back, text).Cmp(written) != 0 {
		return nil, outOfRange
	}
	return text, nil
}

// like is the operand whose kind a sum has: a number beside a quantity or a duration counts in its unit.
func (c *call) like(a, b operand) (operand, error) {
	switch {
	case a.kind == b.kind || b.kind == aNumber:
		return a, nil
	case a.kind == aNumber:
		return b, nil
	}
	return a, c.mismatch(a, b)
}

// mismatch is the error for kinds that do not go together.
func (c *call) mismatch(a, b operand) error {
	hint := ""
	if a.kind+b.kind == aQuantity+aDuration {
		hint = "; m alone is thousandths, write 0h5m for 5 minutes"
	}
	return fmt.Errorf("function %s: argument 1 is %s, %s, and argument 2 is %s, %s: they do not go together%s", c.name, show(c.args[0]), a.kind, show(c.args[1]), b.kind, hint)
}

func (c *call) add(a, b operand) (any, error) {
	if a.kind == aNumber && b.kind == aNumber {
		return c.finite(a.number + b.number)
	}
	like, err := c.like(a, b)
	if err != nil {
		return nil, err
	}
	return c.as(like, new(big.Rat).Add(a.exact, b.exact))
}

func (c *call) subtract(a, b operand) (any, error) {
	b.exact, b.number = new(big.Rat).Neg(b.exact), -b.number
	return c.add(a, b)
}

func (c *call) multiply(a, b operand) (any, error) {
	switch {
	case a.kind == aNumber && b.kind == aNumber:
		return c.finite(a.number * b.number)
	case b.kind == aNumber:
		return c.as(a, new(big.Rat).Mul(a.exact, b.exact))
	case a.kind == aNumber:
		return c.as(b, new(big.Rat).Mul(a.exact, b.exact))
	}
	return nil, c.mismatch(a, b)
}

func (c *call) divide(a, b operand) (any, error) {
	switch {
	case a.kind != b.kind && b.kind != aNumber:
		return nil, c.mismatch(a, b)
	case b.exact.Sign() == 0:
		return nil, c.fail(1, "division by zero: give another divisor")
	case a.kind == aNumber:
		return c.finite(a.number / b.number)
	case a.kind == b.kind:
		return c.as(operand{}, new(big.Rat).Quo(a.exact, b.exact))
	}
	return c.as(a, new(big.Rat).Quo(a.exact, b.exact))
}

func (c *call) modulo(a, b operand) (any, error) {
	if a.kind != b.kind {
		return nil, c.mismatch(a, b)
	}
	for i, op := range [...]operand{a, b} {
		if op.kind == aNumber && !op.exact.IsInt() {
			return nil, c.fail(i, "want a whole number")
		}
	}
	if b.exact.Sign() == 0 {
		return nil, c.fail(1, "division by zero: give another divisor")
	}
	if a.kind == aNumber {
		return math.Mod(a.number, b.number), nil
	}
	times := new(big.Rat).Quo(a.exact, b.exact)
	whole := new(big.Rat).SetInt(new(big.Int).Quo(times.Num(), times.Denom()))
	return c.as(a, new(big.Rat).Sub(a.exact, whole.Mul(whole, b.exact)))
}

func round(c *call) (any, error) {
	decimals, ok := whole(c.number(1))
	if !ok || decimals < 0 {
		return nil, c.fail(1, "want a whole number of decimals from 0")
	}
	const exact = 17 // digits that decide a float64
	shift := math.Pow(10, float64(min(decimals, exact)))
	v := c.number(0)
	if shifted := v * shift; math.Abs(shifted) < 1<<53 {
		v = math.Round(shifted) / shift
	}
	return v, nil
}

// sum adds numbers, quantities or durations.
func sum(c *call) (any, error) {
	if isType(c.args[0], "array[number]") {
		total := 0.0
		for _, v := range c.list(0) {
			total += v.(float64)
		}
		return c.finite(total)
	}
	var total operand
	for i, v := range c.list(0) {
		op, problem := parseOperand(v)
		if problem != "" {
			return nil, fmt.Errorf("function sum: element %d of argument 1 is %s: %s", i, show(v), problem)
		}
		if i == 0 {
			total = op
			continue
		}
		kind, err := (&call{name: c.name, args: []any{c.list(0)[i-1], v}}).like(total, op)
		if err != nil {
			return nil, fmt.Errorf("function sum: element %d of argument 1 is %s: %s and %s do not go together", i, show(v), total.kind, op.kind)
		}
		kind.exact = new(big.Rat).Add(total.exact, op.exact)
		total = kind
	}
	return c.as(total, total.exact)
}
