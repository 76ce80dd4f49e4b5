package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/pricing"
)

// File is the content of the config file. What it does not set is zero.
type File struct {
	// Labels are the labels that aliases such as team stand for; nil means the API's own mapping.
	Labels allocation.LabelMapping
	// LabelNames are the names of labels that the file uses.
	LabelNames labelnames.Names
	// Properties are the expressions of derived properties by name. Derived are the compiled ones, in the order of the names.
	Properties map[string]string
	Derived    []*allocation.Derived
	// GPUResources are names of extended resources that are GPUs, too, in which * stands for any text.
	GPUResources []string
	Sharing      Sharing
	Clusters     map[string]Cluster // by id
	Budgets      []Budget
	Questions    []Question
	Views        []View
	Bills        []Bill
	// BillsInterval is how often files of bills are looked for.
	BillsInterval time.Duration
	// Selectable are the fields that field selectors may name.
	Selectable *filter.Selectable

	prices      *pricing.Sheet
	pricesFile  string // names the file of the prices, "" where they stand in the config file
	zone        *time.Location
	currency    string
	budgetNodes []*yaml.Node // of Budgets, which errors name the lines of
	dir         string       // of the config file: names of files are relative to it
}

// Sharing are the defaults of the API's parameters of these names, as they stand in a request; "" is the API's own default.
type Sharing struct {
	Namespaces, Labels string // separated by commas
	Cost               string // per month
	Split              string
	Idle               string
	TenancyCosts       string
}

// Cluster describes a cluster where its metrics do not.
type Cluster struct{ Name, Provider, Region string }

// ReadFile reads and checks a whole config file; "" is an empty one. An error names the file, the line, the key and the remedy.
func ReadFile(file string) (*File, error) {
	if file == "" {
		return Parse("", nil)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --config.file: %w: give a readable YAML file", err)
	}
	f, err := Parse(file, text)
	if err != nil {
		return nil, fmt.Errorf("read --config.file: %w", err)
	}
	return f, nil
}

// Parse reads and checks the text of a config file. Names of files in it are relative to its directory.
func Parse(file string, text []byte) (*File, error) {
	f := &File{dir: filepath.Dir(file), BillsInterval: DefaultBillsInterval, Clusters: map[string]Cluster{}, Selectable: filter.NewSelectable()}
	fail := func(err error) error { return fmt.Errorf("parse config %s: %w", file, err) }
	var doc yaml.Node
	docs := yaml.NewDecoder(bytes.NewReader(text))
	if err := docs.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fail(fmt.Errorf("%w: give YAML such as \"timeZone: Europe/Berlin\"", err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return f, nil
	}
	var next yaml.Node
	if err := docs.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, fail(errors.New("text after the first document: keep one document, without another \"---\""))
	}
	if err := readKeys(f, "the config", doc.Content[0], fileKeys(file)); err != nil {
		return nil, fail(err)
	}
	if err := f.checkBudgets(); err != nil {
		return nil, fail(err)
	}
	return f, nil
}

// PricesFile names the file that the config has its prices in, "" where it has none.
func (f *File) PricesFile() string { return f.pricesFile }

// Vocabulary is the names that the file adds to those that filters know.
func (f *File) Vocabulary() []filter.Option {
	return []filter.Option{filter.WithLabels(f.Labels), filter.WithDerived(f.Derived...)}
}

// readPrices reads the price sheet that stands in n, or in the file that n names.
func (f *File) readPrices(file string, n *yaml.Node) (err error) {
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "file" {
		var name string
		if name, err = textOf(n.Content[1], "prices.file"); err != nil {
			return err
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(f.dir, name)
		}
		f.pricesFile = name
		text, err := os.ReadFile(name)
		if err != nil {
			return atLine(n, "prices.file: %w", err)
		}
		if f.prices, err = ParseSheet(name, text); err != nil {
			return atLine(n, "prices.file: %w", err)
		}
		return nil
	}
	f.prices, err = pricing.ParseNode(file, n)
	return err
}

// resourceName is what a name of an extended resource, or several by *, looks like.
var resourceName = regexp.MustCompile(`^[A-Za-z0-9*][A-Za-z0-9.*_-]*(/[A-Za-z0-9.*_-]+)?$`)

// readGPUResources reads which extended resources are GPUs.
func (f *File) readGPUResources(n *yaml.Node) (err error) {
	f.GPUResources, err = textsOf(n, "gpuResources")
	for _, name := range f.GPUResources {
		if !resourceName.MatchString(name) || strings.Trim(name, "*./") == "" {
			return atLine(n, "gpuResources has %q: want names of resources, such as example.com/gpu or example.com/*", name)
		}
	}
	return err
}

// readZone reads the time zone.
func (f *File) readZone(n *yaml.Node) error {
	text, err := textOf(n, "timeZone")
	if err != nil {
		return err
	}
	if f.zone, err = ParseZone(text); err != nil {
		return atLine(n, "timeZone is %q: %w", text, err)
	}
	return nil
}

// readCurrency reads the currency.
func (f *File) readCurrency(n *yaml.Node) error {
	text, err := textOf(n, "currency")
	if err == nil && !pricing.IsCurrency(text) {
		err = atLine(n, "currency is %q, want a code of three letters such as USD", text)
	}
	f.currency = text
	return err
}
