package texttable_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/promcost/promcost/allocation/texttable"
)

// costs is a table as questions print it.
var costs = texttable.Table{
	Columns: []texttable.Column{
		{Name: "NAME", Long: texttable.Cut},
		{Name: "CORES", Right: true, Rank: 2},
		{Name: "GPU", Right: true, Spare: true},
		{Name: "TOTAL", Right: true},
		{Name: "WHY", Long: texttable.Wrapped},
	},
	Rows: [][]string{
		{"payments/checkout-api-7c9d8f6b5d-x2x7k/istio-proxy", "1.500", "0.00", "12.30", "changed requests +4.00, usage above requests +2.00"},
		{"大きい", "0.250", "–", "0.10", "new +0.10"},
		{"… and 7 more"},
		{"TOTAL", "1.750", "0.00", "12.40", ""},
	},
}

func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    texttable.Layout
		want string
	}{
		{"any width", texttable.Layout{}, `
NAME                                                CORES  TOTAL  WHY
payments/checkout-api-7c9d8f6b5d-x2x7k/istio-proxy  1.500  12.30  changed requests +4.00, usage above requests +2.00
大きい                                              0.250   0.10  new +0.10
… and 7 more
TOTAL                                               1.750  12.40
`},
		{"wide", texttable.Layout{Width: 20, Wide: true}, `
NAME                                                CORES   GPU  TOTAL  WHY
payments/checkout-api-7c9d8f6b5d-x2x7k/istio-proxy  1.500  0.00  12.30  changed requests +4.00, usage above requests +2.00
大きい                                              0.250     –   0.10  new +0.10
… and 7 more
TOTAL                                               1.750  0.00  12.40
`},
		{"wrapped and cut", texttable.Layout{Width: 80}, `
NAME                                          CORES  TOTAL  WHY
payments/checkout-api-…b5d-x2x7k/istio-proxy  1.500  12.30  changed requests
                                                            +4.00, usage above
                                                            requests +2.00
大きい                                        0.250   0.10  new +0.10
… and 7 more
TOTAL                                         1.750  12.40
`},
		{"without a column", texttable.Layout{Width: 55}, `
NAME                        TOTAL  WHY
payments/chec…/istio-proxy  12.30  changed requests
                                   +4.00, usage above
                                   requests +2.00
大きい                       0.10  new +0.10
… and 7 more
TOTAL                       12.40
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := costs.Write(&b, tt.o); err != nil {
				t.Fatal(err)
			}
			if got := "\n" + b.String(); got != tt.want {
				t.Errorf("got:%swant:%s", got, tt.want)
			}
			fits := tt.o.Wide || tt.o.Width == 0
			if got := costs.Fits(tt.o); got != fits {
				t.Errorf("it fits: %v, want %v", got, fits)
			}
		})
	}
}

// FuzzWrite writes tables of any text into any width: no line is wider, where there is room for the least of each column.
func FuzzWrite(f *testing.F) {
	f.Add("payments/checkout-api-7c9d8f6b5d-x2x7k", "changed requests +4.00, usage above requests +2.00", 60)
	f.Add("大きい大きい大きい大きい大きい", "\x1b[31m\xff\u202e", 47)
	f.Fuzz(func(t *testing.T, name, why string, width int) {
		width = 50 + max(0, width%100)
		table := costs
		table.Rows = [][]string{{name, "1", "0", "2", why}}
		var b strings.Builder
		if err := table.Write(&b, texttable.Layout{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			cells := 0
			for _, r := range strings.TrimRight(line, "\n") {
				if !unicode.In(r, unicode.Mn, unicode.Me) { // these stand above others
					cells++
				}
			}
			if cells > width {
				t.Errorf("width %d: %d cells: %q", width, cells, line)
			}
		}
		if !utf8.ValidString(b.String()) || strings.ContainsRune(b.String(), '\x1b') {
			t.Errorf("a terminal obeys %q", b.String())
		}
	})
}

func ExampleTable() {
	t := texttable.Table{
		Columns: []texttable.Column{{Name: "NAME"}, {Name: "TOTAL", Right: true}},
		Rows:    [][]string{{"web", "1.50"}, {"search", "12.00"}},
	}
	var b strings.Builder
	_ = t.Write(&b, texttable.Layout{})
	fmt.Print(b.String())
	// Output:
	// NAME    TOTAL
	// web      1.50
	// search  12.00
}

func TestWrapLines(t *testing.T) {
	const text = "\nwhat is missing:\n\n    give prices with --pricing.file\n"
	for width, want := range map[int]string{0: text, 80: text, 24: "\nwhat is missing:\n\n    give prices with\n    --pricing.file\n"} {
		if got := texttable.WrapLines(text, width); got != want {
			t.Errorf("in %d cells: got %q, want %q", width, got, want)
		}
	}
}
