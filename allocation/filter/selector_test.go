package filter_test

import (
	"fmt"
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

// selectedBy are the names of the rows that a field selector selects, separated by spaces.
func selectedBy(t *testing.T, s *filter.Selectable, text string) string {
	t.Helper()
	e, err := s.Parse(filter.Allocations, text)
	if err != nil {
		t.Fatal(err)
	}
	return selected(filter.New(e))
}

func TestFieldSelectors(t *testing.T) {
	for _, tc := range []struct{ selector, want string }{
		{"metadata.name=one/n1/web/front-1/nginx", "web"},
		{"metadata.name!=one/n1/web/front-1/nginx", "api db bare"},
		{"metadata.namespace=data", "db bare"},
		{"metadata.namespace==data,spec.pod!=bare", "db"},
		{"metadata.namespace=web,metadata.namespace=api", ""},
		{"spec.cluster=two", "db bare"},
		{"spec.node=n2", "api"},
		{"spec.namespace=api", "api"},
		{"spec.controller=", "bare"},
		{"spec.controller!=", "web api db"},
		{"spec.controllerKind=Deployment", "web api"},
		{"spec.container=sh", "bare"},
		{"spec.service=front", "web"},
		{"spec.service=front-lb", ""}, // it is not the first
		{"spec.service=", "db bare"},
		{"spec.node=n1\\,n2", ""},
		{" spec.node=n1, spec.pod=front-1", "web"},
		{",,", "web api db bare"},
		{"", "web api db bare"},
	} {
		t.Run(tc.selector, func(t *testing.T) {
			if got := selectedBy(t, filter.NewSelectable(), tc.selector); got != tc.want {
				t.Errorf("selected %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFieldSelectorErrors(t *testing.T) {
	for _, tc := range []struct{ selector, want string }{
		{"spec.colorx=blue", "field label not supported: spec.colorx: use one of metadata.name, metadata.namespace, spec.cluster"},
		{"spec.pdo=x", `did you mean "spec.pod"?`},
		{"spec.providerID=x", "declare it as selectableFields"},
		{"spec.labels=x", "field label not supported: spec.labels"},
		{"spec.pod=x, spec.colorx=blue", "column 13: field label not supported: spec.colorx"},
		{"spec.pod=x,spec.node", "parse field selector: column 12: expected field=value or field!=value, such as spec.node=n1\n  spec.pod=x,spec.node\n             ^"},
		{"spec.node in (a,b)", "column 1: expected field=value"},
		{"spec.node=a=b", "column 12: expected \"\\\" before a comma"},
		{`spec.pod=\,,spec.node=a\x`, "column 24: expected a comma, "},
		{`spec.node=a\`, "column 12: expected a comma, "},
		{strings.Repeat("x", 200) + "=1", "supported: " + strings.Repeat("x", 50) + "…"},
		{strings.Repeat("x", filter.MaxBytes+1), "65537 bytes long"},
	} {
		_, err := filter.NewSelectable().Parse(filter.Allocations, tc.selector)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.50s: got %v, want %q", tc.selector, err, tc.want)
		}
	}
	for _, tc := range []struct{ selector, want string }{
		{"app in (a", "column 10: expected ',' or ')', found the end"},
		{"tier in (x,y), app=a b", "parse label selector: column 22: expected ',' or 'end of string', found \"b\": write it as app=web,tier in (a,b),!canary\n  tier in (x,y), app=a b\n                       ^"},
		{"x,-app=a", "column 3: expected the name of a label, found \"-app\": it is at most 63 letters"},
		{"a=b,app=a$", "column 9: expected the value of a label, found \"a$\": it is at most 63 letters"},
		{"a,,b", "column 3: expected a requirement, found \",\""},
		{"a>b", "column 3: expected a whole number after > or <, found \"b\""},
		{"app=" + strings.Repeat("x", 100), "column 5: expected the value of a label, found \"" + strings.Repeat("x", 50) + "…\""},
		{"app=a)", "column 6: expected"},
		{strings.Repeat("x", filter.MaxBytes+1), "65537 bytes long"},
	} {
		if _, err := filter.ParseLabelSelector(tc.selector); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.50s: got %v, want %q", tc.selector, err, tc.want)
		}
	}
}

// TestNamesAsAnswered selects a row by its name in answers, in which the id of the cluster may be written differently.
func TestNamesAsAnswered(t *testing.T) {
	s := makeSet([]row{{cluster: "arn:aws:eks:eu-1:1:cluster/prod", node: "n", namespace: "web", pod: "p", container: "c"}})
	sets, err := passes.Apply([]*allocation.Set{s}, passes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := sets[0].Name(0)
	e, err := filter.NewSelectable().Parse(filter.Allocations, "metadata.name="+name)
	if err != nil || !bound(filter.New(e), s)(0) {
		t.Errorf("%s selects nothing, %v", name, err)
	}
}

// add declares fields for all resources.
func add(t *testing.T, paths ...string) (*filter.Selectable, error) {
	t.Helper()
	s := filter.NewSelectable()
	for _, path := range paths {
		before := len(s.Fields(filter.Allocations)) + len(s.Fields(filter.Assets))
		if err := s.Add(path, filter.Allocations, filter.Assets); err != nil {
			if after := len(s.Fields(filter.Allocations)) + len(s.Fields(filter.Assets)); after != before {
				t.Errorf("an error left %d fields more", after-before)
			}
			return s, err
		}
	}
	return s, nil
}

// checkRefused checks that the last of paths is refused, and the reason.
func checkRefused(t *testing.T, want string, paths ...string) {
	t.Helper()
	if _, err := add(t, paths...); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v: got %v, want %q", paths, err, want)
	}
}

func TestSelectableWithoutIndexes(t *testing.T) {
	for _, path := range []string{".spec.services[0]", ".spec.labels['app']", ".spec['node']", ".spec.*", ".spec.services[*]"} {
		checkRefused(t, "indexes an array or a map: give a simple path such as .spec.providerID", path)
	}
}

func TestSelectableBySimplePaths(t *testing.T) {
	for _, path := range []string{"", ".", "spec.providerID", ".spec.", ".spec..node", "$.spec.node", "{.spec.node}", ".spec .node", ".spec.a-b", "..node"} {
		checkRefused(t, "is no simple path: give names behind dots, such as .spec.providerID", path)
	}
}

func TestSelectableLeafTypes(t *testing.T) {
	checkRefused(t, "of allocations is an array: give the path of a string, a boolean or an integer", ".spec.services")
	checkRefused(t, "of allocations is a map: give the path of a string, a boolean or an integer", ".spec.labels")
	checkRefused(t, "of allocations is a number: give the path of a string, a boolean or an integer", ".status.totalCost")
	checkRefused(t, "leads to nothing: use one of .spec.providerID, ", ".spec.labels.app")
	checkRefused(t, "leads to nothing: use one of .spec.providerID, ", ".spec")
	checkRefused(t, `leads to nothing (did you mean ".spec.providerID"?)`, ".spec.providerId")
	for _, path := range []string{".spec.providerID", ".spec.preemptible", ".spec.private", ".status.start", ".spec.team"} {
		if _, err := add(t, path); err != nil {
			t.Error(err)
		}
	}
}

func TestSelectableMetadata(t *testing.T) {
	for _, path := range []string{".metadata", ".metadata.name", ".metadata.namespace", ".metadata.labels", ".metadata.creationTimestamp"} {
		checkRefused(t, "is metadata: metadata.name and metadata.namespace can be selected by anyway", path)
	}
	for _, r := range []filter.Resource{filter.Allocations, filter.Assets} {
		if got := filter.NewSelectable().Fields(r)[:2]; !slices.Equal(got, []string{"metadata.name", "metadata.namespace"}) {
			t.Errorf("%s: %v", r, got)
		}
	}
}

func TestSelectableOnce(t *testing.T) {
	checkRefused(t, "is there already: name it once", ".spec.team", ".spec.team")
	checkRefused(t, "is there already: name it once", ".spec.cluster")
}

func TestSelectableNumber(t *testing.T) {
	paths := []string{
		".spec.region", ".spec.nodeType", ".spec.storageClass", ".spec.volumeName", ".spec.claimName", ".spec.claimNamespace", ".spec.ip", ".spec.private",
	}
	if len(paths) != filter.MaxSelectable {
		t.Fatal("the limit is another")
	}
	s, err := add(t, paths...)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.Fields(filter.Assets)) - len(filter.NewSelectable().Fields(filter.Assets)); got != len(paths) {
		t.Errorf("%d were added", got)
	}
	checkRefused(t, "is one too many for assets: at most 8 may be declared", append(paths, ".spec.preemptible")...)
	if _, err := add(t, append(paths, ".status.start")...); err != nil {
		t.Errorf("fields of another resource count: %v", err)
	}
}

// TestSelectableAbsent checks that a missing value equals the empty string.
func TestSelectableAbsent(t *testing.T) {
	s, err := add(t, ".spec.owner", ".spec.providerID", ".status.start", ".status.end", ".spec.team")
	if err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string]string{
		"spec.owner=": "web api db bare", "spec.providerID=": "web api db bare", "spec.owner=x": "", "spec.owner!=x": "web api db bare",
		"spec.team=": "web api db bare",
	} {
		if got := selectedBy(t, s, selector); got != want {
			t.Errorf("%s: got %q", selector, got)
		}
	}
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	set := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	r := &allocation.Row{Start: at, End: at.Add(time.Hour), Annotations: map[string]string{"team": "red"}}
	r.Text[allocation.ProviderID] = "aws:///eu-1a/i-1"
	set.Append(r)
	for _, selector := range []string{
		"spec.providerID=i-1", "spec.team=red", "status.start=2026-03-02T00:00:00Z,status.end=2026-03-02T01:00:00Z", "status.start!=2026-03-02",
	} {
		e, err := s.Parse(filter.Allocations, selector)
		if err != nil || !bound(filter.New(e), set)(0) {
			t.Errorf("%s selects nothing, %v", selector, err)
		}
	}
}

// TestSelectableAssets selects assets by every kind of field.
func TestSelectableAssets(t *testing.T) {
	s, err := add(t, ".spec.storageClass", ".spec.preemptible", ".spec.private", ".spec.nodeType", ".spec.ip", ".spec.volumeName", ".spec.nodePool", ".spec.claimName")
	if err != nil {
		t.Fatal(err)
	}
	set := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	set.Nodes = []allocation.Node{{Cluster: "c1", Name: "n1", Spot: true, InstanceType: "m5", Pool: "batch"}, {Cluster: "c2", Name: "n2"}}
	set.Disks = []allocation.Disk{
		{Cluster: "c1", Name: "data", StorageClass: "ssd", ClaimName: "pvc"},
		{Cluster: "c1", Name: "n1", Local: true},
	}
	set.Balancers = []allocation.LoadBalancer{{Cluster: "c1", Namespace: "web", Service: "front", IP: "10.0.0.1", Private: true}}
	for _, tc := range []struct{ selector, want string }{
		{"metadata.name=n1", "Disk n1, Node n1"},
		{"metadata.name=n1,spec.type=Node", "Node n1"},
		{"metadata.namespace=", "Disk data, Disk n1, LoadBalancer web/front, Node n1, Node n2"},
		{"metadata.namespace=web", ""},
		{"spec.preemptible=true", "Node n1"},
		{"spec.preemptible=false", "Node n2"},
		{"spec.preemptible=", "Disk data, Disk n1, LoadBalancer web/front"},
		{"spec.private=true", "LoadBalancer web/front"},
		{"spec.storageClass=ssd", "Disk data"},
		{"spec.volumeName!=", "Disk data"},
		{"spec.claimName=pvc", "Disk data"},
		{"spec.nodeType=m5", "Node n1"},
		{"spec.ip=10.0.0.1", "LoadBalancer web/front"},
		{"spec.cluster=c2", "Node n2"},
		{"spec.nodePool=batch", "Disk n1, Node n1"},
	} {
		e, err := s.Parse(filter.Assets, tc.selector)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range assets.List(set, assets.Options{Filter: filter.NewAssets(e).BindAssets(nil)}).Assets {
			got = append(got, a.Type.String()+" "+a.Title)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", tc.selector, diff)
		}
	}
}

func TestExplain(t *testing.T) {
	f, err := filter.Parse(`namespace:"a","b"+(label[app]!:"x"|services<~:"y")`)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := filter.ParseLabelSelector("app in (a,b)")
	if err != nil {
		t.Fatal(err)
	}
	all := filter.New(filter.Or{f.Expr(), labels})
	want := `any of
  all of
    namespace is "a","b"
    any of
      label[app] is not "x"
      services starts with "y"
  labels match app in (a,b)
`
	if diff := cmp.Diff(want, all.Explain()); diff != "" {
		t.Error(diff)
	}
	if want := `(namespace:"a","b"+(label[app]!:"x"|services<~:"y"))|labels(app in (a,b))`; all.String() != want {
		t.Errorf("got %s", all)
	}
	if fmt.Sprint(labels) != "app in (a,b)" {
		t.Errorf("got %v", labels)
	}
}
