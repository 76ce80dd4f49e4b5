package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shellWords splits a line as a shell does: at spaces outside of single quotes. What follows a < is a file.
func shellWords(line string) (words []string, input string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 { // within quotes
			if len(words) == 0 || strings.HasSuffix(line[:strings.Index(line, "'"+part+"'")], " ") {
				words = append(words, "")
			}
			words[len(words)-1] += part
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	for i, word := range words {
		if word == "<" {
			return words[:i], words[i+1]
		}
	}
	return words, ""
}

// TestJP runs the commands of a transcript as a shell in testdata/jp would, and compares their output.
func TestJP(t *testing.T) {
	file := filepath.Join("testdata", "jp.txt")
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(want)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ promcost")
		if strings.HasPrefix(line, ">") || strings.HasPrefix(line, "!") || strings.HasPrefix(line, "exit ") {
			continue
		}
		b.WriteString(line)
		if !ok {
			continue
		}
		words, input := shellWords(command)
		cmd := exec.CommandContext(context.Background(), program, words...)
		cmd.Dir, cmd.Env = filepath.Join("testdata", "jp"), append(os.Environ(), asProgram+"=1", "COLUMNS=100")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if input != "" {
			in, err := os.Open(filepath.Join(cmd.Dir, input))
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = in
			defer in.Close()
		}
		if err, exit := cmd.Run(), new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		prefixed(&b, "> ", stdout.String())
		prefixed(&b, "! ", stderr.String())
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			fmt.Fprintf(&b, "exit %d\n", code)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it:\n%s", file, diff)
	}
}

// TestJPAtATerminal has expressions above their results and a prompt only where a person is at a terminal.
func TestJPAtATerminal(t *testing.T) {
	t.Parallel()
	tty, written := openTerminal(t)
	var stderr bytes.Buffer
	args := []string{"jp", "-i", filepath.Join("testdata", "jp", "quota.json"), "-c", "request.namespace", "spec.hard"}
	if code := run(t.Context(), args, tty, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	want := "# request.namespace\n\"foo\"\n# spec.hard\n{\"limits.memory\":\"3750Mi\",\"requests.cpu\":\"5\"}\n"
	if diff := cmp.Diff(want, written()); diff != "" {
		t.Errorf("on a terminal (-want +got):\n%s", diff)
	}
	if got := stderr.String(); got != "" {
		t.Errorf("standard error: %q", got)
	}
}

// TestJPCommandsMistyped checks that a mistyped command of jp is reported if it is the only argument, although it is an
// expression, too.
func TestJPCommandsMistyped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ expression, hint string }{
		"function":      {"functon", "did you mean promcost jp function?"},
		"query":         {"qury", "did you mean promcost jp query?"},
		"parse":         {"prase", "did you mean promcost jp parse?"},
		"no expression": {"spec", ""},
		"of many":       {"functon.name", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, stderr bytes.Buffer
			err := queryJP(t.Context(), &jpFlags{expressions: []string{tt.expression}}, streams{in: strings.NewReader(`{"a": 1}`), out: &out, err: &stderr})
			if got := fmt.Sprint(err); err == nil || strings.Contains(got, "did you mean") != (tt.hint != "") || !strings.Contains(got, tt.hint) {
				t.Errorf("%v, want %q", err, tt.hint)
			}
			if tt.hint == "" {
				return
			}
			tty, written := openTerminal(t)
			defer written()
			if err := queryJP(t.Context(), &jpFlags{expressions: []string{tt.expression}}, streams{in: tty, out: &out, err: &stderr}); err == nil || !strings.Contains(err.Error(), tt.hint) || stderr.Len() > 0 {
				t.Errorf("on a terminal: %v, %s", err, stderr.String())
			}
		})
	}
}
