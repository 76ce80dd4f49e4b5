package kubectl_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/cmd/promcost/internal/kubectl"
)

// answer is what the kubectl of the tests prints and says.
type answer struct{ out, err, code string }

// fake makes the kubectl of testdata answer, and returns a function that says how it was called.
func fake(t *testing.T, services, raw answer) (asked func() []string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it is a shell script")
	}
	dir := t.TempDir()
	t.Setenv("KUBECTL_ANSWERS", dir)
	for name, a := range map[string]answer{"services": services, "raw": raw} {
		if a.code == "" {
			a.code = "0"
		}
		for ending, text := range map[string]string{"out": a.out, "err": a.err, "code": a.code} {
			if err := os.WriteFile(filepath.Join(dir, name+"."+ending), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return func() []string {
		text, err := os.ReadFile(filepath.Join(dir, "asked"))
		if err != nil {
			return nil // it was not called
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

// flagsOf parses a command line.
func flagsOf(t *testing.T, args ...string) *kubectl.Flags {
	t.Helper()
	app := kingpin.New("test", "")
	flags := kubectl.AddFlags(app.Command("ask", ""))
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--kubectl=") }) {
		args = append(slices.Clone(args), "--kubectl=testdata/kubectl")
	}
	if _, err := app.Parse(append([]string{"ask"}, args...)); err != nil {
		t.Fatal(err)
	}
	return flags
}

// listOf is a list of Services: name and what its ports are.
func listOf(services ...[2]string) string {
	items := make([]string, len(services))
	for i, s := range services {
		items[i] = `{"metadata":{"namespace":"costs","name":"` + s[0] + `"},"spec":{"ports":[` + s[1] + `]}}`
	}
	return `{"items":[` + strings.Join(items, ",") + `]}`
}

const byLabel = "get services --output=json --selector=" + kubectl.DefaultSelector + " "

func TestFind(t *testing.T) {
	plain := [2]string{"promcost", `{"name":"http","port":9003}`}
	for _, tt := range []struct {
		name     string
		args     []string
		services answer
		calls    []string // but for that of the question
		path     string   // that is asked, before the question
		wrong    string
	}{
		{name: "by its labels", services: answer{out: listOf(plain)}, calls: []string{byLabel + "--all-namespaces"}, path: "costs/services/http:promcost:http"},
		{name: "in a namespace", args: []string{"-n", "costs"}, services: answer{out: listOf(plain)}, calls: []string{byLabel + "--namespace=costs"}, path: "costs/services/http:promcost:http"},
		{
			name: "by its name", args: []string{"--service=promcost"}, services: answer{out: listOf(plain)},
			calls: []string{"get services --output=json --field-selector=metadata.name=promcost --all-namespaces"}, path: "costs/services/http:promcost:http",
		},
		{
			name: "by other labels", args: []string{"-l", "app=costs"}, services: answer{out: listOf(plain)},
			calls: []string{"get services --output=json --selector=app=costs --all-namespaces"}, path: "costs/services/http:promcost:http",
		},
		{name: "given whole", args: []string{"-n", "shop", "--service=https:p:9"}, path: "shop/services/https:p:9"},
		{name: "a port of HTTPS", services: answer{out: listOf([2]string{"p", `{"name":"https","port":443}`})}, calls: []string{byLabel + "--all-namespaces"}, path: "costs/services/https:p:https"},
		{name: "a protocol of HTTPS", services: answer{out: listOf([2]string{"p", `{"port":443,"appProtocol":"https"}`})}, calls: []string{byLabel + "--all-namespaces"}, path: "costs/services/https:p:443"},
		{
			name: "as another user", args: []string{"--context=prod", "--kubeconfig=/k", "--as=jane", "--as-group=a", "--as-group=b"}, services: answer{out: listOf(plain)},
			calls: []string{byLabel + "--all-namespaces --kubeconfig=/k --context=prod --as=jane --as-group=a --as-group=b"}, path: "costs/services/http:promcost:http",
		},
		{name: "a port by its number, one without ports", services: answer{out: listOf([2]string{"p", `{"port":9003}`}, [2]string{"q", ""})}, calls: []string{byLabel + "--all-namespaces"}, path: "costs/services/http:p:9003"},
		{name: "none", services: answer{out: listOf()}, wrong: "no Service has the labels app.kubernetes.io/name=promcost,"},
		{name: "none of the name", args: []string{"--service=x", "-n", "a"}, services: answer{out: listOf()}, wrong: "no Service has the name x in namespace a"},
		{name: "two", services: answer{out: listOf(plain, [2]string{"other", `{"port":1}`})}, wrong: "2 Services have the labels " + kubectl.DefaultSelector + " (costs/promcost, costs/other): name one by --namespace and --service"},
		{name: "whole in no namespace", args: []string{"--service=http:p:http"}, wrong: "give that by --namespace"},
		{name: "half", args: []string{"--service=p:http"}, wrong: "--service=p:http is no Service"},
		{
			name: "may not list all", services: answer{err: "Error from server (Forbidden): services is forbidden: User \"dev\" cannot list\n", code: "1"},
			wrong: "find promcost's Service: Error from server (Forbidden): services is forbidden: User \"dev\" cannot list: give its namespace by --namespace",
		},
		{name: "may not list", args: []string{"-n", "a"}, services: answer{err: "Error from server (Forbidden): no", code: "1"}, wrong: "give it by --service=http:NAME:PORT"},
		{name: "no API", services: answer{err: "The connection to the server h:1 was refused - did you specify the right host or port?\n", code: "1"}, wrong: "find promcost's Service: The connection to the server h:1 was refused"},
		{name: "no list", services: answer{out: "<html>"}, wrong: "read the Services that testdata/kubectl prints"},
		{name: "no reason", services: answer{code: "3"}, wrong: "run testdata/kubectl: exit status 3"},
		{name: "no kubectl", args: []string{"--kubectl=no-such-program"}, wrong: "run no-such-program: it is not installed here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := fake(t, tt.services, answer{out: "{}"})
			service, err := flagsOf(t, tt.args...).Find(t.Context(), nil, io.Discard)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("error %v, want %s", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			get(t, service)
			_, global, _ := strings.Cut(strings.Join(tt.calls, ""), " --kubeconfig")
			if global != "" {
				global = " --kubeconfig" + global
			}
			want := append(slices.Clone(tt.calls), "get --raw=/api/v1/namespaces/"+tt.path+"/proxy/model/allocation/compute?window=1d"+global)
			if diff := cmp.Diff(want, asked()); diff != "" {
				t.Errorf("calls of kubectl (-want +got):\n%s", diff)
			}
		})
	}
}

// get asks a Service, and returns the status, the body and the warnings of the answer.
func get(t *testing.T, service http.RoundTripper) (code int, body string, warnings []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://promcost/model/allocation/compute?window=1d", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := service.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header.Values("Warning")
}

func TestRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		name     string
		raw      answer
		code     int
		body     string // or a part of it
		warnings []string
		said     string // to the user
	}{
		{name: "an answer", raw: answer{out: `{"code":200}`}, code: 200, body: `{"code":200}`},
		{name: "warnings", raw: answer{out: "a,b\n", err: "Warning: some \"x\"\nWarning: more\n"}, code: 200, body: "a,b\n", warnings: []string{`299 - "some \"x\""`, `299 - "more"`}},
		{name: "a login", raw: answer{out: `{}`, err: "To sign in, open https://login\nthen wait"}, code: 200, body: `{}`, said: "To sign in, open https://login\nthen wait\n"},
		{name: "an error of promcost", raw: answer{err: "Error from server: window \"x\" is no window\n", code: "1"}, code: 502, body: `"message":"window \"x\" is no window"`},
		{name: "an error of two lines", raw: answer{err: "Error from server: filter:\n  ^\n", code: "1"}, code: 502, body: `"message":"filter:\n  ^"`},
		{name: "no right", raw: answer{err: "Error from server (Forbidden): services \"x\" is forbidden\n", code: "1"}, code: 502, body: "takes the verb get of services/proxy in namespace costs"},
		{name: "no pod", raw: answer{err: "Error from server (ServiceUnavailable): no endpoints available for service\n", code: "1"}, code: 502, body: "no pod of Service costs/p is ready: see kubectl --namespace=costs get pods"},
		{name: "no Service", raw: answer{err: "Error from server (NotFound): services \"p\" not found\n", code: "1"}, code: 502, body: "see kubectl --namespace=costs get services"},
		{name: "a password", raw: answer{err: "error: You must be logged in to the server (Unauthorized)\n", code: "1"}, code: 502, body: "port-forward"},
		{name: "an API of metrics that is down", raw: answer{out: `{}`, err: "E1130 14:00:00.123456   12345 memcache.go:287] \"Unhandled Error\" err=\"couldn't get resource list for metrics.k8s.io/v1beta1: the server is currently unable to handle the request\"\n"}, code: 200, body: `{}`},
		{name: "a crash", raw: answer{err: "panic\n", code: "2"}, code: 502, body: "exit status 2", said: "panic\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake(t, answer{}, tt.raw)
			var said bytes.Buffer
			service, err := flagsOf(t, "-n", "costs", "--service=http:p:http").Find(t.Context(), nil, &said)
			if err != nil {
				t.Fatal(err)
			}
			code, body, warnings := get(t, service)
			if code != tt.code || !strings.Contains(body, tt.body) || said.String() != tt.said {
				t.Errorf("%d %s, said %q", code, body, said.String())
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoundTripSendsNothing(t *testing.T) {
	asked := fake(t, answer{}, answer{})
	service, err := flagsOf(t, "-n", "costs", "--service=http:p:http").Find(t.Context(), nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://promcost/-/reload", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.RoundTrip(req); err == nil || asked() != nil { //nolint:bodyclose // there is no answer
		t.Errorf("it sent a POST: %v, %q", err, asked())
	}
}
