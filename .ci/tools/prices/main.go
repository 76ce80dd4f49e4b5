// Command prices writes the table of list prices that is built into promcost, from the tables that Karpenter's provider for AWS comes with. It reads them as text from the
// module's archive at the module proxy: nothing of it is compiled.
package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module has the tables.
const module = "github.com/aws/karpenter-provider-aws"

// tables are the files of the module: of regions in dollars.
var tables = []string{"pkg/providers/pricing/zz_generated.pricing_aws.go", "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go"}

func main() {
	version := flag.String("version", "", "version of "+module+", such as v1.15.2")
	proxy := flag.String("proxy", "https://proxy.golang.org", "the module proxy")
	out := flag.String("o", "", "the file that is written")
	flag.Parse()
	if err := write(*proxy, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "prices:", err)
		os.Exit(1)
	}
}

// write writes the table of a version.
func write(proxy, version, out string) error {
	archive, err := download(proxy + "/github.com/aws/karpenter-provider-aws/@v/" + version + ".zip")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What Amazon Web Services lists for its machines on demand, by the hour.\n# Figures of %s %s, made by \"make prices\".\n", module, version)
	b.WriteString("# Copyright Amazon.com, Inc. or its affiliates. Licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0\n")
	b.WriteString("provider,region,instanceType,option,os,price,currency,asOf\n")
	for _, name := range tables {
		text, err := fs(archive, module+"@"+version+"/"+name)
		if err != nil {
			return err
		}
		rows, err := parse(text)
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", name, version, err)
		}
		for _, r := range rows {
			fmt.Fprintf(&b, "aws,%s,%s,ondemand,linux,%s,USD,%s\n", r.region, r.instanceType, r.price, r.asOf)
		}
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// download reads an archive.
func download(url string) (*zip.Reader, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, resp.Status)
	}
	if err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(text), int64(len(text)))
}

// fs is a file of an archive.
func fs(archive *zip.Reader, name string) (string, error) {
	f, err := archive.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

// listed is a price of a table.
type listed struct{ region, instanceType, price, asOf string }

var (
	generated = regexp.MustCompile(`(?m)^// generated at (\d{4}-\d\d-\d\d)T`)
	region    = regexp.MustCompile(`^\s*"([a-z0-9-]+)": \{$`)
	price     = regexp.MustCompile(`"([a-z0-9-]+\.[a-z0-9-]+)": ([0-9.]+),`)
)

// parse reads a table, sorted by region and type.
func parse(text string) (rows []listed, err error) {
	date := generated.FindStringSubmatch(text)
	if date == nil {
		return nil, errors.New("it does not say when it was generated")
	}
	in := ""
	for line := range strings.Lines(text) {
		if m := region.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			in = m[1]
			continue
		}
		for _, m := range price.FindAllStringSubmatch(line, -1) {
			v, err := strconv.ParseFloat(m[2], 64)
			if err != nil || v <= 0 || in == "" {
				return nil, fmt.Errorf("%s costs %s in %q", m[1], m[2], in)
			}
			rows = append(rows, listed{in, m[1], strconv.FormatFloat(v, 'f', -1, 64), date[1]})
		}
	}
	if len(rows) < 100 {
		return nil, fmt.Errorf("%d prices are too few", len(rows))
	}
	slices.SortFunc(rows, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.instanceType, b.instanceType))
	})
	return rows, nil
}
