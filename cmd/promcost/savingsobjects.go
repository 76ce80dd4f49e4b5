package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cpuQuantity is a number of cores as a quantity of Kubernetes, rounded up to thousandths.
func cpuQuantity(cores float64) string {
	const slip = 1e-9 // of computing
	return strconv.FormatFloat(math.Ceil(cores*1000*(1-slip)), 'f', 0, 64) + "m"
}

// memoryQuantity is a number of bytes as a quantity of Kubernetes, in the unit in which it is shortest.
func memoryQuantity(bytes float64) string {
	bytes = math.Ceil(bytes)
	shortest := strconv.FormatFloat(bytes, 'f', 0, 64)
	for _, unit := range [...]struct {
		name  string
		bytes float64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if text := strconv.FormatFloat(bytes/unit.bytes, 'f', 0, 64) + unit.name; math.Mod(bytes, unit.bytes) == 0 && len(text) < len(shortest) {
			shortest = text
		}
	}
	return shortest
}

// controllerKinds are the kinds of controllers whose requests can be set, by their names in answers.
var controllerKinds = map[string]struct {
	apiVersion, kind string
	path             []string // of the pod's template within spec
}{
	"deployment": {"apps/v1", "Deployment", nil}, "statefulset": {"apps/v1", "StatefulSet", nil}, "daemonset": {"apps/v1", "DaemonSet", nil}, "replicaset": {"apps/v1", "ReplicaSet", nil},
	"cronjob": {"batch/v1", "CronJob", []string{"jobTemplate", "spec"}},
}

// k8sObject is an object of Kubernetes, or a part of one.
type k8sObject = map[string]any

// writeObjects writes what make makes of the containers of each controller, and says how many could have none. Objects that people apply name one cluster's.
func (a *savingsAnswer) writeObjects(io streams, makeOf func(rows []savingsRow) k8sObject) error {
	var controllers [][]savingsRow
	at, clusters, left := map[[4]string]int{}, map[string]bool{}, 0
	for _, r := range a.Data.Requests {
		if _, ok := controllerKinds[r.ControllerKind]; !ok || r.CPU.Recommended == nil && r.Memory.Recommended == nil {
			left++
			continue
		}
		clusters[r.Cluster] = true
		key := [...]string{r.Cluster, r.Namespace, r.ControllerKind, r.Controller}
		if _, ok := at[key]; !ok {
			at[key], controllers = len(controllers), append(controllers, nil)
		}
		controllers[at[key]] = append(controllers[at[key]], r)
	}
	if len(clusters) > 1 {
		return fmt.Errorf("the answer has containers of the clusters %s, and objects are applied to one: give --filter='cluster:\"…\"'", strings.Join(sortedKeys(clusters), ", "))
	}
	e := yaml.NewEncoder(io.raw)
	e.SetIndent(2)
	for _, rows := range controllers {
		if err := e.Encode(makeOf(rows)); err != nil {
			return fmt.Errorf("write objects: %w", err)
		}
	}
	if err := e.Close(); err != nil {
		return fmt.Errorf("write objects: %w", err)
	}
	if left > 0 {
		return warn(io.err, fmt.Sprintf("%d containers are left out: they have no recommendation, or a controller whose requests nobody can set, such as a job that has run", left))
	}
	return nil
}

// requested are the recommended requests of a container.
func (r *savingsRow) requested() k8sObject {
	requests := k8sObject{}
	if r.CPU.Recommended != nil {
		requests["cpu"] = cpuQuantity(*r.CPU.Recommended)
	}
	if r.Memory.Recommended != nil {
		requests["memory"] = memoryQuantity(*r.Memory.Recommended)
	}
	return requests
}

// verticalPodAutoscaler is one that gives new pods the recommended requests, and evicts none.
func verticalPodAutoscaler(rows []savingsRow) k8sObject {
	kind := controllerKinds[rows[0].ControllerKind]
	policies := []k8sObject{{"containerName": "*", "mode": "Off"}}
	for i := range rows {
		requests := rows[i].requested()
		policies = append(policies, k8sObject{
			"containerName": rows[i].Container, "controlledResources": sortedKeys(requests), "controlledValues": "RequestsOnly", "minAllowed": requests, "maxAllowed": rows[i].requested(),
		})
	}
	return k8sObject{
		"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
		"metadata": k8sObject{"name": rows[0].Controller, "namespace": rows[0].Namespace},
		"spec": k8sObject{
			"targetRef":      k8sObject{"apiVersion": kind.apiVersion, "kind": kind.kind, "name": rows[0].Controller},
			"updatePolicy":   k8sObject{"updateMode": "Initial"},
			"resourcePolicy": k8sObject{"containerPolicies": policies},
		},
	}
}

// requestPatch is the part of a controller that sets the recommended requests, and memory limits that are not below them.
func requestPatch(rows []savingsRow) k8sObject {
	kind := controllerKinds[rows[0].ControllerKind]
	var containers []k8sObject
	for i := range rows {
		resources := k8sObject{"requests": rows[i].requested()}
		if limit := rows[i].Memory.RecommendedLimit; limit != nil {
			resources["limits"] = k8sObject{"memory": memoryQuantity(*limit)}
		}
		containers = append(containers, k8sObject{"name": rows[i].Container, "resources": resources})
	}
	spec := k8sObject{"template": k8sObject{"spec": k8sObject{"containers": containers}}}
	for _, name := range slices.Backward(kind.path) {
		spec = k8sObject{name: spec}
	}
	return k8sObject{"apiVersion": kind.apiVersion, "kind": kind.kind, "metadata": k8sObject{"name": rows[0].Controller, "namespace": rows[0].Namespace}, "spec": spec}
}

// writeCSV writes a line for each container. What is not known is empty.
func (a *savingsAnswer) writeCSV(out io.Writer) error {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	w := csv.NewWriter(out)
	lines := [][]string{{
		"Cluster", "Namespace", "ControllerKind", "Controller", "Container", "Owner", "LowConfidence", "MonthlySaving", "MonthlyRisk",
		"CPURequest", "CPURecommended", "CPULow", "CPUHigh", "CPUWhy", "CPUExceedance", "MemoryRequest", "MemoryRecommended", "MemoryRecommendedLimit", "MemoryWhy", "MemoryExceedance",
	}}
	for i := range a.Data.Requests {
		r := &a.Data.Requests[i]
		owner := ""
		if r.Owner != nil {
			owner = *r.Owner
		}
		lines = append(lines, []string{
			r.Cluster, r.Namespace, r.ControllerKind, r.Controller, r.Container, owner, strconv.FormatBool(r.LowConfidence), number(&r.MonthlySaving), number(&r.MonthlyRisk),
			number(&r.CPU.Request), number(r.CPU.Recommended), number(r.CPU.Low), number(r.CPU.High), string(r.CPU.Why), number(r.CPU.Exceedance),
			number(&r.Memory.Request), number(r.Memory.Recommended), number(r.Memory.RecommendedLimit), string(r.Memory.Why), number(r.Memory.Exceedance),
		})
	}
	if err := w.WriteAll(lines); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
