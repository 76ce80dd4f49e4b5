package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestManifestsPolicy lets pods of promcost's own ask it, whoever else may.
func TestManifestsPolicy(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("networkPolicy: {from: [{namespaceSelector: {matchLabels: {team: finops}}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	type selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	type peer struct {
		PodSelector       *selector `yaml:"podSelector"`
		NamespaceSelector *selector `yaml:"namespaceSelector"`
	}
	var peers []peer
	var asking map[string]string // labels of the pods of promcost-apiserver
	for d := yaml.NewDecoder(bytes.NewReader(manifestsOf(t, "--values="+values, "--prometheus.url=http://p:9090", "--namespace=costs", "--apiserver"))); ; {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Ingress  []struct{ From []peer }
				Template struct {
					Metadata struct{ Labels map[string]string }
				}
			}
		}
		if err := d.Decode(&o); err != nil {
			break
		}
		switch o.Kind + " " + o.Metadata.Name {
		case "NetworkPolicy promcost":
			for _, rule := range o.Spec.Ingress {
				peers = append(peers, rule.From...)
			}
		case "Deployment promcost-apiserver":
			asking = o.Spec.Template.Metadata.Labels
		}
	}
	teams, own := 0, 0
	for _, p := range peers {
		switch {
		case p.NamespaceSelector != nil && p.NamespaceSelector.MatchLabels["team"] == "finops":
			teams++
		case p.PodSelector != nil && p.NamespaceSelector == nil:
			own++
			for name, value := range p.PodSelector.MatchLabels {
				if asking[name] != value {
					t.Errorf("pods of promcost-apiserver have %q, and may ask with %s=%s", asking, name, value)
				}
			}
		}
	}
	if teams != 1 || own != 1 {
		t.Errorf("%d peers are the team, %d are pods of promcost: %+v", teams, own, peers)
	}
}

// TestManifestsEgress computes where the NetworkPolicy lets promcost go for each URL that values may name.
func TestManifestsEgress(t *testing.T) {
	anywhere := func(port int) string { return fmt.Sprintf(`{"ports":[{"port":%d,"protocol":"TCP"}]}`, port) }
	address := func(cidr string, port int) string {
		return fmt.Sprintf(`{"ports":[{"port":%d,"protocol":"TCP"}],"to":[{"ipBlock":{"cidr":%q}}]}`, port, cidr)
	}
	always := []string{`{"to":[{"namespaceSelector":{}}]}`, `{"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP"},{"port":443,"protocol":"TCP"}]}`}
	for _, tt := range []struct {
		name, url, values string
		want              []string
	}{
		{name: "a Service", url: "http://prometheus:9090"},
		{name: "a Service by its full name", url: "http://prometheus.monitoring.svc.cluster.local:9090"},
		{name: "a Service of another namespace, which a host elsewhere may be called like", url: "http://prometheus.monitoring:9090", want: []string{anywhere(9090)}},
		{name: "a host", url: "https://mimir.example.com:8443/prometheus", want: []string{anywhere(8443)}},
		{name: "a host at the port of HTTPS", url: "https://mimir.example.com"},
		{name: "a host at the port of HTTP", url: "http://mimir.example.com/prometheus", want: []string{anywhere(80)}},
		{name: "an address", url: "http://10.1.2.3:9090", want: []string{address("10.1.2.3/32", 9090)}},
		{name: "an address at the port of HTTPS", url: "https://10.1.2.3", want: []string{address("10.1.2.3/32", 443)}},
		{name: "an address of IPv6", url: "http://[2001:db8::1]:9090", want: []string{address("2001:db8::1/128", 9090)}},
		{name: "a proxy in the pod", url: "http://127.0.0.1:8005"},
		{name: "a proxy by a variable", url: "https://mimir.example.com", values: "extraEnv: [{name: HTTPS_PROXY, value: 'http://me:secret@proxy.example.com:3128'}]", want: []string{anywhere(3128)}},
		{name: "a proxy by a variable without a scheme", url: "https://mimir.example.com", values: "extraEnv: [{name: https_proxy, value: '10.9.8.7:3128'}]", want: []string{address("10.9.8.7/32", 3128)}},
		{name: "the object store of a bill", url: "http://p:9090", values: "{files: {store.yaml: \"type: S3\\nconfig:\\n  endpoint: minio.example.com:9000\\n\"}, config: 'bills: [{name: b, config: store.yaml}]'}", want: []string{anywhere(9000)}},
		{name: "the object store of a bill as JSON", url: "http://p:9090", values: "{files: {store.yaml: '{\"type\": \"S3\", \"config\": {\"endpoint\": \"10.3.3.3:9000\"}}'}, config: 'bills: [{name: b, config: store.yaml}]'}", want: []string{address("10.3.3.3/32", 9000)}},
		{name: "URLs of the config", url: "http://p:9090", values: "config: \"# prices are from http://prices.example.com:8000/sheet, and\\n# https://10.4.4.4:8443\"", want: []string{anywhere(8000), address("10.4.4.4/32", 8443)}},
		{name: "a URL twice", url: "http://10.1.2.3:9090", values: "extraEnv: [{name: HTTP_PROXY, value: 'http://10.1.2.3:9090'}]", want: []string{address("10.1.2.3/32", 9090)}},
		{name: "GKE's workload identity", url: "http://p:9090", values: "serviceAccount: {annotations: {iam.gke.io/gcp-service-account: costs@project.iam.gserviceaccount.com}}", want: []string{address("169.254.169.252/32", 988), address("169.254.169.254/32", 80)}},
		{name: "GKE's workload identity without an annotation", url: "http://p:9090", values: "networkPolicy: {egress: [{to: [{ipBlock: {cidr: 169.254.169.254/32}}], ports: [{port: 80}]}]}", want: []string{`{"ports":[{"port":80}],"to":[{"ipBlock":{"cidr":"169.254.169.254/32"}}]}`}},
		{name: "an object store without a port", url: "http://p:9090", values: "{files: {store.yaml: \"type: S3\\nconfig:\\n  endpoint: minio.example.com\\n  insecure: true\\n\"}, config: 'bills: [{name: b, config: store.yaml}]'}", want: []string{anywhere(80)}},
		{name: "a host that is called like a Service", url: "http://thanos.svc.example.com:9090", want: []string{anywhere(9090)}},
		{name: "a scheme in capital letters", url: "HTTP://mimir.example.com:8443", want: []string{anywhere(8443)}},
		{name: "an address of IPv4 as one of IPv6", url: "http://[::ffff:10.1.2.3]:9090", want: []string{address("10.1.2.3/32", 9090)}},
		{name: "what is no address", url: "http://010.1.2.3:9090", want: []string{anywhere(9090)}},
		{name: "a large address", url: "http://255.199.20.0:9090", want: []string{address("255.199.20.0/32", 9090)}},
		{name: "a port with a zero", url: "http://mimir.example.com:0900", want: []string{anywhere(900)}},
		{name: "what needs no proxy", url: "https://mimir.example.com", values: "extraEnv: [{name: NO_PROXY, value: 'example.com,10.0.0.0/8,.svc'}]"},
		{name: "its own URL", url: "http://p:9090", values: "flags: {web.external-url: 'https://costs.example.com:8443'}"},
		{name: "a mirror of price lists", url: "http://p:9090", values: "flags: {pricing.fetch: true, pricing.url: ['aws=http://mirror.example.com:8080']}", want: []string{anywhere(8080)}},
		{name: "Thanos", values: "flags: {thanos.store: ['thanos.example.com:10901', 'tls://10.1.2.3:10902', 'thanos-query:10903']}", want: []string{address("10.1.2.3/32", 10902), anywhere(10901)}},
		{name: "one Thanos", values: "flags: {thanos.store: 'thanos.example.com:10901'}", want: []string{anywhere(10901)}},
		{name: "what values say", url: "http://p:9090", values: "networkPolicy: {egress: [{ports: [{port: 6379, protocol: TCP}]}]}", want: []string{anywhere(6379)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(values, []byte(tt.values), 0o600); err != nil {
				t.Fatal(err)
			}
			var got []string
			for d := yaml.NewDecoder(bytes.NewReader(manifestsOf(t, "--values="+values, "--prometheus.url="+tt.url))); ; {
				var o struct {
					Kind string
					Spec struct{ Egress []map[string]any }
				}
				if err := d.Decode(&o); err != nil {
					break
				}
				if o.Kind != "NetworkPolicy" {
					continue
				}
				for _, rule := range o.Spec.Egress {
					text, err := json.Marshal(rule)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, string(text))
				}
			}
			if diff := cmp.Diff(append(slices.Clone(always), tt.want...), got); diff != "" {
				t.Errorf("egress (-want +got):\n%s", diff)
			}
		})
	}
}
