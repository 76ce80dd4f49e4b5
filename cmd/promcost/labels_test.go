package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

// TestProblemsOfLabels reads in the log of a process what is wrong with the labels that it exports, once for each configuration.
func TestProblemsOfLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const list, lost, none = "property unit is missing everywhere: the result is a list", "no longer in the configuration", "label unit: no workload has a label of that name"
	write("properties: {unit: \"[namespace]\", space: namespace}\n")
	p := runDaemon(t, "serve", "--web.enable-lifecycle", "--storage.path=", "--config.file="+file, "--tsdb.path="+unpricedNodes(t), "--collector.label", "--collector.label.names=unit,sqad,space")
	eventually(t, "no problems are told", func() bool {
		return strings.Contains(p.err.String(), list) && strings.Contains(p.err.String(), "label sqad: no workload")
	})
	if log := p.err.String(); strings.Contains(log, "space") || strings.Contains(log, lost) {
		t.Errorf("log:\n%s", log)
	}
	write("properties: {space: namespace}\n")
	for range 2 {
		if code, body := p.post(t); code != http.StatusOK {
			t.Fatalf("reload: %d %s", code, body)
		}
	}
	eventually(t, "a new configuration's problems are not told", func() bool { return strings.Count(p.err.String(), none) == 2 })
	log := p.err.String()
	for text, times := range map[string]int{list: 1, lost: 1, "property=unit": 1} {
		if got := strings.Count(log, text); got != times {
			t.Errorf("%q is there %d times, want %d; log:\n%s", text, got, times, log)
		}
	}
}

// TestLabelCollector switches the collector of labels on by naming some, unless it is switched off.
func TestLabelCollector(t *testing.T) {
	for _, test := range []struct {
		name, preset string
		args         []string
		want         bool
	}{
		{"nothing given", "", nil, false},
		{"names", "", []string{"--collector.label.names=team"}, true},
		{"names and the switch", "", []string{"--collector.label", "--collector.label.names=team"}, true},
		{"names, switched off", "", []string{"--no-collector.label", "--collector.label.names=team"}, false},
		{"default names", "team", nil, true},
		{"default names, switched off", "team", []string{"--no-collector.label"}, false},
		{"default names replaced", "team", []string{"--collector.label.names=app"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := kingpin.New("promcost", "")
			flags := addServeFlags(app.Command("serve", ""), servePreset{address: ":0", labels: test.preset})
			if _, err := app.Parse(append([]string{"serve"}, test.args...)); err != nil {
				t.Fatal(err)
			}
			if on := flags.collectors(); slices.Contains(on, "label") != test.want {
				t.Errorf("collectors %v: label is among them: %t, want %t", on, !test.want, test.want)
			}
		})
	}
}
