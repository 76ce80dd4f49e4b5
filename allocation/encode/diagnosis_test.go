package encode_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/encode"
)

// TestDiagnosisOfNothing says of a source that has no input what it scrapes, and what to paste; of others it does not.
func TestDiagnosisOfNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		given   diagnosis.Diagnosis
		recipes int
	}{
		"nothing":     {diagnosis.Diagnosis{Nothing: true, Jobs: []diagnosis.Job{{Name: "shop", Targets: 2, Up: 1}}}, 2},
		"some inputs": {diagnosis.Diagnosis{Clusters: []diagnosis.Cluster{{Cluster: "one"}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := encode.Diagnosis(&b, &tc.given, encode.Options{}); err != nil {
				t.Fatal(err)
			}
			var got struct {
				Data struct {
					Nothing bool
					Jobs    []struct {
						Name        string
						Targets, Up int
					}
					Recipes []struct{ Title, Text string }
				}
			}
			if err := json.Unmarshal(b.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got.Data.Nothing != tc.given.Nothing || len(got.Data.Jobs) != len(tc.given.Jobs) || len(got.Data.Recipes) != tc.recipes {
				t.Errorf("got %s", b.String())
			}
			for _, j := range got.Data.Jobs {
				if j.Name != "shop" || j.Targets != 2 || j.Up != 1 {
					t.Errorf("got the job %+v", j)
				}
			}
			for _, r := range got.Data.Recipes {
				if r.Title == "" || !strings.HasSuffix(r.Text, "\n") || !strings.Contains(r.Text, "kube-state-metrics") {
					t.Errorf("got the recipe %+v", r)
				}
			}
		})
	}
}
