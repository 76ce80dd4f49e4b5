package costapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/costapi"
)

// TestUnmatched checks that list entries that select nothing get a warning, and unknown types are refused.
func TestUnmatched(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		params     []string
		status     int
		want, not  string
	}{
		{name: "all match", path: "/model/allocation", params: []string{"window=1d", "filterNamespaces=web,bat*", "shareLabels=app:front", `share=pod:"sum-1"`}, status: 200, not: "nothing of the window"},
		{
			name: "namespaces", path: "/model/allocation", params: []string{"window=1d", "filterNamespaces=web,kube-sistem,a,b,c"}, status: 200,
			want: "parameter filterNamespaces: nothing of the window matches kube-sistem, a, b and 1 more",
		},
		{name: "shared namespaces", path: "/model/allocation/summary", params: []string{"window=1d", "shareNamespaces=kube-sistem"}, status: 200, want: "parameter shareNamespaces: nothing of the window matches kube-sistem"},
		{name: "shared labels", path: "/allocation", params: []string{"window=2h", "shareLabels=app:back"}, status: 200, want: "parameter shareLabels: nothing of the window matches app:back"},
		{name: "a filter of what is shared", path: "/allocation", params: []string{"window=2h", `share=namespace:"webb"`}, status: 200, want: "parameter share: nothing of the window matches namespace:"},
		{name: "a filter", path: "/allocation", params: []string{"window=2h", `filter=namespace:"webb"`}, status: 200, want: `parameter filter: nothing of the window matches namespace:\"webb\": check how it is spelled; if it is right, see https://github.com/promcost/promcost/blob/main/TROUBLESHOOTING.md#pods-are-missing`},
		{name: "a filter, aggregated with idle", path: "/model/allocation/summary", params: []string{"window=1d", "aggregate=namespace", `filter=namespace:"webb"`}, status: 200, want: "parameter filter: nothing of the window matches"},
		{name: "a filter of ACK", path: "/v2/allocation", params: []string{"window=1d", `filter=namespace:"webb"`}, status: 200, want: "parameter filter: nothing of the window matches"},
		{name: "a field selector", path: "/allocation", params: []string{"window=2h", "fieldSelector=metadata.namespace=webb"}, status: 200, want: "parameter fieldSelector: nothing of the window matches metadata.namespace=webb"},
		{name: "a label selector", path: "/allocation", params: []string{"window=2h", "labelSelector=app=x"}, status: 200, want: "parameter labelSelector: nothing of the window matches app=x"},
		{
			name: "two that exclude each other", path: "/allocation", params: []string{"window=2h", `filter=namespace:"web"`, "fieldSelector=metadata.namespace=batch"}, status: 200,
			want: "nothing of the window matches all of the filter and the selectors", not: "parameter filter",
		},
		{name: "values of a filter", path: "/allocation/autocomplete", params: []string{"window=2h", "field=pod", `filter=namespace:"webb"`}, status: 200, want: "parameter filter: nothing of the window matches"},
		{name: "a filter that matches", path: "/allocation", params: []string{"window=2h", `filter=namespace:"web"`}, status: 200, not: "nothing of the window"},
		{name: "a filter of what matches or not", path: "/allocation", params: []string{"window=2h", `filter=namespace:"web","webb"`}, status: 200, not: "nothing of the window"},
		{name: "no effect", path: "/allocation", params: []string{"window=2h", "filterPods=x", `filter=namespace:"web"`}, status: 200, not: "nothing of the window"},
		{name: "types", path: "/model/assets", params: []string{"window=1d", "filterTypes=node, Load*,disk"}, status: 200},
		{name: "a type that is none", path: "/model/assets", params: []string{"window=1d", "filterTypes=Node,LoadBalancr"}, status: 400, want: `did you mean \"LoadBalancer\"`},
		{name: "another type that is none", path: "/assets/autocomplete", params: []string{"window=1d", "field=type", "filterTypes=x*"}, status: 400, want: "use one of Node, Disk"},
		{name: "types of assets", path: "/model/assets/autocomplete", params: []string{"window=1d", "field=type"}, status: 200, want: "Node"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := get(newHandler(&fake{}, costapi.Config{}), tt.path, tt.params...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || tt.not != "" && strings.Contains(w.Body.String(), tt.not) {
				t.Errorf("%d %s, want %d with %q without %q", w.Code, w.Body, tt.status, tt.want, tt.not)
			}
		})
	}
	w := get(newHandler(&fake{}, costapi.Config{Defaults: map[string]string{"shareNamespaces": "gone"}}), "/model/allocation", "window=1d")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "parameter shareNamespaces: nothing of the window matches gone") {
		t.Errorf("a default: %d %s", w.Code, w.Body)
	}
}
