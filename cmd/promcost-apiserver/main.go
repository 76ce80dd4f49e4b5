// Command promcost-apiserver lets kubectl ask what pods cost: it is an aggregated API server of Kubernetes that asks a promcost over HTTP.
//
// It is a program of its own because the library of API servers is as large as promcost.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities even if the machine has no list of them
)

// Exit codes of the process.
const (
	exitOK    = 0
	exitError = 1 // the server failed
	exitUsage = 2 // the command line was not understood
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it serves until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, done, err := parse(args, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "promcost-apiserver: %v\n", err)
		return exitUsage
	}
	if done { // help or version, already printed
		return exitOK
	}
	logger := log.With(level.NewFilter(log.NewLogfmtLogger(log.NewSyncWriter(stderr)), level.Allow(level.ParseDefault(f.logLevel, level.InfoValue()))),
		"time", log.DefaultTimestampUTC, "caller", log.DefaultCaller)
	if err := serve(ctx, f, logger); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(stderr, "promcost-apiserver: %v\n", err)
		return exitError
	}
	return exitOK
}
