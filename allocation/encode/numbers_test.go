package encode_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
)

// oddNumbers are numbers at the limits of the ways in which numbers are written.
func oddNumbers() []float64 {
	return []float64{
		0, 1, -1.5, 0.5, 0.1, 1e-6, 9.99e-7, math.Nextafter(1e-6, 1), 1e21, math.Nextafter(1e21, 0), 1e20, 5e-324, math.MaxFloat64,
		math.Inf(1), math.NaN(), 1.0 / 3, 1 << 52, 1<<52 - 0.5, 1<<51 + 0.25, 1<<51 + 0.75, 1<<53 + 2, 0.30000000000000004, 9.999999999999998,
		99999999.5, 100000000.25, 0.098, 1.02,
	}
}

// wantNumber is the JSON of a number by the standard library.
func wantNumber(t *testing.T, v float64) string {
	t.Helper()
	if v-v != 0 || v == 0 {
		return "0" // finite
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// numbersOf are the texts of numbers in JSON.
func numbersOf(t *testing.T, numbers []float64) []string {
	t.Helper()
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
	for i, v := range numbers {
		r := allocation.Row{Start: start, End: start.Add(time.Hour)}
		r.Text[allocation.Pod], r.Values[allocation.SharedCost] = strconv.Itoa(i), v
		s.Append(&r)
	}
	var b bytes.Buffer
	if err := encode.Allocations(&b, []*allocation.Set{s}, encode.Options{Fields: []string{"sharedCost"}}); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Data []map[string]struct{ SharedCost json.RawMessage }
	}
	if err := json.Unmarshal(b.Bytes(), &body); err != nil {
		t.Fatalf("%v: %v in %s", numbers, err, b.Bytes())
	}
	texts := make([]string, len(numbers))
	for row := range numbers {
		texts[row] = string(body.Data[0][s.Name(row)].SharedCost)
	}
	return texts
}

// TestNumbersAreTheStandardLibrarys compares fractions of all sizes with the standard library, among them those with few digits
// and their neighbors.
func TestNumbersAreTheStandardLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := oddNumbers()
	for range 5000 {
		mantissa := rng.Uint64N(1<<52) | 1<<52
		short := float64(rng.IntN(1e9)) / math.Pow10(rng.IntN(12))
		numbers = append(numbers,
			math.Ldexp(float64(mantissa), -rng.IntN(80)), -math.Ldexp(float64(mantissa), -rng.IntN(80)),
			math.Ldexp(float64(mantissa>>rng.IntN(52)), -rng.IntN(72)),
			math.Ldexp(float64(1<<52+rng.Uint64N(8)), -rng.IntN(80)), math.Ldexp(float64(1<<53-1-rng.Uint64N(8)), -rng.IntN(80)),
			short, math.Nextafter(short, 0), math.Nextafter(short, math.Inf(1)),
		)
	}
	for i, got := range numbersOf(t, numbers) {
		if want := wantNumber(t, numbers[i]); got != want {
			t.Errorf("%b: got %s, want %s", numbers[i], got, want)
		}
	}
}

// FuzzNumbers compares any number with the standard library. NaN and infinities are 0.
func FuzzNumbers(f *testing.F) {
	for _, seed := range oddNumbers() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if got, want := numbersOf(t, []float64{v})[0], wantNumber(t, v); got != want {
			t.Errorf("%b: got %s, want %s", v, got, want)
		}
	})
}
