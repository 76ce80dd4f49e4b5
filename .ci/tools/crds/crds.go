// Package crds pins the modules that have the custom resource definitions which tests validate objects by: those of the
// Prometheus Operator and of the Gateway API. The packages themselves are of no use.
package crds

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil" // example/prometheus-operator-crd
	_ "sigs.k8s.io/gateway-api/pkg/consts"                                 // config/crd/standard
)
