package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/manifest"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
	"github.com/promcost/promcost/cmd/promcost/internal/document"
)

// predictFlags ask what manifests would cost.
type predictFlags struct {
	file, window, cluster, namespace, cost, unbilled, output string
	usage                                                    bool
	mostIncrease                                             float64 // a month; negative for any
}

// increaseError is the error of a change that costs more than is allowed.
type increaseError struct{ text string }

func (e *increaseError) Error() string { return e.text }

// definePredict is the predict subcommand, which asks a Prometheus or a running promcost.
func definePredict(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &predictFlags{mostIncrease: -1}
	clause.Flag("filename", "Rendered manifests, documents of YAML or JSON; - is standard input.").Short('f').PlaceHolder("FILE").Required().StringVar(&f.file)
	clause.Flag("window", "What time usage, replicas and prices are taken from: 7d, lastweek, or two times separated by a comma.").Default("7d").StringVar(&f.window)
	clause.Flag("for-cluster", "The cluster that the manifests are for, if the source has several.").PlaceHolder("ID").StringVar(&f.cluster)
	clause.Flag("namespace", "The namespace of manifests that name none.").Short('n').Default("default").StringVar(&f.namespace)
	clause.Flag("usage", "Count what workloads were seen to use above their requests. Without it: requests alone.").Default("true").BoolVar(&f.usage)
	addFlag(clause, "max-increase", "Exit with status 3 if the manifests cost more than this amount a month more than now, or if what one will cost is not known.", func(text string) (err error) {
		if f.mostIncrease, err = strconv.ParseFloat(text, 64); err != nil || !(f.mostIncrease >= 0 && f.mostIncrease <= math.MaxFloat64) {
			return errors.New("it must be an amount of money of 0 or more, such as 50")
		}
		return nil
	}).PlaceHolder("AMOUNT")
	addWhichCost(clause, &f.cost)
	addUnbilled(clause, &f.unbilled)
	oneOf(clause, "output", "Output format: table, markdown for a comment of a pull request, or json.", &f.output, "table", "markdown", "json").Short('o')
	return anyPromcost(clause, io, logs).then(f.predict, io, &f.output)
}

// parameters are the flags as the API's.
func (f *predictFlags) parameters() url.Values {
	v := url.Values{"format": {"json"}, "window": {f.window}, "defaultNamespace": {f.namespace}, "noUsage": {strconv.FormatBool(!f.usage)}, "unbilled": {f.unbilled}}
	if f.cluster != "" {
		v.Set("clusterID", f.cluster)
	}
	if f.cost == "list" {
		v.Set("reconcile", "false")
	}
	return v
}

// predictionPath is the path of predictions.
const predictionPath = "/model/prediction/speccost"

// predict asks, and prints the answer.
func (f *predictFlags) predict(ctx context.Context, who *answerer, io streams) error {
	text, err := document.ReadText(f.file, io.in, "filename")
	if err != nil {
		return err
	}
	if _, err := manifest.Parse(text); err != nil { // before anything is computed
		return fmt.Errorf("read --filename=%s: %w", f.file, err)
	}
	stop := showProgress(io.err, who.status)
	body, _, err := who.send(ctx, http.MethodPost, predictionPath, f.parameters(), text)
	stop()
	if err != nil {
		return err
	}
	var answer predictAnswer
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data.Workloads == nil {
		return fmt.Errorf("read answer of %s: it is not a promcost's that predicts costs: %w", who.name, err)
	}
	who.warnings = answer.Warnings
	answer.currency = who.currency(ctx)
	switch f.output {
	case "json":
		_, err = io.raw.Write(append(bytes.TrimRight(body, "\n"), '\n'))
	case "markdown":
		err = f.markdown(io.out, &answer)
	default:
		err = answer.table(io.out, f.heading(&answer, answer.Data.Cluster), io.layout(f.output))
	}
	if err != nil {
		return err
	}
	return f.verdict(&answer)
}

// verdict is an error if the manifests cost too much more than now, or if nobody can know: a check of changes must not let those through.
func (f *predictFlags) verdict(a *predictAnswer) error {
	if f.mostIncrease < 0 {
		return nil
	}
	change, unknown := a.Data.Total.CostChange.Total, a.unknown()
	above := change != nil && *change > f.mostIncrease
	switch {
	case len(unknown) > 0 && above:
		return &increaseError{fmt.Sprintf("the manifests cost %.2f %s a month more than now, and what %s will cost is not known: --max-increase allows %g: request less, or raise it", *change, a.currency, firstOf(unknown), f.mostIncrease)}
	case len(unknown) > 0:
		return &increaseError{fmt.Sprintf("--max-increase=%g cannot be judged, for what %s will cost is not known: give a --window with data, a price of what has none, or a file without them", f.mostIncrease, firstOf(unknown))}
	case above:
		return &increaseError{fmt.Sprintf("the manifests cost %.2f %s a month more than now, --max-increase allows %g: request less, or raise it", *change, a.currency, f.mostIncrease)}
	}
	return nil
}

// firstOf lists the first of names.
func firstOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// predictAnswer is the API's answer.
type predictAnswer struct {
	Data struct {
		Cluster   string
		Total     predictedCosts
		Workloads []predictedWorkload
		Unpriced  []manifest.Object
	}
	BilledUntil *time.Time
	Warnings    []string
	currency    string
}

// unknown are the names of the workloads of which it is not known what they will cost, or cost now.
func (a *predictAnswer) unknown() (names []string) {
	for i := range a.Data.Workloads {
		if r := &a.Data.Workloads[i]; r.CostChange.Total == nil {
			names = append(names, r.name())
		}
	}
	return names
}

// predictedCosts are costs a month; nil where unknown.
type predictedCosts struct {
	CostBefore, CostAfter, CostChange struct {
		Total *float64 `json:"totalMonthlyRate"`
	}
}

// predictedWorkload is a row of it.
type predictedWorkload struct {
	predictedCosts
	Namespace, ControllerKind, ControllerName string
	ReplicasBefore, ReplicasAfter             *float64
	Notes                                     []string
}

// name is that of the workload, as in deployment shop/web.
func (r *predictedWorkload) name() string {
	return visible.Text(r.ControllerKind + " " + r.Namespace + "/" + r.ControllerName)
}

// cells are the name and the costs now, then, and by how much they differ.
func (c *predictedCosts) cells(name string) []string {
	money := func(v *float64, format string) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf(format, *v+0) // without a minus before 0
	}
	return []string{name, money(c.CostBefore.Total, "%.2f"), money(c.CostAfter.Total, "%.2f"), money(c.CostChange.Total, "%+.2f")}
}

// replicas are how many there are and will be on average.
func (r *predictedWorkload) replicas() string {
	text := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return strconv.FormatFloat(*v, 'g', 3, 64)
	}
	return text(r.ReplicasBefore) + " → " + text(r.ReplicasAfter)
}

// heading says what the numbers are. name is that of the cluster, empty where there are no data.
func (f *predictFlags) heading(a *predictAnswer, name string) string {
	of, by := "the cluster "+name, "by what was used"
	if a.Data.Cluster == "" {
		of = "nodes"
	}
	if !f.usage {
		by = "by requests alone"
	}
	return visible.Text(fmt.Sprintf("Costs a month of 730 hours in %s %s, at the mean prices of %s and %s, window %s", a.currency, pricesText(a.BilledUntil), of, by, f.window))
}

// remarks are what else there is to say: notes of workloads, and what is not priced.
func (a *predictAnswer) remarks() (list []string) {
	for _, r := range a.Data.Workloads {
		for _, note := range r.Notes {
			list = append(list, r.name()+": "+visible.Text(note))
		}
	}
	kinds := map[string]int{}
	for _, o := range a.Data.Unpriced {
		kinds[o.Kind]++
	}
	var texts []string
	for _, kind := range sortedKeys(kinds) {
		texts = append(texts, fmt.Sprintf("%d %s", kinds[kind], visible.Text(kind)))
	}
	if len(texts) > 0 {
		list = append(list, "Not priced: "+strings.Join(texts, ", "))
	}
	return list
}

// table writes a line for each workload, the total and the remarks.
func (a *predictAnswer) table(out io.Writer, heading string, layout texttable.Layout) error {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "WORKLOAD", Long: texttable.Cut}, {Name: "NOW", Right: true}, {Name: "THEN", Right: true}, {Name: "CHANGE", Right: true}, {Name: "REPLICAS"},
	}}
	for _, r := range a.Data.Workloads {
		t.Rows = append(t.Rows, append(r.cells(r.name()), r.replicas()))
	}
	t.Rows = append(t.Rows, append(a.Data.Total.cells("TOTAL"), ""))
	if err := writeLine(out, texttable.Wrap(heading, layout.Width)+"\n"); err != nil {
		return err
	}
	if err := t.Write(out, layout); err != nil {
		return err
	}
	for i, remark := range a.remarks() {
		if i == 0 {
			remark = "\n" + remark
		}
		if err := writeLine(out, texttable.Wrap(remark, layout.Width)); err != nil {
			return err
		}
	}
	return nil
}

// markdownText makes names harmless in a table of Markdown: they cannot end a cell, call anyone, or be HTML.
func markdownText(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`, "\n", " ").Replace(text) + "`"
}

// markdown writes the same as a comment of a pull request, with the verdict and the warnings that matter: nobody sees them in a log.
func (f *predictFlags) markdown(out io.Writer, a *predictAnswer) error {
	var b strings.Builder
	total := a.Data.Total.cells("**Total**")
	b.WriteString(a.title() + "\n\n")
	if text := f.judged(a); text != "" {
		b.WriteString(text + "\n\n")
	}
	b.WriteString("| Workload | Replicas | Now | Then | Change |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, r := range a.Data.Workloads {
		c := r.cells(markdownText(r.name()))
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c[0], r.replicas(), c[1], c[2], c[3])
	}
	fmt.Fprintf(&b, "| %s | | %s | %s | %s |\n\n%s.\n", total[0], total[1], total[2], total[3], f.heading(a, markdownText(a.Data.Cluster)))
	remarks := a.remarks()
	for _, warning := range weighty(a.Warnings) {
		remarks = append(remarks, "Warning: "+visible.Text(warning))
	}
	for i, remark := range remarks {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + markdownText(remark) + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// title is the change of all that is known, as a heading of Markdown.
func (a *predictAnswer) title() string {
	const title = "### Cost of this change: "
	change := a.Data.Total.CostChange.Total
	if change == nil {
		return title + "not known"
	}
	text := fmt.Sprintf("%s%+.2f %s a month %s", title, *change+0, visible.Text(a.currency), pricesText(a.BilledUntil))
	if n := len(a.unknown()); n > 0 {
		text += counted(n, ", without {n} {workload|workloads} of which it is not known")
	}
	return text
}

// judged is the limit and the verdict as a sentence of Markdown, empty without a limit.
func (f *predictFlags) judged(a *predictAnswer) string {
	if f.mostIncrease < 0 {
		return ""
	}
	if err := f.verdict(a); err != nil {
		return "❌ **Refused**: " + markdownText(err.Error())
	}
	return fmt.Sprintf("✅ **Allowed**: the limit is an increase of %g %s a month.", f.mostIncrease, visible.Text(a.currency))
}
