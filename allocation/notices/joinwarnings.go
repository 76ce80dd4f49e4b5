package notices

import (
	"regexp"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// HoleWarning warns that a set lacks the costs of the time w, and says why.
func HoleWarning(w allocation.Window, why string) string {
	return "no costs " + Clock(timeline.Interval{From: w.Start.UnixMilli(), To: w.End.UnixMilli()}) + ": " + why
}

// Holes are the parts of w that warnings say to lack costs: those of HoleWarning, and those of a window without data.
func Holes(warnings []string, w allocation.Window) (out []allocation.Window) {
	var holes timeline.Intervals
	for _, text := range warnings {
		if x := parseWarning(text); strings.HasPrefix(x.text, "no costs "+timesMark) || strings.HasPrefix(x.text, allocation.ErrNoData.Error()+" "+timesMark) {
			holes = append(holes, x.when...)
		}
	}
	for _, x := range timeline.Union(holes) {
		from, to := max(x.From, w.Start.UnixMilli()), min(x.To, w.End.UnixMilli())
		if from < to {
			out = append(out, allocation.Window{Start: time.UnixMilli(from), End: time.UnixMilli(to)})
		}
	}
	return out
}

// JoinWarnings makes one warning of those of several sets that are of a kind: things that they count and times that they list
// are joined, things that are named in several count once. It gives the warnings sorted, each once, and may change the list.
func JoinWarnings(warnings []string) []string {
	var kinds []*joined
	at := map[string]int{}
	for _, text := range allocation.SortWarnings(warnings) {
		x := parseWarning(text)
		key := x.key()
		if i, ok := at[key]; ok {
			kinds[i].join(x)
			continue
		}
		at[key] = len(kinds)
		kinds = append(kinds, x)
	}
	out := make([]string, len(kinds))
	for i, x := range kinds {
		out[i] = x.String()
	}
	if len(out) == 0 {
		return warnings[:0]
	}
	return allocation.SortWarnings(out)
}

// joined is one warning, or several as one.
type joined struct {
	text   string  // of the first of them, with timesMark in place of its times
	notice *notice // its counted content, nil if it counts nothing
	listed string  // its times as they are listed
	when   timeline.Intervals
	more   bool // there are times besides
	again  bool // others were joined
}

// timesMark stands for times in a text.
const timesMark = "\x00"

// Lists of times in warnings.
var (
	spanText  = regexp.MustCompile(`from (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) to (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)`)
	timesList = regexp.MustCompile(spanText.String() + `(?:(?:, | and )` + spanText.String() + `)*(, …| and \d+ times more)?`)
)

// parseWarning is what a warning says.
func parseWarning(text string) *joined {
	x := &joined{text: text}
	if at := timesList.FindStringSubmatchIndex(text); at != nil {
		x.listed, x.more = text[at[0]:at[1]], at[len(at)-1] >= 0
		x.text = text[:at[0]] + timesMark + text[at[1]:]
		for _, span := range spanText.FindAllStringSubmatch(x.listed, -1) {
			from, err := time.Parse(time.RFC3339, span[1])
			to, err2 := time.Parse(time.RFC3339, span[2])
			if err != nil || err2 != nil {
				return &joined{text: text} // such as a 31st of February
			}
			x.when = append(x.when, timeline.Interval{From: from.UnixMilli(), To: to.UnixMilli()})
		}
	}
	x.notice, _ = parseNotice(x.text)
	return x
}

// key identifies warnings of one kind.
func (x *joined) key() string {
	if x.notice == nil {
		return x.text
	}
	return string(x.notice.kind) + timesMark + strings.Join(x.notice.more, timesMark)
}

// join adds another warning of the kind.
func (x *joined) join(o *joined) {
	if x.notice != nil {
		x.notice.join(o.notice)
	}
	x.when, x.more, x.again = append(x.when, o.when...), x.more || o.more, true
}

// maxTimes is how many times a warning lists that others were joined to.
const maxTimes = 10

// String is the warning.
func (x *joined) String() string {
	text := x.text
	if x.notice != nil {
		text = x.notice.String()
	}
	if x.again {
		when := timeline.Union(x.when)
		list := make([]string, min(len(when), maxTimes))
		for i := range list {
			list[i] = Clock(when[i])
		}
		x.listed = strings.Join(list, ", ")
		if x.more || len(when) > maxTimes {
			x.listed += andMore
		}
	}
	return strings.Replace(text, timesMark, x.listed, 1)
}
