package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/allocation/windows"
)

// boundsFlags ask for a table of error bounds.
type boundsFlags struct {
	resolutions string
	running     string
	output      string
}

// bound is a cell of the table, as its JSON form shows it.
type bound struct {
	Resolution string  `json:"resolution"`
	Running    string  `json:"running"`
	Lower      float64 `json:"lower"` // of the true value; -1: may be missed altogether
	Upper      float64 `json:"upper"`
}

func defineBounds(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &boundsFlags{}
	clause.Flag("resolution", "Resolutions, separated by commas.").Default("1m,2m,5m,10m,30m,60m").StringVar(&f.resolutions)
	clause.Flag("running", "How long pods run, separated by commas.").Default("30s,5m,1h,1d,7d").StringVar(&f.running)
	oneOf(clause, "output", "Output format: table, wide (all columns, however wide) or json.", &f.output, "table", wideOutput, "json").Short('o')
	return func(context.Context) error { return printBounds(io, f) }
}

// printBounds writes the bounds of every resolution and running time asked, as factors of the true running time.
func printBounds(io streams, f *boundsFlags) error {
	resolutions, err := parseDurations("--resolution", f.resolutions)
	if err != nil {
		return err
	}
	running, err := parseDurations("--running", f.running)
	if err != nil {
		return err
	}
	cells := make([]bound, 0, len(resolutions)*len(running))
	for _, r := range resolutions {
		for _, d := range running {
			lower, upper := timeline.Bounds(d.value, r.value)
			cells = append(cells, bound{Resolution: r.text, Running: d.text, Lower: lower, Upper: upper})
		}
	}
	if f.output == "json" {
		enc := json.NewEncoder(io.out)
		enc.SetIndent("", "  ")
		return enc.Encode(cells)
	}
	return boundsTable(io, f, cells, len(running))
}

// boundsTable writes cells as a table with the given number of columns of running times.
func boundsTable(io streams, f *boundsFlags, cells []bound, columns int) error {
	t := texttable.Table{Columns: []texttable.Column{{Name: "resolution"}}}
	for i, c := range cells[:columns] {
		t.Columns = append(t.Columns, texttable.Column{Name: c.Running + " pod", Rank: i})
	}
	for row := range slices.Chunk(cells, columns) {
		line := []string{row[0].Resolution}
		for _, c := range row {
			line = append(line, fmt.Sprintf("%.2f, %.2f", c.Lower, c.Upper))
		}
		t.Rows = append(t.Rows, line)
	}
	return t.Write(io.out, io.layout(f.output))
}

// namedDuration is a duration and how it was written.
type namedDuration struct {
	text  string
	value time.Duration
}

// parseDurations reads a list of durations above 0, separated by commas.
func parseDurations(flag, list string) ([]namedDuration, error) {
	var durations []namedDuration
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		d, err := windows.ParseDuration(text)
		if err != nil {
			return nil, usageErrorf("parse %s %q: %w", flag, list, err)
		}
		if d <= 0 {
			return nil, usageErrorf("parse %s %q: %s is not above 0: give durations such as 1m,2m,1d", flag, list, text)
		}
		durations = append(durations, namedDuration{text: text, value: d})
	}
	return durations, nil
}
