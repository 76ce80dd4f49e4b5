package encode

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// The data of a diagnosis:
//
//	{"window": {"start": …, "end": …}, "complete": true, "oldest": …,
//	 "sources": [{"name": "blocks", "seconds": …, "requests": …, "series": …, "samples": …, "bytes": …}, …],
//	 "clusters": [{"cluster": "prod", "scrapeInterval": "30s", "oldest": …, "newest": …, "uncovered": [{"start": …, "end": …}],
//	   "problems": ["cAdvisor: …"], "inputs": [
//	   {"name": "running", "state": "found", "required": true, "scrapeInterval": "30s", "oldest": …, "newest": …,
//	    "alternatives": [{"metric": "kube_pod_container_status_running", "series": 180}]},
//	   {"name": "pod labels", "state": "missing", "required": false, "alternatives": [],
//	    "missing": "no cost by label", "remedy": "run kube-state-metrics with --metric-labels-allowlist=pods=[*]"}, …]}]}
//
// A state is found (the best alternative is there), fallback (a later one is: missing says what that costs, if anything), sheet
// (prices are the price sheet's that is given), none (there is nothing of the kind, which may be right) or missing. problems are what
// is wrong with what is there. Of a source that has no input at all (nothing), only the inputs that must be there stand under the one cluster,
// jobs are what it scrapes, and recipes what to paste. complete says that no required input is missing, in no part of the window; those parts are uncovered.
// oldest is that of the source where it knows, else in the window. What is not known is left out. prices are what the last hour of the window rests on, with
// the nodes that each source prices; their kinds are those of the member explain.
type (
	diagnosisJSON struct {
		Window   window             `json:"window"`
		Complete bool               `json:"complete"`
		Oldest   *time.Time         `json:"oldest,omitempty"`
		Sources  []source           `json:"sources"`
		Nothing  bool               `json:"nothing,omitempty"`
		Jobs     []scrapedJob       `json:"jobs,omitempty"`
		Recipes  []recipe           `json:"recipes,omitempty"`
		Clusters []diagnosedCluster `json:"clusters"`
		Prices   []diagnosedPrice   `json:"prices"`
	}
	diagnosedPrice struct {
		Source string           `json:"source"`
		Kind   rates.SourceKind `json:"kind"`
		AsOf   *time.Time       `json:"asOf,omitempty"`
		Nodes  []string         `json:"nodes"`
		Cost   float64          `json:"cost"`
		Share  float64          `json:"share"`
	}
	scrapedJob struct {
		Name    string `json:"name"`
		Targets int    `json:"targets"`
		Up      int    `json:"up"`
	}
	diagnosedCluster struct {
		Cluster        string           `json:"cluster"`
		ScrapeInterval string           `json:"scrapeInterval,omitempty"`
		Oldest         *time.Time       `json:"oldest,omitempty"`
		Newest         *time.Time       `json:"newest,omitempty"`
		Uncovered      []window         `json:"uncovered,omitempty"`
		Problems       []string         `json:"problems,omitempty"`
		Inputs         []diagnosedInput `json:"inputs"`
	}
	diagnosedInput struct {
		Name           string            `json:"name"`
		State          diagnosis.State   `json:"state"`
		Required       bool              `json:"required"`
		ScrapeInterval string            `json:"scrapeInterval,omitempty"`
		Oldest         *time.Time        `json:"oldest,omitempty"`
		Newest         *time.Time        `json:"newest,omitempty"`
		Alternatives   []diagnosedMetric `json:"alternatives"`
		Missing        string            `json:"missing,omitempty"`
		Remedy         string            `json:"remedy,omitempty"`
	}
	diagnosedMetric struct {
		Metric string `json:"metric"`
		Series int64  `json:"series"`
	}
)

// Diagnosis writes a diagnosis in an envelope.
func Diagnosis(w io.Writer, d *diagnosis.Diagnosis, o Options) error {
	in := o.location()
	out := diagnosisJSON{
		Window: window{d.Window.Start.In(in), d.Window.End.In(in)}, Complete: d.Complete(), Oldest: instant(d.Oldest, in),
		Sources: explainSources(d.Sources, in), Clusters: []diagnosedCluster{}, Nothing: d.Nothing, Prices: []diagnosedPrice{},
	}
	for _, p := range d.Prices {
		out.Prices = append(out.Prices, diagnosedPrice{p.Source, p.Kind, instant(p.AsOf, in), append([]string{}, p.Nodes...), p.Cost, p.Share})
	}
	if d.Nothing {
		out.Recipes = recipes
	}
	for _, j := range d.Jobs {
		out.Jobs = append(out.Jobs, scrapedJob{j.Name, j.Targets, j.Up})
	}
	for i := range d.Clusters {
		c := &d.Clusters[i]
		x := diagnosedCluster{Cluster: c.Cluster, ScrapeInterval: interval(c.ScrapeInterval), Oldest: instant(c.Oldest, in), Newest: instant(c.Newest, in), Problems: c.Problems}
		for _, u := range c.Uncovered {
			x.Uncovered = append(x.Uncovered, window{u.Start.In(in), u.End.In(in)})
		}
		for k := range c.Inputs {
			n := &c.Inputs[k]
			y := diagnosedInput{
				Name: n.Name, State: n.State, Required: n.Required, ScrapeInterval: interval(n.ScrapeInterval),
				Oldest: instant(n.Oldest, in), Newest: instant(n.Newest, in), Alternatives: []diagnosedMetric{}, Missing: n.Missing, Remedy: n.Remedy,
			}
			for _, a := range n.Alternatives {
				y.Alternatives = append(y.Alternatives, diagnosedMetric(a))
			}
			x.Inputs = append(x.Inputs, y)
		}
		out.Clusters = append(out.Clusters, x)
	}
	s := newStream(w)
	s.b = append(append(s.b, `{"code":200,"status":"success","data":`...), marshal(out)...)
	s.b = appendWarnings(s.b, slices.Concat(o.Warnings, d.Warnings))
	return s.close()
}

// interval writes a scrape interval, nothing where it is not known.
func interval(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return allocation.ResolutionText(d.Round(time.Millisecond))
}

// clock is how a diagnosis writes times for people.
const clock = "2006-01-02 15:04:05 MST"

// DiagnosisTable writes a diagnosis for people: a table of inputs a cluster, then what to do about those that are missing. Lines fit the layout.
func DiagnosisTable(w io.Writer, d *diagnosis.Diagnosis, in *time.Location, layout texttable.Layout) error {
	var b strings.Builder
	head := fmt.Sprintf("%s to %s, read by %s", d.Window.Start.In(in).Format(clock), d.Window.End.In(in).Format(clock), sourceNames(d.Sources))
	if d.Oldest.Before(d.Window.Start) && !d.Oldest.IsZero() {
		head += "; oldest sample not before " + d.Oldest.In(in).Format(clock)
	}
	b.WriteString(texttable.WrapLines(head+"\n", layout.Width))
	for i := range d.Clusters {
		c := &d.Clusters[i]
		b.WriteString(texttable.WrapLines(clusterHead(c, d.Nothing, in), layout.Width))
		t := texttable.Table{Columns: []texttable.Column{
			{Name: "INPUT"}, {Name: "STATE"}, {Name: "SERVED BY", Long: texttable.Cut}, {Name: "SERIES", Right: true}, {Name: "EVERY", Right: true, Rank: 1}, {Name: "AGE", Right: true, Rank: 2},
		}}
		for k := range c.Inputs {
			t.Rows = append(t.Rows, diagnosisLines(&c.Inputs[k], d.Window.End)...)
		}
		if err := t.Write(&b, layout); err != nil {
			return err
		}
		b.WriteString(texttable.WrapLines(clusterNotes(c), layout.Width))
	}
	if d.Nothing {
		b.WriteString(scrapedInstead(d.Jobs))
	}
	if err := priceLines(&b, d, layout); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// clusterHead says of what time there are samples of a cluster.
func clusterHead(c *diagnosis.Cluster, nothing bool, in *time.Location) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\ncluster %s: ", visible.Text(c.Cluster))
	if c.ScrapeInterval > 0 {
		fmt.Fprintf(&b, "scraped every %s, ", interval(c.ScrapeInterval))
	}
	if nothing {
		b.WriteString("no samples of anything that promcost needs\n")
	} else {
		fmt.Fprintf(&b, "samples from %s to %s\n", c.Oldest.In(in).Format(clock), c.Newest.In(in).Format(clock))
	}
	for _, u := range c.Uncovered {
		fmt.Fprintf(&b, "not covered: %s to %s\n", u.Start.In(in).Format(clock), u.End.In(in).Format(clock))
	}
	b.WriteString("\n")
	return b.String()
}

// clusterNotes says what to do about the inputs of a cluster.
func clusterNotes(c *diagnosis.Cluster) string {
	var b strings.Builder
	remedies(&b, c, diagnosis.Missing, "What is missing, and how to add it", "Nothing is missing.")
	remedies(&b, c, diagnosis.Fallback, "What is read in place of something better, what is lost by that, and how to add the better", "")
	if len(c.Problems) > 0 {
		b.WriteString("\nWhat is wrong with what is there:\n\n")
	}
	for _, text := range c.Problems {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}

// priceLines append what the prices of the last hour rest on.
func priceLines(b *strings.Builder, d *diagnosis.Diagnosis, layout texttable.Layout) error {
	if len(d.Prices) == 0 {
		return nil
	}
	b.WriteString("\nWhat the last hour's cost rests on:\n\n")
	t := texttable.Table{Columns: []texttable.Column{{Name: "PRICES BY", Long: texttable.Cut}, {Name: "KIND"}, {Name: "AGE", Right: true}, {Name: "NODES", Right: true}, {Name: "SHARE", Right: true}}}
	for _, p := range d.Prices {
		age := "-"
		if !p.AsOf.IsZero() {
			age = strconv.Itoa(int(d.Window.End.Sub(p.AsOf).Hours()/24)) + "d"
		}
		t.Rows = append(t.Rows, []string{p.Source, string(p.Kind), age, strconv.Itoa(len(p.Nodes)), fmt.Sprintf("%.1f %%", 100*p.Share)})
	}
	return t.Write(b, layout)
}

// scrapedInstead says what a source without any input scrapes, and what to paste for what must be there.
func scrapedInstead(jobs []diagnosis.Job) string {
	var b strings.Builder
	b.WriteString("\nJobs that this Prometheus scrapes in the window:\n\n")
	for _, j := range jobs {
		fmt.Fprintf(&b, "  %s: %d of %d targets up\n", cmp.Or(visible.Text(j.Name), "(no name)"), j.Up, j.Targets)
	}
	if len(jobs) == 0 {
		b.WriteString("  none: is this the right Prometheus, and does its retention cover the window?\n")
	}
	for _, r := range recipes {
		b.WriteString("\n" + r.Title + ":\n\n")
		for line := range strings.Lines(r.Text) {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}

// recipe is a text to paste that adds what must be there.
type recipe struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// recipes are how a Prometheus is told to scrape what must be there.
var recipes = []recipe{
	{"kube-prometheus-stack scrapes what must be there, with these values", `kubeStateMetrics: {enabled: true}
kubelet: {enabled: true}
kube-state-metrics:
  metricLabelsAllowlist: ["pods=[*]", "namespaces=[*]", "nodes=[*]"]
`},
	{"A plain Prometheus in the cluster, beside a kube-state-metrics in the namespace kube-system, with these lines of its configuration", `scrape_configs:
  - job_name: kube-state-metrics
    honor_labels: true
    static_configs: [{targets: ["kube-state-metrics.kube-system:8080"]}]
  - job_name: kubelet
    scheme: https
    metrics_path: /metrics/cadvisor
    authorization: {credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token}
    tls_config: {insecure_skip_verify: true}
    kubernetes_sd_configs: [{role: node}]
    relabel_configs: [{source_labels: [__meta_kubernetes_node_name], target_label: node}]
`},
}

// sourceNames joins the names of the sources that were read.
func sourceNames(sources []allocation.SourceReading) string {
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	return strings.Join(names, " and ")
}

// diagnosisLines are a line for each metric that serves an input. AGE is how long before the window's end its newest sample is.
func diagnosisLines(in *diagnosis.Input, end time.Time) (lines [][]string) {
	if len(in.Alternatives) == 0 {
		served := "-"
		if in.State == diagnosis.Sheet {
			served = in.Missing
		}
		return [][]string{{in.Name, string(in.State), served, "0", "-", "-"}}
	}
	name, state, every, age := in.Name, string(in.State), interval(in.ScrapeInterval.Round(100*time.Millisecond)), end.Sub(in.Newest).Round(time.Second).String()
	for _, a := range in.Alternatives {
		lines = append(lines, []string{name, state, a.Metric, strconv.FormatInt(a.Series, 10), every, age})
		name, state, every, age = "", "", "", ""
	}
	return lines
}

// remedies lists what to do about the inputs in a state, each remedy once. It says so where there are none.
func remedies(b *strings.Builder, c *diagnosis.Cluster, state diagnosis.State, title, nothing string) {
	var order []string
	costs := map[string][]string{}
	for i := range c.Inputs {
		in := &c.Inputs[i]
		if in.State != state || in.Missing == "" {
			continue
		}
		if costs[in.Remedy] == nil {
			order = append(order, in.Remedy)
		}
		text := in.Name + ": " + in.Missing
		if in.Required {
			text = in.Name + " (required): " + in.Missing
		}
		costs[in.Remedy] = append(costs[in.Remedy], text)
	}
	if len(order) == 0 {
		if nothing != "" {
			fmt.Fprintf(b, "\n%s\n", nothing)
		}
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, remedy := range order {
		fmt.Fprintf(b, "\n  %s\n", remedy)
		for _, text := range costs[remedy] {
			fmt.Fprintf(b, "    %s\n", text)
		}
	}
}
