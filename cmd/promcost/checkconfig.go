package main

import (
	"context"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// defineCheckConfig defines the subcommand that reads a config file and explains it.
func defineCheckConfig(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &costFlags{Flags: config.Flags{Zone: time.UTC}}
	addConfigFlags(clause, f)
	return func(context.Context) error {
		if f.ConfigFile == "" {
			return usageErrorf("no config to check: give --config.file=FILE")
		}
		s, err := config.Read(f.Flags)
		if err == nil {
			err = checkSettings(s)
		}
		if err != nil {
			return err
		}
		for _, w := range s.Warnings(time.Now()) {
			if err := warn(io.err, w); err != nil {
				return err
			}
		}
		for _, line := range append([]string{f.ConfigFile + " is right."}, s.Explain()...) {
			if err := writeLine(io.out, line); err != nil {
				return err
			}
		}
		return nil
	}
}
