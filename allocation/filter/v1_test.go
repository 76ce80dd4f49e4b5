package filter_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/passes"
)

// TestV1 checks which v2 filter each v1 filter stands for.
func TestV1(t *testing.T) {
	for _, tc := range []struct{ name, list, want string }{
		{"filterNamespaces", "web", `namespace:"web"`},
		{"filterNamespaces", " web , api,, ", `namespace:"web","api"`},
		{"filterNamespaces", "web,kube-*,api", `namespace:"web","api"|namespace<~:"kube-"`},
		{"filterNamespaces", "*", `namespace<~:""`},
		{"filterControllerKinds", "Deployment", `controllerKind:"Deployment"`},
		{"filterControllers", "front,job:sum*", `controllerName:"front"|(controllerKind:"job"+controllerName<~:"sum")`},
		{"filterLabels", "app:cost-analyzer, app:prometheus", `label[app]:"cost-analyzer","prometheus"`},
		{"filterLabels", "url:http://x,a b: c*", `label[url]:"http://x"|label[a b]<~:"c"`},
		{"filterAnnotations", "note:x", `annotation[note]:"x"`},
		{"filterServices", "front*", `services<~:"front"`},
		{"filterTeams", "red", `team:"red"`},
		{"filterEnvironments", "__unallocated__", `environment:"__unallocated__"`},
	} {
		t.Run(tc.name+"="+tc.list, func(t *testing.T) {
			e, err := filter.V1(tc.name, tc.list)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, strings.Trim(filter.New(e).String(), "()")); diff != "" && filter.New(e).String() != tc.want {
				t.Error(diff)
			}
			if _, err := filter.Parse(filter.New(e).String()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestV1Errors(t *testing.T) {
	for _, tc := range []struct {
		name, list, want string
		mapping          allocation.LabelMapping
	}{
		{"filterLabels", "app", "name:value", nil},
		{"filterLabels", "a:b, app,c:d", "parse list: column 6: \"app\" lacks a name or a value: write name:value, such as app:web\n  a:b, app,c:d\n       ^", nil},
		{"filterAnnotations", ":x", "name:value", nil},
		{"filterLab", "x", "unknown v1 filter", nil},
		{"filterTeams", "red", "team stands for no label", allocation.LabelMapping{}},
	} {
		if _, err := filter.V1(tc.name, tc.list, filter.WithLabels(tc.mapping)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s: got %v, want %q", tc.name, tc.list, err, tc.want)
		}
	}
	if e, err := filter.V1("filterPods", " , "); err != nil || len(e.(filter.And)) != 0 {
		t.Errorf("an empty list is %v, %v, want all", e, err)
	}
	if names := filter.V1Filters(); len(names) != 16 || names[3].Name != "filterNamespaces" {
		t.Errorf("filters %v", names)
	}
}

// TestV1Aliases checks that an alias selects by several labels, and by annotations of rows that have no such label.
func TestV1Aliases(t *testing.T) {
	s := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	for _, labels := range []map[string]string{{"squad": "red"}, {"team": "red"}, {"team": "blue", "squad": "x"}, {}} {
		s.Append(&allocation.Row{Labels: labels, Annotations: map[string]string{"team": "red"}})
	}
	s.Append(&allocation.Row{})
	for list, want := range map[string][]int{
		"red": {0, 1, 3}, "blue": {2}, "__unallocated__": {4}, "b*": {2}, "blue,__unallocated__": {2, 4}, "*": {0, 1, 2, 3, 4},
	} {
		mapping := filter.WithLabels(allocation.LabelMapping{"team": {"squad", "team"}})
		e, err := filter.V1("filterTeams", list, mapping)
		if err != nil {
			t.Fatal(err)
		}
		match := bound(filter.New(e, mapping), s)
		var got []int
		for row := range s.Len() {
			if match(row) {
				got = append(got, row)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", list, diff)
		}
	}
}

// TestUnallocatedAliases checks that an alias of several labels is missing if all of them are, as in aggregation.
func TestUnallocatedAliases(t *testing.T) {
	mapping := allocation.LabelMapping{"team": {"squad", "team"}}
	s := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	var list []allocation.Asset
	for _, labels := range []map[string]string{{"squad": "red"}, {"team": "red"}, {"team": "blue", "squad": "x"}, {}} {
		s.Append(&allocation.Row{Labels: labels})
		list = append(list, allocation.Asset{Labels: labels})
	}
	s.Append(&allocation.Row{Annotations: map[string]string{"squad": "red"}})
	list = append(list, allocation.Asset{Labels: map[string]string{"kubernetes_label_squad": "red"}})
	for text, want := range map[string][]int{
		`team:""`: {3}, `team:"__unallocated__"`: {3}, `team:"","blue"`: {2, 3}, `team!:""`: {0, 1, 2, 4}, `team!:"__unallocated__","red"`: {2},
		`team:""|team:"red"`: {0, 1, 3, 4}, `team!:""+team!:"red"`: {2},
	} {
		f, err := filter.Parse(text, filter.WithLabels(mapping))
		if err != nil {
			t.Fatal(err)
		}
		of, err := filter.ParseAssets(text, filter.WithLabels(mapping))
		if err != nil {
			t.Fatal(err)
		}
		var got, gotAssets []int
		match, matchAsset := bound(f, s), of.BindAssets(nil)
		for row := range list {
			if match(row) {
				got = append(got, row)
			}
			if matchAsset(&list[row]) {
				gotAssets = append(gotAssets, row)
			}
		}
		if diff := cmp.Diff([][]int{want, want}, [][]int{got, gotAssets}); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	keys, err := allocation.ParseKeys("team", mapping)
	if err != nil {
		t.Fatal(err)
	}
	out, err := passes.Apply([]*allocation.Set{s}, passes.Options{Aggregate: keys})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for row := range out[0].Len() {
		names = append(names, out[0].Name(row))
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"__unallocated__/__unallocated__", "__unallocated__/red", "red/__unallocated__", "x/blue"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestSharing(t *testing.T) {
	for _, tc := range []struct{ parameter, list, want, err string }{
		{"shareNamespaces", "kube-*", `kube-*: namespace<~:"kube-"`, ""},
		{"shareNamespaces", " kube-system,, web ", `kube-system: namespace:"kube-system", web: namespace:"web"`, ""},
		{"shareLabels", "env: staging,app:http://x", `env=staging: label[env]:"staging", app=http://x: label[app]:"http://x"`, ""},
		{"shareLabels", "app:x, app:y", `app=x: label[app]:"x", app=y: label[app]:"y"`, ""},
		{"shareLabels", " , ", "", ""},
		{"shareLabels", "a:b, env", "", "parse list: column 6: \"env\" lacks a name or a value: write name:value, such as app:web\n  a:b, env\n       ^"},
		{"shareMoods", "x", "", "unknown kind of sharing shareMoods"},
		{"shareNamespaces", strings.Repeat("x", filter.MaxBytes+1), "", "65537 bytes long"},
	} {
		list, err := filter.Sharing(tc.parameter, tc.list)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %q", tc.list, err, tc.err)
			}
			continue
		}
		var got []string
		for _, s := range list {
			got = append(got, s.Name+": "+filter.New(s.Expr).String())
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", tc.list, err, diff)
		}
	}
}

// assetList is an asset of each kind.
func assetList() []allocation.Asset {
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: at, End: at.Add(time.Hour)}, allocation.NewDict())
	s.Nodes = []allocation.Node{
		{Cluster: "c1", Name: "n1", ProviderID: "aws:///z/i-1", Region: "eu-1", Pool: "batch", Labels: map[string]string{"pool": "gpu", "a/b": "x", "team": "red"}},
		{Cluster: "c2", Name: "n2", ProviderID: "gce://proj/z/vm", Labels: map[string]string{"pool": "cpu", "a_b": "x", "kubernetes_label_owner": "ann"}},
	}
	s.Disks = []allocation.Disk{{Cluster: "c1", Name: "data", ProviderID: "vol-1"}}
	s.Balancers = []allocation.LoadBalancer{{Cluster: "c1", Namespace: "web", Service: "front", IP: "10.0.0.1"}}
	return assets.List(s, assets.Options{}).Assets
}

func TestAssetFilters(t *testing.T) {
	v1 := func(name, list string) func() (*filter.Filter, error) {
		return func() (*filter.Filter, error) {
			e, err := filter.V1Assets(name, list)
			return filter.NewAssets(e), err
		}
	}
	v2 := func(text string) func() (*filter.Filter, error) {
		return func() (*filter.Filter, error) { return filter.ParseAssets(text) }
	}
	for _, tc := range []struct {
		name   string
		filter func() (*filter.Filter, error)
		want   string
	}{
		{"types in any case", v1("filterTypes", "NODE, disk"), "data n1 n2"},
		{"names", v1("filterNames", "n*"), "n1 n2"},
		{"clusters in their case", v1("filterClusters", "C1"), ""},
		{"nothing", v1("filterClusters", " ,"), "data n1 n2 web/front"},
		{"regions", v1("filterRegions", "eu-1"), "n1"},
		{"pools", v1("filterNodePools", "bat*"), "n1"},
		{"a pool", v2(`nodePool:"batch","x"+assetType:"node"`), "n1"},
		{"labels as written or not", v1("filterLabels", "a/b:x"), "n1 n2"},
		{"no project", v1("filterProjects", "__unallocated__"), "data n1 web/front"},
		{"type", v2(`assetType:"node"`), "n1 n2"},
		{"not", v2(`assetType!:"Node"`), "data web/front"},
		{"label", v2(`label[pool]:"gpu","x"`), "n1"},
		{"keys", v2(`label<~:"po"`), "n1 n2"},
		{"categories in their case", v2(`category:"storage"`), ""},
		{"any case of v1", v1("filterCategories", "storage,COMP*"), "data n1 n2"},
		{"keys as a whole", v2(`label~:"poo"`), ""},
		{"no labels", v2(`label:"__unallocated__"`), "data web/front"},
		{"keys raw", v2(`label:"a/b"`), "n1 n2"},
		{"values by raw keys", v2(`label[a/b]!:"x"`), "data web/front"},
		{"values by written keys", v2(`label[a_b]:"x"`), "n1 n2"},
		{"alias", v2(`team:"red"`), "n1"},
		{"alias of a bill", v2(`owner:"ann"`), "n2"},
		{"no alias", v2(`owner:""+team:""`), "data web/front"},
		{"no key", v2(`label!<~:"po"`), "data web/front"},
		{"and, or", v2(`(category:"Storage"|provider:"GCP")+name~:"a"`), "data"},
		{"suffix", v2(`providerID~>:"-1" cluster:"c1"`), "data n1"},
		{"missing account", v2(`account:""`), "data n1 n2 web/front"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := tc.filter()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			match := f.BindAssets(nil)
			for _, a := range assetList() {
				if match(&a) {
					got = append(got, a.Title)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, text := range []string{`namespace:"x"`, `assetType[x]:"node"`, `name:`, strings.Repeat("(", 2000), strings.Repeat("x", filter.MaxBytes+1)} {
		if _, err := filter.ParseAssets(text); err == nil {
			t.Errorf("%.20s is taken", text)
		}
	}
	if _, err := filter.V1Assets("filterMoods", "x"); err == nil {
		t.Error("an unknown filter is taken")
	}
	if _, err := filter.V1Assets("filterLabels", "x"); err == nil || len(filter.V1AssetFilters()) != 12 {
		t.Error("a label without a value is taken")
	}
}

// TestAssetRegions finds what is in a region: nodes, the disks in them, and volumes that are labeled with it.
func TestAssetRegions(t *testing.T) {
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: at, End: at.Add(time.Hour)}, allocation.NewDict())
	s.Nodes = []allocation.Node{{Cluster: "c1", Name: "n1", Region: "eu-1"}, {Cluster: "c2", Name: "n1", Region: "eu-2"}}
	s.Disks = []allocation.Disk{
		{Cluster: "c1", Name: "n1", Local: true},
		{Cluster: "c2", Name: "n1", Local: true},
		{Cluster: "c1", Name: "elsewhere", Labels: map[string]string{"topology_kubernetes_io_region": "eu-2"}},
		{Cluster: "c2", Name: "old", Labels: map[string]string{"failure-domain.beta.kubernetes.io/region": "eu-1"}},
		{Cluster: "c1", Name: "unknown"},
	}
	for region, want := range map[string]string{"eu-1": "Disk c1 n1, Disk c2 old, Node c1 n1", "eu-2": "Disk c1 elsewhere, Disk c2 n1, Node c2 n1", "eu-3": ""} {
		f, err := filter.V1Assets("filterRegions", region)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range assets.List(s, assets.Options{Filter: filter.NewAssets(f).BindAssets(nil)}).Assets {
			got = append(got, a.Type.String()+" "+a.Cluster+" "+a.Title)
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: got %s, want %s", region, text, want)
		}
	}
}
