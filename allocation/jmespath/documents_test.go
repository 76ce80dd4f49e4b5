package jmespath_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// document is the input of the expressions in Kyverno's documentation.
const document = `{
	"request": {"namespace": "foo", "operation": "CREATE", "object": {
		"kind": "Pod",
		"metadata": {"name": "mypod", "labels": {"dept": "ENG", "segbill": "158-73-417", "corp.com/service-account": "finance"}, "annotations": {
			"foo": "alpha", "bar": "beta", "corpkey": "W0247-4RXD3-6TW0F-0FD63-64EFD-38180", "backup-schedule": "0 1 * * *",
			"pets": "species:\n  dog: lab\n  name: dory\n  color: black\n  height: 15\n  isGoodBoi: false\n  snacks:\n  - chimken\n  - fries\n  - pizza"}},
		"data": {"dept": "eng"},
		"spec": {"replicas": 5, "rules": [{"http": {"paths": [{"path": "/foo/bar"}]}}],
			"initContainers": [{"name": "redis", "image": "redis"}],
			"containers": [{"name": "busybox", "image": "busybox", "env": [{"valueFrom": {"secretKeyRef": {"name": "license"}}}]}, {"name": "nginx", "image": "nginx:latest"}],
			"volumes": [{"hostPath": {"path": "/var//run///containerd/containerd.sock"}}],
			"template": {"metadata": {"labels": {"app": "web"}}}}
	}},
	"spec": {"hard": {"limits.memory": "3750Mi", "requests.cpu": "5"}},
	"images": {"containers": {"my-container": {"tag": "1.2.3"}}},
	"element": {"path": "/cart/cart", "image": "docker.io/nginx:latest", "resources": {"requests": {"memory": "100Mi"}, "limits": {"memory": "250Mi"}}},
	"gidsMap": {"data": {"finance": "[\"1001\",\"1002\"]"}},
	"deptbillingcodes": {"data": {"eng_china": "158-6?-3*", "eng_india": "158-7?-4*", "busops": "145-0?-9*", "finops": "145-1?-5*"}},
	"components": [{"name": "commons-logging", "version": "1.2.0"}, {"name": "httpclient", "version": "4.5.13"}],
	"items": [{"spec": {"selector": {"matchLabels": {"app": "web"}}}}, {"spec": {"selector": {"matchLabels": {"app": "db"}}}}, {"spec": {"selector": {}}}],
	"status": "VzAyNDctNFJYRDMtNlRXMEYtMEZENjMtNjRFRkQtMzgxODA="
}`

// TestDocument evaluates the expressions of the documentation's policies unchanged, except that variables within variables are replaced
// by their values.
func TestDocument(t *testing.T) {
	var given any
	if err := json.Unmarshal([]byte(document), &given); err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]string{
		"request.namespace":                                                                     `"foo"`,
		`spec.hard."limits.memory"`:                                                             `"3750Mi"`,
		`images.containers."my-container".tag`:                                                  `"1.2.3"`,
		"request.object.spec.containers[].image | contains(@, 'nginx')":                         `false`,
		"request.object.spec.[initContainers, containers]":                                      `[[{"name": "redis", "image": "redis"}], [{"name": "busybox", "image": "busybox", "env": [{"valueFrom": {"secretKeyRef": {"name": "license"}}}]}, {"name": "nginx", "image": "nginx:latest"}]]`,
		"request.object.spec.[initContainers, containers][].image":                              `["redis", "busybox", "nginx:latest"]`,
		"request.object.metadata.labels.appns || ''":                                            `""`,
		"add(element.resources.requests.memory || `0`, element.resources.limits.memory || `0`)": `"350Mi"`,
		"add('100Mi', '0')":                                                                     `"100Mi"`,
		"request.object.spec.[containers, initContainers, ephemeralContainers][].env[].valueFrom.secretKeyRef || '' | length(@)": `1`,
		"request.object.spec.[containers, initContainers, ephemeralContainers][].env[].valueFrom.secretKeyRef":                   `[{"name": "license"}]`,
		"status | base64_decode(@)":                                                                                             `"W0247-4RXD3-6TW0F-0FD63-64EFD-38180"`,
		"base64_encode(request.object.metadata.annotations.corpkey)":                                                            `"VzAyNDctNFJYRDMtNlRXMEYtMEZENjMtNjRFRkQtMzgxODA="`,
		"compare(request.object.metadata.annotations.foo, request.object.metadata.annotations.bar)":                             `-1`,
		"divide(element.resources.limits.memory || '0', element.resources.requests.memory || '1m')":                             `2.5`,
		"equal_fold(request.object.metadata.labels.dept, request.object.data.dept)":                                             `true`,
		"items[?label_match(spec.selector.matchLabels || `{\"x\": \"y\"}`, `{\"app\": \"web\", \"tier\": \"1\"}`)] | length(@)": `1`,
		"modulo(element.resources.limits.memory || '0', element.resources.requests.memory || '1m')":                             `"50Mi"`,
		"items[] | length(@)": `3`,
		"multiply( `3`,`2`)":  `6`,
		`gidsMap.data."finance" | parse_json(@)[*].to_number(@)`:                                 `[1001, 1002]`,
		"request.object.metadata.annotations.pets | parse_yaml(@).species.isGoodBoi ":            `false`,
		"path_canonicalize(request.object.spec.volumes[0].hostPath.path)":                        `"/var/run/containerd/containerd.sock"`,
		"pattern_match(deptbillingcodes.data.eng_india, request.object.metadata.labels.segbill)": `true`,
		"pattern_match(deptbillingcodes.data.eng_china, request.object.metadata.labels.segbill)": `false`,
		`regex_match('^[0-9*]', request.object.metadata.annotations."backup-schedule" || '')`:    `true`,
		"replace(element.path, '/cart', '/shoppingcart', `1`)":                                   `"/shoppingcart/cart"`,
		"replace_all('/release-name---/x', 'release-name---', 'prod')":                           `"/prod/x"`,
		"regex_replace_all_literal('^[^/]+', element.image, 'myregistry.corp.com' )":             `"myregistry.corp.com/nginx:latest"`,
		"components[?name == 'commons-logging'].version | [0]":                                   `"1.2.0"`,
		"semver_compare( components[?name == 'httpclient'].version | [0], '>4.5.0')":             `true`,
		"request.object.spec.rules[].http.paths[].path | to_string(@) | split(@, '/') | [1]":     `"foo"`,
		"subtract(request.object.spec.replicas,`2`)":                                             `3`,
		"time_since('', '2022-04-10T03:14:05Z', '2022-04-11T03:14:05Z')":                         `"24h0m0s"`,
		"to_lower(request.object.metadata.labels.dept)":                                          `"eng"`,
		"to_upper(request.object.data.dept)":                                                     `"ENG"`,
		"truncate(request.object.metadata.annotations.corpkey,`12`)":                             `"W0247-4RXD3-"`,
	} {
		got, err := search(expr, given)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(want, err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", expr, diff)
		}
	}
	if _, err := search("request.object.metadata.labels.appns", given); err == nil || err.Error() != `Unknown key "appns" in path` {
		t.Error(err)
	}
}
