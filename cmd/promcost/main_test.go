package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// place is a name that a transcript uses for what differs from run to run.
type place struct{ name, value string }

// logged is what differs in a log line from run to run, and from version to version.
var logged = regexp.MustCompile(`time=\S+ caller=\S+`)

// transcribe runs every "$ promcost …" line of a transcript and writes its output below it: "> " lines are standard output, "! "
// lines standard error, then the exit code unless it is 0. Lines that start with # are kept.
func transcribe(t *testing.T, text string, places []place) string {
	t.Helper()
	in, out := make([]string, 0, 2*len(places)), make([]string, 0, 2*len(places))
	for _, p := range places {
		in, out = append(in, p.name, p.value), append(out, p.value, p.name)
	}
	enter, leave := strings.NewReplacer(in...), strings.NewReplacer(out...)
	var b strings.Builder
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ promcost")
		switch {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			b.WriteString(line)
		case ok:
			b.WriteString(line)
			var stdout, stderr bytes.Buffer
			// One that goes on serving by mistake is stopped, and then differs from the transcript.
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			code := run(ctx, strings.Fields(enter.Replace(command)), &stdout, &stderr)
			cancel()
			prefixed(&b, "> ", leave.Replace(stdout.String()))
			prefixed(&b, "! ", logged.ReplaceAllString(leave.Replace(stderr.String()), "time=TIME caller=CALLER"))
			if code != 0 {
				fmt.Fprintf(&b, "exit %d\n", code)
			}
		}
	}
	return b.String()
}

// prefixed writes the lines of text, each behind the prefix.
func prefixed(b *strings.Builder, prefix, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(prefix+strings.TrimRight(line, "\n"), " ") + "\n")
	}
}

// checkTranscript compares a transcript with what the program does now, or rewrites it.
func checkTranscript(t *testing.T, name string, places ...place) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := transcribe(t, string(want), places)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", file, diff)
	}
}

func TestHelp(t *testing.T) { checkTranscript(t, "help") }

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), []string{arg}, &stdout, &stderr)
		if code != 0 || !strings.HasPrefix(stdout.String(), "promcost, version ") || stderr.Len() > 0 {
			t.Errorf("promcost %s: exit %d, stdout %q, stderr %q", arg, code, stdout.String(), stderr.String())
		}
	}
}
