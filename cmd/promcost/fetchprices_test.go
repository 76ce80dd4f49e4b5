package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// awsLists is a server with AWS's lists of one region: an m5.large costs 0.115, a GB-month of gp3 0.0952, and a network load balancer 0.027. It counts requests.
type awsLists struct {
	*httptest.Server
	asked atomic.Int64
	fails atomic.Bool
}

func serveAWSLists(t *testing.T) *awsLists {
	t.Helper()
	s := &awsLists{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		const columns = "TermType,Unit,PricePerUnit,Currency,Product Family,Location Type,usageType,EffectiveDate"
		switch path := r.URL.Path; {
		case s.fails.Load():
			w.WriteHeader(http.StatusForbidden)
		case strings.HasSuffix(path, "/current/region_index.json"):
			fmt.Fprintf(w, `{"regions":{"eu-central-1":{"currentVersionUrl":"%s"}}}`, strings.Replace(path, "current/region_index", "20261120214101/eu-central-1/index", 1))
		case strings.Contains(path, "/AmazonEC2/"):
			fmt.Fprintf(w, "\"FormatVersion\",\"v1.0\"\n%s,Instance Type,Tenancy,Operating System,Pre Installed S/W,CapacityStatus,operation,Volume API Name\n", columns)
			fmt.Fprint(w, "OnDemand,Hrs,0.115,USD,Compute Instance,AWS Region,EUC1-BoxUsage:m5.large,2026-11-01,m5.large,Shared,Linux,NA,Used,RunInstances,\n")
			fmt.Fprint(w, "OnDemand,GB-Mo,0.0952,USD,Storage,AWS Region,EUC1-EBS:VolumeUsage.gp3,2026-11-01,,,,,,,gp3\n")
		case strings.Contains(path, "/AWSELB/"):
			fmt.Fprintf(w, "\"FormatVersion\",\"v1.0\"\n%s\nOnDemand,Hrs,0.027,USD,Load Balancer-Network,AWS Region,EUC1-LoadBalancerUsage,2026-11-01\n", columns)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// listedThings writes blocks of a node of AWS, a volume and a load balancer without prices, from 10:00 to 12:00 of the last day of January 2026, and returns their directory.
func listedThings(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, to := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	var series []promtest.Series
	for _, x := range []struct {
		v      float64
		labels []string
	}{
		{1, []string{"kube_pod_container_status_running", "namespace", "shop", "pod", "web-0", "uid", "u", "container", "app"}},
		{1, []string{"kube_pod_info", "namespace", "shop", "pod", "web-0", "uid", "u", "node", "n1"}},
		{1, []string{"kube_node_info", "node", "n1", "provider_id", "aws:///eu-central-1a/i-0123"}},
		{1, []string{"kube_node_labels", "node", "n1", "label_node_kubernetes_io_instance_type", "m5.large", "label_topology_kubernetes_io_region", "eu-central-1"}},
		{2, []string{"kube_node_status_capacity", "node", "n1", "resource", "cpu"}},
		{8 << 30, []string{"kube_node_status_capacity", "node", "n1", "resource", "memory"}},
		{1, []string{"kube_persistentvolume_info", "persistentvolume", "pv-1", "storageclass", "gp3", "csi_driver", "ebs.csi.aws.com", "csi_volume_handle", "vol-1"}},
		{73 << 30, []string{"kube_persistentvolume_capacity_bytes", "persistentvolume", "pv-1"}},
		{1, []string{"kube_service_spec_type", "namespace", "shop", "service", "web", "type", "LoadBalancer"}},
	} {
		series = append(series, promtest.Series{Labels: append([]string{"__name__"}, x.labels...), Samples: promtest.Regular(from, to-1, 60_000, func(int64) float64 { return x.v })})
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

// assetCosts are the costs of the assets of the two hours of listedThings, by type.
func assetCosts(t *testing.T, url string) map[string]float64 {
	t.Helper()
	_, body := get(t, url+"/model/assets?accumulate=true&window="+bothHours)
	var answer struct {
		Data []map[string]struct {
			Type      string
			TotalCost float64
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v in %.300s", err, body)
	}
	costs := map[string]float64{}
	for _, assets := range answer.Data {
		for _, asset := range assets {
			costs[asset.Type] += asset.TotalCost
		}
	}
	return costs
}

// bothHours is the window of listedThings.
const bothHours = "2026-01-31T10:00:00Z,2026-01-31T12:00:00Z"

// isListed reports whether assets cost what is listed, for two hours.
func isListed(costs map[string]float64) bool {
	const hours = 2
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-6 }
	return near(costs["Node"], 0.115*hours) && near(costs["Disk"], 73*0.0952/730*hours) && near(costs["LoadBalancer"], 0.027*hours)
}

// TestServeFetchesPrices prices by what the provider lists, before the first hour is stored, and after a restart by what is kept.
func TestServeFetchesPrices(t *testing.T) {
	dir, kept, aws := listedThings(t), filepath.Join(t.TempDir(), "history"), serveAWSLists(t)
	flags := []string{"serve", "--tsdb.path=" + dir, "--pricing.fetch", "--pricing.url=aws=" + aws.URL}
	first := runDaemon(t, append(flags, "--storage.path="+kept)...)
	eventually(t, "it is not ready", func() bool { code, _ := get(t, first.url+"/-/ready"); return code == http.StatusOK })
	if got := assetCosts(t, first.url); !isListed(got) {
		t.Errorf("stored hours cost %v", got)
	}
	if !first.metrics(t, `promcost_price_fetch_failures_total{provider="aws"} 0`, `promcost_price_fetch_last_success_timestamp_seconds{provider="aws"} `) {
		t.Error("metrics do not say it")
	}
	first.end(t)
	asked := aws.asked.Load()

	aws.fails.Store(true)
	fresh := filepath.Join(t.TempDir(), "history") // no hours are stored, but the prices are there
	if err := os.CopyFS(filepath.Join(fresh, "prices"), os.DirFS(filepath.Join(kept, "prices"))); err != nil {
		t.Fatal(err)
	}
	second := runDaemon(t, append(flags, "--storage.path="+fresh)...)
	if got := assetCosts(t, second.url); !isListed(got) {
		t.Errorf("after a restart hours cost %v", got)
	}
	second.hangUp(t)
	eventually(t, "it does not reload", func() bool { return strings.Contains(second.err.String(), "Reloaded the configuration") })
	if got := assetCosts(t, second.url); !isListed(got) {
		t.Errorf("after a reload hours cost %v", got)
	}
	second.end(t)
	if aws.asked.Load() != asked {
		t.Errorf("%d more requests within a day", aws.asked.Load()-asked)
	}
}

// TestServeWithoutPrices serves by other prices where fetching fails, and says so.
func TestServeWithoutPrices(t *testing.T) {
	dir, aws := listedThings(t), serveAWSLists(t)
	aws.fails.Store(true)
	p := runDaemon(t, "serve", "--tsdb.path="+dir, "--storage.path=", "--pricing.fetch", "--pricing.url=aws="+aws.URL)
	eventually(t, "it does not say that fetching failed", func() bool {
		_, body := get(t, p.url+"/-/ready")
		return strings.Contains(body, "promcost is ready, but behind: fetch list prices of aws: "+aws.URL) && strings.Contains(body, "it answers 403 Forbidden")
	})
	if !p.metrics(t, `promcost_price_fetch_failures_total{provider="aws"} 1`) || !strings.Contains(p.err.String(), "Fetching list prices failed") {
		t.Error("neither metrics nor the log say it")
	}
	if got := assetCosts(t, p.url); math.Abs(got["Node"]-2*0.096) > 1e-6 { // of us-east-1, as built in
		t.Errorf("costs %v", got)
	}
}

// TestNothingIsFetchedUnasked asks no provider without the flag, whatever the other flags say.
func TestNothingIsFetchedUnasked(t *testing.T) {
	dir, aws := listedThings(t), serveAWSLists(t)
	p := runDaemon(t, "serve", "--tsdb.path="+dir, "--storage.path="+filepath.Join(t.TempDir(), "history"), "--pricing.url=aws="+aws.URL)
	eventually(t, "it is not ready", func() bool { code, _ := get(t, p.url+"/-/ready"); return code == http.StatusOK })
	if got := assetCosts(t, p.url); math.Abs(got["Node"]-2*0.096) > 1e-6 {
		t.Errorf("costs %v", got)
	}
	p.end(t)
	if n := aws.asked.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// end ends the process, and waits for that.
func (p *daemon) end(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.err.String())
	}
}

// TestFetchPrices writes list prices, which --pricing.list takes.
func TestFetchPrices(t *testing.T) {
	dir, aws := listedThings(t), serveAWSLists(t)
	file := filepath.Join(t.TempDir(), "list.csv")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // of what is written, or of the error
	}{
		{"of a region", []string{"--provider=aws", "--region=eu-central-1", "--output=" + file}, exitOK, "3 prices are in " + file + ": give it to --pricing.list"},
		{"of the source's nodes", []string{"--tsdb.path=" + dir, "--output=" + file}, exitOK, "3 prices are in " + file},
		{"to standard output", []string{"--provider=aws", "--region=eu-central-1"}, exitOK, "aws,eu-central-1,m5.large,ondemand,linux,0.115,USD,"},
		{"of a region that there is not", []string{"--provider=aws", "--region=xx-1"}, exitError, "fetch list prices of aws: xx-1: it has no such region"},
		{"of the provider's regions that the source's nodes have", []string{"--tsdb.path=" + dir, "--provider=aws", "--output=" + file}, exitOK, "3 prices are in " + file},
		{"of a provider that the source's nodes have not", []string{"--tsdb.path=" + dir, "--provider=azure"}, exitError, "no node of the source says"},
		{"without a region", []string{"--provider=aws"}, exitUsage, "nothing says what to fetch: give --provider and --region, or"},
		{"without a provider", []string{"--region=eu-central-1"}, exitUsage, "--region=eu-central-1 is of a provider: give --provider, too"},
		{"without anything", nil, exitUsage, "nothing says what to fetch"},
		{"of another provider", []string{"--provider=oci", "--region=x"}, exitUsage, "it must be aws, azure or gcp"},
		{"with a key that all can read", []string{"--provider=gcp", "--region=europe-west3", "--pricing.google-key=sesame"}, exitUsage, "can be read by every user of this machine"},
		{"without a key", []string{"--provider=gcp", "--region=europe-west3"}, exitError, "an API key: give one"},
		{"with a key that is not there", []string{"--provider=gcp", "--region=europe-west3", "--pricing.google-key-file=/nowhere"}, exitError, "read --pricing.google-key-file"},
		{"by a configuration that is not there", []string{"--provider=aws", "--region=eu-central-1", "--pricing.http-config=/nowhere"}, exitError, "read --pricing.http-config /nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, append([]string{"prices", "fetch", "--pricing.url=aws=" + aws.URL}, tt.args...)...)
			if code := <-p.code; code != tt.code || !strings.Contains(p.out.String()+p.err.String(), tt.want) || strings.Contains(p.err.String(), "sesame\"") {
				t.Errorf("exit %d: %s%s", code, p.out.String(), p.err.String())
			}
		})
	}
	c := start(t, "check", "prices", "--tsdb.path="+dir, "--pricing.list="+file)
	if code := <-c.code; code != exitOK || !strings.Contains(c.out.String(), file+" of ") {
		t.Errorf("exit %d: %s%s", code, c.out.String(), c.err.String())
	}
}

// TestBackfillTakesKeptPrices prices hours by the list prices that are kept beside the history, without asking anybody.
func TestBackfillTakesKeptPrices(t *testing.T) {
	dir, kept := listedThings(t), filepath.Join(t.TempDir(), "history")
	file := filepath.Join(kept, "prices", "aws", "eu-central-1", time.Now().UTC().Format("20060102T150405Z")+".csv")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	list := "provider,region,instanceType,option,os,price,currency,asOf,kind\naws,eu-central-1,m5.large,ondemand,linux,0.115,USD," + time.Now().UTC().Format(time.DateOnly) + ",machine\n"
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "backfill", "--tsdb.path="+dir, "--storage.path="+kept, "--history.grace=0s", "--from=2026-01-31T10:00:00Z", "--to=2026-01-31T12:00:00Z")
	if code := <-p.code; code != exitOK {
		t.Fatalf("exit %d: %s", code, p.err.String())
	}
	from := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	sum := 0.0
	for _, set := range readHours(t, kept, allocation.Window{Start: from, End: from.Add(2 * time.Hour)}) {
		for i := range set.Nodes {
			sum += set.Nodes[i].TotalCost()
		}
	}
	if math.Abs(sum-0.115) > 1e-6 { // the last hour may still get samples
		t.Errorf("the node costs %g in an hour", sum)
	}
}
