package costseries_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/costseries"
)

// grace of these tests.
const grace = 10 * time.Minute

// hours is a costseries.Sets of sets in memory.
type hours struct {
	sets    []*allocation.Set             // oldest first
	lacking map[time.Time]error           // by start
	counted map[time.Time]*allocation.Set // if it differs from sets
	read    []string                      // what was asked for
	before  func(s *allocation.Set)       // each hour
	budget  *metering.Budget              // spends 1 an hour
	unknown time.Time                     // the budget is not known before
	fatal   error                         // ends all
}

func (h *hours) Hours(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return h.each(ctx, w, only, false)
}

func (h *hours) Counted(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return h.each(ctx, w, only, true)
}

// SpendingsIn counts the hours that were shown by then.
func (h *hours) SpendingsIn(_ context.Context, w allocation.Window) (func(context.Context, time.Time) (*metering.Spending, error), error) {
	if h.budget == nil {
		return nil, fmt.Errorf("%w: no budgets", allocation.ErrNoData)
	}
	return func(_ context.Context, t time.Time) (*metering.Spending, error) {
		if t.Before(w.Start) || t.After(w.End) {
			return nil, fmt.Errorf("spending at %s is not of what was asked for, %s", t, w)
		}
		if t.Before(h.unknown) {
			return &metering.Spending{End: t, Unknown: []string{h.budget.Name}}, nil
		}
		spent := 0.0
		var rules allocation.RulesMix
		for _, s := range h.sets {
			if !s.Window.End.Add(grace).After(t) {
				spent++
				rules.Add(s.Window, s.Rules)
			}
		}
		state := metering.BudgetState{Budget: h.budget, Spent: spent, Forecast: -1}
		if h.budget.Billed {
			state.BilledUntil = t.Add(-24 * time.Hour)
		}
		return &metering.Spending{End: t, States: []metering.BudgetState{state}, Rules: rules}, nil
	}, nil
}

func (h *hours) each(ctx context.Context, w allocation.Window, only *allocation.Projection, counted bool) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		what := "all"
		if only != nil {
			what = fmt.Sprint(len(only.Properties), "+", len(only.Columns))
		}
		h.read = append(h.read, w.Start.UTC().Format("02T15:04 ")+w.End.UTC().Format("02T15:04 ")+what)
		if h.fatal != nil {
			yield(nil, h.fatal)
			return
		}
		for _, s := range h.sets {
			if s.Window.Start.Before(w.Start) || s.Window.End.After(w.End) {
				continue
			}
			if h.before != nil {
				h.before(s)
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			err := h.lacking[s.Window.Start.UTC()]
			switch c := h.counted[s.Window.Start.UTC()]; {
			case err != nil:
				s = allocation.NewSet(s.Window, allocation.NewDict())
			case counted && c != nil:
				s = c
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// everything has all subjects.
func everything(budgets ...metering.Budget) *metering.Metering {
	o := metering.Options{LabelNames: []string{"app"}, Budgets: budgets}
	for _, s := range metering.Subjects() {
		if !s.Always {
			o.Enabled = append(o.Enabled, s.Collector())
		}
	}
	m, err := metering.New(o)
	if err != nil {
		panic(err)
	}
	return m
}

// page is what a scrape gets: values by series.
type page struct {
	values map[string]float64
	labels map[string]labels.Labels
}

func newPage() page { return page{map[string]float64{}, map[string]labels.Labels{}} }

func (p page) add(name string, names, of []string, v float64) {
	b := labels.NewBuilder(labels.FromStrings(model.MetricNameLabel, name))
	for i, n := range names {
		b.Set(n, of[i])
	}
	key := b.Labels().String()
	p.values[key], p.labels[key] = v, b.Labels()
}

// pages are what /metrics showed once each hour was shown: the naive model. An hour without data changes counters only.
func pages(h *hours, zone *time.Location) (list []page) {
	meter := everything()
	accrued, broken, last := metering.NewAccrued(time.Time{}, meter), false, newPage()
	for _, s := range h.sets {
		start := s.Window.Start.UTC()
		err := h.lacking[start]
		month := allocation.Month.Round(allocation.Window{Start: start, End: s.Window.End}, zone).Start
		if !accrued.Window.Start.Equal(month) {
			accrued, broken = metering.NewAccrued(month, meter), false
		}
		switch c := h.counted[start]; {
		case errors.Is(err, allocation.ErrNoData):
			accrued = accrued.Until(s.Window.End)
		case err != nil:
			broken = true
		case c != nil:
			accrued = accrued.Add(c)
		default:
			accrued = accrued.Add(s)
		}
		p := newPage()
		if err != nil { // what is unknown stays as it was
			for key, l := range last.labels {
				if !strings.Contains(key, "_total\"") {
					p.labels[key] = l
				}
			}
		}
		for _, subject := range meter.Subjects() {
			for _, f := range subject.Families() {
				emit := func(_ int, l []string, v float64) { p.add(f.Name, f.Labels, l, v) }
				switch {
				case f.Type == metering.Counter && broken:
					for key, l := range last.labels {
						if l.Get(model.MetricNameLabel) == f.Name {
							p.labels[key] = l
						}
					}
				case f.Type == metering.Counter:
					f.Emit(accrued.Totals(&subject), emit)
				case err == nil:
					f.Emit(subject.Totals(s), emit)
				}
			}
		}
		if err == nil {
			p.add("promcost_last_complete_set_timestamp_seconds", nil, nil, float64(s.Window.End.Unix()))
			p.add("promcost_resolution_seconds", nil, nil, s.Resolution.Seconds())
		}
		list, last = append(list, p), p
	}
	return list
}

// storageOf is what a Prometheus has stored that scraped these pages as soon as they were shown.
func storageOf(t testing.TB, h *hours, zone *time.Location) storage.Queryable {
	t.Helper()
	db := teststorage.New(t)
	app := db.Appender(t.Context())
	put := func(l labels.Labels, at time.Time, v float64) {
		if _, err := app.Append(0, l, at.UnixMilli(), v); err != nil {
			t.Fatal(err)
		}
	}
	last := newPage()
	for i, p := range pages(h, zone) {
		at := h.sets[i].Window.End.Add(grace)
		for key, v := range p.values {
			put(p.labels[key], at, v)
		}
		for key, l := range last.labels {
			if _, ok := p.labels[key]; !ok {
				put(l, at, math.Float64frombits(value.StaleNaN))
			}
		}
		last = p
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	return db
}

// randomHours are n hours of a small cluster in which containers come and go. Some have no data, some were counted otherwise.
func randomHours(rng *rand.Rand, start time.Time, n int) *hours {
	h := &hours{lacking: map[time.Time]error{}, counted: map[time.Time]*allocation.Set{}}
	for i := range n {
		w := allocation.Window{Start: start.Add(time.Duration(i) * time.Hour), End: start.Add(time.Duration(i+1) * time.Hour)}
		h.sets = append(h.sets, randomSet(rng, w))
		switch rng.IntN(20) {
		case 0:
			h.lacking[w.Start.UTC()] = fmt.Errorf("%w: nothing", allocation.ErrNoData)
		case 1:
			h.counted[w.Start.UTC()] = randomSet(rng, w)
		}
	}
	return h
}

// randomValues are the columns that rows have something of.
var randomValues = []allocation.Column{
	allocation.Cost.Of(allocation.CPU), allocation.Cost.Of(allocation.RAM), allocation.UsageHours.Of(allocation.CPU),
	allocation.RequestHours.Of(allocation.CPU), allocation.PVCost, allocation.NetworkInternetCost,
}

func randomSet(rng *rand.Rand, w allocation.Window) *allocation.Set {
	s := allocation.NewSet(w, allocation.NewDict())
	s.Resolution = time.Minute
	gpus := rng.IntN(3) == 0
	for c := range 12 {
		if rng.IntN(4) == 0 {
			continue
		}
		r := &allocation.Row{Start: w.Start, End: w.End, Labels: map[string]string{"app": fmt.Sprint("app-", c%3)}}
		for p, text := range map[allocation.Property]string{
			allocation.Cluster: fmt.Sprint("c", c%2), allocation.NodeName: fmt.Sprint("node-", c%3), allocation.Namespace: []string{"", "a", "b", "shop"}[c%4],
			allocation.Pod: fmt.Sprint("pod-", c), allocation.Container: "main", allocation.ControllerKind: []string{"deployment", ""}[c%2],
			allocation.Controller: []string{"app", "", "__unallocated__"}[c%3],
		} {
			r.Text[p] = text
		}
		for _, column := range randomValues {
			if rng.IntN(4) > 0 {
				r.Values[column] = rng.Float64()
			}
		}
		if gpus && c%5 == 0 {
			r.Values[allocation.Hours.Of(allocation.GPU)], r.Values[allocation.Cost.Of(allocation.GPU)] = 1, 2
		}
		if c == 7 {
			r.Special = allocation.Unmounted
		}
		s.Append(r)
	}
	for i := range 3 {
		if rng.IntN(6) == 0 {
			continue
		}
		n := allocation.Node{Cluster: fmt.Sprint("c", i%2), Name: fmt.Sprint("node-", i), InstanceType: "m5.large", Spot: i == 2}
		n.Hours[allocation.CPU], n.Cost[allocation.CPU], n.Idle[allocation.CPU] = 1, rng.Float64(), rng.Float64()-0.1
		s.Nodes = append(s.Nodes, n)
	}
	if rng.IntN(3) > 0 {
		s.Disks = []allocation.Disk{{Cluster: "c1", Name: "pv-1", StorageClass: "fast", Cost: rng.Float64()}, {Cluster: "c1", Name: "local", Local: true, Cost: 1}}
		s.Networks = []allocation.Network{{Cluster: "c0", CrossZone: rng.Float64(), PriceSource: [3]string{"sheet", "sheet"}}}
		s.Management = []allocation.Management{{Cluster: "c0", Cost: 0.1}}
	}
	s.Residuals = []allocation.Residual{{Cluster: "c0", Resource: allocation.CPU, Cost: rng.Float64() - 0.5, Overcommit: 0.1}}
	return s
}

// expressions are asked of the cost series and of the model.
var expressions = []string{
	`promcost_namespace_hourly_cost`,
	`promcost_namespace_cost_total{namespace="shop"}`,
	`promcost_namespace_efficiency_ratio{resource!~"gpu|ram"}`,
	`sum by (namespace) (promcost_namespace_hourly_cost)`,
	`sum(promcost_controller_hourly_cost{cluster="c1"})`,
	`sum by (cluster, resource) (promcost_namespace_cost_total)`,
	`sum without (resource) (promcost_namespace_hourly_cost)`,
	`sum by (nothing) (promcost_node_hourly_cost)`,
	`sum by (__name__) ({__name__=~"promcost_(node|idle)_hourly_cost"})`,
	`sum({__name__=~"promcost_.*_hourly_cost", resource="cpu"}) by (resource)`,
	`sum by (cluster) (promcost_idle_hourly_cost offset 3h)`,
	`sum by (cluster) (promcost_idle_hourly_cost offset -2h)`,
	`sum by (cluster) (promcost_node_hourly_cost @ end())`,
	`promcost_node_cost_total @ start() offset 1h`,
	`count by (namespace) (promcost_namespace_hourly_cost)`,
	`count(promcost_namespace_hourly_cost > 0.5) by (cluster)`,
	`sum by (namespace) (promcost_namespace_hourly_cost > 0.5)`,
	`sum by (namespace) (-promcost_namespace_hourly_cost)`,
	`sum by (namespace) ((promcost_namespace_hourly_cost))`,
	`avg by (resource) (promcost_controller_hourly_cost)`,
	`topk(2, sum by (namespace) (promcost_namespace_hourly_cost))`,
	`sum(promcost_namespace_efficiency_ratio)`,
	`rate(promcost_namespace_cost_total[6h])`,
	`increase(promcost_node_cost_total{cluster=~"c.*"}[1d])`,
	`sum by (namespace) (increase(promcost_namespace_cost_total[3h]))`,
	`sum by (namespace) (sum_over_time(promcost_namespace_hourly_cost[5h]))`,
	`max_over_time(sum by (namespace) (promcost_namespace_hourly_cost)[6h:1h])`,
	`avg_over_time(sum(promcost_idle_hourly_cost)[4h:30m] offset 1h)`,
	`sum by (namespace) (promcost_namespace_hourly_cost) / on () group_left () sum(promcost_node_hourly_cost)`,
	`promcost_namespace_hourly_cost / ignoring (resource) group_left () sum without (resource) (promcost_namespace_hourly_cost)`,
	`absent(promcost_namespace_hourly_cost{namespace="none"})`,
	`absent(sum(promcost_namespace_hourly_cost{resource="gpu"}))`,
	`absent(promcost_nothing)`,
	`label_replace(promcost_node_hourly_cost, "n", "$1", "node", "node-(.*)")`,
	`promcost_node_hourly_cost{region="", spot="true"}`,
	`promcost_node_hourly_cost{nothing=""}`,
	`promcost_node_hourly_cost{nothing!=""}`,
	`{cluster="c1", node=~".+"}`,
	`promcost_last_complete_set_timestamp_seconds + promcost_resolution_seconds`,
	`stddev(promcost_overcommit_cost) + sum(promcost_reconciliation_residual)`,
	`changes(promcost_namespace_cost_total[4h])`,
	`timestamp(promcost_node_hourly_cost)`,
	`quantile(0.5, promcost_namespace_hourly_cost) by (resource)`,
	`sum(promcost_namespace_hourly_cost) - sum(promcost_controller_hourly_cost)`,
	`promcost_container_hourly_cost{namespace="shop"}`,
	`sum by (namespace) (promcost_container_hourly_cost)`,
	`sum by (namespace, controller, resource) (promcost_pod_hourly_cost{cluster!="c1"})`,
	`sum by (controller) (promcost_container_cost_total{namespace=~"a|__unmounted__|__unallocated__"})`,
	`sum without (pod, container) (promcost_container_hourly_cost)`,
	`max by (node) (promcost_pod_efficiency_ratio)`,
	`sum(increase(promcost_pod_cost_total[1d])) by (node)`,
	`sum by (label, value) (promcost_label_hourly_cost{label="app", value!="app-1"})`,
	`increase(promcost_label_cost_total{value="app-2"}[5h])`,
	`sum by (instance) (container_cpu_allocation)`,
	`container_memory_allocation_bytes * on (instance) group_left () node_ram_hourly_cost / 2^30`,
	`sum(kube_namespace_labels) by (namespace)`,
	`{__name__=~"kubecost_.*|node_.*|pv_.*|opencost_.*"}`,
	`topk by (namespace) (1, promcost_pod_hourly_cost)`,
	`sum by (persistentvolume) (promcost_persistentvolume_hourly_cost) + on () group_left () promcost_cluster_management_hourly_cost`,
	`sum by (traffic) (promcost_network_hourly_cost) / ignoring (traffic) group_left () sum(promcost_attached_disk_hourly_cost)`,
	`count({__name__=~"promcost_(pod|container|persistentvolume)_.*"}) by (__name__)`,
	`{namespace="shop", resource="cpu"}`,
	`count_values("v", sum by (node) (promcost_node_hourly_cost) > bool 0.5)`,
}

// resultOf is the value of an expression over a range, or at an instant.
func resultOf(t testing.TB, engine *promql.Engine, q storage.Queryable, expr string, start, end time.Time, step time.Duration) *promql.Result {
	t.Helper()
	var query promql.Query
	var err error
	if start.Equal(end) {
		query, err = engine.NewInstantQuery(t.Context(), q, nil, expr, start)
	} else {
		query, err = engine.NewRangeQuery(t.Context(), q, nil, expr, start, end, step)
	}
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	t.Cleanup(query.Close)
	return query.Exec(t.Context())
}

// lines are a result, a series each, in the order of labels.
func lines(r *promql.Result, format func(float64) string) []string {
	list := map[string]string{}
	switch v := r.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			var b strings.Builder
			for _, p := range s.Floats {
				fmt.Fprintf(&b, " %d:%s", p.T/1000, format(p.F))
			}
			list[s.Metric.String()] = b.String()
		}
	case promql.Vector:
		for _, s := range v {
			list[s.Metric.String()] = fmt.Sprintf(" %d:%s", s.T/1000, format(s.F))
		}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(list)) {
		out = append(out, key+list[key])
	}
	return out
}

// nearly formats a value with rounding.
func nearly(v float64) string {
	if math.Abs(v) < 1e-9 {
		return "0"
	}
	return fmt.Sprintf("%.10g", v)
}

func newQueryable(h *hours, o costseries.Options) *costseries.Queryable {
	o.Grace = grace
	if o.Subjects == nil {
		o.Subjects = everything().Subjects()
	}
	if o.Now == nil {
		o.Now = func() time.Time { return h.sets[len(h.sets)-1].Window.End.Add(24 * time.Hour) }
	}
	return costseries.New(h, o)
}
