package filter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// wide is a filter of 4,000 branches that each row runs through: ten million steps over 40,000 rows.
func wide(t *testing.T) *filter.Filter {
	t.Helper()
	f, err := filter.Parse(repeated(`(node:"x%d"+namespace:"x")`, "|", 2000))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestStepsOfARequest binds filters to as many sets as a request may have. Each binding takes few steps, but all of them together exceed
// the limit.
func TestStepsOfARequest(t *testing.T) {
	s, alone := makeSet(benchRows(40_000)), wide(t)
	steps := filter.NewSteps(t.Context(), 0)
	filters := []allocation.Filter{alone.Within(steps), wide(t).Within(steps)}
	bound, err := 0, error(nil)
	for ; bound < 1000 && err == nil; bound++ {
		_, err = filters[bound%2].Bind(s)
	}
	if !errors.Is(err, allocation.ErrTooMuch) || !strings.Contains(err.Error(), "or a shorter window") || bound < 4 || bound > 6 {
		t.Fatalf("%v after %d sets", err, bound)
	}
	few, err := filter.Parse(`pod:"a"`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := few.Within(steps).Bind(s); !errors.Is(err, allocation.ErrTooMuch) || !errors.Is(steps.Err(), allocation.ErrTooMuch) {
		t.Errorf("another filter of the request: %v", err)
	}
	if _, err := few.Within(filter.NewSteps(t.Context(), 0)).Bind(s); err != nil {
		t.Errorf("another request: %v", err)
	}
	for range 6 {
		if _, err := alone.Bind(s); err != nil {
			t.Fatalf("without a request: %v", err)
		}
	}
}

// TestStepsOfAssets filters assets until there are no more steps, and until the request ends.
func TestStepsOfAssets(t *testing.T) {
	a := allocation.Asset{Labels: map[string]string{}}
	for i := range 400 {
		a.Labels[fmt.Sprint("k", i)] = "v"
	}
	f, err := filter.ParseAssets(repeated(`label[k%d]:"x"`, "|", 300) + `|cluster:""`)
	if err != nil {
		t.Fatal(err)
	}
	steps := filter.NewSteps(t.Context(), 0)
	match, selected := f.BindAssets(steps), 0
	for range 10_000 {
		if match(&a) {
			selected++
		}
	}
	if err := steps.Err(); !errors.Is(err, allocation.ErrTooMuch) || selected < 1000 || selected > 3000 {
		t.Errorf("%d selected, %v", selected, err)
	}
	labels, err := filter.ParseLabelSelector(repeated("!x%d", ",", 5000))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	steps = filter.NewSteps(ctx, 0)
	match = filter.NewAssets(labels).BindAssets(steps)
	if !match(&allocation.Asset{}) || steps.Err() != nil {
		t.Errorf("an asset is not selected, %v", steps.Err())
	}
	cancel()
	for range 1000 {
		match(&allocation.Asset{})
	}
	if err := steps.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the request: %v", err)
	}
}
