package filter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// repeated is n comparisons, each with a number in it, joined by op.
func repeated(format, op string, n int) string {
	parts := make([]string, n)
	for i := range parts {
		if parts[i] = format; strings.Contains(format, "%") {
			parts[i] = fmt.Sprintf(format, i)
		}
	}
	return strings.Join(parts, op)
}

// manyRows is how many rows huge filters are bound to.
func manyRows() int { return soak.Of(10_000, 100_000) }

// TestHugeFilters binds the longest filters that are allowed to many rows whose pods all differ. A filter that tries every value in vain
// exceeds its steps.
func TestHugeFilters(t *testing.T) {
	s := makeSet(benchRows(manyRows()))
	for _, tc := range []struct {
		name, filter string
		want         int
	}{
		{"or of contains", repeated(`pod~:"z"`, "|", 7000), 0},
		{"or of contains that differ", repeated(`pod~:"z%d"`, "|", 5000), 0},
		{"and of not contains", repeated(`pod!~:"z"`, "+", 6500), manyRows()},
		{"many values", `pod~:` + repeated(`"zz"`, ",", 13_000), 0},
		{"many values that differ", `pod~:` + repeated(`"pod-x%d"`, ",", 5_000), 0},
		{"many prefixes", `pod<~:` + repeated(`"pod-9%d-"`, ",", 4_000), 0},
		{"many suffixes", `pod~>:` + repeated(`"z%d"`, ",", 6_000), 0},
		{"and of contains", repeated(`pod~:"p"`, "+", 6500), manyRows()},
		{"or of not contains that differ", repeated(`pod!~:"z%d"`, "|", 4000), manyRows()},
		{"alias", repeated(`team~:"z"`, "|", 6500), 0},
		{"alias, not", repeated(`team!~:"z%d"`, "+", 4400), manyRows()},
		{"keys", repeated(`label[k%d]:"z"`, "|", 3500), 0},
		{"AND and OR nested by turns", strings.Repeat(`(pod~:"z"|(pod~:"p"+`, 150) + `pod:"x"` + strings.Repeat("))", 150), 0},
		{"parentheses", repeated(`(pod~:"z"|pod<~:"z%d")`, "|", 2000), 0},
		{"two columns by turns", repeated(`(node:"n%d"+namespace:"x")`, "|", 2000), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := filter.Parse(tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			match, err := f.Within(filter.NewSteps(t.Context(), filter.MaxSteps/100_000*int64(manyRows()))).Bind(s)
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for row := range s.Len() {
				if match(row) {
					got++
				}
			}
			if got != tc.want {
				t.Errorf("%d rows, want %d", got, tc.want)
			}
		})
	}
}

// TestHugeFieldSelector binds the longest selector that is allowed to names that all differ.
func TestHugeFieldSelector(t *testing.T) {
	s := makeSet(benchRows(manyRows()))
	e, err := filter.NewSelectable().Parse(filter.Allocations, repeated("metadata.name!=a%d", ",", 3000))
	if err != nil {
		t.Fatal(err)
	}
	match := bound(filter.New(e), s)
	for row := range s.Len() {
		if !match(row) {
			t.Fatalf("row %d is not selected", row)
		}
	}
}

// TestTooManySteps checks that a filter is refused if it takes more steps than it may, and that it ends with its context.
func TestTooManySteps(t *testing.T) {
	s := makeSet(benchRows(manyRows()))
	f, err := filter.Parse(repeated(`(pod!~:"z%d"+node!:"n%[1]d")`, "|", 2000))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Within(filter.NewSteps(t.Context(), int64(manyRows())*100)).Bind(s)
	if !errors.Is(err, allocation.ErrTooMuch) || !strings.Contains(err.Error(), "give fewer or simpler comparisons") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Within(filter.NewSteps(ctx, 0)).Bind(s); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the end of the request", err)
	}
}

// TestManyValues compares with so many values that they are looked up instead of compared one by one.
func TestManyValues(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	word := func(most int) string {
		b := make([]byte, rnd.IntN(most+1))
		for i := range b {
			b[i] = "ab-\xc3\xff"[rnd.IntN(5)]
		}
		return string(b)
	}
	for range 2000 {
		plain := make([]row, 20)
		for i := range plain {
			plain[i] = row{pod: word(8)}
		}
		c := &filter.Comparison{Field: filter.Pod, Op: filter.Op(rnd.IntN(int(filter.NotSuffix) + 1))}
		for range 5 + rnd.IntN(20) {
			c.Values = append(c.Values, word(6)+pick(rnd, []string{"", "a", "b"}))
		}
		match := bound(filter.New(c), makeSet(plain))
		for i, r := range plain {
			if got, want := match(i), evaluate(c, r); got != want {
				t.Fatalf("%s on %q: got %v, want %v", filter.New(c), r.pod, got, want)
			}
		}
	}
}

// TestRepeatedComparisons checks lists of comparisons of the same fields against the plain evaluator.
func TestRepeatedComparisons(t *testing.T) {
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		plain := make([]row, 15)
		for i := range plain {
			plain[i] = randomRow(rnd)
		}
		fields := []filter.Field{randomFields[rnd.IntN(len(randomFields))], randomFields[rnd.IntN(len(randomFields))]}
		var list func(depth int) filter.Expr
		list = func(depth int) filter.Expr {
			parts := make([]filter.Expr, 3+rnd.IntN(6))
			for i := range parts {
				if depth > 0 && rnd.IntN(4) == 0 {
					parts[i] = list(depth - 1)
					continue
				}
				c := &filter.Comparison{Field: fields[rnd.IntN(2)], Op: filter.Op(rnd.IntN(int(filter.NotSuffix) + 1)), Values: []string{pick(rnd, words)}}
				if (c.Field == filter.Label || c.Field == filter.Annotation) && rnd.IntN(3) > 0 {
					c.Key = pick(rnd, keys)
				}
				parts[i] = c
			}
			if rnd.IntN(2) == 0 {
				return filter.And(parts)
			}
			return filter.Or(parts)
		}
		e := list(2)
		f := filter.New(e, options()...)
		text := f.String()
		match := bound(f, makeSet(plain))
		for i, r := range plain {
			if got, want := match(i), evaluate(e, r); got != want {
				t.Fatalf("seed %d: %s on %+v: got %v, want %v", seed, f, r, got, want)
			}
		}
		if f.String() != text {
			t.Fatalf("binding changes %s to %s", text, f)
		}
	}
}
