//go:build e2e

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// freeVolume is a volume for claims of a class.
func freeVolume(name, class string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: 1Ti}, accessModes: [ReadWriteOnce], storageClassName: %q, hostPath: {path: /tmp}}}", name, class)
}

// TestManifestsE2E has a real API validate the manifests, strictly, in namespaces that allow restricted pods only. Its
// controllers make the pods, its scheduler places them, and they run as far as kwok lets them.
func TestManifestsE2E(t *testing.T) {
	crds := promtest.CRDs(t, "prometheuses", "servicemonitors", "prometheusrules", "httproutes")
	k := promtest.StartKubernetes(t)
	if err := k.Apply(t.Context(), "", crds); err != nil {
		t.Fatal(err)
	}
	k.Create(t, strings.NewReplacer(`"16", memory: 64Gi`, `"64", memory: 512Gi`, "labels: {", "labels: {kubernetes.io/os: linux, ").Replace(node("node-1", "test:///1")))
	for i := range 6 {
		k.Create(t, freeVolume(fmt.Sprintf("default-%d", i), ""))
		k.Create(t, freeVolume(fmt.Sprintf("fast-%d", i), "fast"))
	}
	everything := []string{"--service-monitor", "--prometheus-rule", "--dashboards", "--service.headlamp"}
	for _, tt := range manifestCases {
		t.Run(tt.name, func(t *testing.T) {
			namespace, flags := "test-"+tt.name, slices.Clone(tt.flags)
			for _, more := range everything {
				if !slices.Contains(flags, more) {
					flags = append(flags, more)
				}
			}
			for _, flag := range flags {
				if name, ok := strings.CutPrefix(flag, "--namespace="); ok {
					namespace = name
				}
			}
			k.Create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}", namespace))
			objects := manifestsOf(t, flags...)
			for range 2 { // what is there already stays
				apply(t, k, namespace, objects)
			}
			if tt.name != "sidecar" { // there is no operator
				awaitPods(t, k, namespace, strings.Count(string(objects), "\nkind: StatefulSet")+strings.Count(string(objects), "\nkind: Deployment"))
			}
		})
	}
}

// apply applies objects, again as long as the API does not know a new kind yet.
func apply(t *testing.T, k *promtest.Kubernetes, namespace string, objects []byte) {
	t.Helper()
	for range 30 {
		err := k.Apply(t.Context(), namespace, objects)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "404") {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the API does not know all kinds")
}

// awaitPods waits until all pods of a namespace run, of which there are at least so many.
func awaitPods(t *testing.T, k *promtest.Kubernetes, namespace string, least int) {
	t.Helper()
	var list struct{ Items []pod }
	for range 60 {
		if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Pod", namespace, ""), nil, &list); err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, p := range list.Items {
			if p.Status.Phase == "Running" {
				running++
			}
		}
		if running == len(list.Items) && running >= least {
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("pods of %s do not run: %+v", namespace, list.Items)
}
