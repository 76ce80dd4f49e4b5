package costapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
)

// Ledger computes the sets of a query, oldest first. The API does not change them and adds nothing to the dictionaries of sets
// that were yielded; a Stream yields sets of several dictionaries. Errors that wrap allocation.ErrNoData, ErrTooMuch, ErrUpstream
// and ErrBusy or context.DeadlineExceeded get a status of their own.
type Ledger interface {
	Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error]
}

// ClusterInfo describes the cluster; unknown fields are empty.
type ClusterInfo struct {
	ID          string
	Name        string // the default is ID
	Profile     string // production, development, …
	Provider    string
	Project     string
	Account     string
	Region      string
	Provisioner string
	Version     string // version of Kubernetes, such as 1.31
}

// Question is a saved question: a name and the parameters of /model/allocation, as in a URL.
type Question struct {
	Name  string `json:"name"`
	Query string `json:"query"`
}

// Defaults of Config.
const (
	DefaultTimeout = 3 * time.Minute
	DefaultMaxRows = 1_000_000
	maxBody        = 1 << 20 // bytes of a form
)

// Config sets up the API. Zero fields take the defaults.
type Config struct {
	// Zone is the time zone of calendar words, dates and windows in answers. The default is UTC.
	Zone *time.Location
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Timeout bounds a request from its start to the first byte of the answer. The default is DefaultTimeout.
	Timeout time.Duration
	// EvaluationTimeout bounds the evaluation of a request's JMESPath expression. The default is DefaultEvaluationTimeout.
	EvaluationTimeout time.Duration
	// MaxRows bounds the allocations of an answer. The default is DefaultMaxRows.
	MaxRows int
	// MaxFilterSteps bounds what the filters of a request do, as filter.Steps count it. The default is filter.MaxSteps.
	MaxFilterSteps int64
	// Memory is the budget that requests draw from, each by an account of its own in the context of its calls to the Ledger. The
	// default has no bound.
	Memory *memory.Budget
	// Labels says which labels department, environment, owner, product and team stand for. The default is
	// allocation.DefaultLabelMapping.
	Labels allocation.LabelMapping
	// LabelNames are configured names of labels, in addition to those that a request asks for: see labelnames.LabelNames.
	LabelNames labelnames.Names
	// Selectable are the fields that field selectors may name. The default is filter.NewSelectable().
	Selectable *filter.Selectable
	// Derived are further properties to aggregate by. The default has none.
	Derived []*allocation.Derived
	// Check verifies every set before and after each pass. An answer with a broken set is an error.
	Check bool
	// Custom returns the prices of ACK's customCost once for each request; ok is false if there are none. The default has none.
	Custom func() (prices allocation.CustomPrices, ok bool)
	// Defaults are values of parameters by name, for requests that do not give them. They replace the documented defaults. If one
	// is no valid value, all requests fail that do not give the parameter.
	Defaults map[string]string
	// Currency is the ISO code of the money. The default is USD.
	Currency string
	// Cluster describes the cluster, once for each request about it. The default knows nothing.
	Cluster func() ClusterInfo
	// Clusters describes the other known clusters, once for each request about them. The default knows none.
	Clusters func() []ClusterInfo
	// Closed returns when the newest closed hour ended, once for each request about it. The default does not know it.
	Closed func() time.Time
	// NextClosed returns when the next hour will be closed, once for each request about it. The default does not know it.
	NextClosed func() time.Time
	// Questions are the saved questions. The default has none.
	Questions []Question
	// Views are the saved views of the page. The default has none.
	Views []View
	// Budgets are the budgets, and Spending how they stood at the end of the last closed hour, nil while that is not known; both
	// once for each request about them. The default has none.
	Budgets  func() []metering.Budget
	Spending func() *metering.Spending
	// Bills are what bills say. The default has none.
	Bills Bills
	// Diagnose says which data there is of each input. Its errors are like those of Ledger. The default has no data.
	Diagnose func(ctx context.Context, w allocation.Window) (*diagnosis.Diagnosis, error)
}

func (c Config) withDefaults() Config {
	c.Zone = cmp.Or(c.Zone, time.UTC)
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	c.MaxRows = cmp.Or(max(c.MaxRows, 0), DefaultMaxRows)
	c.Currency = cmp.Or(c.Currency, "USD")
	if c.Memory == nil {
		c.Memory = memory.New(0)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Labels == nil {
		c.Labels = allocation.DefaultLabelMapping()
	}
	if c.Selectable == nil {
		c.Selectable = filter.NewSelectable()
	}
	if c.Cluster == nil {
		c.Cluster = func() ClusterInfo { return ClusterInfo{} }
	}
	if c.Budgets == nil {
		c.Budgets = func() []metering.Budget { return nil }
	}
	if c.Spending == nil {
		c.Spending = func() *metering.Spending { return nil }
	}
	if c.Clusters == nil {
		c.Clusters = func() []ClusterInfo { return nil }
	}
	unknown := func() time.Time { return time.Time{} }
	if c.Closed == nil {
		c.Closed = unknown
	}
	if c.NextClosed == nil {
		c.NextClosed = unknown
	}
	if c.Custom == nil {
		c.Custom = func() (allocation.CustomPrices, bool) { return allocation.CustomPrices{}, false }
	}
	if c.Diagnose == nil {
		c.Diagnose = func(context.Context, allocation.Window) (*diagnosis.Diagnosis, error) {
			return nil, allocation.ErrNoData
		}
	}
	return c
}

// family is the product whose API a path belongs to. Families differ in their defaults.
type family uint8

const (
	kubecost family = iota
	openCost
	ackFamily
	numFamilies
)

// endpoint is the kind of a path's answer. Each parameter names the endpoints that take it.
type endpoint uint64

const (
	allocations endpoint = 1 << iota
	summaries
	toplines
	trends
	completions
	assetLists
	assetMaps // OpenCost's: one map of the whole window
	assetToplines
	assetCompletions
	ackAllocations
	changes    // of allocations between two windows
	assetDiffs // of assets between two windows
	anomalies
	forecasts
	assetForecasts
	diagnoses
	cloudCosts
	cloudGraphs
	cloudTotals
	cloudTables
	cloudTrends // of lines of bills between two windows
	customTotals
	customSeries
	reconciliations
	unclaimedVolumes
	abandonedWorkloads
	idleGPUs
	savingOverviews // of what those and kubecostSizes list
	nodeSavings     // of what bills would be without nodes
	kubecostSizes   // recommended requests in Kubecost's shape
	requestSizes
	backtests   // of recommended requests
	predictions // of what manifests would cost; they are the body
	facts       // a description of the cluster, which needs no computation
	information // takes no parameters
)

// route is a path and its answer.
type route struct {
	path     string
	family   family
	endpoint endpoint
	stored   bool // answers with stored sets of days and hours
	kept     bool // uses stored sets unless a resolution is asked for
	serve    func(*api, http.ResponseWriter, *request) error
}

// routes are the paths of the API.
func routes() []route {
	return append(savingRoutes(), []route{
		{"/model/allocation", kubecost, allocations, true, true, (*api).serveAllocations},
		{"/model/allocation/compute", kubecost, allocations, false, false, (*api).serveAllocations},
		{"/allocation", openCost, allocations, false, false, (*api).serveAllocations},
		{"/allocation/compute", openCost, allocations, false, false, (*api).serveAllocations},
		{"/model/allocation/summary", kubecost, summaries, true, true, (*api).serveSummary},
		{"/allocation/summary", openCost, summaries, false, false, (*api).serveSummary},
		{"/allocation/compute/summary", openCost, summaries, false, false, (*api).serveSummary},
		{"/model/allocation/summary/topline", kubecost, toplines, true, true, (*api).serveTopline},
		{"/model/allocation/trends", kubecost, trends, false, true, (*api).serveTrends},
		{"/model/allocation/change", kubecost, changes, true, true, (*api).serveChange},
		{"/model/anomalies", kubecost, anomalies, true, true, (*api).serveAnomalies},
		{"/forecasting/forecast/allocation", kubecost, forecasts, true, true, (*api).serveForecast},
		{"/forecasting/forecast/assets", kubecost, assetForecasts, true, true, (*api).serveForecast},
		{"/model/allocation/autocomplete", kubecost, completions, false, true, (*api).serveCompletion},
		{"/allocation/autocomplete", openCost, completions, false, false, (*api).serveCompletion},
		{"/model/assets", kubecost, assetLists, true, true, (*api).serveAssets},
		{"/assets", openCost, assetMaps, false, false, (*api).serveAssets},
		{"/model/assets/diff", kubecost, assetDiffs, true, true, (*api).serveAssetDiff},
		{"/model/assets/topline", kubecost, assetToplines, true, true, (*api).serveAssetTopline},
		{"/model/assets/autocomplete", kubecost, assetCompletions, false, true, (*api).serveAssetCompletion},
		{"/assets/autocomplete", openCost, assetCompletions, false, false, (*api).serveAssetCompletion},
		{"/cloudCost", openCost, cloudCosts, false, false, (*api).serveCloudCosts},
		{"/model/cloudCost", kubecost, cloudCosts, false, false, (*api).serveCloudCosts},
		{"/cloudCost/view/graph", openCost, cloudGraphs, false, false, (*api).serveCloudGraph},
		{"/cloudCost/view/totals", openCost, cloudTotals, false, false, (*api).serveCloudTotals},
		{"/cloudCost/view/table", openCost, cloudTables, false, false, (*api).serveCloudTable},
		{"/model/cloudCost/view/graph", kubecost, cloudGraphs, false, false, (*api).serveCloudGraph},
		{"/model/cloudCost/view/totals", kubecost, cloudTotals, false, false, (*api).serveCloudTotals},
		{"/model/cloudCost/view/table", kubecost, cloudTables, false, false, (*api).serveCloudTable},
		{"/model/cloudCost/view/trends", kubecost, cloudTrends, false, false, (*api).serveCloudTrends},
		{"/cloudCost/status", openCost, facts, false, false, (*api).serveCloudStatus},
		{"/customCost/status", openCost, facts, false, false, (*api).serveCustomStatus},
		{"/customCost/total", openCost, customTotals, false, false, (*api).serveCustomTotal},
		{"/customCost/timeseries", openCost, customSeries, false, false, (*api).serveCustomSeries},
		{"/model/reconciliation", kubecost, reconciliations, false, false, (*api).serveReconciliation},
		{"/model/prediction/speccost", kubecost, predictions, true, true, (*api).servePrediction},
		{"/v2/allocation", ackFamily, ackAllocations, false, false, (*api).serveACK},
		{"/model/diagnose", kubecost, diagnoses, false, false, (*api).serveDiagnosis},
		{"/model/clusterInfo", kubecost, facts, false, false, (*api).serveClusterInfo},
		{"/clusterInfo", openCost, facts, false, false, (*api).serveClusterInfo},
		{"/model/clusterInfoMap", kubecost, facts, false, false, (*api).serveClusterInfoMap},
		{"/clusterInfoMap", openCost, facts, false, false, (*api).serveClusterInfoMap},
		{"/model/getConfigs", kubecost, facts, false, false, (*api).serveConfigs},
		{"/model/budgets", kubecost, facts, false, false, (*api).serveBudgets},
		{"/model/views", kubecost, facts, false, false, (*api).serveViews},
		{"/model/questions", kubecost, facts, false, false, (*api).serveQuestions},
		{"/model/healthz", kubecost, information, false, false, (*api).serveHealth},
		{"/healthz", openCost, information, false, false, (*api).serveHealth},
		{"/openapi.json", kubecost, information, false, false, (*api).serveOpenAPI},
	}...)
}

// planned are paths of Kubecost and OpenCost that promcost does not answer, with what to ask instead.
var planned = map[string]string{
	"/model/allocation/topline":         "ask /model/allocation/summary/topline",
	"/model/allocation/compute/summary": "ask /model/allocation/summary",
	"/model/savings":                    "ask /model/savings for what there is",
	"/forecasting/forecast/cloudcost":   "ask /model/cloudCost/view/graph",
	"/model/allocation/compute/topline": "ask /model/allocation/summary/topline",
	"/model/allocation/summary/compute": "ask /model/allocation/summary",
	"/allocation/summary/topline":       "ask /model/allocation/summary/topline",
}

// off are paths of parts of OpenCost that it leaves out unless asked for them, and that promcost does not have: with the status by which
// OpenCost says so.
var off = map[string]*statusError{
	"/inferenceCost": {http.StatusNotImplemented, "costs of inference are off: promcost has none in this version: ask /allocation with aggregate=label:<name> for what the pods of models cost"},
	"/kubemodel":     {http.StatusServiceUnavailable, "the model of the cluster is off: promcost has none in this version: ask /allocation and /assets for what it has"},
	"/assets/carbon": {http.StatusNotFound, "estimates of carbon are off: promcost has none in this version: ask /assets for hours of nodes and bytes of disks"},
}

// below is the value of a path, or of the longest path that it is below.
func below[T any](table map[string]T, path string) (value T, ok bool) {
	for path != "" {
		if value, ok = table[path]; ok {
			break
		}
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	return value, ok
}

// Paths are the paths that the handler answers, sorted.
func Paths() []string {
	var paths []string
	for _, r := range routes() {
		paths = append(paths, r.path)
	}
	slices.Sort(paths)
	return paths
}

// api is the state that requests share; it does not change.
type api struct {
	ledger Ledger
	logger log.Logger
	cfg    Config
	routes map[string]route
	// vocabulary is the names that filters may use.
	vocabulary  []filter.Option
	evaluations *evaluations
}

// New returns the handler of the API over ledger. It logs failures that are not the client's to logger.
func New(ledger Ledger, logger log.Logger, cfg Config) http.Handler {
	return newAPI(ledger, logger, cfg)
}

// CheckQuestions checks the saved questions of a configuration, as requests for /model/allocation.
func CheckQuestions(cfg Config) error {
	a := newAPI(nil, log.NewNopLogger(), cfg)
	for _, q := range cfg.Questions {
		values, err := url.ParseQuery(q.Query)
		if err == nil {
			_, err = a.parse(a.routes["/model/allocation"], values)
		}
		if err != nil {
			return fmt.Errorf("question %s: %s: %w", q.Name, q.Query, err)
		}
	}
	return nil
}

func newAPI(ledger Ledger, logger log.Logger, cfg Config) *api {
	a := &api{ledger: ledger, logger: logger, cfg: cfg.withDefaults(), routes: map[string]route{}, evaluations: newEvaluations(cfg.EvaluationTimeout)}
	a.vocabulary = []filter.Option{filter.WithLabels(a.cfg.Labels), filter.WithDerived(a.cfg.Derived...)}
	for _, r := range routes() {
		a.routes[r.path] = r
	}
	return a
}

// ServeHTTP answers one request. A panic ends the request, not the process.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &answer{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares with this value, too
			panic(p)
		}
		level.Error(a.logger).Log("msg", "request panicked", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if out.started {
			panic(http.ErrAbortHandler) // the client must not take a part for the whole answer
		}
		a.fail(out, r, fmt.Errorf("internal error: %v: report it with the log of this time", p))
	}()
	if err := a.serve(out, r); err != nil {
		a.fail(out, r, err)
	}
}

// serve finds the route of r and answers it. It returns an error only if nothing was written yet.
func (a *api) serve(out *answer, r *http.Request) error {
	rt, ok := a.routes[strings.TrimSuffix(r.URL.Path, "/")]
	if !ok {
		return notFound(r.URL.Path)
	}
	values, text, err := readParameters(out, r, rt)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.cfg.Timeout)
	defer cancel()
	req, err := a.parse(rt, values)
	if err != nil {
		return err
	}
	ctx, account, release := a.cfg.Memory.Within(ctx, remedy)
	defer release()
	req.memory, req.prediction.text = account, text
	req.within(ctx)
	end := func() error { return nil }
	if rt.endpoint != information {
		end = out.compress(r.Header)
	}
	if err = a.answer(out, req); err != nil && !out.started {
		return err
	}
	if err = errors.Join(err, end()); err != nil {
		level.Debug(a.logger).Log("msg", "answer broke off", "path", r.URL.Path, "err", err)
		panic(http.ErrAbortHandler) // the client must not take a part for the whole answer
	}
	return nil
}

// methods are the methods that a path takes, as the header Allow has them.
func (a *api) methods(path string) string {
	if a.routes[strings.TrimSuffix(path, "/")].endpoint == predictions {
		return http.MethodPost
	}
	return "GET, HEAD, POST"
}

// Knows reports whether the handler answers a path, or has a hint about it.
func Knows(path string) bool {
	path = strings.TrimSuffix(path, "/")
	_, isPlanned := below(planned, path)
	_, isOff := below(off, path)
	return isPlanned || isOff || slices.ContainsFunc(routes(), func(r route) bool { return r.path == path })
}

// notFound is the error for an unknown path.
func notFound(path string) error {
	path = strings.TrimSuffix(path, "/")
	if err, ok := below(off, path); ok {
		return err
	}
	if instead, ok := below(planned, path); ok {
		return &statusError{http.StatusNotFound, fmt.Sprintf("path %.200q is not there yet in this version: %s", path, instead)}
	}
	hint := "use one of " + strings.Join(Paths(), ", ")
	if near := caret.NearestPath(path, Paths()); near != "" {
		hint = "did you mean " + near + "?"
	}
	return &statusError{http.StatusNotFound, fmt.Sprintf("unknown path %.200q: %s", path, hint)}
}
