// Package dashboards holds what others show and watch promcost with, embedded as files: for now the alerting rules about
// promcost itself. README.md beside it is their runbook.
//
// The files know promcost by the names of its metrics only; the tests hold those to the table of families and to the
// metrics that the collectors register.
package dashboards

import _ "embed" // for the files

//go:embed rules/promcost.yaml
var rules string

// Rules is the Prometheus rule file with the alerts about promcost itself, in YAML: ready to be written to a file that
// rule_files of prometheus.yml names. Each call returns a slice of its own.
func Rules() []byte { return []byte(rules) }
