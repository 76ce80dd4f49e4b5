package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"sigs.k8s.io/yaml"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/jmespath"
)

// jpFlags ask for expressions to be evaluated or parsed. They and what is printed are those of kyverno jp.
type jpFlags struct {
	input             string
	compact, unquoted bool
	expressions       []string
	files             []string
}

// readAll reads a file, or standard input where there is none.
func readAll(file string, in io.Reader, flag string) ([]byte, error) {
	if file == "" || file == "-" {
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return text, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --%s: %w: give a readable file", flag, err)
	}
	return text, nil
}

// all are the expressions of the command line, then those of files.
func (f *jpFlags) all(flag string) ([]string, error) {
	list := slices.Clone(f.expressions)
	for _, file := range f.files {
		text, err := readAll(file, nil, flag)
		if err != nil {
			return nil, err
		}
		list = append(list, strings.TrimSpace(string(text)))
	}
	return list, nil
}

// defineJPQuery is the subcommand that evaluates expressions.
func defineJPQuery(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &jpFlags{}
	clause.Flag("input", "File of JSON or YAML to evaluate over; standard input without it.").Short('i').PlaceHolder("FILE").StringVar(&f.input)
	clause.Flag("query", "File with an expression. Repeatable.").Short('q').PlaceHolder("FILE").StringsVar(&f.files)
	clause.Flag("compact", "Print results on one line.").Short('c').BoolVar(&f.compact)
	clause.Flag("unquoted", "Print results that are strings as they are.").Short('u').BoolVar(&f.unquoted)
	clause.Arg("expr", "Expressions to evaluate; one from standard input where there is an input file.").StringsVar(&f.expressions)
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
		text, err := readAll("", io.in, "")
		if err != nil {
			return err
		}
		list = []string{strings.TrimSpace(string(text))}
	}
	compiled := make([]*jmespath.Expression, len(list))
	for i, text := range list {
		if compiled[i], err = jmespath.Compile(text); err != nil {
			return err
		}
	}
	text, err := readAll(f.input, io.in, "input")
	if err != nil {
		return err
	}
	var data any
	if err := yaml.Unmarshal(text, &data); err != nil {
		return fmt.Errorf("parse input: %w: give one document of JSON or YAML", err)
	}
	for _, e := range compiled {
		result, err := e.Search(ctx, data, jmespath.Options{Resolve: net.DefaultResolver.LookupHost})
		if err != nil {
			return fmt.Errorf("evaluate %s: %w", e, err)
		}
		if err := f.print(io.out, e.String(), result); err != nil {
			return err
		}
	}
	return nil
}

// print writes an expression, and its result below it.
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
	return writeLine(out, "# "+expression+"\n"+text)
}

// defineJPFunction is the subcommand that lists functions.
func defineJPFunction(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	var names []string
	clause.Arg("name", "Functions to list; all without one.").StringsVar(&names)
	return func(context.Context) error { return listFunctions(io.out, names) }
}

// listFunctions prints the functions of those names, or all.
func listFunctions(out io.Writer, names []string) error {
	all := jmespath.Functions()
	known := make([]string, len(all))
	for i := range all {
		known[i] = all[i].Name
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			hint := ""
			if near := allocation.Nearest(name, known); near != "" {
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
			text, err := readAll("", io.in, "")
			if err != nil {
				return err
			}
			list = []string{strings.TrimSpace(string(text))}
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
