package costapi

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/manifest"
	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/allocation/windows"
)

// prediction is what a request asks of manifests.
type prediction struct {
	text    []byte // the manifests
	prices  string // the window of prices, as given
	setting savings.Setting
}

// predictionParams are the parameters of predictions.
func predictionParams() []param {
	return []param{
		{"windowAvgUsage", nil, "window", all("2d"), predictions, "What time usage and replicas are taken from, in the forms of window.", setText(func(q *request) *string { return &q.timing.window })},
		{"windowResourceCost", nil, "window", all("7d"), predictions, "What time prices are taken from, in the forms of window: that of usage where it has no data.", setText(func(q *request) *string { return &q.prediction.prices })},
		{"window", nil, "window", defaults{}, predictions, "Both times: today, yesterday, week, month, lastweek, lastmonth; 30m, 12h, 7d, 2w, also with \" offset 1d\"; two RFC 3339 times, dates or Unix seconds with a comma.", setPredictionWindow},
		{"clusterID", nil, "text", defaults{}, predictions, "The cluster that manifests are for; without it, the only one.", setText(func(q *request) *string { return &q.prediction.setting.Cluster })},
		{"defaultNamespace", nil, "text", all("default"), predictions, "The namespace of manifests that name none.", setText(func(q *request) *string { return &q.prediction.setting.Namespace })},
		{"noUsage", nil, "boolean", all("false"), predictions, "Predict by requests alone, as if nothing was used.", setBool(func(q *request) *bool { return &q.prediction.setting.NoUsage })},
	}
}

func setPredictionWindow(q *request, value string) error {
	q.timing.window, q.prediction.prices = value, value
	return nil
}

// readParameters reads the parameters of a request, and the manifests if it has some.
func readParameters(w http.ResponseWriter, r *http.Request, rt route) (url.Values, []byte, error) {
	if rt.endpoint != predictions {
		values, err := readForm(w, r)
		return values, nil, err
	}
	if r.Method != http.MethodPost {
		return nil, nil, &statusError{http.StatusMethodNotAllowed, fmt.Sprintf("method %s is not allowed: send manifests by POST", shorten(r.Method))}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, nil, malformed("query of the URL", err)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, manifest.MaxBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, nil, &statusError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the manifests are longer than %d bytes: split them", tooLarge.Limit)}
	}
	if err != nil {
		return nil, nil, badRequest("the body cannot be read to its end: %v: send all manifests", err)
	}
	r.Form = values // for counting requests by their parameters
	return values, text, nil
}

// finishPrediction asks for stored hours.
func (q *request) finishPrediction() {
	if q.route.endpoint == predictions {
		q.timing.query.Resolution, q.timing.step.period = allocation.AutoResolution, allocation.Hour
	}
}

// finishPrices finds the days that prices are taken from.
func (q *request) finishPrices() error {
	if q.route.endpoint != predictions {
		return nil
	}
	zone := q.api.cfg.Zone
	w, _, err := windows.Parse(q.prediction.prices, q.now, zone, windows.Exact)
	if err != nil {
		return badRequest("parameter windowResourceCost: %v", err)
	}
	if q.timing.before, err = cutWindow(allocation.Hour.Round(windows.Align(w, time.Hour), zone), allocation.Day, zone); err != nil {
		return badRequest("parameter windowResourceCost: %v", err)
	}
	return nil
}

// servePrediction answers with what manifests would cost.
func (a *api) servePrediction(w http.ResponseWriter, q *request) error {
	m, err := q.parseManifests()
	if err != nil {
		return err
	}
	s, said := &q.prediction.setting, &headers{}
	s.Own, s.Now, s.Usage = a.info().ID, q.now, whole(q.timing.windows)
	prices, of, err := a.predictionPrices(q)
	if err != nil {
		return err
	}
	p, err := savings.Predict(m, said.of(a.stream(q, q.newMatches())), prices, *s)
	if errors.Is(err, savings.ErrCluster) {
		return badRequest("parameter clusterID: %v", err)
	}
	if err != nil {
		return err
	}
	if of != q {
		q.join(of)
	}
	answer := predictedOf(p)
	if q.output.format == "kubecost" && q.output.jmespath == nil {
		q.warnUnpriced(p, answer)
		return q.writeAnswer(w, answer.Workloads, said.sets)
	}
	return q.writeAnswer(w, answer, said.sets)
}

// parseManifests parses the manifests, within the memory that the request may take.
func (q *request) parseManifests() (*manifest.Manifests, error) {
	bytes := manifest.MemoryFactor * int64(len(q.prediction.text))
	if err := q.memory.Draw(bytes); err != nil {
		return nil, fmt.Errorf("parse manifests, which are %d bytes long: %w: or split them", len(q.prediction.text), err)
	}
	defer q.memory.Return(bytes)
	m, err := manifest.Parse(q.prediction.text)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return m, nil
}

// predictionPrices are the sets that prices are taken from, and their request. They are none, and those of usage have prices, where both are of
// one time, or where the other has no data.
func (a *api) predictionPrices(q *request) (iter.Seq2[*allocation.Set, error], *request, error) {
	of := q.forWindows(q.timing.before)
	covered := false
	if q.prediction.prices != q.timing.window {
		of.timing.query.Only = allocation.OfRows(nil)
		err := a.eachSet(of, of.timing.windows, func(s *allocation.Set) error {
			covered = covered || len(s.Covered) > 0
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		if !covered {
			q.warn("there are no prices of windowResourceCost=%s: they are those of windowAvgUsage=%s", shorten(q.prediction.prices), shorten(q.timing.window))
		}
	}
	if !covered {
		q.timing.query.Only = allocation.Union(savings.HistoryNeeds(), savings.PriceNeeds())
		q.prediction.setting.Prices = whole(q.timing.windows)
		return nil, q, nil
	}
	of = q.forWindows(q.timing.before)
	of.timing.query.Only = savings.PriceNeeds()
	q.prediction.setting.Prices = whole(q.timing.before)
	return a.stream(of, of.newMatches()), of, nil
}

// warnUnpriced says in warnings what a bare list cannot.
func (q *request) warnUnpriced(p *savings.Prediction, answer *predicted) {
	for _, row := range answer.Workloads {
		if row.CostAfter.Total == nil {
			q.warn("%s: what it will cost is not known: %s", row.ControllerKind+" "+row.Namespace+"/"+row.ControllerName, strings.Join(row.Notes, "; "))
		}
	}
	if n := len(p.Unpriced); n > 0 {
		q.warn("%d objects of other kinds are not priced, %s among them", n, p.Unpriced[0])
	}
}

// predicted is the answer about manifests.
type predicted struct {
	Cluster   string         `json:"cluster"`
	Total     predictedCosts `json:"total"` // of what is known; null where that is nothing
	Workloads []predictedRow `json:"workloads"`
	Unpriced  []unpriced     `json:"unpriced"`
}

// predictedCosts are what something costs a month, and the change.
type predictedCosts struct {
	CostBefore predictedRate `json:"costBefore"`
	CostAfter  predictedRate `json:"costAfter"`
	CostChange predictedRate `json:"costChange"`
}

// predictedRow is a workload, with the members that kubectl-cost reads.
type predictedRow struct {
	Namespace      string   `json:"namespace"`
	ControllerKind string   `json:"controllerKind"`
	ControllerName string   `json:"controllerName"`
	ReplicasBefore *float64 `json:"replicasBefore"`
	ReplicasAfter  *float64 `json:"replicasAfter"`
	predictedCosts
	Notes []string `json:"notes"`
}

// predictedRate is a cost a month, and what it is of; null where unknown.
type predictedRate struct {
	Total       *float64 `json:"totalMonthlyRate"`
	CPU         *float64 `json:"cpuMonthlyRate"`
	RAM         *float64 `json:"ramMonthlyRate"`
	GPU         *float64 `json:"gpuMonthlyRate"`
	PV          *float64 `json:"pvMonthlyRate"`
	CPUHours    *float64 `json:"monthlyCPUCoreHours"`
	RAMHours    *float64 `json:"monthlyRAMByteHours"`
	GPUHours    *float64 `json:"monthlyGPUHours"`
	PVByteHours *float64 `json:"monthlyPVByteHours"`
}

// unpriced is an object that nobody prices.
type unpriced struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// predictedOf is the answer. Its total is of the rows whose costs are known.
func predictedOf(p *savings.Prediction) *predicted {
	out := &predicted{Cluster: p.Cluster, Workloads: make([]predictedRow, len(p.Rows)), Unpriced: make([]unpriced, len(p.Unpriced))}
	var before, after savings.Rate
	summed := 0
	for i := range p.Rows {
		row := &p.Rows[i]
		out.Workloads[i] = predictedRow{
			Namespace: row.Namespace, ControllerKind: row.Kind, ControllerName: row.Name, ReplicasBefore: known(row.Before.Replicas), ReplicasAfter: known(row.After.Replicas),
			predictedCosts: costsOf(&row.Before, &row.After), Notes: append([]string{}, row.Notes...),
		}
		if change := row.After.Total() - row.Before.Total(); !math.IsNaN(change) {
			before.Add(&row.Before)
			after.Add(&row.After)
			summed++
		}
	}
	if summed > 0 || len(p.Rows) == 0 {
		out.Total = costsOf(&before, &after)
	}
	for i, o := range p.Unpriced {
		out.Unpriced[i] = unpriced(o)
	}
	return out
}

// costsOf are two rates and their difference.
func costsOf(before, after *savings.Rate) predictedCosts {
	change := *after
	change.Subtract(before)
	return predictedCosts{rateOf(before), rateOf(after), rateOf(&change)}
}

func rateOf(r *savings.Rate) predictedRate {
	return predictedRate{
		known(r.Total()), known(r.Cost[allocation.CPU]), known(r.Cost[allocation.RAM]), known(r.Cost[allocation.GPU]), known(r.Volumes),
		known(r.Hours[allocation.CPU]), known(r.Hours[allocation.RAM]), known(r.Hours[allocation.GPU]), known(r.ByteHours),
	}
}
