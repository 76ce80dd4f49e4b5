package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billcheck"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/cmd/promcost/internal/billwatch"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery/costseries"
)

// defineCheckBills is the subcommand that reads bills, and says how they and the clusters of a source fit together.
func defineCheckBills(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	f := &checkFlags{source: addSourceFlags(clause), cost: addCostFlags(clause)}
	clause.Flag("window", "What time to look at: the days of it that bills reach.").Default("7d").StringVar(&f.window)
	oneOf(clause, "output", "Output format: table, wide (all columns, however wide) or json.", &f.output, "table", wideOutput, "json").Short('o')
	return func(ctx context.Context) error { return checkBills(ctx, f, io, logs) }
}

// checkBills prints what bills say. Bills that are of no use for a cluster are an error.
func checkBills(ctx context.Context, f *checkFlags, io streams, logs *logFlags) error {
	svc, err := openService(f.source, f.cost, io.err, logs)
	if err != nil {
		return err
	}
	defer svc.Close()
	checker := svc.billChecker(svc.settings())
	if checker == nil {
		return usageErrorf("check bills: none are configured: name them under bills in the file of --config.file")
	}
	w, err := f.parseWindow(svc)
	if err != nil {
		return err
	}
	stop := showProgress(io.err, svc.status)
	report, err := checker.Check(ctx, w)
	stop()
	if err != nil {
		return fmt.Errorf("check bills from %s to %s: %w", w.Start.UTC().Format(time.RFC3339), w.End.UTC().Format(time.RFC3339), err)
	}
	for _, text := range report.Warnings {
		if err := warn(io.err, text); err != nil {
			return err
		}
	}
	if f.output == "json" {
		encoder := json.NewEncoder(io.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = billcheck.WriteTable(io.out, report, svc.settings().Zone, io.layout(f.output))
	}
	if err != nil {
		return err
	}
	return report.Problem()
}

// billChecker compares the bills of settings with the service's clusters; nil where there are no bills.
func (s *service) billChecker(of *config.Settings) *billcheck.Checker {
	if len(of.Bills) == 0 {
		return nil
	}
	return billcheck.New(s.ledger, s.bills, of.Zone, of.Labels)
}

// apiBills are the bills that the API answers from; nil where there are none.
func (s *service) apiBills(of *config.Settings) costapi.Bills {
	if c := s.billChecker(of); c != nil {
		return c
	}
	return nil
}

// newReconciler reconciles the sets of the service's ledger with the bills of settings; nil where there are no bills.
func (s *service) newReconciler(of *config.Settings) *reconcile.Reconciler {
	if len(of.Bills) == 0 {
		return nil
	}
	return reconcile.New(s.ledger, s.bills, reconcile.Options{Zone: of.Zone, Labels: of.Labels, Now: s.now, Days: s.days})
}

// billedHours are the hours of the ledger as bills charge them; nil where there are no bills.
func (s *service) billedHours() costseries.Hours {
	r := s.current.Load().reconciler
	if r == nil {
		return nil
	}
	return func(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
		return r.BilledHours(ctx, s.ledger.Hours, w, only)
	}
}

// budgetBills are what bills say now, for budgets, with estimates of what they do not charge yet; nil where there are no bills.
func (s *service) budgetBills(ctx context.Context) (recorder.Bills, error) {
	r := s.current.Load().reconciler
	if r == nil {
		return nil, nil
	}
	return r.View(ctx, allocation.Billed{Adjustments: true, Estimate: true})
}

// watchBills registers metrics about the bills.
func (s *service) watchBills() error {
	s.watched = billwatch.New(billwatch.Options{
		Checker: func() *billcheck.Checker { return s.billChecker(s.settings()) }, Zone: func() *time.Location { return s.settings().Zone }, Now: s.now, Logger: s.logs.kit,
	})
	return collector.NewBills(s.registry, func() int { return s.metering().MaxSeries() }, s.watched.State, s.logs.kit)
}
