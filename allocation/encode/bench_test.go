package encode_test

import (
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
)

// counter counts the bytes written to it.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func benchSet(b *testing.B, n int) *allocation.Set {
	b.Helper()
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(24 * time.Hour)}, allocation.NewDict())
	for i := range n {
		app := "app-" + strconv.Itoa(i/10)
		r := allocation.Row{
			Start: start, End: start.Add(time.Hour), Services: []string{app},
			Labels: map[string]string{"app": app, "pod_template_hash": strconv.Itoa(i / 10), "team": "t" + strconv.Itoa(i%7)},
		}
		r.Text = [allocation.Services]string{
			"cluster-one", "node-" + strconv.Itoa(i%100), "ns-" + strconv.Itoa(i/200), app + "-" + strconv.Itoa(i), "", "main", "deployment", app, "aws:///eu-1/i-" + strconv.Itoa(i%100),
		}
		for res := range allocation.NumResources {
			fill(&r, res, float64(i)/7, 1, float64(i)/13, float64(i)/1e4)
		}
		r.Values[allocation.RunningSeconds], r.Values[allocation.LeastSeconds], r.Values[allocation.MostSeconds] = 3600, 3600*60.0/61, 3600*60.0/59
		s.Append(&r)
	}
	out, err := passes.Apply([]*allocation.Set{s}, passes.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return out[0]
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		sets := []*allocation.Set{benchSet(b, n)}
		for _, bc := range []struct {
			name  string
			write func(w io.Writer) error
		}{
			{"json", func(w io.Writer) error { return encode.Allocations(w, sets, encode.Options{}) }},
			{"csv", func(w io.Writer) error { return encode.CSV(w, sets[0], encode.Options{}) }},
			{"table", func(w io.Writer) error { return encode.Table(w, sets[0], encode.TableOptions{}) }},
		} {
			b.Run(fmt.Sprintf("rows=%d/as=%s", n, bc.name), func(b *testing.B) {
				var c counter
				b.ReportAllocs()
				for b.Loop() {
					c.n = 0
					if err := bc.write(&c); err != nil {
						b.Fatal(err)
					}
				}
				b.SetBytes(c.n)
			})
		}
	}
}
