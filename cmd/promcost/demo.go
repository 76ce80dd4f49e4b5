package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/promquery/chunks"
	"github.com/promcost/promcost/promquery/democluster"
)

// demoPreset has the demo export labels that its workloads have, and requests that are recommended for them.
var demoPreset = servePreset{address: "127.0.0.1:9003", labels: "team,app.kubernetes.io/name", recommended: true}

// demoWindow is the window that the demo has data of before it serves, and that it shows.
const demoWindow = "6h"

// demoChange is the window that the demo's changes of cost fall into.
const demoChange = "yesterday"

// demoFlags say which cluster to make up.
type demoFlags struct {
	config   democluster.Config
	seed     int
	openCost bool
	dst      bool
	path     string
	write    string
}

func addDemoFlags(clause *kingpin.CmdClause) *demoFlags {
	f := &demoFlags{}
	countOf(clause, "demo.nodes", "Nodes of the cluster at any time.", &f.config.Nodes, 1).Default("10")
	countOf(clause, "demo.pods", "Pods that run at a time, about.", &f.config.Pods, 1).Default("150")
	durationOf(clause, "demo.duration", "How much history there is. With more than two weeks, a week is compared with the whole week before it.", &f.config.Duration, time.Minute).Default("16d")
	addFlag(clause, "demo.end", "When the history ends, as an RFC 3339 time. The default is now, and the cluster then lives on.", func(text string) error {
		end, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return errors.New("give an RFC 3339 time such as 2026-01-31T12:00:00Z")
		}
		f.config.End = end
		return nil
	}).PlaceHolder("TIME")
	clause.Flag("demo.dst", "End the history 36 hours after the clocks of --timezone, or of timeZone of the config file, were last set forward or back, in place of --demo.end: it has a day of 23 or 25 hours.").BoolVar(&f.dst)
	durationOf(clause, "demo.scrape-interval", "How often everything is scraped.", &f.config.ScrapeInterval, time.Second).Default("30s")
	countOf(clause, "demo.seed", "Which of many clusters it is: the same flags give the same cluster.", &f.seed, 1).Default("1")
	clause.Flag("opencost", "Let the cluster have an OpenCost. With --no-opencost its machines cost what AWS lists for them, or what Karpenter estimates.").Default("true").BoolVar(&f.openCost)
	clause.Flag("demo.path", "Empty directory for the samples, which stay there. The default is a temporary one, which does not.").PlaceHolder("DIR").StringVar(&f.path)
	clause.Flag("write", "Only write the samples as TSDB blocks into this directory, with their exact costs as truth.json and bills (FOCUS 1.2) below bills/, and exit.").PlaceHolder("DIR").StringVar(&f.write)
	return f
}

// afterChange is how long after a change of clocks the history ends: the day of the change is whole then.
const afterChange = 36 * time.Hour

// endAfterChange makes the history end after the last change of the clocks of a zone.
func (f *demoFlags) endAfterChange(zone *time.Location, now time.Time) error {
	if !f.config.End.IsZero() {
		return &usageError{cause: errors.New("--demo.dst says when the history ends, as --demo.end does: give one of them")}
	}
	changed, _ := now.Add(-afterChange).In(zone).ZoneBounds()
	if changed.IsZero() || now.Sub(changed) > 366*24*time.Hour {
		return &usageError{cause: fmt.Errorf("--demo.dst: the clocks of %s were not changed within a year: give a zone where they are, such as --timezone=Europe/Berlin", zone)}
	}
	f.config.End = changed.Add(afterChange).UTC()
	return nil
}

// cluster plans the cluster that the flags describe.
func (f *demoFlags) cluster(zone *time.Location) (c *democluster.Cluster, live bool, err error) {
	if f.dst {
		if err := f.endAfterChange(zone, time.Now()); err != nil {
			return nil, false, err
		}
	}
	live = f.config.End.IsZero()
	f.config.Seed, f.config.NoOpenCost = int64(f.seed), !f.openCost
	if c, err = democluster.New(changingYesterday(f.config.WithDefaults(time.Now()), zone)); err != nil {
		return nil, false, &usageError{cause: err}
	}
	return c, live, nil
}

// changingYesterday has costs change on the last whole day of the history, if it has the day before, too.
func changingYesterday(cfg democluster.Config, zone *time.Location) democluster.Config {
	today := allocation.Day.Round(allocation.Window{Start: cfg.End, End: cfg.End.Add(1)}, zone)
	yesterday := allocation.Day.Round(allocation.Window{Start: today.Start.Add(-1), End: today.Start}, zone)
	before := allocation.Day.Round(allocation.Window{Start: yesterday.Start.Add(-1), End: yesterday.Start}, zone)
	if !before.Start.Before(cfg.End.Add(-cfg.Duration)) {
		cfg.Changes = yesterday.Start
	}
	return cfg
}

// defineDemo is the demo subcommand.
func defineDemo(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	demo, cost, serve := addDemoFlags(clause), addCostFlags(clause), addServeFlags(clause, demoPreset)
	return func(ctx context.Context) error {
		s, err := config.Read(cost.Flags)
		if err != nil {
			return err
		}
		c, live, err := demo.cluster(s.Zone)
		if err != nil {
			return err
		}
		if demo.write != "" {
			return writeDemo(ctx, c, demo.write, io)
		}
		cost.Budgets = demoBudgetsOf(c, s.Zone)
		l, err := newLoggers(io.err, logs)
		if err != nil {
			return err
		}
		if err := serve.web.validate(); err != nil {
			return err
		}
		if _, err := serve.meter(s); err != nil {
			return err
		}
		if err := checkEmpty(demo.path, "--demo.path"); err != nil {
			return err
		}
		listeners, err := serve.web.listen() // before anything is made up: an address that is taken is said at once
		if err != nil {
			return err
		}
		dir, remove, err := demo.directory()
		if err != nil {
			return errors.Join(err, closeAll(listeners))
		}
		srv := &server{flags: serve, listeners: listeners, given: givenFlags(clause, logs), logs: l}
		return errors.Join(srv.runDemo(ctx, c, dir, live, cost, io), remove())
	}
}

// directory is the directory for the samples, and a function that removes it in the end.
func (f *demoFlags) directory() (dir string, remove func() error, err error) {
	if f.path != "" {
		return f.path, func() error { return nil }, nil
	}
	dir, remove, err = temporaryDir()
	if err != nil {
		return "", nil, fmt.Errorf("%w: give one with --demo.path=DIR", err)
	}
	return dir, remove, nil
}

// checkEmpty reports a directory that has something in it; flag named it.
func checkEmpty(dir, flag string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("write demo to %s: it is not empty: give a new or empty directory with %s=DIR", dir, flag)
	}
	return nil
}

// writeDemo writes the cluster's blocks, its bills and its exact costs into dir.
func writeDemo(ctx context.Context, c *democluster.Cluster, dir string, io streams) error {
	if err := checkEmpty(dir, "--write"); err != nil {
		return err
	}
	total := len(c.Blocks(c.Start(), c.End()))
	var done atomic.Int64
	stop := showBar(io.err, func() (n, all int, text string) { return blocksWritten(int(done.Load()), total) })
	err := c.WriteBlocks(ctx, dir, c.Start(), c.End(), func(n, _ int) { done.Store(int64(n)) })
	stop()
	if err != nil {
		return err
	}
	bills := filepath.Join(dir, demoBillsDir)
	if err := c.WriteBills(bills); err != nil {
		return err
	}
	truth := c.Truth(c.Start(), c.End())
	truth.Bill = c.BillTruth(c.Start(), c.End())
	if from, until := c.ChangeWindow(); from.Before(until) {
		truth.Change = c.ChangeTruth(from, until)
	}
	text, err := json.MarshalIndent(truth, "", " ")
	if err != nil {
		return fmt.Errorf("encode the demo's costs: %w", err)
	}
	file := filepath.Join(dir, "truth.json")
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil { //nolint:gosec // as public as the blocks beside it
		return fmt.Errorf("write the demo's costs: %w", err)
	}
	return writeLine(io.out, counted(total, "{n} {block|blocks} from {} to {} {is|are} in {}, {its|their} exact costs in {}, bills in {}",
		c.Start().Format(time.RFC3339), c.End().Format(time.RFC3339), dir, file, bills))
}

// runDemo serves the cluster from an embedded TSDB, which fills up and grows meanwhile.
func (s *server) runDemo(ctx context.Context, c *democluster.Cluster, dir string, live bool, cost *costFlags, io streams) error {
	fmt.Fprintln(io.err, "Making up a cluster …")
	options := democluster.DBOptions{Live: live, Recent: demoRecent(c)}
	if s.logs.slog.Enabled(ctx, slog.LevelDebug) {
		options.Logger = s.logs.slog // nobody needs the TSDB's own log
	}
	db, err := democluster.Open(ctx, dir, c, options)
	if err != nil {
		return errors.Join(err, closeAll(s.listeners))
	}
	if cost.Bills, err = demoBills(c, dir); err != nil {
		return errors.Join(err, db.Close(), closeAll(s.listeners))
	}
	now := time.Now
	if !live {
		now = c.End
	}
	keep := func() (keeping, error) {
		return demoKeeping(c.End().Sub(c.Start()), func() bool { return db.Progress().Ready })
	}
	s.service, err = newService(&opened{Source: chunks.New(db, chunks.Options{}), since: c.Start()}, cost, s.logs, serviceOptions{now: now, ledgerNow: now, stored: *s.flags.stored, keep: keep, meter: s.flags.meter})
	if err != nil {
		return errors.Join(err, db.Close(), closeAll(s.listeners))
	}
	s.closers = append(s.closers, db)
	s.actors = []actor{db.Run, func(ctx context.Context) error { return drawDemo(ctx, db, io) }}
	s.ready = func() error { return errors.Join(s.recorder.Ready(), demoReady(db.Progress())) }
	s.started = func(url string) {
		if err := greet(ctx, s.service, c, url, io); err != nil && ctx.Err() == nil {
			level.Error(s.logs.kit).Log("msg", "Showing the first costs failed", "err", err)
		}
	}
	return errors.Join(s.run(ctx), s.Close())
}

// demoRecent is how much of the history is written before it is served: what the first questions are about, and an hour before, by
// which what ran at their beginning is known.
func demoRecent(c *democluster.Cluster) time.Duration {
	from, until := c.ChangeWindow()
	first := from.Add(-until.Sub(from))
	if billed, _, ok := billedDay(c); ok && billed.Before(first) {
		first = billed
	}
	return c.End().Sub(first) + time.Hour
}

// blocksWritten is the progress of a demo, for a bar.
func blocksWritten(done, all int) (n, of int, text string) {
	return done, all, counted(all, "{} of {n} {block|blocks} written", done)
}

// drawDemo draws a bar until all of the demo's history is in.
func drawDemo(ctx context.Context, db *democluster.DB, io streams) error {
	stop := showBar(io.err, func() (done, all int, text string) {
		p := db.Progress()
		return blocksWritten(p.Written, p.Total)
	})
	defer stop()
	tick := time.NewTicker(progressTick)
	defer tick.Stop()
	for !db.Progress().Ready {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// demoKeeping keeps the history of the demo in a temporary directory, from when all of its samples are in.
func demoKeeping(duration time.Duration, loaded func() bool) (keeping, error) {
	dir, closer, err := temporaryDir()
	if err != nil {
		return keeping{}, err
	}
	directory, err := history.OpenDirectory(dir)
	if err != nil {
		return keeping{}, errors.Join(err, closer())
	}
	return keeping{
		store: history.New(directory, history.Options{}), where: dir, closer: closer,
		flags: storageFlags{backfill: duration}, loaded: loaded,
	}, nil
}

// closerFunc is a function that closes something.
type closerFunc func() error

// Close calls it.
func (f closerFunc) Close() error { return f() }

// demoReady says what of the demo's history is still missing.
func demoReady(p democluster.Progress) error {
	if p.Ready {
		return nil
	}
	return fmt.Errorf("the demo's older blocks are being written: %d of %d are in", p.Written, p.Total)
}

// greet prints the first costs and what to try next.
func greet(ctx context.Context, svc *service, c *democluster.Cluster, base string, io streams) error {
	window, billed := demoShown(c)
	parameters, who := url.Values{"window": {window}, "aggregate": {"namespace"}, "reconcile": {"false"}, "nulls": {"true"}}, askService(svc)
	body, _, err := who.ask(ctx, computePath, parameters)
	if err != nil {
		return err
	}
	answer, err := readReply(bytes.NewReader(body))
	if err != nil {
		return err
	}
	var costs map[string]float64
	shown, outside := demoWindow, ""
	if billed {
		shown = "yesterday" // which bills reach
		outside = fmt.Sprintf("  curl -s '%s/cloudCost?window=%s&aggregate=provider,service'\n", base, shown)
		if err := svc.bills.Look(ctx); err != nil {
			return err
		}
		if err := svc.watched.Look(ctx); err != nil {
			return err
		}
		parameters.Set("reconcile", "true")
		if costs, err = billedCosts(ctx, who, parameters); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := printTables(streams{out: &b, err: io.err}, answer, tableOptions{currency: svc.settings().Currency, billed: costs, layout: io.layout("table")}); err != nil {
		return err
	}
	fmt.Fprintf(&b, `
Open %[1]s/ui/ in a browser to see what this cluster costs and why. %[1]s/-/ready says when all of its history is in. Try also:

  curl -s '%[1]s/model/allocation/compute?window=%[2]s&aggregate=namespace'
  curl -s '%[1]s/model/allocation/compute?window=%[2]s&aggregate=controller&format=csv'
  curl -s '%[1]s/model/assets?window=%[2]s'
%[4]s  promcost query change --server=%[1]s --window=%[3]s --drill=controller

In Grafana, add %[1]s as a data source of the type Prometheus, and import what is on %[1]s/dashboards/.

Ctrl-C ends it.
`, base, shown, demoChange, outside)
	if s, ok := io.err.(*screen); ok {
		s.clear() // the bar, which may be on the same terminal
	}
	_, err = b.WriteTo(io.out)
	return err
}
