package allocation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
)

func TestParseKeys(t *testing.T) {
	mapping := allocation.LabelMapping{"team": {"squad", "tribe"}}
	for name, tc := range map[string]struct {
		aggregate string
		mapping   allocation.LabelMapping
		want      string
		err       string
	}{
		"nothing":          {},
		"one":              {aggregate: "namespace", want: "namespace"},
		"every field":      {aggregate: "cluster,node,namespace,controllerKind,controller,deployment,statefulset,daemonset,job,service,pod,container,all,department,environment,owner,product,team,label:app,annotation:x", want: "cluster,node,namespace,controllerKind,controller,deployment,statefulset,daemonset,job,service,pod,container,all,department,environment,owner,product,team,label:app,annotation:x"},
		"any case":         {aggregate: "NameSpace, CONTROLLERKIND ,Label:App", want: "namespace,controllerKind,label:App"},
		"colon in a name":  {aggregate: "annotation:a:b/c", want: "annotation:a:b/c"},
		"alias of two":     {aggregate: "team", mapping: mapping, want: "team,team"},
		"alias of none":    {aggregate: "owner", mapping: mapping, err: `parse aggregate "owner": field 1: "owner" stands for no label: map it to one in the configuration`},
		"typing error":     {aggregate: "cluster,namespce", err: `parse aggregate "cluster,namespce": field 2: unknown field "namespce" (did you mean "namespace"?): use one of cluster, node,`},
		"label by its end": {aggregate: "lable:app", err: `unknown field "lable:app" (did you mean "label:<name>"?)`},
		"nothing near":     {aggregate: "quarterly", err: `unknown field "quarterly": use one of`},
		"twice":            {aggregate: "pod,namespace,Pod", err: `parse aggregate "pod,namespace,Pod": field 3: pod is there already: name it once`},
		"label twice":      {aggregate: "label:app,label:app", err: `field 2: label:app is there already: name it once`},
		"alias twice":      {aggregate: "team,team", mapping: mapping, err: `field 2: team is there already`},
		"too many":         {aggregate: strings.Repeat("label:a,", 100) + "pod", err: "parse aggregate: it has 101 fields, at most 100 are allowed: name fewer"},
		"labels by case":   {aggregate: "label:app,label:App", want: "label:app,label:App"},
		"empty item":       {aggregate: "pod,", err: `field 2: it is empty: remove the comma, or use one of cluster,`},
		"label unnamed":    {aggregate: "label:", err: `"label:" lacks a name: write label:app`},
		"name without use": {aggregate: "pod:x", err: `unknown field "pod:x" (did you mean "pod"?)`},
		"label no colon":   {aggregate: "label", err: `unknown field "label" (did you mean "label:<name>"?)`},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := allocation.ParseKeys(tc.aggregate, tc.mapping)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, k := range keys {
				got = append(got, k.String())
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ",")); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeyNames verifies that every documented key can be asked for.
func TestKeyNames(t *testing.T) {
	for _, name := range allocation.KeyNames() {
		if _, err := allocation.ParseKeys(name, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{"app.kubernetes.io/name": "app_kubernetes_io_name", "a-B_9": "a_B_9", "": "", "ü": "_"} {
		if got := labelnames.Sanitize(in); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzParseKeys verifies that keys that are accepted read back as the same keys.
func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{"", "namespace", "label:app,pod", "annotation:a:b", "team,TEAM", " , ", "label:,", "\xff:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, aggregate string) {
		keys, err := allocation.ParseKeys(aggregate, nil)
		if err != nil {
			return
		}
		var names []string
		for _, k := range keys {
			names = append(names, k.String())
		}
		again, err := allocation.ParseKeys(strings.Join(names, ","), nil)
		if err != nil {
			t.Fatalf("%q became %q: %v", aggregate, names, err)
		}
		if len(again) != len(keys) {
			t.Fatalf("%q: %d keys became %d", aggregate, len(keys), len(again))
		}
		for i := range keys {
			if keys[i] != again[i] {
				t.Errorf("%q: key %v became %v", aggregate, keys[i], again[i])
			}
		}
	})
}
