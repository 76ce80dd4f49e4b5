// Package dashboards holds, as embedded files, what other programs need to show and watch promcost: Grafana dashboards, and
// Prometheus rules that record and alert. README.md beside it is the alerts' runbook.
//
// The package grafana below generates the dashboards; the program does not contain it. The files refer to promcost only by the
// names of its metrics. The tests check those against the table of families and the metrics that the collectors register.
package dashboards

//go:generate go test -run ^TestGenerated$ -update .
