package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// savingsFlags ask what containers should request.
type savingsFlags struct {
	window, profile, only, filter, output string
	limit                                 int
}

// defineQuerySavings is the query savings subcommand, which asks a Prometheus or a running promcost.
func defineQuerySavings(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	return addSavingsFlags(clause, io, anyPromcost(clause, io, logs))
}

// defineKubectlSavings is the kubectl savings subcommand, which asks the promcost of a cluster.
func defineKubectlSavings(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addSavingsFlags(clause, io, clusterPromcost(clause, io))
}

// addSavingsFlags adds the flags of the question to a subcommand, which asks whom open opens.
func addSavingsFlags(clause *kingpin.CmdClause, io streams, open opener) executor {
	f := &savingsFlags{}
	clause.Flag("window", "What time to look at: 7d, 2w, or two times separated by a comma.").Default("14d").StringVar(&f.window)
	oneOf(clause, "profile", "What recommends: tight, balanced or safe, or the formulas of krr, vpa or kubecost.", &f.profile, presetWords()...)
	oneOf(clause, "only", "What to recommend: all requests, or only smaller ones, which raise none.", &f.only, "all", "smaller")
	clause.Flag("filter", `Which workloads: namespace:"shop"+label[app]:"web" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	oneOf(clause, "output", "Output format: table, wide for all of its columns and whole names, json or csv; vpa for VerticalPodAutoscalers, which kubectl apply takes; kubectl for commands that set the requests, one a controller; patch for strategic merge patches that do, as Kustomize takes them. kubectl apply --server-side --force-conflicts --dry-run=server checks patches, but do not apply them so: kubectl apply removes what an object does not name.",
		&f.output, "table", wideOutput, "json", "csv", "vpa", "kubectl", "patch").Short('o')
	countOf(clause, "limit", "Most containers to show, those that save most first; 0 for all. The total is of all.", &f.limit, 0).Default("0")
	return open.then(f.query, io, &f.output)
}

// presetWords are the names of presets, the default first.
func presetWords() []string {
	words := []string{savings.DefaultPreset}
	for _, name := range savings.PresetNames() {
		if name != savings.DefaultPreset {
			words = append(words, name)
		}
	}
	return words
}

// query asks, and prints the answer.
func (f *savingsFlags) query(ctx context.Context, who *answerer, io streams) error {
	v := given(map[string]string{"window": f.window, "profile": f.profile, "filter": f.filter, "limit": strconv.Itoa(f.limit)})
	if f.only != "all" { // which servers without the parameter answer, too
		v.Set("only", f.only)
	}
	var answer savingsAnswer
	body, err := who.askFor(ctx, io, "/model/savings/requests", v, &answer)
	if err != nil {
		return err
	}
	switch f.output {
	case "json":
		return writeLine(io.raw, body)
	case "csv":
		return answer.writeCSV(io.raw)
	case "vpa":
		return answer.writeObjects(io, false, verticalPodAutoscaler)
	case "kubectl":
		return answer.writeCommands(io, answer.head(f.window, who.currency(ctx)))
	case "patch":
		return answer.writeObjects(io, true, requestPatch)
	}
	return answer.print(io.out, answer.head(f.window, who.currency(ctx)), io.layout(f.output))
}

// savingsAnswer is the answer of the API.
type savingsAnswer struct {
	Data struct {
		Profile                    string
		Count                      int
		MonthlySaving, MonthlyRisk float64
		CPU, Memory                exceeded // in the mean
		Notes                      []string
		Requests                   []savingsRow
	}
	BilledUntil *time.Time
}

// savingsRow is what a container should request.
type savingsRow struct {
	Cluster, Namespace, ControllerKind, Controller, Container string
	Owner                                                     *string
	Init                                                      bool
	RunningHours                                              float64
	LowConfidence                                             bool
	MonthlySaving, MonthlyRisk                                float64
	CPU, Memory                                               savingsAmount
}

// savingsAmount is what it should request of a resource, in cores or bytes; nil is unknown.
type savingsAmount struct {
	Request, Limit                           float64
	Recommended, RecommendedLimit, Low, High *float64
	Why                                      savings.Why
	MonthlySaving                            *float64
	exceeded
}

// raised reports whether the recommended request costs more although it is smaller than today's: for a part of the time less was requested.
func (a *savingsAmount) raised() bool {
	return a.Recommended != nil && a.MonthlySaving != nil && *a.Recommended < a.Request && *a.MonthlySaving < 0
}

// raisedBy is what raised requests of the container cost more than what was requested before, a month. The recommended ones, which are smaller than today's,
// lower that: it is no cost of them.
func (r *savingsRow) raisedBy() (cost float64) {
	for _, a := range [...]*savingsAmount{&r.CPU, &r.Memory} {
		if a.raised() {
			cost -= *a.MonthlySaving
		}
	}
	return cost
}

// tooLow is what higher requests of the container cost more a month, where today's are too low.
func (r *savingsRow) tooLow() float64 { return max(0, r.MonthlyRisk-r.raisedBy()) }

// exceeded is for which part of the time usage is above the recommended requests, and above today's; nil is unknown.
type exceeded struct{ Exceedance, CurrentExceedance *float64 }

// name is the container, and where it is.
func (r *savingsRow) name() string {
	return strings.Join([]string{r.Namespace, r.Controller, r.Container}, "/")
}

// head says what the answer is of, and in what its amounts are.
func (a *savingsAnswer) head(window, currency string) string {
	return visible.Text(fmt.Sprintf("requests by %s over %s, savings in %s a month, costs %s", a.Data.Profile, window, currency, pricesText(a.BilledUntil)))
}

// leastPart is the part of all savings and costs below which a container is not named in a table: hundreds of jobs come to a cent each.
const leastPart = 0.001

// print writes a table: what is requested and what should be, what that saves, and in words what it risks.
func (a *savingsAnswer) print(out io.Writer, head string, layout texttable.Layout) error {
	d := &a.Data
	fmt.Fprintf(out, "%s\n\n", texttable.Wrap(head, layout.Width))
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "CONTAINER", Long: texttable.Cut},
		{Name: "CPU", Right: true},
		{Name: "BETTER", Right: true},
		{Name: "MEMORY", Right: true},
		{Name: "BETTER", Right: true},
		{Name: "SAVES", Right: true},
		{Name: "COSTS", Right: true, Spare: true},
		{Name: "RISK", Long: texttable.Wrapped},
	}}
	small, saves, costs := 0, 0.0, 0.0
	raised := 0.0
	for i := range d.Requests {
		r := &d.Requests[i]
		raised += r.raisedBy()
		if !layout.Wide && max(r.MonthlySaving, r.MonthlyRisk) < leastPart*(d.MonthlySaving+d.MonthlyRisk) {
			small, saves, costs = small+1, saves+r.MonthlySaving, costs+r.tooLow()
			continue
		}
		t.Rows = append(t.Rows, []string{
			r.name(), coresText(&r.CPU.Request), coresText(r.CPU.Recommended), bytesText(&r.Memory.Request), bytesText(r.Memory.Recommended),
			money(r.MonthlySaving), money(r.tooLow()), r.risk(),
		})
	}
	if small > 0 {
		t.Rows = append(t.Rows, []string{counted(small, "{n} small {one|ones}"), "", "", "", "", money(saves), money(costs), "-o wide shows them"})
	}
	more := max(0, d.MonthlyRisk-raised)
	t.Rows = append(t.Rows, []string{"TOTAL", "", "", "", "", money(d.MonthlySaving), money(more), a.risk()})
	if err := t.Write(out, layout); err != nil {
		return err
	}
	notes := d.Notes
	if raised >= leastShown {
		notes = slices.Concat([]string{"Requests that were raised within the window cost " + money(raised) + " more than before. The recommended ones are smaller than they are now, and save nothing against the mean of the window: look again in a week"}, notes)
	}
	if more >= leastShown {
		notes = slices.Concat([]string{"COSTS: where a request is too low, a higher one costs " + money(more) + " more. That is a risk, and no part of what is saved"}, notes)
	}
	for i, note := range notes {
		if i == 0 {
			note = "\n" + note
		}
		if err := writeLine(out, texttable.Wrap(visible.Lines(note), layout.Width)); err != nil {
			return err
		}
	}
	return nil
}

func money(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// risk says in words how often usage is above the recommendations in the mean, nothing where that is not known.
func (a *savingsAnswer) risk() string {
	cpu, memory := a.Data.CPU.Exceedance, a.Data.Memory.Exceedance
	var words []string
	for _, of := range [...]struct {
		name string
		part *float64
	}{{"CPU", cpu}, {"memory", memory}} {
		if of.part != nil && *of.part > 0 {
			words = append(words, aboveRequest(of.name, *of.part))
		}
	}
	if len(words) == 0 && cpu != nil && memory != nil {
		return neverAbove
	}
	return strings.Join(words, ", ")
}

const neverAbove = "never above its requests"

// aboveRequest says how often usage of a resource is above its request.
func aboveRequest(resource string, part float64) string {
	return fmt.Sprintf("%s above its request %s of the time", resource, percent(part))
}

// risk says in words how often usage is above the recommendation, and what else there is to know.
func (r *savingsRow) risk() string {
	var words []string
	for _, of := range [...]struct {
		name   string
		amount *savingsAmount
	}{{"CPU", &r.CPU}, {"memory", &r.Memory}} {
		a := of.amount
		switch {
		case a.Why == savings.Autoscaled:
			words = append(words, of.name+" is scaled by a HorizontalPodAutoscaler")
		case a.Why == savings.TooShort:
			words = append(words, of.name+": ran for less than an hour")
		case a.Why == savings.Grows:
			words = append(words, of.name+" is left as it is, although more is needed")
		case a.Recommended == nil || a.Exceedance == nil:
			words = append(words, of.name+" usage is not known")
		case *a.Exceedance > 0:
			words = append(words, aboveRequest(of.name, *a.Exceedance))
		}
		if a.Recommended != nil && *a.Recommended > a.Request && a.CurrentExceedance != nil && *a.CurrentExceedance > 0 {
			words = append(words, fmt.Sprintf("%s now %s of the time", of.name, percent(*a.CurrentExceedance)))
		}
	}
	if len(words) == 0 {
		words = append(words, neverAbove)
	}
	if r.CPU.raised() || r.Memory.raised() {
		words = append(words, "was raised within the window")
	}
	if r.LowConfidence {
		words = append(words, fmt.Sprintf("rests on %.3g h only", r.RunningHours))
	}
	return strings.Join(words, ", ")
}

// percent is a part in words: 4 %, or less than what is told apart.
func percent(part float64) string {
	const least, whole = 0.1, 9.95 // from which on there are no decimals
	switch p := 100 * part; {
	case p < least:
		return fmt.Sprintf("less than %g %%", least)
	case p < whole:
		return strconv.FormatFloat(p, 'g', 2, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
}

// coresText is an amount of CPU as Kubernetes has it, – for nothing and for what is not known.
func coresText(cores *float64) string {
	if cores == nil || *cores == 0 {
		return "–"
	}
	return cpuQuantity(*cores)
}

// bytesText is an amount of memory to three digits, in the binary units in which people write requests; – for nothing and for what is not known.
func bytesText(bytes *float64) string {
	if bytes == nil || *bytes == 0 {
		return "–"
	}
	v, unit := *bytes/(1<<10), "Ki"
	for _, next := range [...]string{"Mi", "Gi", "Ti"} {
		if v >= 1<<10 {
			v, unit = v/(1<<10), next
		}
	}
	const digits = 3
	decimals := max(0, digits-1-int(math.Floor(math.Log10(v))))
	scale := math.Pow(10, float64(decimals))
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64) + unit
}
