// Package manifest reads what rendered manifests of Kubernetes ask for: replicas, requests and volumes. It reads only what decides what
// they cost.
package manifest
