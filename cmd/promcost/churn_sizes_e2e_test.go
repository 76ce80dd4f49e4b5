//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// resize asks for other resources of a container that runs.
func (c *churner) resize(namespace, pod, container string, requests func(now map[string]any) map[string]any) {
	path := promtest.Path("Pod", namespace, pod)
	var now struct {
		Spec struct{ Containers []map[string]any }
	}
	c.get(path, &now)
	for _, x := range now.Spec.Containers {
		if x["name"] == container {
			of := x["resources"].(map[string]any)
			of["requests"] = requests(of["requests"].(map[string]any))
		}
	}
	c.do(http.MethodPatch, path+"/resize?fieldValidation=Strict", map[string]any{"spec": map[string]any{"containers": now.Spec.Containers}})
}

// rollOut replaces the pods of a deployment.
func (c *churner) rollOut(namespace, name string) {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"rollout":"%d"}}}}}`, c.n)
	c.do(http.MethodPatch, promtest.Path("Deployment", namespace, name), json.RawMessage(patch))
}

// setType changes the type of a service, as its owner does, and as a cloud's controller answers.
func (c *churner) setType(namespace, name, kind string) {
	path := promtest.Path("Service", namespace, name)
	c.do(http.MethodPatch, path, json.RawMessage(fmt.Sprintf(`{"spec":{"type":%q}}`, kind)))
	if kind == "LoadBalancer" {
		c.do(http.MethodPatch, path+"/status", json.RawMessage(`{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.8"}]}}}`))
	}
}

// drain has all pods of a node go, one after the other as budgets of disruptions would have it, and waits until they are gone.
func (c *churner) drain(name string) {
	on := "/api/v1/pods?fieldSelector=spec.nodeName%3D" + name
	c.do(http.MethodPatch, promtest.Path("Node", "", name), json.RawMessage(`{"spec":{"unschedulable":true}}`))
	for pods := c.pods(on); len(pods) > 0; pods = c.pods(on) {
		for _, p := range pods {
			c.do(http.MethodDelete, promtest.Path("Pod", p.Metadata.Namespace, p.Metadata.Name), nil)
			time.Sleep(1700 * time.Millisecond)
		}
	}
}

// secondTrainer is a pod with the claim of a device that another one has, too.
const secondTrainer = `
apiVersion: v1
kind: Pod
metadata: {name: trainer-2, namespace: sized}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: shared}]
  containers: [{name: train, image: example/train:1, resources: {requests: {cpu: 500m, memory: 256Mi}, claims: [{name: gpu}]}}]
`

// claiming is a job whose pod runs for so long, with a device of its own.
func claiming(name string, runs time.Duration) string {
	return strings.NewReplacer("namespace: churn", "namespace: sized",
		"restartPolicy: Never,", "restartPolicy: Never, resourceClaims: [{name: gpu, resourceClaimTemplateName: own}],",
		"resources: {", "resources: {claims: [{name: gpu}], ").Replace(job(name, runs))
}

// sizeChurns are those of TestChurnE2E that change what costs other than by the requests of containers.
var sizeChurns = []churn{
	{22, 60, func(c *churner) { // up and down again, at once
		c.resize("sized", "resized", "main", func(now map[string]any) map[string]any {
			if now["cpu"] == "1" {
				return map[string]any{"cpu": "500m", "memory": "256Mi"}
			}
			return map[string]any{"cpu": "1", "memory": "512Mi"}
		})
	}},
	{35, 0, func(c *churner) {
		c.resize("sized", "waits", "main", func(map[string]any) map[string]any { return map[string]any{"cpu": "1500m", "memory": "1Gi"} })
	}},
	{48, 150, func(c *churner) { c.rollOut("sized", "pooled") }},
	{65, 150, func(c *churner) { c.rollOut("sized", "kata") }},
	{30, 240, func(c *churner) { c.setType("sized", "door", "LoadBalancer") }},
	{85, 240, func(c *churner) { c.setType("sized", "door", "ClusterIP") }},
	{15, 67, func(c *churner) { c.k.Create(c, claiming(fmt.Sprintf("train-%d", c.n), 40*time.Second)) }},
	{45, 0, func(c *churner) { c.k.Create(c, secondTrainer) }},
	{80, 0, func(c *churner) { c.do(http.MethodDelete, promtest.Path("Pod", "sized", "trainer-2"), nil) }},
	{40, 0, func(c *churner) { // a kubelet registers its node anew, and the pods on it run on
		c.do(http.MethodDelete, promtest.Path("Node", "", "node-2"), nil)
		time.Sleep(2 * time.Second)
		c.k.Create(c, node("node-2", "test:///2"))
	}},
}

// startNewer serves what exporters tell that are newer than the kube-state-metrics of the tests, or are not part of it, until the test ends, and
// returns its address: kube_pod_resourceclaim_info of kube-state-metrics 2.20, kube_pod_container_status_resource_requests, which is proposed for
// it (kubernetes/kube-state-metrics#3016), and node_gpu_count of OpenCost.
func startNewer(t *testing.T, tr *truth) (address string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, newerText(tr))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// newerText is what startNewer serves.
func newerText(tr *truth) string {
	e := &exposition{blocks: map[string]*strings.Builder{}}
	for _, p := range tr.pods.all() {
		if !p.gone.IsZero() {
			continue
		}
		of := fmt.Sprintf("namespace=%q,pod=%q,uid=%q,", p.Metadata.Namespace, p.Metadata.Name, p.Metadata.UID)
		for _, c := range p.Status.ContainerStatuses {
			in := of + fmt.Sprintf("container=%q,node=%q,", c.Name, p.Spec.NodeName)
			for resource, unit := range map[string]string{"cpu": "core", "memory": "byte"} {
				if text, ok := c.Resources.Requests[resource]; ok {
					e.add("gauge", "kube_pod_container_status_resource_requests", in+fmt.Sprintf("resource=%q,unit=%q", resource, unit), tr.quantity(text), time.Time{})
				}
			}
		}
		for _, x := range p.Spec.ResourceClaims {
			name := x.ResourceClaimName
			for _, made := range p.Status.ResourceClaimStatuses {
				if made.Name == x.Name {
					name = made.ResourceClaimName
				}
			}
			e.add("gauge", "kube_pod_resourceclaim_info", of+fmt.Sprintf("claim_name=%q,resourceclaim_name=%q,resourceclaim_template_name=%q", x.Name, name, x.ResourceClaimTemplateName), 1, time.Time{})
		}
	}
	for _, o := range tr.nodes.all() {
		if o.gone.IsZero() {
			e.add("gauge", "node_gpu_count", fmt.Sprintf("instance=%[1]q,node=%[1]q", o.Metadata.Name), tr.deviceCount(o), time.Time{})
		}
	}
	return e.text()
}
