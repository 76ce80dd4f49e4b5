// Package manifests says what a cluster needs to run promcost: Kubernetes objects as YAML, or a Helm chart that makes the
// same objects.
//
// Every object is described once, as a tree whose leaves are texts or pointers to fields of Values. Written as YAML, a
// pointer becomes the field's value; written as a template of the chart, it becomes the expression that reads the value of
// the same name. Conditions and loops are nodes of the tree, so they exist in both forms, too.
package manifests
