package costapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/memory"
)

// TestMemoryOfSums checks the bound on the memory of held rows in an answer whose sets come one after the other.
func TestMemoryOfSums(t *testing.T) {
	for name, tc := range map[string]struct {
		memory int64
		params []string
		want   int
	}{
		"no bound":              {0, []string{"step=1h", "accumulate=false"}, http.StatusOK},
		"as they are":           {4 << 20, []string{"step=1h", "accumulate=false"}, http.StatusUnprocessableEntity},
		"days":                  {4 << 20, []string{"step=1h", "accumulate=day"}, http.StatusUnprocessableEntity},
		"summed":                {8 << 20, []string{"step=1h", "accumulate=true"}, http.StatusOK},
		"summed, of too little": {1 << 20 / 5, []string{"step=1h", "accumulate=true"}, http.StatusUnprocessableEntity},
		"aggregated":            {4 << 20, []string{"step=1h", "accumulate=false", "aggregate=namespace"}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			h := costapi.New(newCrowd(), log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }, Memory: memory.New(tc.memory)})
			w := get(h, "/model/allocation", append(tc.params, "window=3d")...)
			if w.Code != tc.want {
				t.Fatalf("status %d, want %d: %.300s", w.Code, tc.want, w.Body)
			}
			if text := w.Body.String(); tc.want != http.StatusOK && (!strings.Contains(text, "--query.max-memory") || !strings.Contains(text, "use aggregate")) {
				t.Errorf("it does not say what to do: %.300s", text)
			}
		})
	}
}

// TestMemoryOfExpressions checks the bound on what an expression builds, by the memory of the process.
func TestMemoryOfExpressions(t *testing.T) {
	h := costapi.New(&fake{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }, Memory: memory.New(16 << 20)})
	for expression, want := range map[string]string{
		"[@, @]": `"code":200`,
		"@" + strings.Repeat(" | [@, @]", 16) + " | to_string(@)": `"code":422,"data":null,"message":"parameter jmespath: evaluate expression: too much: this takes about`,
	} {
		if text := get(h, "/model/allocation/compute", "window=1d", "jmespath="+expression).Body.String(); !strings.Contains(text, want) {
			t.Errorf("%s: %.500s, want %s", expression, text, want)
		}
	}
}
