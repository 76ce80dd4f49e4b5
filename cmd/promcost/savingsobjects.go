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

// controllers are the containers whose requests can be set, by their controllers, init containers among them if inits; left counts the others. What people apply
// is of one cluster.
func (a *savingsAnswer) controllers(inits bool) (list [][]savingsRow, left int, err error) {
	at, clusters := map[[4]string]int{}, map[string]bool{}
	for _, r := range a.Data.Requests {
		if _, ok := controllerKinds[r.ControllerKind]; !ok || r.Init && !inits || r.CPU.Recommended == nil && r.Memory.Recommended == nil {
			left++
			continue
		}
		clusters[r.Cluster] = true
		key := [...]string{r.Cluster, r.Namespace, r.ControllerKind, r.Controller}
		if _, ok := at[key]; !ok {
			at[key], list = len(list), append(list, nil)
		}
		list[at[key]] = append(list[at[key]], r)
	}
	if len(clusters) > 1 {
		return nil, 0, fmt.Errorf("the answer has containers of the clusters %s, and objects are applied to one: give --filter='cluster:\"…\"'", strings.Join(sortedKeys(clusters), ", "))
	}
	return list, left, nil
}

// warnLeft says how many containers have no part in what was written.
func warnLeft(io streams, left int) error {
	if left == 0 {
		return nil
	}
	return warn(io.err, fmt.Sprintf("%d containers are left out: they have no recommendation, or nobody can set their requests so, such as those of a job that has run or, by a VerticalPodAutoscaler, of init containers", left))
}

// writeObjects writes what makeOf makes of the containers of each controller, init containers among them if inits.
func (a *savingsAnswer) writeObjects(io streams, inits bool, makeOf func(rows []savingsRow) k8sObject) error {
	controllers, left, err := a.controllers(inits)
	if err != nil {
		return err
	}
	if len(controllers) == 0 { // the encoder refuses to write nothing
		return warnLeft(io, left)
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
	return warnLeft(io, left)
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

// verticalPodAutoscaler is one that gives new pods the recommended requests, and evicts none. Controllers of other kinds may have the name of a Deployment.
func verticalPodAutoscaler(rows []savingsRow) k8sObject {
	kind, name := controllerKinds[rows[0].ControllerKind], rows[0].Controller
	if rows[0].ControllerKind != "deployment" {
		name += "-" + rows[0].ControllerKind
	}
	policies := []k8sObject{{"containerName": "*", "mode": "Off"}}
	for i := range rows {
		requests := rows[i].requested()
		policies = append(policies, k8sObject{
			"containerName": rows[i].Container, "controlledResources": sortedKeys(requests), "controlledValues": "RequestsOnly", "minAllowed": requests, "maxAllowed": rows[i].requested(),
		})
	}
	return k8sObject{
		"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
		"metadata": k8sObject{"name": name, "namespace": rows[0].Namespace},
		"spec": k8sObject{
			"targetRef":      k8sObject{"apiVersion": kind.apiVersion, "kind": kind.kind, "name": rows[0].Controller},
			"updatePolicy":   k8sObject{"updateMode": "Initial"},
			"resourcePolicy": k8sObject{"containerPolicies": policies},
		},
	}
}

// limited are the limits of a container that must change with its requests, none of which may be above one.
func (r *savingsRow) limited() k8sObject {
	limits := k8sObject{}
	if cpu := r.CPU.Recommended; cpu != nil && r.CPU.Limit > 0 && *cpu > r.CPU.Limit {
		limits["cpu"] = cpuQuantity(*cpu)
	}
	if limit := r.Memory.RecommendedLimit; limit != nil && *limit != r.Memory.Limit {
		limits["memory"] = memoryQuantity(*limit)
	}
	return limits
}

// requestPatch is the part of a controller that sets the recommended requests, and the limits that must change with them.
func requestPatch(rows []savingsRow) k8sObject {
	kind, pod := controllerKinds[rows[0].ControllerKind], k8sObject{}
	for _, of := range [...]struct {
		list string
		init bool
	}{{"containers", false}, {"initContainers", true}} {
		var containers []k8sObject
		for i := range rows {
			if rows[i].Init != of.init {
				continue
			}
			resources := k8sObject{"requests": rows[i].requested()}
			if limits := rows[i].limited(); len(limits) > 0 {
				resources["limits"] = limits
			}
			containers = append(containers, k8sObject{"name": rows[i].Container, "resources": resources})
		}
		if containers != nil {
			pod[of.list] = containers
		}
	}
	spec := k8sObject{"template": k8sObject{"spec": pod}}
	for _, name := range slices.Backward(kind.path) {
		spec = k8sObject{name: spec}
	}
	return k8sObject{"apiVersion": kind.apiVersion, "kind": kind.kind, "metadata": k8sObject{"name": rows[0].Controller, "namespace": rows[0].Namespace}, "spec": spec}
}

// writeCSV writes a line for each container. What is not known is empty.
func (a *savingsAnswer) writeCSV(out io.Writer) error {
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
			r.Cluster, r.Namespace, r.ControllerKind, r.Controller, r.Container, owner, strconv.FormatBool(r.LowConfidence), numberOrEmpty(&r.MonthlySaving), numberOrEmpty(&r.MonthlyRisk),
			numberOrEmpty(&r.CPU.Request), numberOrEmpty(r.CPU.Recommended), numberOrEmpty(r.CPU.Low), numberOrEmpty(r.CPU.High), string(r.CPU.Why), numberOrEmpty(r.CPU.Exceedance),
			numberOrEmpty(&r.Memory.Request), numberOrEmpty(r.Memory.Recommended), numberOrEmpty(r.Memory.RecommendedLimit), string(r.Memory.Why), numberOrEmpty(r.Memory.Exceedance),
		})
	}
	if err := w.WriteAll(lines); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// numberOrEmpty is a number of CSV, empty where it is not known.
func numberOrEmpty(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
