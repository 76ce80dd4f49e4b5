package report

import (
	"strings"

	"github.com/promcost/promcost/allocation/visible"
)

// Markdown is the report as a text in GitHub's Markdown. Names of others are text in it, whatever they are.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString("# " + inMarkdown(r.Title) + "\n\n**" + inMarkdown(r.Window.text()) + "**: " + inMarkdown(r.headline()) + "\n")
	for _, t := range r.tables() {
		b.WriteString("\n## " + inMarkdown(t.Heading) + "\n\n")
		if t.Note != "" {
			b.WriteString(inMarkdown(t.Note) + "\n")
		}
		if len(t.Rows) == 0 {
			continue
		}
		if t.Note != "" {
			b.WriteString("\n")
		}
		if t.IsList() {
			for _, row := range t.Rows {
				b.WriteString("- " + inMarkdown(row[0]) + "\n")
			}
			continue
		}
		for _, c := range t.Columns {
			b.WriteString("| " + inMarkdown(c.Name) + " ")
		}
		b.WriteString("|\n")
		for _, c := range t.Columns {
			b.WriteString(map[bool]string{false: "| --- ", true: "| ---: "}[c.Number])
		}
		b.WriteString("|\n")
		for _, row := range t.Rows {
			b.WriteString("|")
			for _, cell := range row {
				b.WriteString(" " + inMarkdown(cell) + " |")
			}
			b.WriteString("\n")
		}
	}
	if r.URL != "" {
		b.WriteString("\n[Show it in promcost](<" + strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "").Replace(r.URL) + ">)\n")
	}
	return b.String()
}

// markup is what Markdown takes for markup within a line.
var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "#", `\#`, "~", `\~`, "@", "&#64;", "://", ":&#47;&#47;")

// inMarkdown is a text as Markdown that shows it.
func inMarkdown(text string) string { return markup.Replace(visible.Text(text)) }
