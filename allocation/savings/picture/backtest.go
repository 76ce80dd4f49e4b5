// Package picture draws what savings find as SVG.
package picture

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/savings"
)

// The picture of a back-test: its size, where its axes are, and sizes of what it shows, in pixels.
const (
	width, height            = 720, 420
	left, right, top, bottom = 76, 700, 70, 356 // the axes
	line                     = 18
	dot                      = 6.0
	letter                   = 8.4 // width, about
)

// style has the colors of the picture, by those that its reader prefers.
const style = `<style>
svg { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.muted { font-size: 12px; } .title { font-size: 15px; } .title, .name { font-weight: 600; } .way, .axis { fill: none; } .way { stroke-dasharray: 3 3; }
.ground { fill: #fff; } text { fill: #1b2430; } .muted { fill: #596575; } .grid { stroke: #dfe3e8; } .axis { stroke: #596575; } .ours { fill: #0b5cad; } .peers { fill: #b26a12; } .way { stroke: #0b5cad; }
@media (prefers-color-scheme: dark) {
.ground { fill: #14181d; } text { fill: #e4e9ef; } .muted { fill: #a0acba; } .grid { stroke: #313a45; } .axis { stroke: #a0acba; } .ours { fill: #7db7f2; } .peers { fill: #f0b45c; } .way { stroke: #7db7f2; }
}
</style>
`

// Backtest draws points as SVG: how much of the CPU that they request is not used, against how often usage is above what they request. Points of which one is
// unknown are left out. below are lines of text under the picture: whose usage it is.
func Backtest(points []savings.Point, below ...string) []byte {
	var c chart
	for _, p := range points {
		if !math.IsNaN(p.Slack) && !math.IsNaN(p.Exceedance) {
			c.points = append(c.points, p)
			c.mostX, c.mostY = max(c.mostX, p.Slack), max(c.mostY, p.Exceedance)
		}
	}
	whole := height + line*len(below)
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Back-test of recommended CPU requests">`+"\n%s", width, whole, style)
	c.printf(`<rect class="ground" width="%d" height="%d" rx="8"/>`+"\n", width, whole)
	c.text(left, 28, "start", "title", "Back-test of recommended CPU requests")
	c.text(left, 48, "start", "muted", fmt.Sprintf("A request a day from the %d days before it. Nearer to the lower left corner is better.", savings.TrainingDays))
	c.key(442, ours, "promcost's profiles")
	c.key(588, peers, "formulas of others")
	c.axes()
	c.draw()
	for i, said := range below {
		c.text(left, float64(height-4+line*i), "start", "muted", said)
	}
	c.printf("</svg>\n")
	return c.out.Bytes()
}

// chart is a picture that is being drawn.
type chart struct {
	out          bytes.Buffer
	points       []savings.Point
	mostX, mostY float64 // ends of the axes
	taken        []box   // by names and dots
}

// box is a part of the picture.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

func (c *chart) printf(format string, args ...any) { fmt.Fprintf(&c.out, format, args...) }

func (c *chart) text(x, y float64, anchor, class, text string) {
	c.printf(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`+"\n", x, y, anchor, class, html.EscapeString(text))
}

// key says which points have the color of a class.
func (c *chart) key(x float64, class, text string) {
	c.printf(`<circle class="%s" cx="%.0f" cy="24" r="%.0f"/>`+"\n", class, x, dot-1)
	c.text(x+10, 28, "start", "muted", text)
}

func (c *chart) x(slack float64) float64 {
	return left + slack/c.mostX*(right-left)
}

func (c *chart) y(exceedance float64) float64 {
	return bottom - exceedance/c.mostY*(bottom-top)
}

// scale is an axis for numbers up to most: its end, and the distance of ticks, of which there are at most eight.
func scale(most float64) (end, step float64) {
	const room, ticks = 1.08, 8
	most = max(most*room, 0.001)
	for unit := 1e-4; ; unit *= 10 {
		for _, step := range [...]float64{unit, 2 * unit, 5 * unit} {
			if n := math.Ceil(most / step); n <= ticks {
				return n * step, step
			}
		}
	}
}

// axes draws both axes, with ticks in percent, and makes them end at a tick.
func (c *chart) axes() {
	var stepX, stepY float64
	c.mostX, stepX = scale(c.mostX)
	c.mostY, stepY = scale(c.mostY)
	percent := func(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }
	for i := 0; float64(i)*stepX <= c.mostX*1.001; i++ {
		at := c.x(float64(i) * stepX)
		c.printf(`<path class="grid" d="M%.1f %d V%d"/>`+"\n", at, top, bottom)
		c.text(at, bottom+18, "middle", "muted", percent(float64(i)*stepX))
	}
	for i := 0; float64(i)*stepY <= c.mostY*1.001; i++ {
		at := c.y(float64(i) * stepY)
		c.printf(`<path class="grid" d="M%d %.1f H%d"/>`+"\n", left, at, right)
		c.text(left-8, at+4, "end", "muted", percent(float64(i)*stepY))
	}
	c.printf(`<path class="axis" d="M%d %d V%d H%d"/>`+"\n", left, top, bottom, right)
	const middleX, middleY = (left + right) / 2, (top + bottom) / 2
	c.text(middleX, bottom+40, "middle", "label", "CPU requested and not used, part of the request")
	c.printf(`<text x="20" y="%d" text-anchor="middle" transform="rotate(-90 20 %d)">CPU usage above the request, part of the time</text>`+"\n", middleY, middleY)
}

// draw draws the points with their names, promcost's own presets joined by a line.
func (c *chart) draw() {
	var way strings.Builder
	for _, p := range c.points {
		x, y := c.x(p.Slack), c.y(p.Exceedance)
		c.taken = append(c.taken, box{x - dot, y - dot, x + dot, y + dot})
		if classOf(p) == ours {
			fmt.Fprintf(&way, " %.1f,%.1f", x, y)
		}
	}
	c.printf(`<polyline class="way" points="%s"/>`+"\n", way.String())
	for _, p := range c.points {
		c.printf(`<circle class="%s" cx="%.1f" cy="%.1f" r="%.0f"/>`+"\n", classOf(p), c.x(p.Slack), c.y(p.Exceedance), dot-1)
		c.name(p)
	}
}

// Classes of points: promcost's presets, and formulas of others.
const ours, peers = "ours", "peers"

func classOf(p savings.Point) string {
	if preset, err := savings.PresetNamed(p.Preset); err == nil && preset.Ours {
		return ours
	}
	return peers
}

// name writes the name of a point beside it, where no other name or point is.
func (c *chart) name(p savings.Point) {
	const high, gap = 15.0, dot + 3
	x, y, wide := c.x(p.Slack), c.y(p.Exceedance), letter*float64(len(p.Preset))
	var at box
	var anchor string
	for _, place := range [...]struct {
		anchor    string
		left, top float64
	}{
		{"start", gap, -high / 2},
		{"end", -gap - wide, -high / 2},
		{"middle", -wide / 2, -gap - high},
		{"middle", -wide / 2, gap},
		{"start", gap, -gap - high},
		{"start", gap, gap},
		{"end", -gap - wide, gap},
		{"end", -gap - wide, -gap - high},
	} {
		at, anchor = box{x + place.left, y + place.top, x + place.left + wide, y + place.top + high}, place.anchor
		if c.free(at) {
			break
		}
	}
	c.taken = append(c.taken, at)
	c.text(map[string]float64{"start": at.left, "middle": (at.left + at.right) / 2, "end": at.right}[anchor], at.bottom-4, anchor, "name "+classOf(p), p.Preset)
}

// free reports whether nothing else is in a part of the picture, which is within the axes.
func (c *chart) free(b box) bool {
	return !slices.ContainsFunc(c.taken, b.meets) && b.left > left && b.right < right && b.top > top && b.bottom < bottom
}
