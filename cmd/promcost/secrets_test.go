package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

// serverFlags are the flags of all commands that take the URL of a server.
func serverFlags() (lines [][]string) {
	app, _ := newApp(streams{out: io.Discard, err: io.Discard})
	for _, c := range app.Model().FlattenedCommands() {
		for _, name := range []string{prometheusURL, "server"} {
			if slices.ContainsFunc(c.Flags, func(f *kingpin.FlagModel) bool { return f.Name == name }) {
				lines = append(lines, append(strings.Fields(c.FullCommand), "--"+name+"="))
			}
		}
	}
	return lines
}

// TestPasswordsOnTheCommandLine refuses URLs with credentials if others can read them, and says where they belong.
func TestPasswordsOnTheCommandLine(t *testing.T) {
	lines := serverFlags()
	if len(lines) < 6 {
		t.Fatalf("%d commands take the URL of a server", len(lines))
	}
	for _, args := range lines {
		command, flag := strings.Join(args[:len(args)-1], " "), args[len(args)-1]
		for _, tt := range []struct{ name, url, want string }{
			{"password", "http://ann:sesame@127.0.0.1:1", "PROMCOST_"},
			{"token as user name", "http://sesame@127.0.0.1:1", "PROMCOST_"},
			{"parameter", "http://127.0.0.1:1/?token=sesame", "http_config"},
			{"fragment", "http://127.0.0.1:1/#sesame", "http_config"},
			{"no URL", "http://ann:sesame@127.0.0.1:port/", "give a URL"},
			{"no HTTP", "ftp://ann:sesame@127.0.0.1/?token=sesame", "not an HTTP URL"},
			{"a slash is missing", "http:/127.0.0.1:9090", "has one slash: write --"},
			{"a slash is missing, rightly written", "http:/127.0.0.1:9090", "=http://127.0.0.1:9090"},
			{"no scheme, but slashes", "//127.0.0.1:9090", "has no scheme: write --"},
			{"no scheme, and a port that is none", "localhost:90x", "has no scheme, and invalid port"},
			{"no scheme", "ann:sesame@127.0.0.1", "not an HTTP URL"},
		} {
			t.Run(command+"/"+flag+"/"+tt.name, func(t *testing.T) {
				line := append(slices.Clone(args[:len(args)-1]), flag+tt.url)
				switch {
				case command == "backfill":
					line = append(line, "--from=2026-01-01")
				case command == "predict":
					line = append(line, "--filename="+os.DevNull)
				case command == "manifests" && tt.want == "PROMCOST_":
					tt.want = "prometheus.secret"
				}
				var out, stderr bytes.Buffer
				code := run(t.Context(), line, &out, &stderr)
				if text := strings.ReplaceAll(stderr.String(), "http-config", "http_config"); code != exitUsage || !strings.Contains(text, tt.want) || strings.Contains(text, "sesame") {
					t.Errorf("exit %d: %s; want %d and %q", code, text, exitUsage, tt.want)
				}
			})
		}
	}
}

// TestPasswordsAreNotShown serves with a password in the environment: it is sent, and on no page, in no log and no argument.
func TestPasswordsAreNotShown(t *testing.T) {
	source := newWitness(t, false, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/query_range") {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`)
	})
	t.Setenv("PROMCOST_PROMETHEUS_URL", strings.Replace(source.URL, "://", "://ann:sesame@", 1))
	p := runDaemon(t, "serve", "--source=query", "--storage.path=", "--web.enable-pprof", "--promql.passthrough", "--log.level=debug")
	const day = "window=2026-01-31T10:00:00Z,2026-01-31T12:00:00Z"
	for _, path := range []string{
		"/", "/metrics", "/-/ready", "/debug/pprof/cmdline", "/api/v1/status/flags", "/api/v1/status/config", "/api/v1/status/runtimeinfo",
		"/api/v1/query?query=up", "/model/allocation/compute?explain=true&" + day, "/model/diagnose?" + day, "/model/getConfigs", "/clusterInfo",
	} {
		if _, body := get(t, p.url+path); body == "" || strings.Contains(body, "sesame") {
			t.Errorf("%s shows the password, or nothing: %.1000q", path, body)
		}
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Process.Pid))
	if err == nil && strings.Contains(string(cmdline), "sesame") {
		t.Errorf("the process' arguments show the password: %q", cmdline)
	}
	if log := p.err.String(); strings.Contains(log, "sesame") {
		t.Errorf("the log shows the password: %s", log)
	}
	if seen := source.requests(); len(seen) == 0 || !strings.Contains(seen[0], "ann sesame") {
		t.Errorf("the source was not sent the password: %q", seen)
	}
}
