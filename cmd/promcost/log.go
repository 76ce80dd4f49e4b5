package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	sloggokit "github.com/tjhop/slog-gokit"
)

// logFlags say what is logged and how.
type logFlags struct {
	level      string
	levelGiven bool // rather than the default
	format     string
	slow       time.Duration

	program func() []*kingpin.FlagModel // all flags that every command has
}

func addLogFlags(app *kingpin.Application) *logFlags {
	f := &logFlags{program: func() []*kingpin.FlagModel { return app.Model().Flags }}
	oneOf(app, "log.level", "Least severity to log: debug, info, warn or error.", &f.level, "info", "debug", "warn", "error").IsSetByUser(&f.levelGiven)
	oneOf(app, "log.format", "Format of log lines: logfmt or json.", &f.format, "logfmt", "json")
	durationOf(app, "log.slow-query", "Log computations that take longer, and what they read. 0 logs none.", &f.slow, 0).Default("10s")
	return f
}

// loggers are one log stream in two forms: the project's own, and the one that exporter-toolkit and the TSDB want.
type loggers struct {
	kit  log.Logger
	slog *slog.Logger
	slow time.Duration // of computations to be logged; 0 for none
}

// newLoggers makes both loggers write to w. Both filter by the same level.
func newLoggers(w io.Writer, f *logFlags) (loggers, error) {
	var lvl slog.LevelVar
	if err := lvl.UnmarshalText([]byte(f.level)); err != nil {
		return loggers{}, fmt.Errorf("parse --log.level %q: %w", f.level, err)
	}
	allowed, err := level.Parse(f.level)
	if err != nil {
		return loggers{}, fmt.Errorf("parse --log.level %q: %w", f.level, err)
	}
	base := log.NewLogfmtLogger(log.NewSyncWriter(w))
	if f.format == "json" {
		base = log.NewJSONLogger(log.NewSyncWriter(w))
	}
	base = level.NewFilter(base, level.Allow(allowed))
	// The bridge adds time, level and caller itself: its base must not have them.
	return loggers{
		kit:  log.With(base, "time", log.DefaultTimestampUTC, "caller", log.DefaultCaller),
		slog: slog.New(sloggokit.NewGoKitHandler(base, &lvl)),
		slow: f.slow,
	}, nil
}
