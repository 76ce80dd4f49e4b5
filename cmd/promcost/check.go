package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/windows"
	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/promquery/remote"
)

// checkFlags are the flags of the commands that check a source.
type checkFlags struct {
	source *sourceFlags
	cost   *costFlags
	window string
	output string

	baseline string // a price sheet

	allowlist *allowlist // printed in place of a check; nil checks

	inCluster bool
	urls      []string // where to look for a Prometheus in a cluster
}

func defineCheckSource(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	return (&checkFlags{urls: manifests.UsualURLs()}).define(clause, io, logs)
}

// define adds the flags and returns what carries out the check.
func (f *checkFlags) define(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f.source, f.cost = addSourceFlags(clause), addCostFlags(clause)
	clause.Flag("window", "What time to look at. A duration ends now, or where the newest block does if only blocks are read.").Default("1h").StringVar(&f.window)
	oneOf(clause, "output", "Output format: table, wide (all columns, however wide) or json.", &f.output, "table", wideOutput, "json").Short('o')
	clause.Flag("in-cluster", "In a pod: look for a Prometheus at the names that its Services usually have, print the flags that name what answers, and check that.").BoolVar(&f.inCluster)
	const service = "Print the lines by which a service stores the metrics that costs are computed from, where it stores only those it is told to, and check nothing: azure, google, grafana-cloud or amp."
	addFlag(clause, "for", service, func(name string) (err error) {
		f.allowlist, err = allowlistNamed(name)
		return err
	}).PlaceHolder("SERVICE").HintOptions(allowlistNames()...)
	return func(ctx context.Context) error { return checkSource(ctx, f, io, logs) }
}

// checkSource prints which data the source has. A missing input that is required is an error.
func checkSource(ctx context.Context, f *checkFlags, io streams, logs *logFlags) error {
	if f.allowlist != nil {
		return f.allowlist.write(io)
	}
	if f.inCluster {
		if err := f.findSource(ctx, io); err != nil {
			return err
		}
	}
	svc, err := openService(f.source, f.cost, io.err, logs)
	if err != nil {
		return err
	}
	defer svc.Close()
	w, err := f.parseWindow(svc)
	if err != nil {
		return err
	}
	stop := showProgress(io.err, svc.status)
	d, err := svc.computer.Diagnose(ctx, w)
	stop()
	if err != nil {
		return fmt.Errorf("check source from %s to %s: %w", w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339), err)
	}
	if err := f.print(d, svc.settings().Zone, io); err != nil {
		return err
	}
	if err := nameStore(ctx, svc.computer.source.server, io); err != nil {
		return err
	}
	if d.Nothing {
		return fmt.Errorf("check source from %s to %s: %w: none of the metrics that promcost needs has samples", w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339), allocation.ErrNoData)
	}
	for i := range d.Clusters {
		if c := &d.Clusters[i]; len(c.Uncovered) > 0 {
			return fmt.Errorf("cluster %s: the window is not covered: a required input has no sample from %s to %s: was what exports it down, or does the retention of the source not reach so far back?",
				c.Cluster, c.Uncovered[0].Start.Format(time.RFC3339), c.Uncovered[0].End.Format(time.RFC3339))
		}
	}
	if !d.Complete() {
		return errors.New("a required input is missing: nothing right can be computed without it")
	}
	return nil
}

// nameStore says which hosted store a server is, if it is one that is known. Not to know is no failure.
func nameStore(ctx context.Context, server serverSource, io streams) error {
	s, ok := server.(interface {
		Service(ctx context.Context) (*remote.Service, error)
	})
	if !ok {
		return nil
	}
	store, err := s.Service(ctx)
	if err != nil || store == nil {
		return nil //nolint:nilerr // the check has its answer
	}
	return writeLine(io.err, "This is "+store.Name+": "+store.Gives+".")
}

// findSource looks for a Prometheus in the cluster, prints the flags of all that it finds, and takes the first as the source.
func (f *checkFlags) findSource(ctx context.Context, io streams) error {
	url := &f.source.prometheus.url
	if f.source.given() {
		return usageErrorf("--in-cluster looks for a source, but there is one: leave out --in-cluster, or --prometheus.url and --tsdb.path")
	}
	found := manifests.Find(ctx, f.urls)
	for _, p := range found {
		flags := "--" + prometheusURL + "=" + p.URL
		if p.Closed {
			flags += " --prometheus.http-config=FILE" // which has its credentials
		} else if *url == "" {
			*url = p.URL
		}
		if err := writeLine(io.err, flags); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("no Prometheus answers at the %d names that its Services usually have, such as %s: is this a pod, and may it reach them? Give --prometheus.url; \"kubectl get services -A\" lists the Services", len(f.urls), f.urls[0])
	}
	if *url == "" {
		return fmt.Errorf("%s wants credentials: give it with --prometheus.http-config, in place of --in-cluster", found[0].URL)
	}
	return nil
}

// parseWindow is the window that the flags name, as far as the source can have it.
func (f *checkFlags) parseWindow(svc *service) (allocation.Window, error) {
	now, err := svc.computer.source.now(0)
	if err != nil {
		return allocation.Window{}, err
	}
	w, _, err := windows.Parse(f.window, now, svc.settings().Zone, windows.Exact)
	if err != nil {
		return w, usageErrorf("parse --window: %w", err)
	}
	if w.End.After(now) {
		w.End = now
	}
	return w, nil
}

// print writes the diagnosis in the format that was asked for.
func (f *checkFlags) print(d *diagnosis.Diagnosis, zone *time.Location, io streams) error {
	if f.output == "json" {
		return encode.Diagnosis(io.out, d, encode.Options{Location: zone})
	}
	for _, w := range d.Warnings {
		if err := warn(io.err, w); err != nil {
			return err
		}
	}
	return encode.DiagnosisTable(io.out, d, zone, io.layout(f.output))
}
