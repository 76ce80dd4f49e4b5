// Package manifests says what a cluster needs to run promcost: Kubernetes objects as YAML, or a Helm chart that makes the
// same objects.
//
// The objects are the templates of the chart. YAML renders them with the functions of Helm that they use, and Chart writes
// them as they are. Both take the fields of Values, whose tags make the flags, values.yaml and its schema.
package manifests
