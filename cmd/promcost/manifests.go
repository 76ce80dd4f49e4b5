package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/dashboards"
)

// defineManifests is the manifests subcommand.
func defineManifests(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	program, cost := newManifestsProgram(), costFlags{}
	given := manifests.AddFlags(clause, manifests.Default(version.Version), program, func(flag string) bool {
		return !strings.HasPrefix(flag, logFlagPrefix) // which this command has itself
	})
	addConfigFlags(clause, &cost)
	var chart string
	clause.Flag("helm", "Directory to write a Helm chart to, which is made where there is none, in place of manifests. What flags and --values say are the chart's defaults.").
		PlaceHolder("DIR").StringVar(&chart)
	return func(context.Context) error {
		if err := errors.Join(given.Complete(), readManifestFiles(&cost, given.Values)); err != nil {
			return err
		}
		if chart != "" {
			return writeChart(program, given.Values, chart, io)
		}
		objects, err := program.YAML(given.Values)
		if err != nil {
			return &usageError{cause: err}
		}
		for _, args := range manifests.Args(objects) {
			if err := checkServe(args); err != nil {
				return err
			}
		}
		_, err = io.raw.Write(objects)
		return err
	}
}

// logFlagPrefix begins the names of flags that all commands have.
const logFlagPrefix = "log."

// newManifestsProgram is what the manifests are of: the flags of serve, dashboards and rules.
func newManifestsProgram() *manifests.Program {
	app := kingpin.New("", "")
	addLogFlags(app)
	read, serve := app.Command("read", ""), app.Command("serve", "")
	addSourceFlags(read)
	newServeCommand(serve)
	p := &manifests.Program{}
	for _, f := range slices.Concat(app.Model().Flags, serve.Model().Flags) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			continue
		}
		repeats, ok := f.Value.(interface{ IsCumulative() bool })
		p.Flags = append(p.Flags, manifests.Flag{
			Name: f.Name, Help: f.Help, Switch: f.IsBoolFlag(), Repeats: ok && repeats.IsCumulative(), Source: read.GetFlag(f.Name) != nil,
		})
	}
	for _, d := range dashboards.Dashboards("USD") {
		p.Dashboards = append(p.Dashboards, manifests.File(d))
	}
	for _, r := range dashboards.Rules() {
		p.Rules = append(p.Rules, manifests.File(r))
	}
	return p
}

// writeChart writes a Helm chart below dir.
func writeChart(p *manifests.Program, v *manifests.Values, dir string, io streams) error {
	chart, err := p.Chart(v)
	if err != nil {
		return &usageError{cause: err}
	}
	files := make([]dashboards.File, len(chart))
	for i, f := range chart {
		files[i] = dashboards.File(f)
	}
	return writeAll(files, dir, "helm", io)
}

// readManifestFiles makes the config and the prices part of values, and checks them.
func readManifestFiles(files *costFlags, v *manifests.Values) error {
	if strings.EqualFold(filepath.Ext(files.PricingFile), ".csv") {
		v.PricesFile = "prices.csv"
	}
	for file, text := range map[string]*string{files.ConfigFile: &v.Config, files.PricingFile: &v.Prices} {
		if file == "" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read file for the ConfigMap: %w", err)
		}
		*text = string(content)
	}
	c, err := config.Parse(cmp.Or(files.ConfigFile, "in values"), []byte(v.Config))
	if err != nil {
		return err
	}
	if c.PricesFile() != "" {
		return usageErrorf("the config names a file of prices, %s, which no pod has: give it by --pricing.file, and leave prices.file out of the config", c.PricesFile())
	}
	_, err = pricing.Parse(cmp.Or(files.PricingFile, v.PricesFile), []byte(v.Prices))
	return err
}

// checkServe checks the arguments of a container as serve would, but for its files.
func checkServe(args []string) error {
	app := kingpin.New("promcost", "").Terminate(nil).UsageWriter(io.Discard).ErrorWriter(io.Discard)
	addLogFlags(app)
	serve := newServeCommand(app.Command("serve", ""))
	isFile := func(arg string) bool { return strings.HasPrefix(arg, "--web.config.file=") } // which it would read
	if _, err := app.Parse(slices.DeleteFunc(args, isFile)); err != nil {
		return usageErrorf("the container would refuse its flags: %w", err)
	}
	return serve.validate()
}
