package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/cmd/promcost/internal/bucket"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/dashboards"
)

// defineManifests is the manifests subcommand.
func defineManifests(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	program, cost := newManifestsProgram(), costFlags{}
	addConfigFlags(clause, &cost)
	given := manifests.AddFlags(clause, manifests.Default(version.Version), program, func(flag string) bool {
		return !strings.HasPrefix(flag, logFlagPrefix) // which this command has itself
	})
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
	for _, d := range dashboards.Dashboards(dashboards.Settings{Currency: "USD"}) {
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
	if v.Bills.Secret == "" {
		if err := readStoresOfBills(c, v); err != nil {
			return err
		}
	}
	_, err = config.ParseSheet(cmp.Or(files.PricingFile, v.PricesFile), []byte(v.Prices))
	return err
}

// readStoresOfBills makes the files that describe object stores of bills part of values, but for those with credentials, which all who see
// the ConfigMap would read.
func readStoresOfBills(c *config.File, v *manifests.Values) error {
	for _, bill := range c.Bills {
		name := filepath.Base(bill.Bucket)
		if _, given := v.Files[name]; bill.Bucket == "" || given {
			continue
		}
		text, err := os.ReadFile(bill.Bucket)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another volume may have it
		}
		if err != nil {
			return fmt.Errorf("read the object store of bill %s: %w", bill.Name, err)
		}
		secret, err := bucket.HasCredentials(text)
		if err != nil {
			return fmt.Errorf("read the object store of bill %s, %s: %w", bill.Name, bill.Bucket, err)
		}
		if secret {
			return usageErrorf("%s, which bill %s names, has credentials, which all who see the ConfigMap would read: put it under the key %s into a Secret, and name that by --bills.secret",
				bill.Bucket, bill.Name, name)
		}
		if v.Files == nil {
			v.Files = map[string]string{}
		}
		v.Files[name] = string(text)
	}
	return nil
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
