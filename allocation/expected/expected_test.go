package expected_test

import (
	"math"
	"slices"
	"testing"

	"github.com/promcost/promcost/allocation/expected"
)

// past is days of these costs, the last day first, of which NaN are days without data.
func past(costs ...float64) (p expected.Past) {
	for i, v := range costs {
		p[i] = expected.Day{Cost: v, Known: !math.IsNaN(v)}
		if math.IsNaN(v) {
			p[i].Cost = 0
		}
	}
	return p
}

func repeat(n int, costs ...float64) []float64 { return slices.Repeat(costs, n) }

var none = math.NaN()

// grown are four weeks of a cost that grew by 1 a day up to 38.
func grown() (costs []float64) {
	for i := range expected.Horizon {
		costs = append(costs, float64(38-i))
	}
	return costs
}

func TestExpected(t *testing.T) {
	for _, tc := range []struct {
		name           string
		past           expected.Past
		cost           float64
		want, spread   float64
		score          float64
		unknown, usual bool
	}{
		{name: "as always", past: past(repeat(28, 10)...), cost: 10, want: 10, spread: 0.5, usual: true},
		{name: "a spike", past: past(repeat(28, 10)...), cost: 30, want: 10, spread: 0.5, score: 40},
		{name: "a spike a week ago is no rule", past: past(append(repeat(6, 10), append([]float64{30}, repeat(21, 10)...)...)...), cost: 10, want: 10, spread: 0.5, usual: true},
		{name: "the first day of a step", past: past(repeat(28, 10)...), cost: 12, want: 10, spread: 0.5, score: 4},
		{name: "a week after a step", past: past(append(repeat(7, 12), repeat(21, 10)...)...), cost: 12, want: 10, spread: 0.5, score: 4},
		// 12, 12, 10, 10: the median is 11, and each is off by 1.
		{name: "two weeks after a step", past: past(append(repeat(14, 12), repeat(14, 10)...)...), cost: 12, want: 11, spread: 1.4826, score: 1 / 1.4826, usual: true},
		{name: "three weeks after a step", past: past(append(repeat(21, 12), repeat(7, 10)...)...), cost: 12, want: 12, spread: 0.6, usual: true},
		{name: "a weekly rhythm, on its day", past: past(repeat(4, 2, 2, 2, 2, 2, 2, 20)...), cost: 20, want: 20, spread: 1, usual: true},
		{name: "a weekly rhythm, on another day", past: past(repeat(4, 20, 2, 2, 2, 2, 2, 2)...), cost: 20, want: 2, spread: 0.1, score: 180},
		// 32, 25, 18, 11: the median is 21.5, and they are off by 10.5, 3.5, 3.5 and 10.5.
		{name: "growth is not extrapolated", past: past(grown()...), cost: 39, want: 21.5, spread: 1.4826 * 7, score: 17.5 / (1.4826 * 7), usual: true},
		{name: "a weekday without data: the last seven days", past: past(1, 2, 3, 4, 5, 6, none, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9), cost: 3.5, want: 3.5, spread: 1.4826 * 1.5, usual: true},
		{name: "a day without data is no free day", past: past(10, none, 10, none, 10, none, 10), cost: 10, want: 10, spread: 0.5, usual: true},
		{name: "three days", past: past(10, 10, 10, none, none, none, none, 10, 10), unknown: true},
		{name: "no days", unknown: true},
		{name: "a new key", past: past(repeat(28, 0)...), cost: 50, unknown: true},
		{name: "a key of three days", past: past(append(repeat(3, 50), repeat(25, 0)...)...), cost: 50, unknown: true},
		{name: "a key of four days", past: past(append(repeat(4, 50), repeat(24, 0)...)...), cost: 60, want: 50, spread: 2.5, score: 4},
		{name: "a key that is gone", past: past(repeat(28, 10)...), cost: 0, want: 10, spread: 0.5, score: -20},
		{name: "a key that is gone for four weeks", past: past(append(repeat(27, 0), 10)...), want: 0, spread: 0.01, usual: true},
		{name: "cents", past: past(repeat(28, 0.001)...), cost: 0.02, want: 0.001, spread: 0.01, score: 1.9, usual: true},
		{name: "a credit", past: past(repeat(28, -10)...), cost: -10, want: -10, spread: 0.5, usual: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, ok := expected.Of(tc.past.Like(0))
			if ok == tc.unknown {
				t.Fatalf("known %t of %v", ok, tc.past.Like(0))
			}
			if tc.unknown {
				return
			}
			for _, x := range [][3]any{{"expected", c.Expected, tc.want}, {"spread", c.Spread, tc.spread}, {"score", c.Score(tc.cost), tc.score}} {
				if got, want := x[1].(float64), x[2].(float64); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s %v, want %v", x[0], got, want)
				}
			}
			if usual := math.Abs(c.Score(tc.cost)) < expected.Unusual-1e-9; usual != tc.usual {
				t.Errorf("usual %t with a score of %v", usual, c.Score(tc.cost))
			}
		})
	}
}

// TestLikeAhead checks which days a day to come is like: four of its weekday among those that are past.
func TestLikeAhead(t *testing.T) {
	p := past(repeat(4, 1, 2, 3, 4, 5, 6, 7)...) // the day before was 1, the one a week before 7
	for ahead, want := range []float64{7, 6, 5, 4, 3, 2, 1, 7, 6} {
		if got := p.Like(ahead); !slices.Equal(got, repeat(4, want)) {
			t.Errorf("%d days ahead: %v, want %v", ahead, got, want)
		}
	}
}

func TestPeriod(t *testing.T) {
	for _, tc := range []struct {
		name    string
		closed  float64
		left    [][]float64
		want    expected.Forecast
		unknown bool
	}{
		{name: "a month's end", closed: 300, want: expected.Forecast{Expected: 300, Low: 300, High: 300}},
		{name: "days alike", closed: 100, left: [][]float64{{10, 10, 10, 10}, {20, 20, 20, 20}}, want: expected.Forecast{Expected: 130, Low: 130, High: 130}},
		{name: "a spike in four weeks is drawn a quarter of the time", closed: 5, left: [][]float64{{10, 10, 10, 30}}, want: expected.Forecast{Expected: 15, Low: 15, High: 35}},
		// The sums are 2, 3 and 4, a quarter of the time, half of it and a quarter.
		{name: "two days", left: [][]float64{{1, 1, 2, 2}, {1, 1, 2, 2}}, want: expected.Forecast{Expected: 3, Low: 2, High: 4}},
		{name: "seldom dear", left: [][]float64{{0, 0, 0, 0, 0, 0, 0, 70}}, want: expected.Forecast{Expected: 0, Low: 0, High: 70}},
		{name: "a day that is like none", closed: 5, left: [][]float64{{10, 10, 10, 10}, nil}, unknown: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := expected.Period(tc.closed, tc.left)
			if ok == tc.unknown || got != tc.want {
				t.Errorf("%+v, %t, want %+v", got, ok, tc.want)
			}
		})
	}
}

// TestPeriodAdds checks that expected costs of periods of one key add, that equal questions have equal answers, and that percentiles surround
// what is expected where days do not lean to one side.
func TestPeriodAdds(t *testing.T) {
	day := []float64{8, 9, 11, 12}
	week, _ := expected.Period(7, [][]float64{day, day, day, day, day, day, day})
	again, _ := expected.Period(7, [][]float64{day, day, day, day, day, day, day})
	one, _ := expected.Period(0, [][]float64{day})
	if week != again || week.Expected != 7+7*one.Expected {
		t.Errorf("a week %+v, again %+v, a day %+v", week, again, one)
	}
	if !(week.Low < week.Expected && week.Expected < week.High) {
		t.Errorf("%+v", week)
	}
}
