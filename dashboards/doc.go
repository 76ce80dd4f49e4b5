// Package dashboards holds what others show and watch promcost with, embedded as files: Grafana dashboards, and Prometheus
// rules that record and alert. README.md beside it is the alerts' runbook.
//
// The dashboards are made by package grafana below, which the program does not contain; the files know promcost by the
// names of its metrics only. The tests hold those to the table of families and to the metrics that the collectors register.
package dashboards

//go:generate go test -run ^TestGenerated$ -update .
