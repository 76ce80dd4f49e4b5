package encode

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/change"
)

// Changed is what an answer about a change has. Rows are those to show, in their order; the total is of all.
type Changed struct {
	Baseline, Window allocation.Window
	Missing          []allocation.Window // parts of either that lack costs
	Sides            [2]change.Side      // the baseline first
	Total            change.Row
	Rows             []change.Row
	Drilled          bool // rows have parts, or could have
}

// Change writes why costs changed: the windows, what of them lacks costs, the total, and the rows with their effects. The sets only give their warnings.
func Change(w io.Writer, c *Changed, sets []*allocation.Set, o Options) error {
	s := newStream(w)
	s.b = appendWindow(append(s.b, `{"code":200,"status":"success","data":{"window":`...), c.Window, o.location())
	s.b = appendWindow(append(s.b, `,"baselineWindow":`...), c.Baseline, o.location())
	for i, w := range c.Missing {
		begin := `,`
		if i == 0 {
			begin = `,"missing":[`
		}
		s.b = appendWindow(append(s.b, begin...), w, o.location())
	}
	if len(c.Missing) > 0 {
		s.b = append(s.b, ']')
	}
	before := &c.Sides[0].Covered
	s.b = appendNumber(append(s.b, `,"baselineCoveredHours":`...), before.Hours)
	s.b = appendNumber(append(s.b, `,"baselineWindowHours":`...), before.Window)
	if text, ok := change.Comparable(c.Sides[0], c.Sides[1]); !ok {
		s.b = appendString(append(s.b, `,"notComparable":`...), text)
	}
	s.b = c.appendChange(append(s.b, `,"total":{`...), &c.Total)
	s.b = append(s.b, `},"rows":[`...)
	for i := range c.Rows {
		r := &c.Rows[i]
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = c.appendNamedChange(s.b, r)
		if c.Drilled {
			s.b = append(s.b, `,"parts":[`...)
			for k := range r.Parts {
				if k > 0 {
					s.b = append(s.b, ',')
				}
				s.b = append(c.appendNamedChange(s.b, &r.Parts[k]), '}')
			}
			s.b = append(s.b, ']')
		}
		s.b = append(s.b, '}')
		s.checkpoint()
	}
	s.b = o.finish(append(s.b, "]}"...), o.sorted(o.setWarnings(sets)), stretches(sets[min(1, len(sets)):]))
	return s.close()
}

// appendNamedChange begins the object of a row.
func (c *Changed) appendNamedChange(b []byte, r *change.Row) []byte {
	b = appendString(append(b, `{"name":`...), r.Name)
	return c.appendChange(append(b, ','), r)
}

// appendChange appends the numbers of a row as members. The relative change is null where the windows cannot be compared.
func (c *Changed) appendChange(b []byte, r *change.Row) []byte {
	b = appendNumber(append(b, `"baseline":`...), r.Baseline)
	b = appendNumber(append(b, `,"cost":`...), r.Cost)
	b = appendNumber(append(b, `,"change":`...), r.Change())
	if ratio, ok := r.Relative(c.Sides[0], c.Sides[1]); ok {
		b = appendNumber(append(b, `,"relative":`...), ratio)
	} else {
		b = append(b, `,"relative":null`...)
	}
	for i, v := range r.Effects {
		begin := `,`
		if i == 0 {
			begin = `,"effects":{`
		}
		b = appendString(append(b, begin...), change.Effect(i).String())
		b = appendNumber(append(b, ':'), v)
	}
	b = strconv.AppendBool(append(b, `},"withinBounds":`...), r.WithinBounds)
	if b = append(b, `,"since":`...); r.Since.IsZero() {
		b = append(b, "null"...)
	} else {
		b = appendTime(b, r.Since)
	}
	b = appendOwner(append(b, `,"owner":`...), r.Owner)
	b = appendOwner(append(b, `,"team":`...), r.Team)
	b = appendAmounts(append(b, `,"before":`...), &r.Before)
	return appendAmounts(append(b, `,"after":`...), &r.After)
}

// appendOwner appends whose something is, or null where nothing says so.
func appendOwner(b []byte, name string) []byte {
	if name == "" {
		return append(b, "null"...)
	}
	return appendString(b, name)
}

// amounts are the members of Amounts, in the order of answers.
var amounts = [...]struct {
	name string
	of   func(a *change.Amounts) float64
}{
	{"replicas", func(a *change.Amounts) float64 { return a.Replicas }},
	{"cores", func(a *change.Amounts) float64 { return a.Allocated[allocation.CPU] }},
	{"gib", func(a *change.Amounts) float64 {
		return a.Allocated[allocation.RAM] / allocation.RAM.PerPriceUnit()
	}},
	{"gpus", func(a *change.Amounts) float64 { return a.Allocated[allocation.GPU] }},
	{"corePrice", func(a *change.Amounts) float64 { return a.Prices[allocation.CPU] }},
	{"gibPrice", func(a *change.Amounts) float64 { return a.Prices[allocation.RAM] }},
	{"gpuPrice", func(a *change.Amounts) float64 { return a.Prices[allocation.GPU] }},
}

// appendAmounts appends what ran in a window as an object.
func appendAmounts(b []byte, a *change.Amounts) []byte {
	for i, member := range amounts {
		begin := byte(',')
		if i == 0 {
			begin = '{'
		}
		b = appendString(append(b, begin), member.name)
		b = appendNumber(append(b, ':'), member.of(a))
	}
	return append(b, '}')
}

// ChangeCSV writes why costs changed: a line for each row and, behind it, for each of its parts, whose names stand in a column of
// their own.
func ChangeCSV(w io.Writer, c *Changed) error {
	s := newStream(w)
	s.b = append(s.b, "Name,Part,Baseline,Cost,Change"...)
	for i := range change.NumEffects {
		s.b = append(append(s.b, ','), i.String()...)
	}
	s.b = append(s.b, ",WithinBounds,Since,Owner,Team"...)
	for _, side := range [...]string{"Before", "After"} {
		for _, member := range amounts {
			s.b = append(append(append(s.b, ','), side...), strings.ToUpper(member.name[:1])+member.name[1:]...)
		}
	}
	s.b = append(s.b, '\n')
	line := func(name, part string, r *change.Row) {
		s.b = appendCell(append(appendCell(s.b, name), ','), part)
		for _, v := range append([]float64{r.Baseline, r.Cost, r.Change()}, r.Effects[:]...) {
			s.b = appendNumber(append(s.b, ','), v)
		}
		s.b = append(strconv.AppendBool(append(s.b, ','), r.WithinBounds), ',')
		if !r.Since.IsZero() {
			s.b = r.Since.AppendFormat(s.b, time.RFC3339)
		}
		s.b = appendCell(append(appendCell(append(s.b, ','), r.Owner), ','), r.Team)
		for _, a := range [...]*change.Amounts{&r.Before, &r.After} {
			for _, member := range amounts {
				if s.b = append(s.b, ','); !math.IsNaN(member.of(a)) {
					s.b = appendNumber(s.b, member.of(a))
				}
			}
		}
		s.b = append(s.b, '\n')
		s.checkpoint()
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		line(r.Name, "", r)
		for k := range r.Parts {
			line(r.Name, r.Parts[k].Name, &r.Parts[k])
		}
	}
	return s.close()
}

// AssetDiff is an asset that is not in both windows, or costs something else.
type AssetDiff struct {
	Asset  *allocation.Asset // as it is in the later window, unless it is gone
	Window allocation.Window // of the set that the asset is from
	Kind   string            // added, removed or changed
}

// AssetDiffs writes differences of assets as Kubecost sends them: a map by the assets' names.
func AssetDiffs(w io.Writer, diffs []AssetDiff, sets []*assets.Set, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":{`...)
	for i, d := range diffs {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		s.b = appendString(s.b, d.Asset.Name)
		s.b = append(s.b, `:{"Entity":`...)
		s.b = o.appendAsset(s.b, d.Asset, appendWindow(nil, d.Window, o.location()))
		s.b = append(appendString(append(s.b, `,"Kind":`...), d.Kind), '}')
		s.checkpoint()
	}
	s.b = o.finish(append(s.b, '}'), o.sorted(o.assetWarnings(sets)), assetStretches(sets[max(0, len(sets)-1):]))
	return s.close()
}
