// Package pricewatch fetches what providers list, once a day, and keeps it beside the history, so that replicas share it and a restart needs no network.
package pricewatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/listprices/fetch"
	"github.com/promcost/promcost/collector"
)

// Place is where nodes run.
type Place struct{ Provider, Region string }

// Options of a Watch. All are required but for those that say otherwise.
type Options struct {
	Client   *http.Client
	URLs     map[string]string // of price lists by provider, where they are not the provider's own; may be nil
	Key      string            // Google's API key; may be empty
	Backend  history.Backend   // where lists are kept; nil keeps them in memory only
	ReadOnly bool              // whether nothing can be written there
	Places   func() []Place    // where nodes run; empty as long as that is not known
	Currency func() string     // of the prices
	Changed  func()            // called after lists have changed
	Now      func() time.Time
	Logger   log.Logger
}

// Times of fetching.
const (
	every      = 24 * time.Hour
	spread     = time.Hour        // at most that much later, so that replicas do not all fetch
	again      = time.Hour        // after a failure
	interval   = 10 * time.Minute // how often it is seen what others have fetched, and what is due
	firstLook  = time.Second      // how soon it is seen where nodes run; it doubles up to the last one
	lastLook   = 15 * time.Second
	mostPlaces = 100
)

// Watch has the lists of the places where nodes run. It is safe for concurrent use.
type Watch struct {
	Options
	later time.Duration // than a day

	looking sync.Mutex // one at a time

	mu       sync.Mutex
	added    []Place
	kept     map[Place]kept
	tried    map[Place]time.Time
	problems map[Place]error
	failures map[string]int // by provider
}

// kept is what a provider lists in a region.
type kept struct {
	name    string // of its file
	fetched time.Time
	version string
	table   *listprices.Table
}

// New returns a watch that has nothing yet.
func New(o Options) *Watch {
	return &Watch{Options: o, later: rand.N(spread), kept: map[Place]kept{}, tried: map[Place]time.Time{}, problems: map[Place]error{}, failures: map[string]int{}}
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	wait := firstLook
	for {
		if len(w.places()) > 0 {
			w.Look(ctx)
			wait = interval
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		wait = min(2*wait, max(wait, lastLook))
	}
}

// Add adds places where nodes run, besides those of the options.
func (w *Watch) Add(places []Place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added = append(w.added, places...)
}

// Look takes the lists that others have fetched, and fetches those that are due. What fails is logged, counted and a Problem: the lists from before stay.
func (w *Watch) Look(ctx context.Context) {
	w.looking.Lock()
	defer w.looking.Unlock()
	changed, err := w.load(ctx)
	if err != nil {
		level.Warn(w.Logger).Log("msg", "Reading the kept list prices failed", "err", err)
	}
	due := map[string][]string{} // regions by provider
	for _, p := range w.places() {
		if w.isDue(p) {
			due[p.Provider] = append(due[p.Provider], p.Region)
		}
	}
	for _, provider := range fetch.Providers() {
		if regions := due[provider]; len(regions) > 0 && w.fetch(ctx, provider, regions) {
			changed = true
		}
	}
	if changed {
		w.Changed()
	}
}

// places are those whose lists can be fetched, sorted.
func (w *Watch) places() []Place {
	w.mu.Lock()
	added := slices.Clone(w.added)
	w.mu.Unlock()
	places := slices.DeleteFunc(append(added, w.Places()...), func(p Place) bool {
		return !fetch.IsRegion(p.Region) || !slices.Contains(fetch.Providers(), p.Provider)
	})
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Provider+"/"+a.Region, b.Provider+"/"+b.Region) })
	places = slices.Compact(places)
	return places[:min(len(places), mostPlaces)]
}

// isDue reports whether the list of a place is to be fetched.
func (w *Watch) isDue(p Place) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.Now()
	if tried, ok := w.tried[p]; ok && now.Before(tried.Add(again)) {
		return false
	}
	k, ok := w.kept[p]
	return !ok || !now.Before(k.fetched.Add(every+w.later)) || k.table.Currency() != w.Currency()
}

// fetch fetches the lists of regions, and reports whether there are others now.
func (w *Watch) fetch(ctx context.Context, provider string, regions []string) (changed bool) {
	now := w.Now().UTC().Truncate(time.Second)
	known := map[string]string{}
	w.mu.Lock()
	for _, region := range regions {
		p := Place{provider, region}
		w.tried[p] = now
		if k, ok := w.kept[p]; ok && k.table.Currency() == w.Currency() {
			known[region] = k.version
		}
	}
	w.mu.Unlock()
	lists, err := fetch.Fetch(ctx, fetch.Request{
		Client: w.Client, Provider: provider, Regions: regions, URL: w.URLs[provider], Currency: w.Currency(), Key: w.Key, Now: now, Known: known,
	})
	if ctx.Err() != nil {
		return false
	}
	failed := map[string]error{}
	for _, region := range regions {
		i := slices.IndexFunc(lists, func(l fetch.List) bool { return l.Region == region })
		if i < 0 {
			failed[region] = err
			continue
		}
		changed = true
		if err := w.keep(ctx, Place{provider, region}, &lists[i], now); err != nil {
			failed[region] = fmt.Errorf("list prices of %s in %s: %w", provider, region, err)
			continue
		}
		level.Info(w.Logger).Log("msg", "Fetched list prices", "provider", provider, "region", region, "prices", len(lists[i].Rows))
	}
	w.note(provider, regions, failed)
	return changed
}

// note notes which regions failed, and logs each error once.
func (w *Watch) note(provider string, regions []string, failed map[string]error) {
	logged := map[string]bool{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, region := range regions {
		p, err := Place{provider, region}, failed[region]
		delete(w.problems, p)
		if err == nil {
			continue
		}
		w.problems[p] = err
		if !logged[err.Error()] {
			logged[err.Error()] = true
			level.Warn(w.Logger).Log("msg", "Fetching list prices failed: those from before stay", "provider", provider, "err", err)
		}
	}
	if len(failed) > 0 {
		w.failures[provider]++
	}
}

// keep keeps a list that was fetched, or dates the one that is there if it is of the same version. One that cannot be written counts all the same, beside the error.
func (w *Watch) keep(ctx context.Context, p Place, list *fetch.List, now time.Time) error {
	w.mu.Lock()
	before, ok := w.kept[p]
	w.mu.Unlock()
	if list.Rows == nil {
		list.Rows = before.table.Rows()
		for i := range list.Rows {
			list.Rows[i].AsOf = now.Truncate(24 * time.Hour)
		}
	}
	if ok && len(list.Rows) < before.table.Len()/2 {
		return fmt.Errorf("it has %d prices, and had %d before: less than half cannot be all", len(list.Rows), before.table.Len())
	}
	table, err := listprices.New(tableName, list.Rows)
	if err != nil {
		return err
	}
	next := kept{name: fileName(p, now), fetched: now, version: list.Version, table: table}
	w.mu.Lock()
	w.kept[p] = next
	w.mu.Unlock()
	if w.Backend == nil || w.ReadOnly {
		return nil
	}
	return w.write(ctx, p, &next)
}

// tableName is what fetched prices are called for people.
const tableName = "fetched list prices"

// Tables are the fetched prices, those in one currency in one table.
func (w *Watch) Tables() []*listprices.Table {
	w.mu.Lock()
	defer w.mu.Unlock()
	byCurrency := map[string][]listprices.Row{}
	for _, k := range w.kept {
		byCurrency[k.table.Currency()] = append(byCurrency[k.table.Currency()], k.table.Rows()...)
	}
	var tables []*listprices.Table
	for _, rows := range byCurrency {
		if t, err := listprices.New(tableName, rows); err == nil { // each was made before, of other places
			tables = append(tables, t)
		}
	}
	slices.SortFunc(tables, func(a, b *listprices.Table) int { return strings.Compare(a.Currency(), b.Currency()) })
	return tables
}

// Problem says which lists could not be fetched, nil if all could.
func (w *Watch) Problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	seen := map[string]bool{}
	for p, err := range w.problems {
		text := err.Error()
		if k, ok := w.kept[p]; ok {
			text += ": those of " + k.fetched.Format(time.DateOnly) + " still count"
		}
		if !seen[text] {
			seen[text] = true
			errs = append(errs, errors.New(text))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// State is what metrics have, by provider.
func (w *Watch) State() []collector.PriceFetch {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []collector.PriceFetch
	for _, provider := range fetch.Providers() {
		f := collector.PriceFetch{Provider: provider, Failures: w.failures[provider]}
		for p, k := range w.kept {
			if p.Provider == provider && k.fetched.After(f.LastSuccess) {
				f.LastSuccess = k.fetched
			}
		}
		if f.Failures > 0 || !f.LastSuccess.IsZero() {
			out = append(out, f)
		}
	}
	return out
}
