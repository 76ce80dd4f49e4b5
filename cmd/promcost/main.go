// Command promcost says what Kubernetes workloads cost, from the metrics that a Prometheus already has.
//
// It serves allocations over HTTP and as metrics (serve), shows itself on a made-up cluster (demo), asks on the command
// line (query), checks sources, prices and configs (check) and prints the error bounds of its resolutions (bounds).
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // time zones by name even if the machine has no zone files

	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities even if the machine has no list of them
)

//go:generate go test -run ^TestReference$ -update .

// Exit codes of the process.
const (
	exitOK    = 0
	exitError = 1 // the command failed
	exitUsage = 2 // the command line was not understood
	exitAbove = 3 // manifests cost more than is allowed, or nobody can know
)

func main() {
	stamp()
	setKingpin()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a graceful end, another one ends the process at once. Wrappers such as timeout(1) send one signal
	// twice, to the process and to its group. That counts as one.
	context.AfterFunc(ctx, func() {
		time.Sleep(time.Second)
		stop()
	})
	os.Exit(run(ctx, arguments(os.Args), os.Stdout, os.Stderr))
}

// arguments are those of a command line. A program that is called by the name of kubectl's plugin is promcost kubectl, whose help shows its
// own commands.
func arguments(line []string) []string {
	if name := filepath.Base(line[0]); strings.TrimSuffix(name, ".exe") != "kubectl-promcost" {
		return line[1:]
	}
	if args := line[1:]; len(args) > 0 && args[0] != "help" {
		return append([]string{"kubectl"}, args...)
	}
	return append([]string{"help", "kubectl"}, line[min(2, len(line)):]...)
}

// endTimeout is how long the program may take to end once it is to, on a busy machine, too: less than the 30 seconds after which Kubernetes
// kills it.
const endTimeout = 25 * time.Second

// run is the program: it carries out the command line args until it is done or ctx is, and returns the exit code. What then still waits,
// such as for a pipe that nobody writes to or a disk that does not answer, is left behind after endTimeout.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	code := make(chan int, 1)
	go func() { code <- carryOut(ctx, args, stdout, stderr) }()
	var late <-chan time.Time
	for done := ctx.Done(); ; {
		select {
		case c := <-code:
			return c
		case <-done:
			done, late = nil, time.After(endTimeout)
		case <-late:
			go mark(stderr, red, "promcost:", "it was to end, but something that it reads or writes does not answer: it ends without that") //nolint:errcheck // which may be the error stream
			time.Sleep(100 * time.Millisecond)
			return exitError
		}
	}
}

// carryOut carries out the command line args and returns the exit code.
func carryOut(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if percent := debug.SetGCPercent(garbagePercent); percent != 100 { // the environment has another GOGC
		debug.SetGCPercent(percent)
	}
	exec, err := parse(args, stdout, stderr)
	if err != nil {
		_ = mark(stderr, red, "promcost:", err.Error()) // nobody could read an error
		return exitUsage
	}
	if exec == nil { // help or version, already printed
		return exitOK
	}
	if err = exec(ctx); ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return exitOK
	}
	return exitCode(err, stderr)
}

// exitCode is the exit code of a command that ended with an error, which it prints.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if ended, ok := errors.AsType[*interruptedError](err); ok {
		_ = writeLine(stderr, ended.Error()) // it is no failure, and nobody could read an error
		return exitError
	}
	_ = mark(stderr, red, "promcost:", err.Error()) // nobody could read an error
	if _, usage := errors.AsType[*usageError](err); usage {
		return exitUsage
	}
	if _, above := errors.AsType[*increaseError](err); above {
		return exitAbove
	}
	return exitError
}
