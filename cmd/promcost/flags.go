package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/windows"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// flagGroup is what flags are added to: the program or a subcommand.
type flagGroup interface {
	Flag(name, help string) *kingpin.FlagClause
}

// flagValue is a flag whose errors name it and the remedy; kingpin's own errors have neither.
type flagValue struct {
	name       string
	text       string
	repeatable bool
	set        func(text string) error
}

// String is the value as it was given.
func (v *flagValue) String() string { return v.text }

// IsCumulative reports to kingpin whether the flag may be given several times.
func (v *flagValue) IsCumulative() bool { return v.repeatable }

// Set parses a value.
func (v *flagValue) Set(text string) error {
	if err := v.set(text); err != nil {
		return fmt.Errorf("parse --%s=%q: %w", v.name, text, err)
	}
	v.text = text
	return nil
}

// addFlag adds a flag that set parses.
func addFlag(g flagGroup, name, help string, set func(text string) error) *kingpin.FlagClause {
	f := g.Flag(name, help)
	f.SetValue(&flagValue{name: name, set: set})
	return f
}

// eachOf adds a flag that may be given several times; set parses each.
func eachOf(g flagGroup, name, help string, set func(text string) error) *kingpin.FlagClause {
	f := g.Flag(name, help+" Repeatable.")
	f.SetValue(&flagValue{name: name, repeatable: true, set: set})
	return f
}

// oneOf adds a flag that takes one of the given words; the first is its default.
func oneOf(g flagGroup, name, help string, target *string, words ...string) *kingpin.FlagClause {
	return addFlag(g, name, help, func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("it must be one of %s", strings.Join(words, ", "))
		}
		*target = text
		return nil
	}).Default(words[0]).HintOptions(words...)
}

// durationOf adds a flag that takes a duration of at least least.
func durationOf(g flagGroup, name, help string, target *time.Duration, least time.Duration) *kingpin.FlagClause {
	return addFlag(g, name, help, func(text string) error {
		d, err := windows.ParseDuration(text)
		if err == nil && d < least {
			err = fmt.Errorf("it must be at least %s", least)
		}
		*target = d
		return err
	})
}

// countOf adds a flag that takes a whole number of at least least.
func countOf[T int | int64](g flagGroup, name, help string, target *T, least T) *kingpin.FlagClause {
	return addFlag(g, name, help, func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || T(n) < least {
			return fmt.Errorf("it must be a whole number of at least %d", least)
		}
		*target = T(n)
		return nil
	})
}

// units are the units of sizes. A unit comes before those that it ends in.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1 << 10},
	{"MB", 1 << 20},
	{"GB", 1 << 30},
	{"TB", 1 << 40},
	{"B", 1},
}

// auto is the text of a size that depends on the machine, and autoSize its value.
const (
	auto     = "auto"
	autoSize = -1
)

// sizeOf adds a flag for a number of bytes, such as 512MB, or auto. As in Prometheus, KB, MB, GB and TB are powers of 1024.
func sizeOf(g flagGroup, name, help string, target *int64) *kingpin.FlagClause {
	return addFlag(g, name, help, func(text string) error {
		if text == auto {
			*target = autoSize
			return nil
		}
		number, scale := text, int64(1)
		for _, u := range units {
			if n, ok := strings.CutSuffix(text, u.name); ok {
				number, scale = n, u.bytes
				break
			}
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/scale {
			return errors.New("it must be a whole number of bytes such as 512MB or 2GB, or 0, or auto")
		}
		*target = n * scale
		return nil
	})
}

// zoneOf adds a flag for a time zone: a name such as Europe/Berlin, or an offset such as +05:30.
func zoneOf(g flagGroup, name, help string, target **time.Location) *kingpin.FlagClause {
	return addFlag(g, name, help, func(text string) (err error) {
		*target, err = config.ParseZone(text)
		return err
	}).Default("UTC")
}
