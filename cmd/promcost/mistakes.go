package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/caret"
)

// sameFlag is a table of what flags are called that mean the same elsewhere.
var sameFlag = map[string]string{"by": "aggregate", "group-by": "aggregate", "aggregate": "by", "format": "output", "url": "server", "baseline-window": "baseline"}

// explainMistake is the error of a command line. For an unknown command or flag, it suggests a known one.
func explainMistake(app *kingpin.Application, args []string, err error) error {
	context, failed := app.ParseContext(args)
	command := commandLine(context)
	try := "\nTry: " + command + " --help"
	commands, flags := slipsOf(app, context)
	if failed == nil {
		if strings.HasPrefix(err.Error(), "must select a subcommand") {
			err = fmt.Errorf("%s does nothing by itself: give %s", command, oneOfList("promcost ", commands))
		}
		return fmt.Errorf("%w%s", err, try) // a value is wrong, which says it itself
	}
	token := context.Peek()
	unknown := strings.HasPrefix(err.Error(), "unknown")
	flag, valueless := strings.CutPrefix(err.Error(), "expected argument for flag '")
	switch {
	case valueless:
		err = fmt.Errorf("flag %s has no value: give %[1]s=VALUE", strings.TrimSuffix(flag, "'"))
	case token.Type == kingpin.TokenLong && unknown && slices.Contains(flags, sameFlag[token.Value]):
		err = fmt.Errorf("unknown flag --%s: did you mean --%s?", token.Value, sameFlag[token.Value])
	case token.Type == kingpin.TokenLong && unknown:
		err = fmt.Errorf("unknown flag --%s%s", token.Value, meant("--", strings.TrimPrefix(token.Value, "no-"), flags))
	case token.Type == kingpin.TokenShort && unknown:
		err = fmt.Errorf("unknown flag -%s", token.Value)
	case token.Type == kingpin.TokenArg && len(commands) > 0:
		err = fmt.Errorf("unknown command %q%s", token.Value, meant("promcost ", token.Value, commands))
	case token.Type == kingpin.TokenArg:
		err = fmt.Errorf("unexpected argument %q: %s takes no more", token.Value, command)
	}
	return fmt.Errorf("%w%s", err, try)
}

// commandLine is the command that was recognized, "promcost" if none was.
func commandLine(context *kingpin.ParseContext) string {
	if context.SelectedCommand == nil {
		return "promcost"
	}
	return "promcost " + context.SelectedCommand.FullCommand()
}

// slipsOf are the flags and the full names of the commands that are possible where the command line could not be parsed.
func slipsOf(app *kingpin.Application, context *kingpin.ParseContext) (commands, flags []string) {
	model := app.Model()
	below := ""
	add := func(list []*kingpin.FlagModel) {
		for _, f := range list {
			if !f.Hidden {
				flags = append(flags, f.Name)
			}
		}
	}
	add(model.Flags)
	if c := context.SelectedCommand; c != nil {
		add(c.Model().Flags)
		if below = c.FullCommand(); len(c.Model().Commands) == 0 {
			return nil, flags
		}
	}
	for _, c := range model.FlattenedCommands() {
		if strings.HasPrefix(c.FullCommand, below) {
			commands = append(commands, c.FullCommand)
		}
	}
	return commands, flags
}

// maxMeant is how many names are suggested.
const maxMeant = 5

// meant suggests names that word may stand for: those whose whole, else first part, else last part resembles word or begins with
// it; else all names if they are few. It is "" if there are too many.
func meant(prefix, word string, names []string) string {
	var near []string
	whole := func(name string) string { return name }
	last := func(name string) string { return name[strings.LastIndexAny(name, ". ")+1:] }
	first := func(name string) string { return strings.Fields(name)[0] }
	for _, part := range [...]func(name string) string{whole, first, last} {
		parts := make([]string, len(names))
		for i, name := range names {
			parts[i] = part(name)
		}
		best := caret.Nearest(word, parts)
		for i, name := range names {
			short := len(parts[i]) == 2 && len(word) == 3 && strings.HasPrefix(word, parts[i]) // too short for Nearest
			if (parts[i] == best || short || len(word) > 1 && strings.HasPrefix(parts[i], word)) && !slices.Contains(near, name) {
				near = append(near, name)
			}
		}
		if len(near) > 0 {
			break
		}
	}
	switch {
	case len(near) == 0 && len(names) <= maxMeant:
		return ": give " + oneOfList(prefix, names)
	case len(near) == 0, len(near) > maxMeant:
		return ""
	}
	return ": did you mean " + oneOfList(prefix, near) + "?"
}

// oneOfList lists names behind a prefix, the last one after an or.
func oneOfList(prefix string, names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(prefix + name)
	}
	return b.String()
}
