package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// head begins the text.
const head = `promcost
Copyright The promcost Authors

promcost is under the Apache License, Version 2.0: see LICENSE. The released programs promcost and promcost-apiserver contain Go's standard
library and runtime, which are under the license of golang.org/x below, and parts of the modules below. The source of a module is what
"go mod download MODULE@VERSION" gets. Modules that are under Apache-2.0 alone are under the text of LICENSE; what else their licenses want
to be passed on follows the list. "make generate" writes this file.

The list prices that are built in (allocation/listprices/aws.csv) are figures of github.com/aws/karpenter-provider-aws: Karpenter, Copyright
Amazon.com, Inc. or its affiliates, under the Apache License, Version 2.0.

`

// line divides texts.
var line = strings.Repeat("-", 100) + "\n"

// notice is the text about modules.
func notice(modules map[string]*module) []byte {
	var b strings.Builder
	b.WriteString(head)
	of := map[string][]string{} // names of modules by text
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		if !m.own {
			fmt.Fprintf(&b, "%s %s: %s\n", m.name, m.version, strings.Join(m.licenses, ", "))
		}
		for _, text := range m.texts {
			name := m.name
			if m.own {
				name = "parts of " + m.name
			}
			of[text] = append(of[text], name)
		}
	}
	texts := slices.SortedFunc(maps.Keys(of), func(x, y string) int {
		return strings.Compare(of[x][0]+"\x00"+x, of[y][0]+"\x00"+y)
	})
	for _, text := range texts {
		b.WriteString("\n" + line + strings.Join(slices.Compact(of[text]), "\n") + "\n" + line + "\n" + text + "\n")
	}
	return []byte(b.String())
}
