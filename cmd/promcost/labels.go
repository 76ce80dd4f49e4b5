package main

import (
	"slices"
	"strings"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// logLabelProblems logs problems with the labels that metrics export, once for each configuration, as soon as an hour shows them.
func (s *service) logLabelProblems() {
	set, _, _ := s.recorder.Latest()
	if set == nil || set.Len() == 0 {
		return
	}
	current := s.current.Load()
	current.logged.Do(func() {
		for _, problem := range current.metering.LabelProblems(set) {
			level.Warn(s.logs.kit).Log("msg", "A label of --collector.label.names has no values, or not of all workloads", "problem", problem)
		}
	})
}

// logLostProperties logs which properties that metrics export are gone: their names stand for labels now.
func (s *service) logLostProperties(before, next *config.Settings) {
	named := func(list []*allocation.Derived, name string) bool {
		return slices.ContainsFunc(list, func(d *allocation.Derived) bool { return strings.EqualFold(d.Name(), name) })
	}
	for _, name := range s.metering().LabelNames() {
		if named(before.Derived, name) && !named(next.Derived, name) {
			level.Warn(s.logs.kit).Log("msg", "A property of --collector.label.names is no longer in the configuration: the label or the alias of that name takes its place", "property", name)
		}
	}
}
