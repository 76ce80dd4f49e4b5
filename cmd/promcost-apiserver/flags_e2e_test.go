//go:build e2e

package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFlagsE2E holds README's list of flags to what the program has.
func TestFlagsE2E(t *testing.T) {
	var help, said bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, &help, &said); code != exitOK {
		t.Fatalf("exit %d: %s%s", code, &help, &said)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := func(re, text string) (names []string) {
		for _, m := range regexp.MustCompile(re).FindAllStringSubmatch(text, -1) {
			if m[1] != "help" && m[1] != "version" {
				names = append(names, m[1])
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	_, table, _ := strings.Cut(string(readme), "## Flags")
	table, _, _ = strings.Cut(table, "## What it may")
	if diff := cmp.Diff(flags(`(?m)^ .*--(?:\[no-\])?([a-z.-]+)`, help.String()), flags("(?m)[|,] `--([a-z.-]+)", table)); diff != "" {
		t.Errorf("flags (-program +README):\n%s", diff)
	}
}

// TestCommandLineE2E holds what the program says of a command line that it does not understand.
func TestCommandLineE2E(t *testing.T) {
	const url = "--promcost.url=http://promcost:9003"
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--promcost.url is missing: give the URL of a promcost, such as http://promcost:9003"},
		{[]string{"--promcost.url=promcost:9003"}, "parse --promcost.url: it is not an HTTP URL: give one such as http://promcost:9003"},
		{[]string{"--promcost.url=http://p:9003?a=secret"}, "parse --promcost.url: parameters of the URL are not sent: leave them out"},
		{[]string{url, "--tls.cert-file=a"}, "--tls.cert-file and --tls.key-file belong together: give both, or neither"},
		{[]string{url, "--service=costs"}, `parse --service="costs": give NAMESPACE/NAME, such as promcost/promcost-apiserver`},
		{[]string{url, "--cache.max-memory=1MiB"}, "parse --cache.max-memory=1MiB: give at least 16MiB"},
		{[]string{url, "--nonsense"}, "unknown long flag '--nonsense'"},
		{[]string{url, "argument"}, "unexpected argument"},
	} {
		var said bytes.Buffer
		if code := run(t.Context(), tc.args, &said, &said); code != exitUsage || !strings.Contains(said.String(), tc.want) {
			t.Errorf("%q: exit %d, %q, want %q", tc.args, code, said.String(), tc.want)
		}
	}
	for args, want := range map[string]string{
		url + " --kubeconfig=/nowhere --web.listen-address=127.0.0.1:0": "/nowhere",
		url + " --web.listen-address=nowhere":                           "give a free address with --web.listen-address=HOST:PORT",
		url + " --promcost.http-config=/nowhere":                        "it takes what Prometheus takes for http_config",
	} {
		var said bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &said, &said); code != exitError || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit %d, %q, want %q", args, code, said.String(), want)
		}
	}
}
