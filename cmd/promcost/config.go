package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/pricing"
)

// config is what the config file says. What it does not say is zero.
type config struct {
	prices     *pricing.Sheet
	pricesFile string // that names the prices' file; "" where they stand in the config file
	labels     allocation.LabelMapping
	labelNames allocation.LabelNames // that labels has from the file
	properties map[string]string     // expressions, by name
	derived    []*allocation.Derived // what they are, by name
	sharing    sharing
	clusters   map[string]clusterConfig // by id
	timeZone   string
	currency   string
	budgets    []budget
	budgetsAt  []*yaml.Node       // where each stands
	selectable *filter.Selectable // nil where nothing is declared

	dir string // of the config file: what names of files are relative to
}

// sharing are defaults of the API's parameters of these names, as they stand in a request; "" is the API's own default.
type sharing struct {
	namespaces, labels string // separated by commas
	cost               string // per month
	split              string
	idle               string
	tenancyCosts       string
}

// clusterConfig is what a cluster's metrics do not say of it.
type clusterConfig struct{ name, provider, region string }

// budget is what something may cost in a period.
type budget struct {
	name   string
	filter string // in the v2 language; "" is everything
	amount float64
	period string
}

// periods are those that a budget can be for.
var periods = []string{"day", "week", "month", "quarter", "year"}

// readConfig reads and checks the whole config file. An error names the file, the line, the key and the remedy.
func readConfig(file string) (*config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --config.file: %w: give a readable YAML file", err)
	}
	c, err := parseConfig(file, text)
	if err != nil {
		return nil, fmt.Errorf("read --config.file: %w", err)
	}
	return c, nil
}

// parseConfig reads the text of a config file. Names of files in it are relative to its directory.
func parseConfig(file string, text []byte) (*config, error) {
	c := &config{dir: filepath.Dir(file), clusters: map[string]clusterConfig{}}
	fail := func(err error) error { return fmt.Errorf("parse config %s: %w", file, err) }
	var doc yaml.Node
	docs := yaml.NewDecoder(bytes.NewReader(text))
	if err := docs.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fail(fmt.Errorf("%w: give YAML such as \"timeZone: Europe/Berlin\"", err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return c, nil
	}
	var next yaml.Node
	if err := docs.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, fail(errors.New("text after the first document: keep one document, without another \"---\""))
	}
	if err := readKeys(c, "the config", doc.Content[0], configKeys(file)); err != nil {
		return nil, fail(err)
	}
	if err := c.checkBudgets(); err != nil {
		return nil, fail(err)
	}
	return c, nil
}

// vocabulary is what filters may name.
func (c *config) vocabulary() []filter.Option {
	return []filter.Option{filter.WithLabels(c.labels), filter.WithDerived(c.derived...)}
}

// checkBudgets checks the filters of budgets: they may name what other keys of the config define.
func (c *config) checkBudgets() error {
	for i, b := range c.budgets {
		if b.filter == "" {
			continue
		}
		if _, err := filter.Parse(b.filter, c.vocabulary()...); err != nil {
			return atLine(c.budgetsAt[i], "budgets[%d]: filter %s: %w", i, b.filter, err)
		}
	}
	return nil
}

// readPrices reads the price sheet that stands in n, or in the file that n names.
func (c *config) readPrices(file string, n *yaml.Node) (err error) {
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "file" {
		var name string
		if name, err = textOf(n.Content[1], "prices.file"); err != nil {
			return err
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.dir, name)
		}
		c.pricesFile = name
		text, err := os.ReadFile(name)
		if err != nil {
			return atLine(n, "prices.file: %w", err)
		}
		if c.prices, err = pricing.Parse(name, text); err != nil {
			return atLine(n, "prices.file: %w", err)
		}
		return nil
	}
	c.prices, err = pricing.ParseNode(file, n)
	return err
}
