// Package imported reads files of prices that other programs have, and makes price sheets of them: OpenCost's default.json and the ConfigMaps
// of custom prices of OpenCost and Kubecost, OpenCost's CSV of prices, and the prices that Karpenter's provider for Google Cloud comes with.
package imported

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/promcost/promcost/allocation/pricing"
)

// MaxSize is how many bytes a file may have.
const MaxSize = 16 << 20

// maxPrices is how many prices a file may have.
const maxPrices = 100_000

// Unit is the time that prices are for.
type Unit uint8

// The units. An unknown one is found out, as far as prices tell.
const (
	Unknown Unit = iota
	Hourly
	Monthly
)

// Options say what files do not.
type Options struct {
	Unit     Unit
	Currency string // ISO code, "" for what the file says, or else US dollars
}

// format is a format of files.
type format struct {
	name string // for people
	is   func(text []byte) bool
	read func(text []byte, o Options) (*Prices, error)
}

// formats are all formats. A file has the first that it may have.
func formats() []format {
	return []format{
		{"OpenCost's CSV of prices", isCSV, readCSV},
		{"a ConfigMap of prices of OpenCost or Kubecost", isConfigMap, readConfigMap},
		{"prices of Karpenter's provider for Google Cloud", isKarpenter, readKarpenter},
		{"OpenCost's default.json", isCustom, readCustom},
	}
}

// Format says for people which of the formats a file has, as far as its beginning tells, and "" where it has none.
func Format(text []byte) string {
	text = cleared(text)
	for _, f := range formats() {
		if f.is(text) {
			return f.name
		}
	}
	return ""
}

// Read reads a file. Errors name the line, or the path in JSON, and the remedy.
func Read(text []byte, o Options) (*Prices, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has more than %d MiB: no list of prices is that long", MaxSize>>20)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("it is no text in UTF-8: save it as that")
	}
	p, err := read(text, o)
	if err == nil && o.Unit == Unknown {
		err = p.checkUnit()
	}
	return p, err
}

// read reads a file of one of the formats.
func read(text []byte, o Options) (*Prices, error) {
	text = cleared(text)
	for _, f := range formats() {
		if !f.is(text) {
			continue
		}
		p, err := f.read(text, o)
		if err != nil {
			return nil, err
		}
		p.format = f.name
		return p, nil
	}
	return nil, errors.New("it is in no known format: give OpenCost's default.json, a ConfigMap of custom prices of OpenCost or Kubecost, OpenCost's CSV of prices, or initial-prices.json of Karpenter's provider for Google Cloud")
}

// cleared is a text without a byte order mark.
func cleared(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// isJSON reports whether a text begins as JSON does.
func isJSON(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

var configMap = regexp.MustCompile(`(?m)(^[\s-]*|[{,]\s*)"?kind"?\s*:\s*"?ConfigMap\b`)

func isConfigMap(text []byte) bool { return configMap.Match(text) }

// maxText is how many bytes a name may have.
const maxText = 1000

// checkText checks a text that rules match by.
func checkText(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("%s is empty", what)
	case len(text) > maxText:
		return fmt.Errorf("%s has more than %d bytes", what, maxText)
	case strings.HasSuffix(text, "*"):
		return fmt.Errorf("%s ends in *, which stands for any end in a sheet: nothing is called so", what)
	}
	return nil
}

// currency is what prices are in, of what the file says and what the options do.
func (o *Options) currency(file string) (string, error) {
	switch {
	case file == "":
		return o.Currency, nil
	case !pricing.IsCurrency(file):
		return "", fmt.Errorf("the currency is %q, want a code of three letters such as USD", file)
	case o.Currency != "" && o.Currency != file:
		return "", fmt.Errorf("the prices are in %s, not in %s: nothing is converted, leave out --currency", file, o.Currency)
	}
	return file, nil
}
