package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/jmespath"
	"github.com/promcost/promcost/cmd/promcost/internal/document"
)

// jpFlags are the flags of jp, which evaluates and parses expressions. Flags and output are those of kyverno jp.
type jpFlags struct {
	input             string
	compact, unquoted bool
	expressions       []string
	files             []string
}

// all are the expressions of the command line, then those of files.
func (f *jpFlags) all(flag string) ([]string, error) {
	list := slices.Clone(f.expressions)
	for _, file := range f.files {
		text, err := document.ReadText(file, nil, flag)
		if err != nil {
			return nil, err
		}
		list = append(list, strings.TrimSpace(string(text)))
	}
	return list, nil
}

// typed is the expression on standard input.
func typed(io streams) ([]string, error) {
	prompt(io, "an expression")
	text, err := document.ReadText("", io.in, "")
	if err != nil {
		return nil, err
	}
	return []string{strings.TrimSpace(string(text))}, nil
}

// defineJPQuery is the subcommand that evaluates expressions.
func defineJPQuery(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &jpFlags{}
	clause.Default() // promcost jp EXPR is short for promcost jp query EXPR
	clause.Flag("input", "File with one document of JSON or YAML to evaluate over, of at most 64 MiB, whose numbers are read as float64; standard input without it.").Short('i').PlaceHolder("FILE").StringVar(&f.input)
	clause.Flag("query", "File with an expression. Repeatable.").Short('q').PlaceHolder("FILE").StringsVar(&f.files)
	clause.Flag("compact", "Print results on one line.").Short('c').BoolVar(&f.compact)
	clause.Flag("unquoted", "Print results that are strings as they are.").Short('u').BoolVar(&f.unquoted)
	clause.Arg("expr", "Expressions to evaluate; one from standard input where there is an input file.").
		HintOptions(jpCommands...). // for shells that complete the word after jp
		StringsVar(&f.expressions)
	return func(ctx context.Context) error { return queryJP(ctx, f, io) }
}

// queryJP prints the result of each expression.
func queryJP(ctx context.Context, f *jpFlags, io streams) error {
	list, err := f.all("query")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		if f.input == "" || f.input == "-" {
			return usageErrorf("no expression and no input given: give an expression such as '@', or --input=FILE and the expression as standard input")
		}
		if list, err = typed(io); err != nil {
			return err
		}
	}
	slip := f.slip()
	if slip != "" && f.input == "" && isTerminal(io.in) {
		return usageErrorf("jp has no command %q%s To evaluate it as an expression, give --input=FILE", f.expressions[0], slip)
	}
	compiled := make([]*jmespath.Expression, len(list))
	for i, text := range list {
		if compiled[i], err = jmespath.Compile(text); err != nil {
			return err
		}
	}
	if f.input == "" || f.input == "-" {
		prompt(io, "the input, JSON or YAML")
	}
	text, err := document.ReadText(f.input, io.in, "input")
	if err != nil {
		return err
	}
	data, err := document.Read(text)
	if err != nil {
		return err
	}
	for _, e := range compiled {
		result, err := e.Search(ctx, data, jmespath.Options{Resolve: net.DefaultResolver.LookupHost})
		if err != nil {
			return fmt.Errorf("evaluate %s: %w%s", e, err, slip)
		}
		if err := f.print(io.raw, e.String(), result); err != nil {
			return err
		}
	}
	return nil
}

// jpCommands are the commands of jp.
var jpCommands = []string{"function", "parse", "query"}

// slip is a hint if the only expression may be a mistyped command of jp, "" otherwise.
func (f *jpFlags) slip() string {
	if len(f.expressions) == 1 && len(f.files) == 0 {
		if near := caret.Nearest(f.expressions[0], jpCommands); near != "" {
			return ": did you mean promcost jp " + near + "?"
		}
	}
	return ""
}

// prompt tells a person at a terminal that the program waits for input.
func prompt(io streams, what string) {
	if isTerminal(io.in) {
		fmt.Fprintf(io.err, "Type %s, then Ctrl-D.\n", what)
	}
}

// print writes a result, on a terminal below its expression.
func (f *jpFlags) print(out io.Writer, expression string, result any) error {
	text, isText := result.(string)
	if !f.unquoted || !isText {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if !f.compact {
			encoder.SetIndent("", "  ")
		}
		if err := encoder.Encode(result); err != nil {
			return fmt.Errorf("write result of %s: %w", expression, err)
		}
		text = strings.TrimSuffix(b.String(), "\n")
	}
	if isTerminal(out) {
		text = "# " + expression + "\n" + text
	}
	return writeLine(out, text)
}

// defineJPFunction is the subcommand that lists functions.
func defineJPFunction(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	var names []string
	clause.Arg("name", "Functions to list; all without one.").StringsVar(&names)
	return func(context.Context) error { return listFunctions(io.out, names) }
}

// listFunctions prints the functions with these names, or all.
func listFunctions(out io.Writer, names []string) error {
	all := jmespath.Functions()
	known := make([]string, len(all))
	for i := range all {
		known[i] = all[i].Name
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			hint := ""
			if near := caret.Nearest(name, known); near != "" {
				hint = fmt.Sprintf(": did you mean %q?", near)
			}
			return fmt.Errorf("unknown function %q%s", name, hint)
		}
	}
	var errs []error
	for _, f := range all {
		if len(names) == 0 || slices.Contains(names, f.Name) {
			errs = append(errs, writeLine(out, "Name: "+f.Name+"\n  Signature: "+f.Signature+"\n  Note:      "+f.Help+"\n"))
		}
	}
	return errors.Join(errs...)
}

// defineJPParse is the subcommand that prints trees.
func defineJPParse(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &jpFlags{}
	clause.Flag("file", "File with an expression. Repeatable.").Short('f').PlaceHolder("FILE").StringsVar(&f.files)
	clause.Arg("expr", "Expressions to parse; one from standard input where there is none.").StringsVar(&f.expressions)
	return func(context.Context) error {
		list, err := f.all("file")
		if err != nil {
			return err
		}
		if len(list) == 0 {
			if list, err = typed(io); err != nil {
				return err
			}
		}
		for _, text := range list {
			tree, err := jmespath.Parse(text)
			if err != nil {
				return err
			}
			if err := writeLine(io.out, "# "+text+"\n"+tree); err != nil {
				return err
			}
		}
		return nil
	}
}
