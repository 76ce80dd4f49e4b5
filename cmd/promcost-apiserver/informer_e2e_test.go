//go:build e2e

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// TestInformerE2E has an informer of client-go, as controllers use them, follow the stateful pods of a namespace over the closing of
// an hour.
func TestInformerE2E(t *testing.T) {
	h, promcost := behind(t, startDemo(t, demoEnd, demoDuration, "--demo.nodes=4", "--demo.pods=40"))
	c := startCluster(t, promcost)
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	informers := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, "search", func(o *metav1.ListOptions) {
		o.FieldSelector = "spec.controllerKind=statefulset"
	})
	informer := informers.ForResource(kubeapi.GroupVersion.WithResource("allocations")).Informer()
	informers.Start(t.Context().Done())
	for resource, synced := range informers.WaitForCacheSync(t.Context().Done()) {
		if !synced {
			t.Fatalf("%s: not synced", resource)
		}
	}
	holds := func(want string) {
		t.Helper()
		var got []string
		for range 600 {
			got = nil
			for _, o := range informer.GetStore().List() {
				u := o.(*unstructured.Unstructured)
				got = append(got, u.GetName()+"@"+u.GetResourceVersion())
			}
			slices.Sort(got)
			if strings.Join(got, " ") == want {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("the informer holds %q, want %q", got, want)
	}
	holds("elasticsearch-0@1772665200 elasticsearch-1@1772665200 elasticsearch-2@1772665200")
	h.closed.Store(true)
	holds("elasticsearch-0@1772668800 elasticsearch-1@1772668800 elasticsearch-2@1772668800")
}
