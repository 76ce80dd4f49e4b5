package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// referCommands tells the commands, each with its flags, and then the flags of several.
func referCommands(b *strings.Builder) {
	app, _ := newApp(streams{out: io.Discard, err: io.Discard})
	model := app.Model()
	b.WriteString("\n## Commands\n\n`promcost help COMMAND` shows the flags of a command, by the same groups. Exit codes: 0 done, 1 the command failed, 2 the command line was not understood, 3 manifests cost more than `predict --max-increase` allows, or nobody can know. " +
		"Every command takes:\n")
	table(b, "flag", "default", "what")
	for _, f := range flagsOf(model.Flags) {
		line(b, code(f.name), code(f.def), f.help)
	}
	var places []section
	about := map[string]string{}
	for _, c := range model.FlattenedCommands() {
		if c.Name == "help" {
			continue
		}
		title := "promcost " + c.FullCommand
		places = append(places, section{title, flagsOf(c.Flags)})
		about[title] = c.Help + argsOf(c)
	}
	page := newSettingsPage(places, ownFlags, "flag", "default", "what")
	for _, p := range places {
		fmt.Fprintf(b, "\n### %s\n\n%s\n", p.title, about[p.title])
		page.section(b, p, "Flags")
	}
	b.WriteString("\n## Flags of several commands\n\nEach group is the heading of these flags in the help of a command.\n")
	page.sharedTables(b)
}

// argsOf tells the arguments of a command.
func argsOf(c *kingpin.CmdModel) string {
	var text strings.Builder
	for _, a := range c.Args {
		fmt.Fprintf(&text, " Argument %s: %s", code(strings.ToUpper(a.Name)), a.Help)
	}
	return text.String()
}

// flagsOf are flags by their groups. Where an environment variable sets one, its help says so.
func flagsOf(flags []*kingpin.FlagModel) (out []setting) {
	for _, group := range groupFlags(flags) {
		for _, f := range group.Flags {
			name := "--" + f.Name
			if f.IsBoolFlag() && f.Name != "help" && f.Name != "version" {
				name = "--[no-]" + f.Name
			}
			if f.Name != "web.systemd-socket" { // only on Linux
				out = append(out, setting{group: group.Title, name: name, def: strings.Join(f.Default, " "), help: f.HelpWithEnvar()})
			}
		}
	}
	return out
}
