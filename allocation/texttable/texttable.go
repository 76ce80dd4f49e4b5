// Package texttable writes tables for people: aligned columns that fit the width of a terminal.
package texttable

import (
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/promcost/promcost/allocation/visible"
)

// Column is a column of a table.
type Column struct {
	Name  string
	Right bool  // aligned to the right, as numbers are
	Spare bool  // left out where no row has more in it than zeros and dashes
	Rank  int   // in a table that is too wide, columns of the highest rank are left out first; those of rank 0 stay
	Long  Style // what happens to cells that are too long
}

// Style says what happens to a cell that is wider than what is left for it.
type Style int

// Styles of columns.
const (
	Whole   Style = iota // nothing
	Cut                  // its middle is left out, for the ends of names tell them apart
	Wrapped              // it goes on in the lines below
)

// Table is lines of cells below the names of their columns. A line of a single cell is a remark, which no column is made wider for.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Layout says how a table is written.
type Layout struct {
	Width int  // cells of the terminal in a line; 0 is any number
	Wide  bool // all columns, however wide that is
}

// gap is how many cells are between columns.
const gap = 2

// least are the least widths that cells are made narrower to.
var least = map[Style]int{Cut: 12, Wrapped: 20}

// Fits reports whether the table has all of its columns, and whole cells, in that layout.
func (t *Table) Fits(o Layout) bool {
	v := t.visible(o)
	return o.Wide || o.Width == 0 || v.width() <= o.Width
}

// Write writes the table. What a terminal would obey in its cells is shown as an escape.
func (t *Table) Write(w io.Writer, o Layout) error {
	v := t.visible(o)
	if !o.Wide && o.Width > 0 {
		v.narrow(o.Width)
	}
	_, err := io.WriteString(w, v.text())
	return err
}

// view is the columns of a table that are shown, and how wide they are.
type view struct {
	columns []Column
	lines   [][]string // the first is the names
	widths  []int
}

// visible is a view of the columns that have something in them.
func (t *Table) visible(o Layout) *view {
	v := &view{}
	names := []string{}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	v.lines = append(v.lines, names)
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = visible.Text(cell)
		}
		v.lines = append(v.lines, cells)
	}
	v.columns = slices.Clone(t.Columns)
	v.measure()
	for i, c := range slices.Backward(t.Columns) {
		if c.Spare && !o.Wide && v.isEmpty(i) {
			v.drop(i)
		}
	}
	return v
}

// measure finds how wide the columns are.
func (v *view) measure() {
	v.widths = make([]int, len(v.columns))
	for n, cells := range v.lines {
		if n > 0 && len(cells) == 1 {
			continue
		}
		for i, cell := range cells {
			v.widths[i] = max(v.widths[i], cellsOf(cell))
		}
	}
}

// isEmpty reports whether a column has nothing but zeros and dashes.
func (v *view) isEmpty(column int) bool {
	for _, cells := range v.lines[1:] {
		if len(cells) > column && len(cells) > 1 && strings.Trim(cells[column], "0.–-%") != "" {
			return false
		}
	}
	return true
}

// drop leaves a column out.
func (v *view) drop(column int) {
	v.columns = slices.Delete(v.columns, column, column+1)
	v.widths = slices.Delete(v.widths, column, column+1)
	for i, cells := range v.lines {
		if len(cells) > column && (i == 0 || len(cells) > 1) {
			v.lines[i] = slices.Delete(cells, column, column+1)
		}
	}
}

// width is that of a line.
func (v *view) width() int {
	sum := -gap
	for _, w := range v.widths {
		if w > 0 {
			sum += w + gap
		}
	}
	return sum
}

// narrow leaves out columns, and makes others narrower, until a line fits the width.
func (v *view) narrow(width int) {
	for {
		last := -1
		for i, c := range v.columns {
			if c.Rank > 0 && (last < 0 || c.Rank >= v.columns[last].Rank) {
				last = i
			}
		}
		if last < 0 || v.width()-v.give() <= width {
			break
		}
		v.drop(last)
	}
	for _, style := range [...]Style{Wrapped, Cut} {
		for i, c := range v.columns {
			if over := v.width() - width; c.Long == style && over > 0 {
				v.widths[i] = max(min(v.widths[i], least[style]), v.widths[i]-over)
			}
		}
	}
}

// give is by how much columns can be made narrower before any is left out: they keep twice their least width.
func (v *view) give() (sum int) {
	for i, c := range v.columns {
		if n, ok := least[c.Long]; ok {
			sum += max(0, v.widths[i]-2*n)
		}
	}
	return sum
}

// text is the lines of the view.
func (v *view) text() string {
	var b strings.Builder
	for n, cells := range v.lines {
		if n > 0 && len(cells) == 1 {
			b.WriteString(cells[0] + "\n")
			continue
		}
		for len(cells) > 0 {
			cells = v.line(&b, cells)
		}
	}
	return b.String()
}

// line writes a line, and returns the cells of what goes on in the next one.
func (v *view) line(b *strings.Builder, cells []string) (rest []string) {
	var line strings.Builder
	for i, cell := range cells {
		w := v.widths[i]
		if w == 0 {
			continue
		}
		if style := v.columns[i].Long; style == Cut {
			cell = cutMiddle(cell, w)
		} else if style == Wrapped {
			var more string
			if cell, more = wrapAt(cell, w); more != "" {
				rest = make([]string, len(cells))
				rest[i] = more
			}
		}
		pad := strings.Repeat(" ", max(0, w-cellsOf(cell)))
		if v.columns[i].Right {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
		line.WriteString(strings.Repeat(" ", gap))
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	return rest
}

// cutMiddle is a text of at most so many cells: … stands for its middle.
func cutMiddle(text string, most int) string {
	if cellsOf(text) <= most {
		return text
	}
	runes := []rune(text)
	head, tail, used := 0, len(runes), 1
	for {
		next := head // the head grows first, so that it is as long as the tail or longer by one
		if head > len(runes)-tail {
			next = tail - 1
		}
		if w := cellsOfRune(runes[next]); used+w <= most {
			used += w
		} else {
			return string(runes[:head]) + "…" + string(runes[tail:])
		}
		if next == head {
			head++
		} else {
			tail--
		}
	}
}

// CutEnd is a text of at most so many cells: … stands for its end. It is the whole text if that is no number of cells.
func CutEnd(text string, most int) string {
	if most <= 0 || cellsOf(text) <= most {
		return text
	}
	used := 1
	for i, r := range text {
		if used += cellsOfRune(r); used > most {
			return text[:i] + "…"
		}
	}
	return text
}

// Wrap is a text in lines of at most so many cells, without the last line feed. It is the text as it is if that is no number of cells.
func Wrap(text string, most int) string {
	if most <= 0 {
		return text
	}
	var lines []string
	for rest := text; ; {
		var line string
		line, rest = wrapAt(rest, most)
		lines = append(lines, line)
		if rest == "" {
			return strings.Join(lines, "\n")
		}
	}
}

// WrapLines wraps each line of a text, and indents what goes on as the line is. A text that ends with a line feed still does.
func WrapLines(text string, most int) string {
	if most <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		body := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(body)]
		lines[i] = indent + strings.ReplaceAll(Wrap(body, max(1, most-len(indent))), "\n", "\n"+indent)
	}
	return strings.Join(lines, "\n")
}

// wrapAt divides a text at the last blank within so many cells, or there if it has none.
func wrapAt(text string, most int) (line, rest string) {
	if cellsOf(text) <= most {
		return text, ""
	}
	used, blank := 0, -1
	for i, r := range text {
		if r == ' ' {
			blank = i
		}
		if used += cellsOfRune(r); used > most {
			if blank > 0 {
				return text[:blank], strings.TrimLeft(text[blank:], " ")
			}
			if i == 0 { // a terminal that is narrower than a character
				i = len(string(r))
			}
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// cellsOf is how many cells of a terminal a text takes.
func cellsOf(text string) (sum int) {
	for _, r := range text {
		sum += cellsOfRune(r)
	}
	return sum
}

func cellsOfRune(r rune) int {
	if r < unicode.MaxASCII {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		return 2
	}
	return 1
}
