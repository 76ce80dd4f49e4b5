package caret_test

import (
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/caret"
)

func TestNearest(t *testing.T) {
	names := []string{"aggregate", "window", "label", "pod", "id", "accumulate"}
	for name, want := range map[string]string{
		"aggregat": "aggregate", "AGGREGATE": "aggregate", "windwo": "window", "lable": "label", "labels": "label",
		"accumulat": "accumulate", "pods": "pod", "xyz": "", "i": "", "": "", "offset": "", "winter": "",
	} {
		if got := caret.Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestNearestToNothing verifies that a name which is too long to be a slip is not looked at further.
func TestNearestToNothing(t *testing.T) {
	long := strings.Repeat("\xff", 100_000)
	if n := testing.AllocsPerRun(1, func() { _ = caret.Nearest(long, []string{"aggregate", "window"}) }); n > 0 {
		t.Errorf("it allocates %v times", n)
	}
}

func TestNearestPath(t *testing.T) {
	paths := []string{"/", "/openapi.json", "/v2/allocation", "/allocation", "/model/allocation", "/model/allocation/compute", "/metrics", "/api/v1/label/{name}/values"}
	for path, want := range map[string]string{
		"/model/allocatoin":                  "/model/allocation",
		"/proxy/model/allocation/compute":    "/model/allocation/compute",
		"/proxy/model/allocation":            "/model/allocation",
		"/compute":                           "/model/allocation/compute",
		"/openapi":                           "/openapi.json",
		"/openapi.yaml":                      "/openapi.json",
		"/v2/alloc":                          "/v2/allocation",
		"/model":                             "",
		"/METRICS":                           "/metrics",
		"/api/v1/label/team/value":           "/api/v1/label/team/values",
		"/api/v1/lable/team/values":          "/api/v1/label/team/values",
		"/api/v1/label/team":                 "/api/v1/label/team/values",
		"/api/v1/label/a{b}/vals":            "/api/v1/label/a{b}/values",
		"/":                                  "",
		"/nothing":                           "",
		"/model/allocation/compute/by/month": "",
	} {
		if got := caret.NearestPath(path, paths); got != want {
			t.Errorf("%s is near %q, want %q", path, got, want)
		}
	}
}
