package picture_test

import (
	"encoding/xml"
	"math"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/allocation/savings/picture"
)

// TestBacktest names every preset of a back-test beside its point, and no name lies over another.
func TestBacktest(t *testing.T) {
	points := []savings.Point{{Preset: "none", Slack: math.NaN(), Exceedance: math.NaN()}}
	for i, p := range savings.Presets() {
		points = append(points, savings.Point{Preset: p.Name, Slack: 0.3 + 0.001*float64(i), Exceedance: 0.02})
	}
	var drawn struct {
		Circles []struct{} `xml:"circle"`
		Texts   []struct {
			X     float64 `xml:"x,attr"`
			Y     float64 `xml:"y,attr"`
			Class string  `xml:"class,attr"`
			Text  string  `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal(picture.Backtest(points, "whose <usage>"), &drawn); err != nil {
		t.Fatal(err)
	}
	const keys = 2
	if want := len(points) - 1 + keys; len(drawn.Circles) != want {
		t.Errorf("%d circles, want %d", len(drawn.Circles), want)
	}
	places, last := map[[2]float64]string{}, ""
	for _, text := range drawn.Texts {
		if last = text.Text; !strings.HasPrefix(text.Class, "name") {
			continue
		}
		if was := places[[2]float64{text.X, text.Y}]; was != "" {
			t.Errorf("%s lies over %s", text.Text, was)
		}
		places[[2]float64{text.X, text.Y}] = text.Text
	}
	if len(places) != len(points)-1 || last != "whose <usage>" {
		t.Errorf("%d names, and %q below", len(places), last)
	}
}
