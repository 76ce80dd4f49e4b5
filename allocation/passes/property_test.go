package passes_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestApplyAgainstReference compares random questions about random sets with the slow reference, with Check after every pass. Failures
// name the seed of their case.
func TestApplyAgainstReference(t *testing.T) {
	seed := randomSeed()
	for i := range soak.Of[uint64](1500, 10_000) {
		rng := rand.New(rand.NewPCG(seed, i))
		models := randomModels(rng, 1+rng.IntN(2), 1+rng.IntN(14))
		q := randomQuestion(t, rng)
		where := fmt.Sprintf("seed %d, %d: %s", seed, i, q.describe())
		got, err := passes.Apply(q.sets(models), q.ask())
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		want := reference(models, q)
		if len(got) != len(want) {
			t.Fatalf("%s: got %d sets, want %d", where, len(got), len(want))
		}
		for i := range got {
			compareSet(t, where, got[i], want[i], q.AggregatedMetadata)
			if q.Proportions {
				of := models[i : i+1]
				if q.Accumulate == allocation.All {
					of = models
				}
				compareProportions(t, where, got[i], want[i], of, q.IdleByNode)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// randomQuestion asks for random passes.
func randomQuestion(t *testing.T, rng *rand.Rand) question {
	flag := func() bool { return rng.IntN(2) == 0 }
	q := question{aggregate: aggregations[rng.IntN(len(aggregations))], reconcile: flag()}
	q.Options = passes.Options{
		Aggregate: keys(t, q.aggregate), LabelValue: flag(), Idle: flag(), IdleByNode: flag(), SplitIdle: flag(),
		ShareTenancy: flag(), ShareLoadBalancers: rng.IntN(4) == 0, SharedBreakdown: flag(), External: flag(),
		AggregatedMetadata: flag(), Proportions: flag(), Check: true,
		ShareIdle: passes.Split(rng.IntN(3)), ShareSplit: passes.Split(rng.IntN(3)), Accumulate: allocation.Period(rng.IntN(2)),
	}
	if flag() {
		q.SharedCost = 100 * rng.Float64()
	}
	if rng.IntN(3) > 0 {
		q.filter = randomFilter(rng)
	}
	for range rng.IntN(3) {
		q.shares = append(q.shares, randomFilter(rng))
	}
	return q
}

func randomFilter(rng *rand.Rand) naiveFilter {
	f := naiveFilter{property: allocation.Namespace, value: pick(rng, "shop", "web", "kube-system"), not: rng.IntN(4) == 0}
	switch rng.IntN(4) {
	case 0:
		f.property, f.value = allocation.Cluster, pick(rng, "c1", "arn:aws:eks:eu/c2", "nowhere")
	case 1:
		f.property, f.value = allocation.NodeName, pick(rng, "n1", "n2", "")
	}
	return f
}

func (q question) describe() string {
	return fmt.Sprintf("aggregate %q filter %v shares %v reconcile %v options %+v", q.aggregate, q.filter, q.shares, q.reconcile, q.Options)
}

// TestConservation verifies on random sets that no pass loses or invents money, by nothing but the sums of the assets.
func TestConservation(t *testing.T) {
	seed := randomSeed()
	for i := range soak.Of[uint64](400, 1500) {
		rng := rand.New(rand.NewPCG(seed, i))
		models := randomModels(rng, 1+rng.IntN(3), 1+rng.IntN(14))
		q := randomQuestion(t, rng)
		where := fmt.Sprintf("seed %d, %d: %s", seed, i, q.describe())
		sets := q.sets(models)

		// Without a filter, the rows cost what the assets cost.
		whole := q
		whole.filter = naiveFilter{}
		if q.Idle {
			total, want := totalOf(t, sets, whole), 0.0
			for i := range models {
				want += models[i].total(q)
			}
			if !alike(total, want) {
				t.Fatalf("%s: rows cost %v, assets %v", where, total, want)
			}
		}
		// The answers of a filter and of its opposite add up to that of a filter that selects everything.
		f := randomFilter(rng)
		some, others, all := q, q, q
		some.filter, others.filter, all.filter = f, f, naiveFilter{property: allocation.Cluster, value: "nowhere", not: true}
		others.filter.not = !f.not
		if a, b, sum := totalOf(t, sets, some), totalOf(t, sets, others), totalOf(t, sets, all); !alike(a+b, sum) {
			t.Fatalf("%s: %v and its opposite cost %v and %v, all %v", where, f, a, b, sum)
		}
		// Neither aggregation nor accumulation matters to what is filtered, unless costs are split by result.
		other := q
		other.aggregate = aggregations[rng.IntN(len(aggregations))]
		other.Aggregate, other.Accumulate = keys(t, other.aggregate), allocation.Period(rng.IntN(int(allocation.Quarter)+1))
		if q.ShareSplit != passes.Even {
			if a, b := totalOf(t, sets, q), totalOf(t, sets, other); !alike(a, b) {
				t.Fatalf("%s: cost %v, by %q %v", where, a, other.aggregate, b)
			}
		}
	}
}

func alike(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// totalOf is what the answer to a question costs.
func totalOf(t *testing.T, sets []*allocation.Set, q question) (sum float64) {
	t.Helper()
	for _, s := range apply(t, sets, q.ask()) {
		for row := range s.Len() {
			sum += s.TotalCost(row)
		}
	}
	return sum
}

// total is what the assets of a model cost.
func (m *model) total(o question) (sum float64) {
	bill := func(v float64) float64 {
		if o.reconcile {
			return v
		}
		return 0
	}
	for _, n := range m.nodes {
		sum += n.TotalCost() + bill(m.bill.Nodes[allocation.AssetKey{Cluster: n.Cluster, Name: n.Name}])
	}
	for _, r := range m.residuals {
		sum += r.Cost
	}
	for _, d := range m.disks {
		key := allocation.AssetKey{Cluster: d.Cluster, Name: d.Name}
		switch {
		case !d.Local:
			sum += d.Cost + bill(m.bill.Volumes[key])
		case o.ShareTenancy:
			sum += d.Cost + bill(m.bill.LocalDisks[key])
		}
	}
	for _, l := range m.balancers {
		sum += l.Cost + bill(m.bill.LoadBalancers[allocation.AssetKey{Cluster: l.Cluster, Name: l.Namespace + "/" + l.Service}])
	}
	for _, n := range m.networks {
		sum += n.TotalCost() + bill(m.bill.Networks[n.Cluster])
	}
	for _, x := range m.management {
		if o.ShareTenancy {
			sum += x.Cost + bill(m.bill.Management[x.Cluster])
		}
	}
	for _, e := range m.bill.External {
		if o.External {
			sum += e.Cost
		}
	}
	return sum + o.SharedCost/730*m.window.Duration().Hours()
}

func compareSet(t *testing.T, where string, got *allocation.Set, want refAnswer, metadata bool) {
	t.Helper()
	if got.Len() != len(want) {
		t.Errorf("%s: got %d rows, want %d", where, got.Len(), len(want))
	}
	for row := range got.Len() {
		name := got.Name(row)
		result, ok := want[name]
		if !ok {
			t.Errorf("%s: unexpected row %q", where, name)
			continue
		}
		w := refMerge(result, metadata)
		for c := range allocation.NumColumns {
			if v := got.Value(c, row); !alike(v, w.values[c]) {
				t.Errorf("%s: row %q: %s = %v, want %v", where, name, c, v, w.values[c])
			}
		}
		type facts struct {
			Start, End               time.Time
			Single                   bool
			Text                     [allocation.Services]string
			Services, Labels, NSText string
		}
		g := facts{Start: got.Start(row), End: got.End(row), Single: got.Single(row)}
		for p := range allocation.Services {
			g.Text[p] = got.Text(p, row)
		}
		g.Services, g.Labels, g.NSText = list(got, row), pairs(got, allocation.Labels, row), pairs(got, allocation.NamespaceLabels, row)
		e := facts{w.start, w.end, w.single, w.text, orEmpty(w.services, "[]"), orEmpty(w.labels, "map[]"), orEmpty(w.nsLabels, "map[]")}
		if e != g {
			t.Errorf("%s: row %q (-want +got):\n%s", where, name, cmp.Diff(e, g))
		}
		if m := got.Minutes(row); !near(m, w.minutes) {
			t.Errorf("%s: row %q: minutes %v, want %v", where, name, m, w.minutes)
		}
		compareShares(t, where+": row "+name, got, row, &w)
		compareLevels(t, where+": row "+name, got, row, &w)
	}
}

// compareLevels compares the levels of usage of rows.
func compareLevels(t *testing.T, where string, got *allocation.Set, row int, want *refMerged) {
	t.Helper()
	for _, r := range allocation.LevelResources {
		var levels map[allocation.Bucket]int64
		for _, l := range got.Levels(r, row) {
			if levels == nil {
				levels = map[allocation.Bucket]int64{}
			}
			levels[l.Bucket] = l.Millis
		}
		if diff := cmp.Diff(want.levels[r], levels); diff != "" {
			t.Errorf("%s: levels of %s usage (-want +got):\n%s", where, r, diff)
		}
	}
}

// compareShares compares the shares of rows in volumes, load balancers and shared costs.
func compareShares(t *testing.T, where string, got *allocation.Set, row int, want *refMerged) {
	t.Helper()
	volumes, balancers, last := map[string]modelShare{}, map[string]modelShare{}, ""
	for _, v := range got.Volumes(row) {
		key := got.Dict().Text(v.Key)
		volumes[key] = modelShare{key, v.ByteHours, v.Cost, v.Adjustment}
		if key <= last || got.Dict().Text(v.ProviderID) != "vol-"+key {
			t.Errorf("%s: volume %q of %q is after %q", where, key, got.Dict().Text(v.ProviderID), last)
		}
		last = key
	}
	for _, l := range got.LoadBalancerShares(row) {
		key := got.Dict().Text(l.Key)
		balancers[key] = modelShare{key, l.Hours, l.Cost, l.Adjustment}
	}
	parts := map[string][allocation.NumSharedKinds]float64{}
	for _, p := range got.SharedParts(row) {
		parts[got.Dict().Text(p.Name)] = p.Cost
	}
	if len(parts) == 0 {
		parts = want.parts // they may not have been asked for: Check holds them to SharedCost
	}
	if len(want.volumes)+len(volumes)+len(want.balancers)+len(balancers)+len(want.parts)+len(parts) == 0 {
		return
	}
	rounded := cmp.Comparer(alike)
	if diff := cmp.Diff([]any{want.volumes, want.balancers, want.parts}, []any{volumes, balancers, parts}, rounded, cmp.AllowUnexported(modelShare{})); diff != "" {
		t.Errorf("%s: shares (-want +got):\n%s", where, diff)
	}
}

// compareProportions compares the proportions of assets that rows are.
func compareProportions(t *testing.T, where string, got *allocation.Set, want refAnswer, models []model, byNode bool) {
	t.Helper()
	for row := range got.Len() {
		name := got.Name(row)
		var list []allocation.Proportion
		for _, p := range got.Proportions(row) {
			if p != (allocation.Proportion{Cluster: p.Cluster, Name: p.Name, Type: p.Type, ProviderID: p.ProviderID}) {
				list = append(list, p) // of resources that cost something
			}
		}
		if diff := cmp.Diff(refProportions(want[name].rows, models, byNode), list, cmp.Comparer(alike)); diff != "" {
			t.Errorf("%s: row %q: proportions (-want +got):\n%s", where, name, diff)
		}
	}
}
