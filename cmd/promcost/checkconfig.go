package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// defineCheckConfig is the subcommand that reads a config file and says what it amounts to.
func defineCheckConfig(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &costFlags{zone: time.UTC}
	addConfigFlags(clause, f)
	return func(context.Context) error {
		if f.configFile == "" {
			return usageErrorf("no config to check: give --config.file=FILE")
		}
		s, err := f.settings()
		if err != nil {
			return err
		}
		for _, w := range s.warnings(time.Now()) {
			if err := warn(io.err, w); err != nil {
				return err
			}
		}
		for _, line := range append([]string{f.configFile + " is right."}, s.summary()...) {
			if err := writeLine(io.out, line); err != nil {
				return err
			}
		}
		return nil
	}
}

// summary says what the settings are, a line each.
func (s *settings) summary() []string {
	lines := []string{
		"prices: " + s.priceSummary(),
		"currency: " + s.currency,
		"time zone: " + s.zone.String(),
	}
	for _, alias := range sortedKeys(s.labels) {
		lines = append(lines, alias+": "+strings.Join(s.labels[alias], ", "))
	}
	for _, name := range sortedKeys(s.properties) {
		lines = append(lines, "property "+name+": "+s.properties[name])
	}
	for _, p := range s.sharing.parameters() {
		lines = append(lines, p[0]+": "+p[1])
	}
	for _, id := range sortedKeys(s.clusters) {
		c := s.clusters[id]
		lines = append(lines, strings.TrimRight(fmt.Sprintf("cluster %s: %s", id, strings.Join(strings.Fields(c.name+" "+c.provider+" "+c.region), " ")), ": "))
	}
	for _, b := range s.budgets {
		of := "everything"
		if b.filter != "" {
			of = b.filter
		}
		lines = append(lines, fmt.Sprintf("budget %s: %g %s a %s for %s", b.name, b.amount, s.currency, b.period, of))
	}
	lines = append(lines, selectableSummary(s.selectable)...)
	if len(s.overridden) > 0 {
		lines = append(lines, "flags win over: "+strings.Join(s.overridden, ", "))
	}
	return lines
}

// priceSummary says which prices there are and how old they are.
func (s *settings) priceSummary() string {
	text := s.rates.Name()
	if s.ratesFrom.IsZero() {
		return text
	}
	text += ", rules: " + strconv.Itoa(s.rates.Rules())
	if asOf := s.rates.AsOf(); !asOf.IsZero() {
		text += ", as of " + asOf.Format(time.DateOnly)
	}
	if _, ok := s.rates.Custom(); ok {
		text += ", custom prices"
	}
	return text
}

// parameters are the defaults as pairs of the API's parameters and their values, without those that are not given.
func (s *sharing) parameters() [][2]string {
	var out [][2]string
	for _, p := range [...][2]string{
		{"shareNamespaces", s.namespaces},
		{"shareLabels", s.labels},
		{"shareCost", s.cost},
		{"shareSplit", s.split},
		{"shareIdle", s.idle},
		{"shareTenancyCosts", s.tenancyCosts},
	} {
		if p[1] != "" {
			out = append(out, p)
		}
	}
	return out
}
