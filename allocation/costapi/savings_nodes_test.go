package costapi_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// committed is the rich ledger, where bills say that half of what n1 costs is committed.
type committed struct{ rich }

func (f *committed) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for s, err := range f.rich.Sets(ctx, q) {
			for i := range s.Nodes {
				if n := &s.Nodes[i]; n.Name == "n1" {
					n.Charged = allocation.Charged{Listed: n.TotalCost(), Committed: n.TotalCost() / 2}
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// TestNodeSavings holds the answer about nodes. n2, of the pool gpu, has 8 cores, 32 GiB and 2 GPUs for 1.375 an hour; n1 has 4 cores and 16 GiB
// for 0.1875, and m1 of another cluster 2 and 8 for 0.09375.
func TestNodeSavings(t *testing.T) {
	const (
		least  = "The least is saved if what moves costs its list price elsewhere and commitments are paid on, the most if other nodes have room and other machines use the commitments. Below 0 more is paid."
		window = `{"window":{"start":"2026-11-14T00:00:00Z","end":"2026-11-21T04:13:00Z"},`
		none   = "No bill charges these nodes, so what is committed is not known."
		gpu    = `"nodeTypes":["g5.2xlarge"],"nodes":1,"monthlyCost":1003.75,"monthlyListCost":1003.75,` +
			`"moving":{"cpuCores":4,"ramBytes":8589934592,"gpus":1,"monthlyCost":479.0625,"monthlyListCost":479.0625},` +
			`"daemonSets":{"cpuCores":0.25,"ramBytes":536870912,"gpus":0,"monthlyCost":7.12890625,"monthlyListCost":7.12890625},` +
			`"idle":{"cpuCores":3.75,"ramBytes":25232932864,"gpus":1,"monthlyCost":517.55859375,"monthlyListCost":517.55859375},` +
			`"idleElsewhere":{"cpuCores":1.75,"ramBytes":10200547328,"gpus":0},"committedMonthlyCost":null,"billedPart":0,"monthlySavings":{"least":null,"most":1003.75}}`
		n1 = `{"cluster":"one","nodePool":"","nodeTypes":["m5.xlarge"],"nodes":1,"monthlyCost":136.875,"monthlyListCost":136.875,` +
			`"moving":{"cpuCores":2,"ramBytes":6442450944,"gpus":0,"monthlyCost":62.734375,"monthlyListCost":62.734375},` +
			`"daemonSets":{"cpuCores":0.25,"ramBytes":536870912,"gpus":0,"monthlyCost":7.12890625,"monthlyListCost":7.12890625},` +
			`"idle":{"cpuCores":1.75,"ramBytes":10200547328,"gpus":0,"monthlyCost":67.01171875,"monthlyListCost":67.01171875},` +
			`"idleElsewhere":{"cpuCores":3.75,"ramBytes":25232932864,"gpus":1},"committedMonthlyCost":68.4375,"billedPart":1,"monthlySavings":{"least":5.703125,"most":136.875}}`
	)
	for name, tc := range map[string]struct {
		params []string
		want   string
	}{
		"a pool": {
			[]string{`filter=nodePool:"gpu"`},
			window + `"aggregate":"nodePool","count":1,"monthlyCost":1003.75,"monthlyListCost":1003.75,"notes":["` + least + `","` + none + `"],"nodes":[{"cluster":"one","nodePool":"gpu",` + gpu + `]}`,
		},
		"the dearest node": {
			[]string{"aggregate=node", "limit=1"},
			window + `"aggregate":"node","count":3,"monthlyCost":1209.0625,"monthlyListCost":1209.0625,"notes":["` + least + `","Bills charge 11 % of these nodes' time, by list cost; the rest of the time of a node or pool is taken to be committed alike."],` +
				`"nodes":[{"cluster":"one","nodePool":"gpu","node":"n2",` + gpu + `]}`,
		},
		"a committed node": {
			[]string{"filterNames=n1", "window=yesterday"},
			strings.NewReplacer("14T00", "20T00", "21T04:13", "21T00:00").Replace(window) + `"aggregate":"nodePool","count":1,"monthlyCost":136.875,"monthlyListCost":136.875,"notes":["` + least + `"],"nodes":[` + n1 + `]}`,
		},
		"nothing": {
			[]string{`filter=assetType:"disk"`},
			window + `"aggregate":"nodePool","count":0,"monthlyCost":0,"monthlyListCost":0,"notes":["` + least + `"],"nodes":[]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := costapi.New(&committed{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }})
			w := get(h, "/model/savings/nodes", tc.params...)
			var answer storedAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
			}
			var got, want any
			if err := json.Unmarshal(answer.Data, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, answer.Data)
			}
		})
	}
}
