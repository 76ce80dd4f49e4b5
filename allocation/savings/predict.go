package savings

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/manifest"
)

// Setting says where manifests are to be applied, and what is known there.
type Setting struct {
	Cluster       string // "" for the only one
	Own           string // another name of the only one
	Namespace     string // of manifests that name none
	NoUsage       bool   // predict by requests alone
	Usage, Prices allocation.Window
	Now           time.Time
}

// Prediction is what manifests change, a month of 730 hours.
type Prediction struct {
	Cluster  string
	Rows     []PredictedRow // in the order of the manifests
	Unpriced []manifest.Object
}

// PredictedRow is what a workload, or a claim of a volume, costs before and after.
type PredictedRow struct {
	Namespace, Kind, Name string // the kind is in lower case
	Before, After         Rate
	Notes                 []string // what is not known, or was assumed
}

// Rate is an amount and its cost, a month. What is not known is NaN.
type Rate struct {
	Replicas  float64                          // mean number
	Hours     [allocation.NumResources]float64 // in amount × hours
	Cost      [allocation.NumResources]float64
	ByteHours float64 // of volumes
	Volumes   float64 // their cost
}

// Total returns the whole cost, NaN if a part of it is not known.
func (r *Rate) Total() float64 {
	sum := r.Volumes
	for _, cost := range r.Cost {
		sum += cost
	}
	return sum
}

// Add adds another rate.
func (r *Rate) Add(o *Rate) { r.sum(o, 1) }

// Subtract makes r the difference to another rate.
func (r *Rate) Subtract(o *Rate) { r.sum(o, -1) }

func (r *Rate) sum(o *Rate, sign float64) {
	r.Replicas, r.ByteHours, r.Volumes = r.Replicas+sign*o.Replicas, r.ByteHours+sign*o.ByteHours, r.Volumes+sign*o.Volumes
	for i := range r.Cost {
		r.Hours[i], r.Cost[i] = r.Hours[i]+sign*o.Hours[i], r.Cost[i]+sign*o.Cost[i]
	}
}

// unknownRate is that of pods of which nobody knows how many there will be.
func unknownRate() Rate {
	nan := math.NaN()
	all := [allocation.NumResources]float64{nan, nan, nan}
	return Rate{Replicas: nan, Hours: all, Cost: all}
}

// Predict returns what manifests would cost a month, and what those of them that are there cost now, at the mean prices of the nodes that they
// would run on: replicas × ∫max(request, usage) dt (SEMANTICS §10). usage are sets of single containers, of an hour each, and prices are sets
// with assets; nil where those of usage have them. What bills add to assets counts. What cannot be known is NaN, and a note says why.
func Predict(m *manifest.Manifests, usage, prices iter.Seq2[*allocation.Set, error], s Setting) (*Prediction, error) {
	p := &predictor{setting: s, wanted: map[controllerKey]bool{}, seen: map[clusterKey]controllerHistory{}, scalers: map[controllerKey]manifest.Scaler{}}
	for i := range m.Workloads {
		p.wanted[p.key(m.Workloads[i].Object)] = true
	}
	for _, x := range m.Scalers {
		p.scalers[p.key(x.Object)] = x
	}
	sums := newAssetSums()
	for set, err := range usage {
		if err == nil {
			err = p.add(set)
		}
		if err != nil {
			return nil, err
		}
		if prices == nil {
			sums.add(set)
		}
	}
	if prices != nil {
		for set, err := range prices {
			if err != nil {
				return nil, err
			}
			sums.add(set)
		}
	}
	market, err := newMarket(sums, &s)
	if err != nil {
		return nil, err
	}
	p.choose(market)
	out := &Prediction{Cluster: market.cluster, Unpriced: m.Unpriced}
	for i := range m.Workloads {
		out.Rows = append(out.Rows, p.workload(&m.Workloads[i]))
	}
	for i := range m.Claims {
		row := PredictedRow{Namespace: p.namespace(m.Claims[i].Namespace), Kind: "persistentvolumeclaim", Name: m.Claims[i].Name}
		p.claim(&row, &m.Claims[i], 1, market.claims[claimKey{row.Namespace, row.Name}])
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// predictor is what is known of a cluster.
type predictor struct {
	setting Setting
	wanted  map[controllerKey]bool
	seen    map[clusterKey]controllerHistory
	dated   []allocation.Covered
	scalers map[controllerKey]manifest.Scaler

	market  *market
	covered float64 // hours of the sets of usage
}

// clusterKey is a controller of a cluster.
type clusterKey struct {
	cluster string
	of      controllerKey
}

func (p *predictor) namespace(of string) string {
	if of == "" {
		return p.setting.Namespace
	}
	return of
}

func (p *predictor) key(o manifest.Object) controllerKey {
	return controllerKey{p.namespace(o.Namespace), strings.ToLower(o.Kind), o.Name}
}

// add adds what a set has of the workloads.
func (p *predictor) add(s *allocation.Set) error {
	if err := s.Require(HistoryNeeds()); err != nil {
		return fmt.Errorf("predict costs: %w", err)
	}
	p.dated = coverage.Join(p.dated, s.Covered)
	for row := range s.Len() {
		if s.Special(row) != allocation.Workload {
			continue
		}
		key := controllerKey{s.Text(allocation.Namespace, row), s.Text(allocation.ControllerKind, row), s.Text(allocation.Controller, row)}
		if key.name == "" {
			key.kind, key.name = "pod", s.Text(allocation.Pod, row)
		}
		if !p.wanted[key] {
			continue
		}
		in := clusterKey{s.Text(allocation.Cluster, row), key}
		if p.seen[in] == nil {
			p.seen[in] = controllerHistory{}
		}
		container := s.Text(allocation.Container, row)
		if p.seen[in][container] == nil {
			p.seen[in][container] = &containerHistory{}
		}
		p.seen[in][container].add(s, row)
	}
	return nil
}

// choose makes the cluster that of the market.
func (p *predictor) choose(m *market) {
	p.market = m
	for _, c := range coverage.Measure(p.setting.Usage, p.dated, p.setting.Now).Clusters {
		if c.Name == m.cluster {
			p.covered = c.Hours
		}
	}
}

// history is what is known of a workload; nil if it did not run.
func (p *predictor) history(o manifest.Object) controllerHistory {
	if h := p.seen[clusterKey{p.market.cluster, p.key(o)}]; p.covered > 0 && h.hours() > 0 {
		return h
	}
	return nil
}

// workload predicts a workload.
func (p *predictor) workload(w *manifest.Workload) PredictedRow {
	row := PredictedRow{Namespace: p.namespace(w.Namespace), Kind: strings.ToLower(w.Kind), Name: w.Name, Notes: slices.Clone(w.Notes)}
	history := p.history(w.Object)
	rates := p.market.ratesFor(w.NodeSelector, w.Request()[allocation.GPU] > 0)
	row.Notes = append(row.Notes, rates.notes...)
	row.Before = p.before(history, &rates)
	row.After = p.after(w, history, &rates, &row)
	for i := range w.Claims {
		c := &w.Claims[i]
		p.claim(&row, c, row.After.Replicas, p.market.ordered[claimKey{p.namespace(c.Namespace), c.Name}])
	}
	return row
}

// month scales a sum over the sets of usage.
func (p *predictor) month(sum float64) float64 { return sum / p.covered * coverage.MonthHours }

// before is what a workload costs now: nothing if it was not seen.
func (p *predictor) before(history controllerHistory, rates *nodeRates) (r Rate) {
	if len(history) == 0 {
		return r
	}
	r.Replicas = history.hours() / p.covered
	for _, name := range slices.Sorted(maps.Keys(history)) {
		c := history[name]
		hours := c.charged
		if p.setting.NoUsage {
			hours = c.requests
		}
		for i := range hours {
			r.Hours[i] += p.month(hours[i])
		}
	}
	r.price(rates)
	return r
}

// after is what a workload will cost.
func (p *predictor) after(w *manifest.Workload, history controllerHistory, rates *nodeRates, row *PredictedRow) Rate {
	replicas, why := p.replicas(w, history, rates)
	if why != "" {
		row.Notes = append(row.Notes, why)
	}
	if math.IsNaN(replicas) {
		return unknownRate()
	}
	r := Rate{Replicas: replicas}
	seen := history.hours()
	for _, c := range w.Containers {
		past := history[c.Name]
		if past == nil && c.Init {
			continue // nobody knows for how long it will run
		}
		part := 1.0 // of the time of a pod in which the container runs
		if c.Init {
			part = past.hours / seen
		}
		for i, q := range c.Request {
			if past != nil && past.hours > 0 && !p.setting.NoUsage {
				q = past.mean(allocation.Resource(i), q)
			}
			r.Hours[i] += q * part * replicas * coverage.MonthHours
		}
	}
	r.price(rates)
	for i, cost := range r.Cost {
		if math.IsNaN(cost) {
			row.Notes = append(row.Notes, "no node that it would run on has a price of "+resourceWords[i])
		}
	}
	return r
}

// resourceWords are what people call the resources.
var resourceWords = [allocation.NumResources]string{allocation.CPU: "CPU", allocation.RAM: "memory", allocation.GPU: "GPUs"}

// replicas is how many pods there will be on average, NaN where nobody can know, and why it is not what the manifest says.
func (p *predictor) replicas(w *manifest.Workload, history controllerHistory, rates *nodeRates) (n float64, why string) {
	seen := math.NaN()
	if len(history) > 0 {
		seen = history.hours() / p.covered
	}
	known := !math.IsNaN(seen)
	scaler, scaled := p.scalers[p.key(w.Object)]
	switch kind := strings.ToLower(w.Kind); {
	case kind == "job" || kind == "cronjob":
		if !known {
			return seen, "it was not seen to run: how often and how long it will is not known"
		}
		return seen, "it is taken to run as often and as long as it was seen to"
	case kind == "daemonset" && known && len(w.NodeSelector) == 0:
		return seen, ""
	case kind == "daemonset" && rates.known:
		return rates.nodes, ""
	case kind == "daemonset":
		if !known {
			return seen, "which nodes it will run on is not known"
		}
		return seen, "it is taken to run on as many nodes as it was seen on"
	case w.Replicas != nil && *w.Replicas == 0: // no HorizontalPodAutoscaler changes that
		return 0, ""
	case scaled:
		if !known {
			return float64(scaler.Least), "its HorizontalPodAutoscaler is taken to keep to the least number of replicas"
		}
		n = max(seen, float64(scaler.Least))
		if scaler.Most > 0 {
			n = min(n, float64(scaler.Most))
		}
		return n, "replicas are those that its HorizontalPodAutoscaler was seen to make"
	case history.scaled():
		return seen, "replicas are those that its HorizontalPodAutoscaler was seen to make, whatever the manifest says"
	case w.Replicas != nil:
		return float64(*w.Replicas), ""
	case known:
		return seen, "the manifest says nothing of replicas: they are those that were seen"
	}
	return 1, ""
}

// price multiplies hours by prices.
func (r *Rate) price(rates *nodeRates) {
	for i, hours := range r.Hours {
		if hours > 0 {
			r.Cost[i] = hours * rates.price[i]
		}
	}
}

// claim adds the volumes of a claim for each replica, beside those that are there. Volumes do not shrink, and those of fewer replicas stay.
func (p *predictor) claim(row *PredictedRow, c *manifest.Claim, replicas float64, there []*pricedVolume) {
	now, then, class := 0.0, 0.0, c.Class
	size := c.Bytes * coverage.MonthHours
	for _, v := range there {
		monthly := v.byteHours / p.market.covered * coverage.MonthHours
		now, then = now+monthly, then+max(monthly, size)
		class = cmp.Or(class, v.class)
	}
	then += max(0, replicas-float64(len(there))) * size
	rate := p.market.volumeRate(class)
	if math.IsNaN(rate) {
		row.Notes = append(row.Notes, "no volume of the storage class "+strconv.Quote(class)+" is there: what one costs is not known")
	}
	row.Before.ByteHours, row.After.ByteHours = row.Before.ByteHours+now, row.After.ByteHours+then
	if now > 0 {
		row.Before.Volumes += now * rate
	}
	if then != 0 { // or not known
		row.After.Volumes += then * rate
	}
}
