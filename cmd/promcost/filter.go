package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/visible"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// filterFlags say what to select of a saved answer.
type filterFlags struct {
	api, input, config           string
	expr                         string
	given                        bool // expr is
	fieldSelector, labelSelector string
	explain                      bool
}

// Values of --api.
const (
	allocationAPI = "allocation"
	assetAPI      = "asset"
)

// defineFilter is the subcommand that filters a saved answer of the API.
func defineFilter(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	f := &filterFlags{}
	oneOf(clause, "api", "What the answer is of: allocation or asset.", &f.api, allocationAPI, assetAPI)
	clause.Flag("input", "File with the answer; standard input without it.").Short('i').PlaceHolder("FILE").StringVar(&f.input)
	clause.Flag("field-selector", "Select by fields, too, as Kubernetes does: spec.node=n1,metadata.namespace!=kube-system.").PlaceHolder("EXPR").StringVar(&f.fieldSelector)
	clause.Flag("label-selector", "Select by labels, too, as Kubernetes does: app=web,tier in (a,b),!canary.").PlaceHolder("EXPR").StringVar(&f.labelSelector)
	clause.Flag("explain", "Print the filter as a tree in place of what it selects; no answer is read.").BoolVar(&f.explain)
	clause.Flag("config.file", "YAML file with the label mapping and the selectable fields to filter by.").PlaceHolder("FILE").StringVar(&f.config)
	clause.Arg("expr", `The filter, in the v2 language: namespace:"web"+label[app]!:"redis". It can be left out beside a selector.`).
		SetValue(&flagValue{name: "expr", set: func(text string) error {
			f.expr, f.given = text, true
			return nil
		}})
	return func(context.Context) error {
		selects, err := f.parse()
		if err != nil {
			return err
		}
		if f.explain {
			_, err = fmt.Fprint(io.out, selects.Explain())
			return err
		}
		return f.print(selects, io)
	}
}

// parse makes one filter of all that are given.
func (f *filterFlags) parse() (*filter.Filter, error) {
	if !f.given && f.fieldSelector == "" && f.labelSelector == "" {
		return nil, usageErrorf(`no filter given: give one such as 'namespace:"web"', or --field-selector or --label-selector`)
	}
	c, err := config.ReadFile(f.config)
	if err != nil {
		return nil, err
	}
	parse, wrap, resource := filter.Parse, filter.New, filter.Allocations
	if f.api == assetAPI {
		parse, wrap, resource = filter.ParseAssets, filter.NewAssets, filter.Assets
	}
	var all filter.And
	if f.given {
		parsed, err := parse(f.expr, c.Vocabulary()...)
		if err != nil {
			return nil, err
		}
		all = append(all, parsed.Expr())
	}
	if f.fieldSelector != "" {
		e, err := c.Selectable.Parse(resource, f.fieldSelector)
		if err != nil {
			return nil, fmt.Errorf("parse --field-selector=%s: %w", f.fieldSelector, err)
		}
		all = append(all, e)
	}
	if f.labelSelector != "" {
		e, err := filter.ParseLabelSelector(f.labelSelector)
		if err != nil {
			return nil, fmt.Errorf("parse --label-selector=%s: %w", f.labelSelector, err)
		}
		all = append(all, e)
	}
	if len(all) == 1 {
		return wrap(all[0], c.Vocabulary()...), nil
	}
	return wrap(all, c.Vocabulary()...), nil
}

// print writes the names of the rows that the filter selects, one on each line. It writes none if the answer cannot be read to its
// end.
func (f *filterFlags) print(selects *filter.Filter, io streams) (err error) {
	in, name := io.in, "standard input"
	if f.input != "" && f.input != "-" {
		file, err := os.Open(f.input)
		if err != nil {
			return fmt.Errorf("read --input: %w: give a readable file with an answer of the API", err)
		}
		defer func() { _ = file.Close() }()
		in, name = file, f.input
	}
	names, err := selects.Saved(in)
	if err != nil {
		return fmt.Errorf("filter %s: %w", name, err)
	}
	out := bufio.NewWriter(io.out)
	for _, name := range names {
		err = errors.Join(err, writeLine(out, visible.Text(name)))
	}
	return errors.Join(err, out.Flush())
}
