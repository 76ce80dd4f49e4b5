package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licenses under which modules may be linked, by their SPDX identifiers. Each lets a program under Apache 2.0 be passed on, also
// as a binary, with no more to do than to pass on its text, and, for MPL, to say where the source is.
var allowed = []string{
	"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0",
	"CC-BY-4.0", // of documents, which are not linked
}

// minKnown is how much of a license's text, in percent, has to be that of known licenses. The rest is names and explanations.
const minKnown = 75

// module is one that is linked.
type module struct {
	name, version string
	root          string          // directory of its files
	own           bool            // it is promcost itself
	dirs          map[string]bool // of its packages that are linked, and of files that they embed
	licenses      []string        // identifiers, sorted
	texts         []string        // what has to be passed on
}

// Names of files that say under which license others are, and of those that have to be passed on with them.
var (
	licenseName = regexp.MustCompile(`(?i)^(?:un)?licen[cs]e(?:[.-].*)?$|^copying(?:[.-].*)?$`)
	noticeName  = regexp.MustCompile(`(?i)^(?:notice|copyright)(?:\.(?:txt|md))?$`)
	notTexts    = regexp.MustCompile(`(?i)\.(?:go|docs)$`) // code, and licenses of documents
)

// read reads the licenses of a module from its linked directories and those above them.
func (m *module) read() error {
	dirs := map[string]bool{}
	for dir := range m.dirs {
		for ; dir != m.root; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	if !m.own { // whose license stands beside the text
		dirs[m.root] = true
	}
	var problems []error
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			if !f.IsDir() {
				problems = append(problems, m.add(dir, f.Name()))
			}
		}
	}
	if len(m.licenses) == 0 && !m.own {
		problems = append(problems, fmt.Errorf("%s %s has no file of a license: leave it out", m.name, m.version))
	}
	slices.Sort(m.licenses)
	m.licenses, m.texts = slices.Compact(m.licenses), slices.Compact(m.texts)
	return errors.Join(problems...)
}

// add reads a file, if it is one of those.
func (m *module) add(dir, name string) error {
	isLicense := licenseName.MatchString(name)
	if !isLicense && !noticeName.MatchString(name) || notTexts.MatchString(name) {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	text := tidy(string(content))
	if !isLicense {
		m.texts = append(m.texts, text)
		return nil
	}
	known := licensecheck.Scan(content)
	at := strings.TrimPrefix(filepath.Join(dir, name), m.root+string(filepath.Separator))
	if known.Percent < minKnown {
		return fmt.Errorf("%s %s: %.0f %% of %s are a known license, want %d: leave the module out, or see what it is", m.name, m.version, known.Percent, at, minKnown)
	}
	ids := map[string]bool{}
	for _, match := range known.Match {
		if !slices.Contains(allowed, match.ID) {
			return fmt.Errorf("%s %s: %s has the license %s, which is not on the list: leave the module out, or see whether the license may be added", m.name, m.version, at, match.ID)
		}
		ids[match.ID] = true
	}
	m.licenses = slices.AppendSeq(m.licenses, maps.Keys(ids))
	if len(ids) > 1 || !ids["Apache-2.0"] { // of which LICENSE has the text
		m.texts = append(m.texts, text)
	}
	return nil
}

// tidy is a text without spaces at the ends of lines and empty lines at its own, so that equal texts are the same bytes.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(lines[i], "\f", ""), " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
