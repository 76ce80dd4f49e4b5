package report

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"math"
	"strings"
)

// causesHeading is the heading of the section that pages draw.
const causesHeading = "Why the cost changed"

//go:embed report.html.tmpl
var page string

// HTML writes the report as a page with its pictures in it, for screens and for paper.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	type section struct {
		table
		Picture template.HTML // in place of the rows
	}
	about := struct {
		Title, Window, Headline, URL string
		Tables                       []section
	}{r.Title, r.Window.text(), r.headline(), r.URL, nil}
	for _, t := range r.tables() {
		of := section{table: t}
		if t.Heading == causesHeading {
			of.Picture = template.HTML(picture(r.Total.Causes)) //nolint:gosec // its texts are escaped
		}
		about.Tables = append(about.Tables, of)
	}
	if err := t.Execute(w, about); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// picture draws causes as bars to the right, of what became more, and to the left: SVG, or nothing without causes.
func picture(causes []Cause) string {
	const width, names, line, bar = 640, 250, 26, 16
	most := 0.0
	for _, c := range causes {
		most = max(most, math.Abs(c.Amount))
	}
	if most == 0 {
		return ""
	}
	const middle, room = names + (width-names)/2, (width-names)/2 - 60 // 60 for the number beside a bar
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Causes of the change">`, width, line*len(causes)+4)
	fmt.Fprintf(&b, `<line x1="%d" y1="0" x2="%[1]d" y2="%d"/>`, middle, line*len(causes)+4)
	for i, c := range causes {
		length := math.Abs(c.Amount) / most * room
		class, x, number, anchor := "more", float64(middle), middle+length+6, "start"
		if c.Amount < 0 {
			class, x, number, anchor = "less", middle-length, middle-length-6, "end"
		}
		y := line*i + 4
		fmt.Fprintf(&b, `<text x="0" y="%d">%s</text>`, y+13, html.EscapeString(c.Title))
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"/>`, class, x, y, length, bar)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`, number, y+13, anchor, signed(c.Amount))
	}
	b.WriteString("</svg>")
	return b.String()
}
