// Package crds pins the modules that have the custom resource definitions which tests validate objects by: those of the
// Prometheus Operator, of the Gateway API and of the VerticalPodAutoscaler. The packages themselves are of no use.
package crds

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil" // example/prometheus-operator-crd
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/utils"        // deploy
	_ "sigs.k8s.io/gateway-api/pkg/consts"                                 // config/crd/standard
)
