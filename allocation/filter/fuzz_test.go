package filter_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/filter"
)

// seeds are filters of every field and operator.
func seeds() []string {
	list := []string{
		`namespace:"kubecost"+container:"cost-model"`, `cluster:"cluster-one"+label[app]:"cost-analyzer"`, `cluster!:"cluster-one"`,
		`namespace!:"kubecost","kube-system"`, `(a:"b"|namespace:"c") pod~>:"x"`, `label[a/b]!<~:""`, `((((`, `label:"`, "pod:\"\x00\"",
		`assetType:"node"+(label[a]!~:"b"|name<~:"c")`, `label:"x" cluster~>:"y"`, `(`, `name:"`,
	}
	for _, subject := range allocationSubjects {
		for _, m := range meanings {
			list = append(list, subject.field+m.op+`"`+m.value+`"`)
		}
	}
	for _, subject := range assetSubjects {
		list = append(list, subject.field+`!~:"x"`)
	}
	return list
}

// FuzzParse reads filters of allocations and of assets, and reads back what they are written as.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	s, assets := namedSet(), assetList()
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string, ...filter.Option) (*filter.Filter, error){filter.Parse, filter.ParseAssets} {
			parsed, err := parse(text)
			if err != nil {
				var syntax *filter.SyntaxError
				if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) || err.Error() == "" {
					t.Fatalf("error %v", err)
				}
				continue
			}
			again, err := parse(parsed.String())
			if err != nil || again.String() != parsed.String() {
				t.Fatalf("%q is read back as %v, %v", parsed, again, err)
			}
			match, matchAgain := bound(parsed, s), bound(again, s)
			for i := range s.Len() {
				if match(i) != matchAgain(i) {
					t.Fatalf("%q and %q differ on row %d", text, again, i)
				}
			}
			match2, matchAgain2 := parsed.BindAssets(nil), again.BindAssets(nil)
			for i := range assets {
				if match2(&assets[i]) != matchAgain2(&assets[i]) {
					t.Fatalf("%q and %q differ on asset %d", text, again, i)
				}
			}
			if parsed.Explain() == "" {
				t.Fatal("no explanation")
			}
		}
	})
}

// FuzzMatch compares what a filter selects of a set, of the saved answer with that set, and by the plain evaluator.
func FuzzMatch(f *testing.F) {
	for i, seed := range seeds() {
		f.Add(seed, words[i%len(words)], "app", words[i/2%len(words)], "front")
	}
	f.Add(`label[a.b/c]:"x"`, "n", "a_b_c", "x", "")
	f.Fuzz(func(t *testing.T, text, name, key, value, service string) {
		parsed, err := filter.Parse(text)
		if err != nil {
			return
		}
		if !isText(name) || !isText(key) || !isText(value) || !isText(service) {
			return // JSON cannot hold it
		}
		r := row{cluster: name, node: value, namespace: name, kind: value, controller: name, pod: value, container: name, labels: map[string]string{key: value}}
		if service != "" {
			r.services = []string{service, name}
			r.annotations = map[string]string{name: service, key: name}
		}
		s := makeSet([]row{r})
		s.Window = allocation.Window{Start: time.Unix(0, 0).UTC(), End: time.Unix(3600, 0).UTC()}
		got := bound(parsed, s)(0)
		var body bytes.Buffer
		if err := encode.Allocations(&body, []*allocation.Set{s}, encode.Options{}); err != nil {
			t.Fatal(err)
		}
		names, err := parsed.Saved(&body)
		if err != nil || len(names) == 1 != got {
			t.Fatalf("%s on %+v: of a set %v, of an answer %v, %v", text, r, got, names, err)
		}
		plain := strings.Trim(key+service+name, "abcdefghijklmnopqrstuvwxyz") == "" && !strings.ContainsAny(text, "[]_./-")
		for _, c := range []string{"label", "annotation", "department", "environment", "owner", "product", "team"} {
			plain = plain && !strings.Contains(text, c) // spellings of keys, and the default mapping, are beyond the plain evaluator
		}
		if want := plain && evaluate(parsed.Expr(), r); plain && want != got {
			t.Fatalf("%s on %+v: got %v, want %v", text, r, got, want)
		}
	})
}

// isText reports whether s comes back from JSON as it is.
func isText(s string) bool { return strings.ToValidUTF8(s, "") == s }

// FuzzSaved reads arbitrary texts as answers.
func FuzzSaved(f *testing.F) {
	for _, seed := range []string{
		`{"code":200,"data":[{"a":{"properties":{"services":["x"],"labels":{"a":"b"},"service":"x"}}}],"message":"m"}`, `[{"a":null}]`, `{"data":{"a":{"labels":{}}}}`,
		`{"x":[[{}]],"data":null}`, `{"data":[`, `{}`, `"`,
	} {
		f.Add(seed)
	}
	var filters []*filter.Filter
	for _, parse := range []func(string, ...filter.Option) (*filter.Filter, error){filter.Parse, filter.ParseAssets} {
		parsed, err := parse(`label[a]:"b"|label:"x"|team:""|cluster~:"c"`)
		if err != nil {
			f.Fatal(err)
		}
		filters = append(filters, parsed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for _, selects := range filters {
			names, err := selects.Saved(strings.NewReader(answer))
			if err != nil && (names != nil || !strings.HasPrefix(err.Error(), "read answer: ")) {
				t.Fatalf("%v beside %v", names, err)
			}
			for _, name := range names {
				if strings.Count(strings.Join(names, "\x00\x00"), "\x00"+name+"\x00") > 1 {
					t.Fatalf("%q is there twice", name)
				}
			}
		}
	})
}

// FuzzSelectors reads arbitrary selectors, and declares arbitrary fields.
func FuzzSelectors(f *testing.F) {
	for _, seed := range labelSelectors {
		f.Add(seed)
	}
	for _, seed := range []string{
		"metadata.name=x", "spec.node=a\\,b,spec.pod!=c", "spec.colorx=blue", ".spec.providerID", ".metadata.name", ".spec.labels['app']", ".status.totalCost",
	} {
		f.Add(seed)
	}
	s, assets := namedSet(), assetList()
	f.Fuzz(func(t *testing.T, text string) {
		selectable := filter.NewSelectable()
		if err := selectable.Add(text, filter.Allocations, filter.Assets); err == nil && !strings.HasPrefix(text, ".spec.") && !strings.HasPrefix(text, ".status.") {
			t.Errorf("%q is selectable", text)
		}
		var all filter.And
		for _, r := range []filter.Resource{filter.Allocations, filter.Assets} {
			if e, err := selectable.Parse(r, text); err == nil {
				all = append(all, e)
			}
		}
		if e, err := filter.ParseLabelSelector(text); err == nil {
			all = append(all, e)
		}
		match, matchAsset := bound(filter.New(all), s), filter.NewAssets(all).BindAssets(nil)
		for i := range s.Len() {
			match(i)
		}
		for i := range assets {
			matchAsset(&assets[i])
		}
	})
}

// FuzzV1 looks for lists that panic, or that make filters that panic.
func FuzzV1(f *testing.F) {
	f.Add("a,b*,c:d*,,:")
	f.Add("app:cost-analyzer, app:prometheus")
	f.Add("__unallocated__, deployment:x*")
	s := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	s.Append(&allocation.Row{Services: []string{"a"}, Labels: map[string]string{"c": "d"}})
	assets := assetList()
	f.Fuzz(func(_ *testing.T, list string) {
		for _, v := range filter.V1Filters() {
			if e, err := filter.V1(v.Name, list); err == nil {
				bound(filter.New(e), s)(0)
			}
		}
		for _, v := range filter.V1AssetFilters() {
			if e, err := filter.V1Assets(v.Name, list); err == nil {
				filter.NewAssets(e).BindAssets(nil)(&assets[0])
			}
		}
	})
}
