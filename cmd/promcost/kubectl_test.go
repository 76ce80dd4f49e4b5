package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubectlAsQuery holds the plugin of kubectl to promcost query: each subcommand has the same flags, but for those that say
// who is asked.
func TestKubectlAsQuery(t *testing.T) {
	app, _ := newApp(streams{out: io.Discard, err: io.Discard})
	flags := map[string][]string{}
	for _, c := range app.Model().FlattenedCommands() {
		for _, f := range c.Flags {
			flags[c.FullCommand] = append(flags[c.FullCommand], fmt.Sprintf("%s %c %s %s", f.Name, f.Short, f.Help, f.Default))
		}
	}
	questions := 0
	for command, list := range flags {
		name, ok := strings.CutPrefix(command, "query ")
		if !ok {
			continue
		}
		questions++
		for _, flag := range list {
			of, _, _ := strings.Cut(flag, " ")
			if of == "server" || slices.Contains(flags["serve"], flag) {
				continue
			}
			if !slices.Contains(flags["kubectl "+name], flag) {
				t.Errorf("promcost kubectl %s lacks --%s of promcost query %s", name, of, name)
			}
		}
	}
	if questions == 0 {
		t.Errorf("promcost query has %d subcommands", questions)
	}
}

// TestKubectlAnswers compares what the plugin prints with what promcost query prints of the same answers.
func TestKubectlAnswers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the kubectl of the tests is a shell script")
	}
	const web = `{"web":{"name":"web","window":{"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z"},"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z","minutes":600,"cpuCost":2}}`
	for _, tt := range []struct {
		name  string
		args  []string
		reply string
		err   string // of kubectl
	}{
		{name: "table", reply: `{"code":200,"data":[` + web + `],"warnings":["some data are missing"]}`},
		{name: "json", args: []string{"-o", "json"}, reply: `{"code":200,"data":[` + web + `]}`},
		{name: "csv", args: []string{"-o", "csv"}, reply: "name,totalCost\nweb,2\n"},
		{name: "a page", reply: "<!DOCTYPE html><html></html>"},
		{name: "an error", args: []string{"--window=x"}, err: "window \"x\" is no window"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const configs = `{"code":200,"data":{"currencyCode":"EUR"}}`
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/model/getConfigs":
					fmt.Fprint(w, configs)
				case tt.err != "":
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"code":400,"message":%q}`, tt.err)
				default:
					fmt.Fprint(w, tt.reply)
				}
			}))
			defer server.Close()
			dir := t.TempDir()
			t.Setenv("KUBECTL_ANSWERS", dir)
			files := map[string]string{"configs.out": configs, "configs.err": "", "configs.code": "0", "raw.out": tt.reply, "raw.err": "", "raw.code": "0"}
			if tt.err != "" {
				files["raw.out"], files["raw.err"], files["raw.code"] = "", "Error from server: "+tt.err+"\n", "1"
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var outs, errs [2]string
			var codes [2]int
			for i, args := range [][]string{
				{"promcost", "query", "allocation", "--server=" + server.URL},
				{"/usr/local/bin/kubectl-promcost", "allocation", "--kubectl=internal/kubectl/testdata/kubectl", "-n", "costs", "--service=http:promcost:http"},
			} {
				var stdout, stderr bytes.Buffer
				codes[i] = run(t.Context(), arguments(append(args, tt.args...)), &stdout, &stderr)
				outs[i] = stdout.String()
				errs[i] = strings.NewReplacer("--server="+server.URL, "SERVER", "Service costs/promcost", "SERVER").Replace(stderr.String())
			}
			if diff := cmp.Diff(outs[0], outs[1]); diff != "" {
				t.Errorf("the plugin prints something else (-query +kubectl):\n%s", diff)
			}
			if diff := cmp.Diff(errs[0], errs[1]); diff != "" || codes[0] != codes[1] {
				t.Errorf("exits %v, the plugin says something else (-query +kubectl):\n%s", codes, diff)
			}
			if (codes[0] == exitOK) != (outs[0] != "") {
				t.Errorf("exit %d with %q", codes[0], outs[0])
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for line, want := range map[string]string{
		"promcost allocation": "allocation", "/bin/promcost allocation": "allocation", "kubectl-promcost allocation": "kubectl allocation", "/x/kubectl-promcost.exe allocation -o json": "kubectl allocation -o json",
		"kubectl-promcost": "help kubectl", "kubectl-promcost help": "help kubectl", "kubectl-promcost help change": "help kubectl change", "promcost help": "help",
	} {
		if got := strings.Join(arguments(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
