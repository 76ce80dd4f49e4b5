package costseries_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// scriptHours are the hours that the script is about.
func scriptHours() *hours {
	h := &hours{}
	for i := range 48 {
		start := time.Unix(0, 0).UTC().Add(30*24*time.Hour + time.Duration(i)*time.Hour)
		s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
		add := func(namespace string, cpu, ram float64) {
			r := &allocation.Row{Start: s.Window.Start, End: s.Window.End}
			r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.NodeName] = "c", namespace, namespace+"-0", "n1"
			r.Values[allocation.Cost.Of(allocation.CPU)], r.Values[allocation.Cost.Of(allocation.RAM)] = cpu, ram
			s.Append(r)
		}
		add("a", 1, 0.5)
		n := allocation.Node{Cluster: "c", Name: "n1"}
		n.Hours[allocation.CPU], n.Cost[allocation.CPU], n.Idle[allocation.CPU] = 4, 5, 3.5
		if i < 10 || i > 12 {
			add("b", 2, 0)
			n.Idle[allocation.CPU] = 1.5
		}
		s.Nodes = append(s.Nodes, n)
		h.sets = append(h.sets, s)
	}
	return h
}

// scriptStorage is a storage of which queries go to the cost series.
type scriptStorage struct {
	storage.Storage
	q *costseries.Queryable
}

func (s *scriptStorage) Querier(mint, maxt int64) (storage.Querier, error) {
	return s.q.Querier(mint, maxt)
}

// The scripts of Prometheus' own tests, over costs.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.test"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range files {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		engine := promapi.NewEngine(promapi.EngineOptions{})
		promqltest.RunTestWithStorage(t, string(script), engine, func(t testing.TB) storage.Storage {
			o := costseries.Options{Now: func() time.Time { return time.Unix(0, 0).AddDate(1, 0, 0) }}
			return &scriptStorage{teststorage.New(t), newQueryable(scriptHours(), o)}
		})
	}
}
