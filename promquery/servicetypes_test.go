package promquery_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

// TestServicesThatChangeType checks that a service has a load balancer only while its type says so: a change of type is no gap that is bridged (SEMANTICS §2).
func TestServicesThatChangeType(t *testing.T) {
	t.Parallel()
	type typed struct {
		from, to int
		of       string
	}
	for _, tt := range []struct {
		name    string
		types   []typed
		ingress bool // is shown all the time
		want    float64
	}{
		{"no load balancer for two minutes", []typed{{clusterBegin, 1800, "LoadBalancer"}, {1800, 1920, "ClusterIP"}, {1920, clusterEnd, "LoadBalancer"}}, false, 7080},
		{"the same, while an address is still told", []typed{{clusterBegin, 1800, "LoadBalancer"}, {1800, 1920, "NodePort"}, {1920, clusterEnd, "LoadBalancer"}}, true, 7080},
		{"over the border of an hour", []typed{{clusterBegin, 3540, "LoadBalancer"}, {3540, 3720, "NodePort"}, {3720, clusterEnd, "LoadBalancer"}}, false, 7020},
		{"not seen for two minutes", []typed{{clusterBegin, 1800, "LoadBalancer"}, {1920, clusterEnd, "LoadBalancer"}}, false, 7200},
		{"not seen for ten minutes", []typed{{clusterBegin, 1800, "LoadBalancer"}, {2400, clusterEnd, "LoadBalancer"}}, false, 6600},
		{"a load balancer for two minutes", []typed{{clusterBegin, 1800, "ClusterIP"}, {1800, 1920, "LoadBalancer"}, {1920, clusterEnd, "ClusterIP"}}, false, 120},
		{"none", []typed{{clusterBegin, clusterEnd, "ClusterIP"}}, false, 0},
	} {
		m := nodeObjects(nil)
		for _, x := range tt.types {
			m.add(x.from, x.to, 1, "kube_service_spec_type", "namespace", "a", "service", "web", "type", x.of)
		}
		if tt.ingress {
			m.add(clusterBegin, clusterEnd, 1, "kube_service_status_load_balancer_ingress", "namespace", "a", "service", "web", "ip", "203.0.113.9")
		}
		db := m.blocks(t)
		for _, resolution := range grids() {
			t.Run(fmt.Sprintf("%s %s", tt.name, allocation.ResolutionText(resolution)), func(t *testing.T) {
				q := twoHours(resolution)
				q.After = time.Hour
				seconds := 0.0
				for _, b := range compute(t, db, q)[0].Balancers {
					seconds += b.Hours * 3600
				}
				if math.Abs(seconds-tt.want) > 60 {
					t.Errorf("its load balancer is charged for %g s, want %g", seconds, tt.want)
				}
				for _, q.Step = range []time.Duration{time.Hour, 25 * time.Minute} {
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}
