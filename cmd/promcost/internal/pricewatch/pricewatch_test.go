package pricewatch_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/cmd/promcost/internal/pricewatch"
	"github.com/promcost/promcost/collector"
)

// provider is AWS with machines in one region.
type provider struct {
	*httptest.Server
	machines atomic.Int64
	version  atomic.Int64
	fails    atomic.Bool
	asked    atomic.Int64 // files
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	p.machines.Store(10)
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case p.fails.Load():
		w.WriteHeader(http.StatusForbidden)
	case strings.HasSuffix(r.URL.Path, "AmazonEC2/current/region_index.json"):
		fmt.Fprintf(w, `{"regions":{"eu-central-1":{"currentVersionUrl":"/offers/%d/index.json"}}}`, p.version.Load())
	case strings.HasSuffix(r.URL.Path, "AWSELB/current/region_index.json"):
		fmt.Fprint(w, `{"regions":{}}`)
	default:
		p.asked.Add(1)
		fmt.Fprint(w, "\"FormatVersion\",\"v1.0\"\nTermType,Unit,PricePerUnit,Currency,Product Family,Location Type,usageType,EffectiveDate,Instance Type,Tenancy,Operating System,Pre Installed S/W,CapacityStatus,operation,Volume API Name\n")
		for i := range p.machines.Load() {
			fmt.Fprintf(w, "OnDemand,Hrs,%g,USD,Compute Instance,AWS Region,BoxUsage,2026-01-01,m%d.large,Shared,Linux,NA,Used,RunInstances,\n", 0.1*float64(p.version.Load()+1), i)
		}
	}
}

// rig is a watch with a clock of its own.
type rig struct {
	*pricewatch.Watch
	now     time.Time
	changed int
	logged  bytes.Buffer
	places  []pricewatch.Place
}

func newRig(t *testing.T, p *provider, backend history.Backend) *rig {
	t.Helper()
	r := &rig{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), places: []pricewatch.Place{{Provider: "aws", Region: "eu-central-1"}}}
	r.Watch = pricewatch.New(pricewatch.Options{
		Client: p.Client(), URLs: map[string]string{"aws": p.URL, "azure": p.URL, "gcp": p.URL}, Backend: backend, Places: func() []pricewatch.Place { return r.places },
		Currency: func() string { return "USD" }, Changed: func() { r.changed++ }, Now: func() time.Time { return r.now }, Logger: log.NewLogfmtLogger(&r.logged),
	})
	return r
}

// price is what a machine costs by the tables, and the day of the price.
func (r *rig) price() string {
	for _, t := range r.Tables() {
		if p, ok := t.Price(listprices.Machine{Provider: "aws", Region: "eu-central-1", InstanceType: "m1.large"}); ok {
			return fmt.Sprintf("%.1f %s", p.PerHour, p.Text(t.Name(), "eu-central-1"))
		}
	}
	return "none"
}

// backends are places for lists.
func backends(t *testing.T) map[string]history.Backend {
	t.Helper()
	directory, err := history.OpenDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]history.Backend{"a directory": directory, "a bucket": history.NewBucket(objstore.NewInMemBucket(), history.BucketOptions{})}
}

// TestWatch fetches once a day, shares what it fetched, and starts with it again.
func TestWatch(t *testing.T) {
	for name, backend := range backends(t) {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			one, other := newRig(t, p, backend), newRig(t, p, backend)
			check := func(what, price string, asked int64, changes int) {
				t.Helper()
				if got := one.price(); got != price || p.asked.Load() != asked || one.changed != changes {
					t.Errorf("%s: %s, %d files were asked for, %d changes: want %s, %d and %d", what, got, p.asked.Load(), one.changed, price, asked, changes)
				}
			}
			one.Look(t.Context())
			check("at first", "0.1 fetched list prices of 2026-11-30", 1, 1)
			one.Look(t.Context())
			check("at once again", "0.1 fetched list prices of 2026-11-30", 1, 1)
			other.Look(t.Context())
			if other.price() != one.price() || other.changed != 1 || p.asked.Load() != 1 {
				t.Errorf("another has %s after %d files", other.price(), p.asked.Load())
			}
			one.now = one.now.Add(26 * time.Hour)
			one.Look(t.Context())
			check("a day later, the same version", "0.1 fetched list prices of 2026-12-01", 1, 2)
			p.version.Store(1)
			one.now = one.now.Add(26 * time.Hour)
			one.Look(t.Context())
			check("two days later, another version", "0.2 fetched list prices of 2026-12-02", 2, 3)
			other.now = one.now
			other.Look(t.Context())
			if other.price() != one.price() || p.asked.Load() != 2 {
				t.Errorf("another has %s after %d files", other.price(), p.asked.Load())
			}
			p.fails.Store(true)
			restarted := newRig(t, p, backend)
			if err := restarted.Load(t.Context()); err != nil || restarted.price() != one.price() {
				t.Errorf("after a restart: %s, %v", restarted.price(), err)
			}
			files := 0
			if err := backend.List(t.Context(), "prices", false, func(history.Object) error { files++; return nil }); err != nil || files != 1 {
				t.Errorf("%d files, %v", files, err)
			}
			if s := restarted.State(); len(s) != 1 || s[0] != (collector.PriceFetch{Provider: "aws", LastSuccess: one.now}) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestFailures keeps what there is where fetching fails, and says so.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*provider)
		want  string
	}{
		{"it refuses", func(p *provider) { p.fails.Store(true) }, "it answers 403 Forbidden"},
		{"it has half as many machines", func(p *provider) { p.machines.Store(4); p.version.Store(1) }, "it has 4 prices, and had 10 before: less than half cannot be all"},
		{"it has none", func(p *provider) { p.machines.Store(0); p.version.Store(1) }, "no machine is listed there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProvider(t)
			r := newRig(t, p, backends(t)["a directory"])
			r.Look(t.Context())
			tt.spoil(p)
			for range 2 {
				r.now = r.now.Add(26 * time.Hour)
				r.Look(t.Context())
				r.Look(t.Context()) // not before an hour
			}
			err := r.Problem()
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "those of 2026-11-30 still count") || r.price() != "0.1 fetched list prices of 2026-11-30" {
				t.Errorf("%v, and %s", err, r.price())
			}
			if s := r.State(); len(s) != 1 || s[0].Failures != 2 || !s[0].LastSuccess.Equal(r.now.Add(-52*time.Hour)) {
				t.Errorf("%+v", s)
			}
			if n := strings.Count(r.logged.String(), "Fetching list prices failed: those from before stay"); n != 2 {
				t.Errorf("logged %d times: %s", n, r.logged.String())
			}
			p.fails.Store(false)
			p.machines.Store(10)
			r.now = r.now.Add(2 * time.Hour)
			r.Look(t.Context())
			if err := r.Problem(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPlaces asks only for places whose lists there are.
func TestPlaces(t *testing.T) {
	p := newProvider(t)
	r := newRig(t, p, nil)
	r.places = []pricewatch.Place{{Provider: "oci", Region: "eu-frankfurt-1"}, {Provider: "aws", Region: "../secrets"}, {Provider: "aws", Region: ""}}
	p.fails.Store(true)
	r.Look(t.Context())
	if err := r.Problem(); err != nil || r.changed > 0 || len(r.State()) > 0 {
		t.Errorf("%v", err)
	}
	r.places = []pricewatch.Place{{Provider: "gcp", Region: "europe-west3"}}
	r.Look(t.Context())
	if err := r.Problem(); err == nil || !strings.Contains(err.Error(), "API key") {
		t.Errorf("without a key: %v", err)
	}
}

// TestDamaged fetches again what cannot be read.
func TestDamaged(t *testing.T) {
	p, dir := newProvider(t), t.TempDir()
	backend, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "prices", "aws", "eu-central-1", "20261130T110000Z.csv")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("provider,region\naws"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, p, backend)
	r.Look(t.Context())
	if r.price() != "0.1 fetched list prices of 2026-11-30" || !strings.Contains(r.logged.String(), "20261130T110000Z.csv") {
		t.Errorf("%s: %s", r.price(), r.logged.String())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the damaged file is still there")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p.version.Store(1)
	r.now = r.now.Add(26 * time.Hour)
	r.Look(t.Context())
	if err := r.Problem(); err == nil || r.price() != "0.2 fetched list prices of 2026-12-01" {
		t.Errorf("what cannot be written counts all the same: %s, %v", r.price(), err)
	}
}

// TestRun looks as soon as it is known where nodes run.
func TestRun(t *testing.T) {
	p := newProvider(t)
	r := newRig(t, p, nil)
	var known atomic.Bool
	r.Places = func() []pricewatch.Place {
		if !known.Swap(true) {
			return nil
		}
		return []pricewatch.Place{{Provider: "aws", Region: "eu-central-1"}}
	}
	fetched := make(chan struct{})
	r.Changed = func() { close(fetched) }
	done := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- r.Run(ctx) }()
	<-fetched
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
