package promquery

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/diagnosis"
)

// diagnoseNothing adds to the diagnosis of a source without any input which of them must be there, and what the source scrapes instead. It
// fails if the answers of the source were not whole.
func (c *computation) diagnoseNothing(ctx context.Context, d *diagnosis.Diagnosis) (*diagnosis.Diagnosis, error) {
	if !c.stats.Whole() {
		return nil, c.nothing()
	}
	cluster := c.symbols.Of(c.cfg.Clusters.Default)
	lacking := diagnosis.Cluster{Cluster: cluster.Value()}
	for i := range Inputs {
		if Inputs[i].Need == Required {
			in, _ := c.found.diagnoseInput(i, cluster)
			c.found.explain(&in, i, cluster, c.cfg.Sheet)
			in.Missing = Inputs[i].Alternatives[0].selector() + " is not there: " + in.Missing
			lacking.Inputs = append(lacking.Inputs, in)
		}
	}
	jobs := map[string]*diagnosis.Job{}
	up := Request{Metric: "up", Keep: Labels("job", "instance"), Start: d.Window.Start.UnixMilli(), End: d.Window.End.UnixMilli(), Input: "labels and targets"}
	_, err := c.ask(ctx, "jobs", []Request{up}, func(s Series) error {
		v, ok := s.Points.LastUsable()
		if !ok {
			return nil
		}
		name := s.Key[0].Value()
		if jobs[name] == nil {
			jobs[name] = &diagnosis.Job{Name: name}
		}
		jobs[name].Targets++
		if v > 0 {
			jobs[name].Up++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, j := range slices.SortedFunc(maps.Values(jobs), func(a, b *diagnosis.Job) int { return strings.Compare(a.Name, b.Name) }) {
		d.Jobs = append(d.Jobs, *j)
	}
	d.Nothing, d.Clusters = true, []diagnosis.Cluster{lacking}
	return d, nil
}
