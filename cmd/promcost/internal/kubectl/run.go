package kubectl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// runner runs a kubectl.
type runner struct {
	program string
	args    []string // of each call
	stdin   io.Reader
	stderr  io.Writer
}

// failure is what kubectl said when it failed.
type failure struct{ text string }

// Error implements error.
func (f *failure) Error() string { return f.text }

// isForbidden reports whether the API refused what the user may not do.
func isForbidden(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && strings.Contains(f.text, "(Forbidden)")
}

// errorPrefix begins what kubectl says of errors without a reason, as those of promcost are.
const errorPrefix = "Error from server: "

// run returns what kubectl prints, and the warnings among what it says to that.
func (r *runner) run(ctx context.Context, args ...string) (out []byte, warnings []string, err error) {
	cmd := exec.CommandContext(ctx, r.program, append(args, r.args...)...)
	cmd.WaitDelay = time.Second // for what kubectl starts itself and leaves behind
	said := &speech{pass: r.stderr}
	cmd.Stdin, cmd.Stderr = r.stdin, said
	out, err = cmd.Output()
	said.end()
	switch _, exited := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		return out, said.warnings, nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, nil, fmt.Errorf("run %s: it is not installed here: see https://kubernetes.io/docs/tasks/tools/, or name it by --kubectl", r.program)
	case exited && len(said.errors) > 0:
		return nil, said.warnings, &failure{strings.TrimPrefix(strings.Join(said.errors, "\n"), errorPrefix)}
	}
	return nil, said.warnings, fmt.Errorf("run %s: %w", r.program, err)
}

// speech is what kubectl says on standard error, line by line: warnings and errors are kept, all else is for the user at
// once, such as how to log in.
type speech struct {
	pass             io.Writer
	rest             []byte // of a line that has not ended
	warnings, errors []string
}

// Write implements io.Writer.
func (s *speech) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, rest, ok := bytes.Cut(s.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		s.line(string(line))
		s.rest = rest
	}
}

// end takes what follows the last line feed.
func (s *speech) end() {
	if len(s.rest) > 0 {
		s.line(string(s.rest))
	}
}

// discovery is how kubectl logs that it could not list the resources of an API, such as that of metrics: that is no matter of this command, and
// what matters is an error of its own.
var discovery = regexp.MustCompile(`^[EWI]\d{4} [0-9:.]+ +\d+ memcache\.go:\d+\] `)

func (s *speech) line(line string) {
	if text, ok := strings.CutPrefix(line, "Warning: "); ok {
		s.warnings = append(s.warnings, text)
		return
	}
	// An error may have several lines.
	for _, begin := range []string{"Error from server", "error: ", "Error: ", "The connection to the server", "Unable to connect", "The request is invalid"} {
		if strings.HasPrefix(line, begin) || len(s.errors) > 0 {
			s.errors = append(s.errors, line)
			return
		}
	}
	if discovery.MatchString(line) {
		return
	}
	_, _ = io.WriteString(s.pass, line+"\n") // nobody could read an error
}
