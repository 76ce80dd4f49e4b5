package mcp_test

import (
	"fmt"
	"net/http"
	"testing"
)

// TestNodes passes on what pools are used for, shortly: money to two digits, cores to three, and what is not known as null.
func TestNodes(t *testing.T) {
	var asked string
	api := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/model/savings/nodes":
			asked = r.URL.Query().Encode()
			fmt.Fprint(w, `{"code":200,"data":{"aggregate":"nodePool","count":2,"monthlyCost":1003.756,"monthlyListCost":1100,"notes":["no bill"],"nodes":[
				{"cluster":"one","nodePool":"gpu","nodeTypes":["g5"],"nodes":1.999,"monthlyCost":1003.756,"monthlyListCost":1100,"moving":{"cpuCores":4.00049,"ramBytes":8589934592.4,"gpus":1,"monthlyCost":479.0625,"monthlyListCost":480},
				"daemonSets":{"cpuCores":0.25,"ramBytes":1,"gpus":0,"monthlyCost":7.129,"monthlyListCost":8},"idle":{"cpuCores":3.75,"ramBytes":2,"gpus":1,"monthlyCost":517.5585,"monthlyListCost":600},
				"idleElsewhere":{"cpuCores":1.75,"ramBytes":3,"gpus":0},"committedMonthlyCost":null,"billedPart":0.33333,"monthlySavings":{"least":null,"most":1003.756}}]},"warnings":["2 of 7 days have data"]}`)
		case "/model/getConfigs":
			fmt.Fprint(w, `{"code":200,"data":{"currencyCode":"EUR"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	text, failed := ask(t, api, 1<<20, "nodes", map[string]any{"filter": `nodePool:"gpu"`, "limit": 1})
	const want = `{"data":{"aggregate":"nodePool","currency":"EUR","count":2,"monthlyCost":1003.76,"notes":["no bill"],"nodes":[` +
		`{"cluster":"one","nodePool":"gpu","nodeTypes":["g5"],"nodes":2,"monthlyCost":1003.76,"moving":{"cpuCores":4,"ramBytes":8589934592,"gpus":1,"monthlyCost":479.06},` +
		`"daemonSets":{"cpuCores":0.25,"ramBytes":1,"gpus":0,"monthlyCost":7.13},"idle":{"cpuCores":3.75,"ramBytes":2,"gpus":1,"monthlyCost":517.56},"idleElsewhere":{"cpuCores":1.75,"ramBytes":3,"gpus":0},` +
		`"committedMonthlyCost":null,"billedPart":0.3333,"monthlySavings":{"least":null,"most":1003.76}}]},"warnings":["2 of 7 days have data"]}`
	if failed || text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if want := "filter=nodePool%3A%22gpu%22&limit=1"; asked != want {
		t.Errorf("the API was asked for %s, want %s", asked, want)
	}
}
