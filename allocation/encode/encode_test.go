package encode_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var start = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// hour is a set of an hour of a small cluster: two pods, an idle node, a GPU and awkward names.
func hour(n int, dict *allocation.Dict) *allocation.Set {
	from := start.Add(time.Duration(n) * time.Hour)
	s := allocation.NewSet(allocation.Window{Start: from, End: from.Add(time.Hour)}, dict)
	s.Covered = []allocation.Covered{{Cluster: "main", Start: from, End: from.Add(time.Hour)}}
	s.Warnings = []string{"no metric \"container_fs_usage\": storage is missing"}
	web := allocation.Row{
		Services: []string{"api", "web"}, Labels: map[string]string{"app": "web", "tier": "<front> \"end\""},
		Annotations: map[string]string{"note": "ü\n\u2028\xff"}, NSLabels: map[string]string{"team": "shop"},
		NSAnnotations: map[string]string{"owner": "alice"}, Start: from.Add(30 * time.Minute), End: from.Add(time.Hour),
		GPU: allocation.GPUDevice{Device: "nvidia0", Model: "NVIDIA L4", UUID: "GPU-7", Shared: true},
	}
	web.Text = [allocation.Services]string{"c1", "node-a", "shop", "web-0", "uid-1", "main", "statefulset", "web", "aws:///eu-1a/i-0abc"}
	fill(&web, allocation.CPU, 0.5, 0.25, 0.4, 0.015)
	fill(&web, allocation.RAM, 1<<29, 1<<29, 1<<28, 0.002)
	fill(&web, allocation.GPU, 0.5, 0.5, 0, 0.5)
	web.Values[allocation.RunningSeconds] = 1800
	web.Values[allocation.LeastSeconds], web.Values[allocation.MostSeconds] = 1800*30.0/31, 1800*30.0/29
	job := allocation.Row{Start: from, End: from.Add(time.Minute)}
	job.Text = [allocation.Services]string{"c1", "node-a", "batch", "job-x1", "uid-2", "run, fast", "", "", "aws:///eu-1a/i-0abc"}
	fill(&job, allocation.CPU, 1.0/60, 0, 1.0/60, 1e-7)
	job.Values[allocation.RunningSeconds], job.Values[allocation.LeastSeconds], job.Values[allocation.MostSeconds] = 60, 0, 90
	job.Values[allocation.NetworkInternetCost], job.Values[allocation.PVCost], job.Values[allocation.PVCostAdjustment] = 1e-9, 0.25, -0.05
	s.Append(&web)
	s.Append(&job)
	s.Nodes = []allocation.Node{
		{
			Cluster: "c1", Name: "node-a", ProviderID: "aws:///eu-1a/i-0abc", InstanceType: "g5.xlarge", Pool: "gpu", Spot: true,
			Labels: map[string]string{"zone": "eu-1a", "arch": "amd64"}, Start: from, End: from.Add(time.Hour), RunningSeconds: 3600,
			Hours: [allocation.NumResources]float64{4, 16 << 30, 1}, Cost: [allocation.NumResources]float64{0.12 + 1e-7, 0.07, 0.95},
			Idle: [allocation.NumResources]float64{0.105, 0.068, 0.45},
		},
		{Cluster: "c1", Name: "bare", Start: from, End: from, InstanceType: "", Pool: "hidden"},
		{Cluster: "c2", Name: "gke-1", ProviderID: "gce://my-project/eu-1/gke-1", Start: from, End: from.Add(time.Hour)},
	}
	s.Disks = []allocation.Disk{{Cluster: "c1", Name: "pv-1", ProviderID: "vol-1", Start: from, End: from.Add(time.Hour), Cost: 0.25}}
	s.Networks = []allocation.Network{{Cluster: "c1", Start: from, End: from.Add(time.Hour), Internet: 1e-9}}
	return s
}

func fill(r *allocation.Row, res allocation.Resource, hours, request, usage, cost float64) {
	r.Values[allocation.Hours.Of(res)], r.Values[allocation.RequestHours.Of(res)] = hours, request
	r.Values[allocation.UsageHours.Of(res)], r.Values[allocation.UsageMax.Of(res)] = usage, 2*usage
	r.Values[allocation.Cost.Of(res)] = cost
}

func applied(t testing.TB, aggregate string, o passes.Options, hours int) []*allocation.Set {
	t.Helper()
	dict := allocation.NewDict()
	var sets []*allocation.Set
	for n := range hours {
		s := hour(n, dict)
		if err := passes.Check(s); err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	var err error
	if o.Aggregate, err = allocation.ParseKeys(aggregate, nil); err != nil {
		t.Fatal(err)
	}
	out, err := passes.Apply(sets, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// assetSets are all assets of the sets.
func assetSets(sets ...*allocation.Set) []*assets.Set {
	var out []*assets.Set
	for _, s := range sets {
		out = append(out, assets.List(s, assets.Options{}))
	}
	return out
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if strings.HasSuffix(name, ".json") {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, got, "", "  "); err != nil {
			t.Fatalf("not JSON: %v\n%s", err, got)
		}
		got = pretty.Bytes()
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read golden file: %v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestGolden(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	all := passes.Options{Idle: true}
	for name, write := range map[string]func(w *bytes.Buffer) error{
		"containers.json": func(w *bytes.Buffer) error {
			return encode.Allocations(w, applied(t, "", all, 1), encode.Options{Location: berlin, Warnings: []string{"a first one"}})
		},
		"singular.json": func(w *bytes.Buffer) error {
			return encode.Allocations(w, applied(t, "", passes.Options{}, 1), encode.Options{SingularProperties: true})
		},
		"accumulated.json": func(w *bytes.Buffer) error {
			return encode.Allocations(w, applied(t, "namespace,label:app", passes.Options{Idle: true, Accumulate: allocation.All, SplitIdle: true}, 2), encode.Options{})
		},
		"assets.json": func(w *bytes.Buffer) error {
			return encode.Assets(w, assetSets(applied(t, "", all, 2)...), encode.Options{Location: berlin})
		},
		"assetmap.json": func(w *bytes.Buffer) error {
			return encode.AssetMap(w, assetSets(applied(t, "", all, 1)...)[0], encode.Options{})
		},
		"namespaces.csv": func(w *bytes.Buffer) error {
			return encode.CSV(w, applied(t, "namespace", all, 1)[0], encode.Options{})
		},
		"containers.csv": func(w *bytes.Buffer) error { return encode.CSV(w, applied(t, "", all, 1)[0], encode.Options{}) },
		"namespaces.txt": func(w *bytes.Buffer) error {
			return encode.Table(w, applied(t, "namespace", all, 1)[0], encode.TableOptions{Currency: "USD"})
		},
		"limited.txt": func(w *bytes.Buffer) error {
			return encode.Table(w, applied(t, "pod", all, 1)[0], encode.TableOptions{Limit: 1})
		},
		"all.txt": func(w *bytes.Buffer) error {
			return encode.Table(w, applied(t, "all", passes.Options{}, 1)[0], encode.TableOptions{})
		},
		"error.json": func(w *bytes.Buffer) error { return encode.Error(w, 400, "parse window \"x\": not one") },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

// TestNoSets verifies that nothing is one empty map, which clients index without looking.
func TestNoSets(t *testing.T) {
	const want = `{"code":200,"status":"success","data":[{}],"coveredHours":0,`
	empty := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
	for name, write := range map[string]func(w *bytes.Buffer) error{
		"no allocations":  func(w *bytes.Buffer) error { return encode.Allocations(w, nil, encode.Options{}) },
		"empty set":       func(w *bytes.Buffer) error { return encode.Allocations(w, []*allocation.Set{empty}, encode.Options{}) },
		"no assets":       func(w *bytes.Buffer) error { return encode.Assets(w, nil, encode.Options{}) },
		"set of no asset": func(w *bytes.Buffer) error { return encode.Assets(w, assetSets(empty), encode.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(b.String(), want) {
				t.Errorf("got %s, want %s…", b.String(), want)
			}
		})
	}
	var b bytes.Buffer
	if err := encode.Table(&b, empty, encode.TableOptions{}); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("table of nothing: %v, %q, want a header", err, b.String())
	}
}

// TestSameBytes verifies that one set is written as the same bytes every time.
func TestSameBytes(t *testing.T) {
	var first []byte
	for range 10 {
		var b bytes.Buffer
		sets := applied(t, "namespace,label:app", passes.Options{Idle: true, SplitIdle: true}, 3)
		for _, err := range []error{
			encode.Allocations(&b, sets, encode.Options{}), encode.Assets(&b, assetSets(sets...), encode.Options{}),
			encode.CSV(&b, sets[0], encode.Options{}), encode.Table(&b, sets[0], encode.TableOptions{}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if first == nil {
			first = b.Bytes()
		}
		if !bytes.Equal(first, b.Bytes()) {
			t.Fatalf("bytes differ:\n%s\n%s", first, b.Bytes())
		}
	}
}

// TestKeys verifies that every documented member is in every allocation.
func TestKeys(t *testing.T) {
	var b bytes.Buffer
	if err := encode.Allocations(&b, applied(t, "namespace", passes.Options{Idle: true}, 1), encode.Options{}); err != nil {
		t.Fatal(err)
	}
	var body struct{ Data []map[string]map[string]any }
	if err := json.Unmarshal(b.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	want := []string{"name", "properties", "window", "start", "end", "pvs", "lbAllocations", "gpuAllocation", "rawAllocationOnly", "errorBounds"}
	for _, f := range fields.All() {
		want = append(want, f.Name)
	}
	slices.Sort(want)
	for name, row := range body.Data[0] {
		var got []string
		for key := range row {
			got = append(got, key)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if row["name"] != name {
			t.Errorf("row %q is named %q", name, row["name"])
		}
	}
}

// TestCSVReadsBack verifies that awkward names survive, and the order.
func TestCSVReadsBack(t *testing.T) {
	var b bytes.Buffer
	if err := encode.CSV(&b, applied(t, "", passes.Options{Idle: true}, 1)[0], encode.Options{}); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range records {
		names = append(names, r[0])
	}
	want := []string{"Name", "__idle__", "c1/node-a/shop/web-0/main", "c1/node-a/batch/job-x1/run, fast"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

var errFull = errors.New("disk full")

// full is a writer that fails after a number of bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestWriteErrors verifies that the error of the writer comes back, also in the middle of a long answer.
func TestWriteErrors(t *testing.T) {
	sets := applied(t, "", passes.Options{Idle: true}, 40)
	for name, err := range map[string]error{
		"allocations at once": encode.Allocations(&full{}, sets, encode.Options{}),
		"allocations later":   encode.Allocations(&full{left: 40_000}, sets, encode.Options{}),
		"assets":              encode.Assets(&full{}, assetSets(sets...), encode.Options{}),
		"asset map":           encode.AssetMap(&full{}, assetSets(sets...)[0], encode.Options{}),
		"csv":                 encode.CSV(&full{}, sets[0], encode.Options{}),
		"table":               encode.Table(&full{}, sets[0], encode.TableOptions{}),
		"error":               encode.Error(&full{}, 500, "x"),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want %v", name, err, errFull)
		}
	}
}

// TestLongError verifies that an error which quotes a long value keeps what stands before the value and behind it.
func TestLongError(t *testing.T) {
	for name, value := range map[string]string{"text": strings.Repeat("x", 200_000), "no UTF-8": strings.Repeat("\xff", 200_000), "wide characters": strings.Repeat("ä😀", 40_000)} {
		var b bytes.Buffer
		if err := encode.Error(&b, 400, "parse window "+value+": give two times"); err != nil {
			t.Fatal(err)
		}
		var body struct{ Message string }
		if err := json.Unmarshal(b.Bytes(), &body); err != nil {
			t.Fatalf("%s: %v in %.300s", name, err, b.Bytes())
		}
		if len(body.Message) > 4096 || !strings.HasPrefix(body.Message, "parse window ") || !strings.HasSuffix(body.Message, ": give two times") || strings.Count(body.Message, "…") != 1 {
			t.Errorf("%s: %d bytes: %.100s", name, len(body.Message), body.Message)
		}
	}
}

// FuzzStrings verifies that any text of a property makes valid JSON that reads as the standard library's.
func FuzzStrings(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "\u2028ü😀", "\xff\xfea\xc3", "<&>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2048 {
			t.Skip("long errors are shortened")
		}
		var b bytes.Buffer
		if err := encode.Error(&b, 400, text); err != nil {
			t.Fatal(err)
		}
		var body struct{ Message string }
		if err := json.Unmarshal(b.Bytes(), &body); err != nil {
			t.Fatalf("%q: %v in %s", text, err, b.Bytes())
		}
		if want := string([]rune(text)); body.Message != want {
			t.Errorf("%q reads back as %q, want %q", text, body.Message, want)
		}
	})
}
