package jmespath_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestArithmeticIsExact checks laws of sums and products on random quantities and durations.
func TestArithmeticIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	units := []string{"", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "s", "h0m"}
	quantities := len(units) - 2
	for range 3000 {
		pick := func(unit string) string {
			if unit == "h0m" {
				return fmt.Sprint(rng.IntN(1000), "h0m")
			}
			if unit == "E" || unit == "Ei" {
				return fmt.Sprint(rng.IntN(40), unit) // there is no unit above
			}
			return fmt.Sprint(rng.IntN(100_000), unit)
		}
		i := rng.IntN(len(units))
		j := rng.IntN(quantities)
		if i >= quantities {
			j = quantities + rng.IntN(2)
		}
		a, b := pick(units[i]), pick(units[j])
		given := map[string]any{"a": a, "b": b, "n": float64(1 + rng.IntN(9))}
		if sum, err := search("add(a, b)", given); err != nil || amountOf(sum.(string)).Cmp(new(big.Rat).Add(amountOf(a), amountOf(b))) != 0 {
			t.Fatalf("add(a, b) over %v: %v, %v", given, sum, err)
		}
		for _, law := range []string{"subtract(add(a, b), b) == add(a, `0`)", "divide(multiply(a, n), n) == add(a, `0`)", "add(a, a) == multiply(a, `2`)", "sum([a, a, b]) == add(multiply(a, `2`), b)"} {
			if got, err := search(law, given); err != nil || got != true {
				both, _ := search("[subtract(add(a, b), b), divide(multiply(a, n), n), add(a, `0`)]", given)
				if !sameAmount(both) {
					t.Fatalf("%s over %v: %v, %v (%v)", law, given, got, err, both)
				}
			}
		}
	}
}

// amountOf reads a quantity or a duration with code of its own: exactly, at any size.
func amountOf(text string) *big.Rat {
	if d, err := time.ParseDuration(text); err == nil && strings.ContainsAny(text, "hs") {
		return big.NewRat(int64(d), int64(time.Second))
	}
	number := strings.TrimRight(text, "numkKMGTPEi")
	v, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil
	}
	unit := text[len(number):]
	base, power := int64(1000), strings.Index("kMGTPE", strings.TrimSuffix(unit, "i"))+1
	if strings.HasSuffix(unit, "i") {
		base, power = 1024, strings.Index("KMGTPE", unit[:1])+1
	}
	if unit == "" {
		return v
	}
	factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(power)), nil))
	if down := strings.Index("mun", unit); power == 0 && down >= 0 {
		factor.SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(down+1)), nil))
	}
	return v.Mul(v, factor)
}

// sameAmount reports whether two texts are the same quantity or duration. They may be written differently: a sum has the format of its
// first operand.
func sameAmount(v any) bool {
	list, ok := v.([]any)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(list, func(v any) bool {
		a, b := amountOf(v.(string)), amountOf(list[0].(string))
		return a == nil || b == nil || a.Cmp(b) != 0
	})
}

// naive reports whether text matches a pattern of * and ?. It tries everything.
func naive(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return naive(pattern[1:], text) || text != "" && naive(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && naive(pattern[1:], text[1:])
}

func TestPatternsAgainstNaiveOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	word := func(letters string, most int) string {
		var b strings.Builder
		for range rng.IntN(most) {
			b.WriteByte(letters[rng.IntN(len(letters))])
		}
		return b.String()
	}
	for range 20_000 {
		pattern, text := word("ab*?", 8), word("ab", 10)
		got, err := search("pattern_match(p, t)", map[string]any{"p": pattern, "t": text})
		if err != nil || got != naive(pattern, text) {
			t.Fatalf("%q over %q: %v, %v", pattern, text, got, err)
		}
	}
}

// TestRandomExpressionsLikeTheLibrary compares random expressions whose results do not depend on the order of a map.
func TestRandomExpressionsLikeTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	leaves := []string{"a", "b", "c", "@", "`1`", "'x'", "`null`", "`[]`", "d[0]", "d[-1]", "d[1:]", `"e f"`}
	forms := []string{ // of two expressions, and the first as one that may stand behind a dot
		"%[1]s.a", "(%[1]s || %[2]s)", "(%[1]s && %[2]s)", "(%[1]s | %[2]s)", "[%[1]s, %[2]s]", "{a: %[1]s, b: %[2]s}", "d[?%[1]s == %[2]s]",
		"(%[1]s < %[2]s)", "!%[1]s", "to_string(%[1]s)", "d[*].%[3]s", "not_null(%[1]s, %[2]s)", "type(%[1]s)", "[%[1]s][]",
	}
	var grow func(depth int) string
	grow = func(depth int) string {
		if depth == 0 {
			return leaves[rng.IntN(len(leaves))]
		}
		x, y := grow(depth-1), grow(rng.IntN(depth))
		return fmt.Sprintf(forms[rng.IntN(len(forms))], x, y, strings.TrimLeft(x, "@!`'([{0123456789 "))
	}
	var given any
	if err := json.Unmarshal([]byte(`{"a": {"a": 1, "b": [1, 2]}, "b": null, "d": [{"a": 1}, {"b": 2}, 3, [1]], "e f": "x"}`), &given); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for range 20_000 {
		text := grow(1 + rng.IntN(4))
		diff, err, libraryErr := besideLibrary(text, given)
		if libraryErr == nil && err != nil && strings.Contains(text, "[]") {
			continue // errors on the left of [] are told here
		}
		if diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
		if err == nil {
			compared++
		}
	}
	if compared < 5000 {
		t.Errorf("only %d results compared", compared)
	}
}
