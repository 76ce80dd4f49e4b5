package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asPromcost is the environment of a shell that finds this program under its name.
func asPromcost(t *testing.T) []string {
	t.Helper()
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "promcost")); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), asProgram+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
}

// shell runs a program with an input and returns what it prints. A program that is not installed skips the test.
func shell(t *testing.T, env []string, input string, command ...string) string {
	t.Helper()
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Skipf("no %s here", command[0])
	}
	cmd := exec.CommandContext(t.Context(), path, command[1:]...)
	cmd.Env, cmd.Stdin = env, strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v: %s", command, err, stderr.String())
	}
	return stdout.String()
}

// TestBashCompletion lets a bash complete the last word of command lines.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	env := asPromcost(t)
	for line, want := range map[string]string{
		"ser":                          "serve",
		"history e":                    "export",
		"check ":                       "bills config prices source",
		"jp q":                         "query",
		"jp ":                          "function parse query",
		"help se":                      "serve",
		"help history l":               "ls",
		"serve --charge-from sch":      "scheduled",
		"serve --log.level w":          "warn",
		"serve --prometheus.u":         "--prometheus.url",
		"query allocation --agg":       "--aggregate",
		"serve --web.enable-pprof --h": "--help --history.backfill --history.distributions --history.grace",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			words := strings.Split("promcost "+line, " ")
			const script = `eval "$(promcost completion bash)" && COMP_WORDS=("$@") && COMP_CWORD=$(($#-1)) && ` +
				`complete -p promcost | grep -q _promcost_bash_autocomplete && _promcost_bash_autocomplete && echo "${COMPREPLY[@]}"`
			got := strings.Fields(shell(t, env, "", append([]string{"bash", "-c", script, "bash"}, words...)...))
			slices.Sort(got)
			if got := strings.Join(got, " "); got != want {
				t.Errorf("completed to %q, want %q", got, want)
			}
		})
	}
}

// TestCompletionScripts checks that shells take them, and that nothing else is printed.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	env := asPromcost(t)
	for _, name := range []string{"bash", "zsh", "fish"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := shell(t, env, "", "promcost", "completion", name)
			if strings.Contains(script, "usage:") {
				t.Errorf("it ends in help:\n%s", script)
			}
			shell(t, env, script, name, "-n")
		})
	}
}

// TestManPage checks that the man page is ASCII without control characters, types of Go and lines that roff takes for requests by
// mistake, and that groff has nothing to say of it.
func TestManPage(t *testing.T) {
	t.Parallel()
	page := shell(t, asPromcost(t), "", "promcost", "--help-man")
	if other := regexp.MustCompile(`[^\n -_a-~]|%!|0x[0-9a-f]{6}|\*?main\.|map\[|&\{|<nil>|usage:`).FindAllString(page, 3); other != nil {
		t.Errorf("the page has %q", other)
	}
	requests := map[string]int{}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			requests[strings.Fields(line)[0]]++
		}
	}
	for request := range requests {
		if !slices.Contains([]string{".TH", ".SH", ".SS", ".PP", ".TP", ".B"}, request) {
			t.Errorf("the page has the request %s", request)
		}
	}
	if requests[".TH"] != 1 || requests[".SS"] < len(subcommands) {
		t.Errorf("requests: %v", requests)
	}
	if diff := cmp.Diff("", shell(t, os.Environ(), page, "groff", "-man", "-ww", "-z")); diff != "" {
		t.Error(diff)
	}
	text := shell(t, os.Environ(), page, "groff", "-man", "-Tutf8", "-P-c")
	for _, part := range []string{"promcost - what Kubernetes workloads cost", "promcost jp query [expr ...]", "--prometheus.url=URL"} {
		if !strings.Contains(regexp.MustCompile(`.\x08`).ReplaceAllString(text, ""), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}
