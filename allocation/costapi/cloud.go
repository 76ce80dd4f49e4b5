package costapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billcheck"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/cloudcost"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/reconcile"
)

// Bills are what bills say, and which of their lines clusters explain.
type Bills interface {
	billing.Books
	// Parts returns a function that finds what a line of a book charges, and which parts of its cost each of these takes. It is not
	// safe for concurrent use.
	Parts(ctx context.Context, book *billing.Book) func(*billing.Line) ([]reconcile.Part, error)
	// Check compares the bills of a window with the assets of clusters.
	Check(ctx context.Context, w allocation.Window) (*billcheck.Report, error)
}

// noBills is the warning of answers from bills where there are none.
const noBills = "no bills are configured: name them under bills in the file of --config.file"

// cloudRowBytes is about what a row of cloud costs takes.
const cloudRowBytes = 2048

// custom reports whether the request is about vendors of SaaS.
func (q *request) custom() bool { return q.route.endpoint&customs != 0 }

// cloudWindows are the windows of the sets of cloud costs.
func (q *request) cloudWindows(w allocation.Window) ([]allocation.Window, error) {
	period := q.options.Accumulate
	switch {
	case q.route.endpoint&(cloudTotals|cloudTables|cloudTrends|customTotals|reconciliations) != 0, period == allocation.All:
		return []allocation.Window{w}, nil
	case period == allocation.NoPeriod:
		period = allocation.Day
	}
	return cutWindow(w, period, q.api.cfg.Zone)
}

// cloudSets are the sums of bills that the request asks for: one set at least.
func (a *api) cloudSets(q *request) ([]cloudcost.Set, error) {
	sets := make([]cloudcost.Set, len(q.timing.windows))
	for i, w := range q.timing.windows {
		sets[i].Window = w
	}
	if a.cfg.Bills == nil {
		q.warn("%s", noBills)
		return sets, nil
	}
	book, err := a.cfg.Bills.Book(q.ctx)
	if err != nil {
		return nil, err
	}
	q.warnings = append(q.warnings, book.Warnings()...)
	query := cloudcost.Query{Windows: q.timing.windows, Keys: q.cloud.keys, Custom: q.custom(), Grow: q.growCloud()}
	if query.Keys == nil && !query.Custom {
		if query.Keys, err = cloudcost.ParseKeys("", false); err != nil {
			return nil, err
		}
		q.cloud.keys = query.Keys
	}
	if !query.Custom {
		query.Parts = a.cfg.Bills.Parts(q.ctx, book)
	}
	if f := q.cloud.filter; f != nil {
		query.Filter = filter.BindOf(f, func(r *cloudcost.Row, n int) string { return r.Text(query.Custom, n) }, (*cloudcost.Row).Labels, q.selection.steps)
	}
	if sets, err = cloudcost.Read(q.ctx, book, query); err != nil {
		return nil, err
	}
	if err := q.selection.steps.Err(); err != nil {
		return nil, err
	}
	q.warnUnknown(sets)
	return sets, nil
}

// growCloud bounds the rows of the answer, and their memory.
func (q *request) growCloud() func() error {
	rows := 0
	return func() error {
		if rows++; rows > q.api.cfg.MaxRows {
			return fmt.Errorf("%w: more than %d rows: aggregate by fewer fields, filter, or ask for a shorter window", allocation.ErrTooMuch, q.api.cfg.MaxRows)
		}
		return q.memory.Draw(cloudRowBytes)
	}
}

// warnUnknown says which costs bills do not tell.
func (q *request) warnUnknown(sets []cloudcost.Set) {
	for c := range billing.NumCosts {
		lines := 0
		for i := range sets {
			lines += sets[i].Unknown[c]
		}
		if lines > 0 {
			q.warn("%d lines of bills have no %s cost: sums lack them", lines, c)
		}
	}
}

// serveCloudCosts answers with cloud costs, set by set.
func (a *api) serveCloudCosts(w http.ResponseWriter, q *request) error {
	sets, err := a.cloudSets(q)
	if err != nil {
		return err
	}
	return q.writeData(w, cloudcost.JSON(sets, q.cloud.keys, a.cfg.Zone))
}

// serveCloudGraph answers with the dearest rows of each set.
func (a *api) serveCloudGraph(w http.ResponseWriter, q *request) error {
	sets, err := a.cloudSets(q)
	if err != nil {
		return err
	}
	return q.writeData(w, cloudcost.Graph(sets, q.cloud.metric, a.cfg.Zone))
}

// serveCloudTotals answers with the sum of all rows.
func (a *api) serveCloudTotals(w http.ResponseWriter, q *request) error {
	sets, err := a.cloudSets(q)
	if err != nil {
		return err
	}
	return q.writeData(w, cloudcost.Total(&sets[0], q.cloud.metric))
}

// serveCloudTable answers with a page of rows.
func (a *api) serveCloudTable(w http.ResponseWriter, q *request) error {
	sets, err := a.cloudSets(q)
	if err != nil {
		return err
	}
	rows := cloudcost.Table(&sets[0], q.cloud.metric, q.cloud.page)
	if q.output.format == "csv" {
		q.startFile(w, q.warnings)
		return cloudcost.WriteTableCSV(w, rows, q.timing.window)
	}
	return q.writeData(w, rows)
}

// serveCloudTrends answers with how costs of bills changed since the window before, which is as long.
func (a *api) serveCloudTrends(w http.ResponseWriter, q *request) error {
	current := q.timing.windows[0]
	before := q.forWindows([]allocation.Window{{Start: current.Start.Add(-current.Duration()), End: current.Start}})
	earlier, err := a.cloudSets(before)
	if err != nil {
		return err
	}
	later, err := a.cloudSets(q)
	if err != nil {
		return err
	}
	q.join(before)
	return q.writeData(w, cloudcost.Trends(&earlier[0], &later[0], q.cloud.metric, q.output.names, a.cfg.Zone))
}

// serveCloudStatus answers with the state of each bill.
func (a *api) serveCloudStatus(w http.ResponseWriter, q *request) error {
	list := []*cloudcost.Status{}
	if a.cfg.Bills == nil {
		q.warn("%s", noBills)
		return q.writeData(w, list)
	}
	book, err := a.cfg.Bills.Book(q.ctx)
	if err != nil {
		return err
	}
	return q.writeData(w, append(list, cloudcost.StatusOf(book)...))
}

// serveCustomStatus answers with what is known of the bills of vendors.
func (a *api) serveCustomStatus(w http.ResponseWriter, q *request) error {
	if a.cfg.Bills == nil {
		q.warn("%s", noBills)
		return q.writeData(w, &cloudcost.CustomStatus{})
	}
	book, err := a.cfg.Bills.Book(q.ctx)
	if err != nil {
		return err
	}
	return q.writeData(w, cloudcost.CustomStatusOf(book, a.cfg.Zone))
}

// serveCustomTotal answers with the costs of vendors.
func (a *api) serveCustomTotal(w http.ResponseWriter, q *request) error {
	sets, err := a.cloudSets(q)
	if err != nil {
		return err
	}
	return q.writeData(w, cloudcost.Custom(&sets[0], cloudcost.CostType(q.cloud.costType), q.cloud.order, a.cfg.Zone))
}

// serveCustomSeries answers with the costs of vendors, step by step.
func (a *api) serveCustomSeries(w http.ResponseWriter, q *request) error {
	sets, err := a.cloudSets(q)
	if err != nil {
		return err
	}
	return q.writeData(w, cloudcost.CustomSeries(sets, cloudcost.CostType(q.cloud.costType), q.cloud.order, a.cfg.Zone))
}

// serveReconciliation answers with how bills and clusters fit together.
func (a *api) serveReconciliation(w http.ResponseWriter, q *request) error {
	if a.cfg.Bills == nil {
		q.warn("%s", noBills)
		return q.writeData(w, struct{}{})
	}
	report, err := a.cfg.Bills.Check(q.ctx, q.timing.query.Window)
	if err != nil {
		return err
	}
	q.warnings = append(q.warnings, report.Warnings...)
	if err := report.Problem(); err != nil {
		q.warn("%v", err)
	}
	return q.writeData(w, report)
}
