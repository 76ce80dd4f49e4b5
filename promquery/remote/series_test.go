package remote_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// TestSeriesTold reads series of cAdvisor, of two containers of a pod and of no pod. Keys have only the UID of the cgroup, and the
// points identify the series, the same in each stretch.
func TestSeriesTold(t *testing.T) {
	const uid = "0f2d3c1a-b111-4c22-8d33-000000000001"
	ids := []string{"/kubepods/pod" + uid + "/a", "/kubepods/pod" + uid + "/b", "/system.slice"}
	var body [][]byte
	for _, id := range ids {
		for k := range int64(2) {
			body = append(body, frame(t, 0, "__name__=m,id="+id+",pod=p", chunk(t, chunkenc.EncXOR, k*1200, 120)))
		}
	}
	f := newFake()
	f.handle("/api/v1/read", probed(frames(body...)))
	sel := promquery.Request{Metric: "m", Keep: []promquery.Label{{Name: "pod"}, {Name: "id", PodUID: true, Series: true}}, End: 1 << 40}
	type told struct {
		UID, Series string
		Continued   bool
	}
	var got []told
	_, err := promtest.Select(t.Context(), f.source(t, remote.Config{}), []promquery.Request{sel}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
		for _, id := range ids {
			if p.Series() == timeline.SeriesID(id) {
				got = append(got, told{key[1].Value(), id, p.Continued()})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []told{{UID: uid, Series: ids[0]}, {UID: uid, Series: ids[0]}, {UID: uid, Series: ids[1]}, {UID: uid, Series: ids[1]}, {Series: ids[2]}, {Series: ids[2]}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
